#include <stdio.h>
#include <string.h>

#include "scenarios/host/commands.h"
#include "scenarios/report/report.h"

static const pw_option options[] = {
    PW_SCENARIO_OPTIONS,
    {0, "json", NULL, false, "as JSON, schema podwright.run/1"},
    {0, "csv", NULL, false, "as CSV: name,value,unit"},
    {'o', "output", "FILE", false, "write to FILE, whole or not at all"},
    {0, "notes", NULL, false, "notes (provenance, fallbacks) in full instead of one line each"},
    {0, "ignore-memory", NULL, false, "run a plan that does not fit in memory"},
    {0, "unfolded", NULL, false, "simulate every rank, though equal ranks do the same (slow; the answer is the same)"},
    PW_HELP_OPTION,
    {0}};

static pw_status simulate(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                          pw_error *error) {
    pw_scenario scenario;
    pw_train_result result;
    pw_train_options train = {.interrupt = host->interrupt};
    if (pw_arguments_has(arguments, "json") && pw_arguments_has(arguments, "csv"))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "run it twice for both", "--json and --csv exclude each other");
    PW_TRY(pw_command_seed(arguments, &train.seed, error));
    PW_TRY(pw_command_load(host, arguments, catalogue, arena, &scenario, error));
    if (!scenario.desc.job)
        return pw_fail(error, PW_BAD_INPUT, scenario.file, 0, "add job = o.train { ... }; `podwright describe` shows a cluster",
                       "the scenario has no job to run");
    train.ignore_memory = pw_arguments_has(arguments, "ignore-memory");
    train.unfolded = pw_arguments_has(arguments, "unfolded");
    const pw_origin *place = pw_scenario_origin(&scenario, "job");
    const pw_cluster_desc *cluster = scenario.desc.cluster;
    pw_host_talk(host, "Simulating %s ...", scenario.title);
    pw_status status = pw_train_run(host->allocator, catalogue, cluster, scenario.desc.job, &train, place->file, place->line,
                                    arena, &result, error);
    if (status != PW_OK) {
        pw_command_place(&scenario, error);
        return status;
    }
    const pw_device *device = result.device;
    const char *const groups[] = {device->name, device->arch, NULL};
    pw_run_report report = {.title = scenario.title,
                            .version = PODWRIGHT_VERSION,
                            .seed = train.seed,
                            .cluster = cluster,
                            .job = scenario.desc.job,
                            .device = device,
                            .server = cluster->node.server ? cluster->node.server : device->name,
                            .nodes = cluster->nodes,
                            .result = &result,
                            .accuracy = pw_accuracy_find(catalogue, "training", groups),
                            .long_notes = pw_arguments_has(arguments, "notes")};
    pw_file *file;
    PW_TRY(pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error));
    if (pw_arguments_has(arguments, "json")) pw_report_run_json(&report, file);
    else if (pw_arguments_has(arguments, "csv")) pw_report_run_csv(&report, file);
    else pw_report_run_text(&report, file);
    return pw_host_close(file, PW_OK, error);
}

static int run(pw_host *host, const pw_arguments *arguments) {
    return pw_command_with_catalogue(host, arguments, simulate);
}

const pw_command pw_command_run = {
    "run", "FILE", "simulates a scenario: step time, where the time goes, whether it fits",
    "  podwright run llama3.lua\n"
    "  podwright run llama3.lua --set job.tensor_parallel=4 --set cluster.nodes=64\n"
    "  podwright run llama3.lua --json -o result.json\n"
    "FILE is a Lua scenario, \"-\" is standard input. Equal files, options and versions give equal bytes.\n",
    options, 1, 1, run};
