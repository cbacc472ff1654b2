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

/* An option that the kind of job does not know is refused. */
static pw_status read_options(const pw_arguments *arguments, const pw_job_kind *kind, pw_job_call *call, pw_error *error) {
    const struct {
        const char *option;
        bool can, *given;
    } flags[] = {{"ignore-memory", kind->can_ignore_memory, &call->ignore_memory}, {"unfolded", kind->can_unfold, &call->unfolded}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        *flags[i].given = pw_arguments_has(arguments, flags[i].option);
        if (*flags[i].given && !flags[i].can)
            return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave it out", "--%s is not for jobs of the kind o.%s",
                           flags[i].option, kind->kind->name);
    }
    return PW_OK;
}

static pw_status write_report(pw_host *host, const pw_arguments *arguments, const pw_run_report *report, pw_error *error) {
    pw_file *file;
    PW_TRY(pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error));
    if (pw_arguments_has(arguments, "json")) pw_report_run_json(report, file);
    else if (pw_arguments_has(arguments, "csv")) pw_report_run_csv(report, file);
    else pw_report_run_text(report, file);
    return pw_host_close(file, PW_OK, error);
}

static pw_status simulate(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                          pw_error *error) {
    pw_scenario scenario;
    pw_run_result result = {.arena = arena};
    pw_job_call call = {.allocator = host->allocator, .catalogue = catalogue, .interrupt = host->interrupt};
    if (pw_arguments_has(arguments, "json") && pw_arguments_has(arguments, "csv"))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "run it twice for both", "--json and --csv exclude each other");
    PW_TRY(pw_command_seed(arguments, &call.seed, error));
    PW_TRY(pw_command_load(host, arguments, catalogue, arena, &scenario, error));
    const pw_one_of job = scenario.desc.job;
    if (!job.record)
        return pw_fail(error, PW_BAD_INPUT, scenario.file, 0, "add job = o.train { ... }; `podwright describe` shows a cluster",
                       "the scenario has no job to run");
    const pw_job_kind *kind = pw_job_kind_of(job.kind);
    const pw_origin *place = pw_scenario_origin(&scenario, "job");
    const pw_cluster_desc *cluster = scenario.desc.cluster;
    call.cluster = cluster;
    call.desc = job.record;
    call.file = place->file;
    call.line = place->line;
    PW_TRY(read_options(arguments, kind, &call, error));
    pw_host_talk(host, "Simulating %s ...", scenario.title);
    pw_status status = kind->run(&call, &result, error);
    if (status != PW_OK) {
        pw_command_place(&scenario, error);
        return status;
    }
    for (size_t i = 0; i < scenario.notes.count; i++) pw_result_note(&result, "%s", scenario.notes.items[i]);
    PW_TRY(pw_result_finish(&result, error));
    pw_run_report report = {.title = scenario.title,
                            .version = PODWRIGHT_VERSION,
                            .seed = call.seed,
                            .cluster = cluster,
                            .job = job,
                            .server = cluster->node.server ? cluster->node.server : result.device->name,
                            .nodes = cluster->nodes,
                            .result = &result,
                            .suite = kind->suite,
                            .answers = kind->answers,
                            .accuracy = {.source = NULL},
                            .long_notes = pw_arguments_has(arguments, "notes")};
    if (kind->suite)
        report.accuracy = pw_accuracy_find(catalogue, kind->suite, result.answer_class, result.device->name, result.device->arch);
    return write_report(host, arguments, &report, error);
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
