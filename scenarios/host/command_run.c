#include <stdio.h>
#include <string.h>

#include "scenarios/host/commands.h"
#include "scenarios/host/monitor.h"
#include "scenarios/report/report.h"
#include "sim/text.h"

static const pw_option options[] = {
    PW_SCENARIO_OPTIONS,
    {0, "json", NULL, false, "as JSON, schema podwright.run/1 (jobs side by side: podwright.jobs/1)"},
    {0, "csv", NULL, false, "as CSV: name,value,unit"},
    {'o', "output", "FILE", false, "write to FILE, whole or not at all"},
    {0, "notes", NULL, false, "notes (provenance, fallbacks) in full instead of one line each"},
    {0, "links-csv", "FILE", false, "also write the use of every link over time, split by job, to FILE"},
    {0, "flows-csv", "FILE", false, "also write every transfer, with what limited it, to FILE"},
    {0, "series-csv", "FILE", false, "also write what the job has over time (a facility: hour by hour) to FILE"},
    PW_MONITOR_OPTIONS,
    {0, "bins", "N", false, "at most so many intervals of time in --links-csv (default 100)"},
    {0, "ignore-memory", NULL, false, "run a plan that does not fit in memory"},
    {0, "unfolded", NULL, false, "simulate every rank, though equal ranks do the same (slow; the answer is the same)"},
    {0, "messages", NULL, false, "simulate every rank and every message of a collective (slow)"},
    PW_HELP_OPTION,
    {0}};

/* Where a job was written: "jobs[2].job". */
typedef struct placed_path {
    const pw_kind *kind;
    const void *record;
    const char *text;
} placed_path;

/* An option that the kind of job does not know is refused. */
static pw_status read_options(const pw_arguments *arguments, const pw_job_kind *kind, pw_job_call *call, pw_error *error) {
    const struct {
        const char *option;
        bool can, *given;
    } flags[] = {{"ignore-memory", kind->can_ignore_memory, &call->ignore_memory}, {"unfolded", kind->can_unfold, &call->unfolded},
                 {"messages", kind->can_message, &call->messages}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        *flags[i].given = pw_arguments_has(arguments, flags[i].option);
        if (*flags[i].given && !flags[i].can)
            return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave it out", "--%s is not for jobs of the kind o.%s",
                           flags[i].option, kind->kind->name);
    }
    return PW_OK;
}

static pw_status write_csv(pw_host *host, const char *path, const pw_side_by_side *sides,
                           void (*write)(const pw_side_by_side *sides, pw_file *file), pw_error *error) {
    pw_file *file;
    if (!path) return PW_OK;
    PW_TRY(pw_host_open(host, path, &file, error));
    write(sides, file);
    return pw_host_close(file, PW_OK, error);
}

enum { BINS = 100, MOST_BINS = 100000, MOST_FLOWS = 5000000 };

static pw_status write_series(pw_host *host, const pw_arguments *arguments, const pw_job_kind *kind, const pw_run_result *result, pw_error *error) {
    const char *path = pw_arguments_value(arguments, "series-csv", NULL);
    pw_file *file;
    if (!path) return PW_OK;
    if (!result->series.row_count)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave it out", "--series-csv: a job of the kind o.%s has no series over time", kind->kind->name);
    PW_TRY(pw_host_open(host, path, &file, error));
    pw_report_series_csv(&result->series, file);
    return pw_host_close(file, PW_OK, error);
}

/* The watch that the options ask for. */
static pw_status read_watch(const pw_arguments *arguments, pw_side_call *side, pw_error *error) {
    const char *bins = pw_arguments_value(arguments, "bins", NULL), *end;
    int64_t count = BINS;
    if (bins && (!pw_text_integer(bins, &end, &count) || *end || count < 2 || count > MOST_BINS))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --bins 100", "--bins takes a whole number from 2 to %d, not '%.100s'", MOST_BINS, bins);
    if (bins && !pw_arguments_has(arguments, "links-csv"))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "add --links-csv FILE", "--bins changes nothing without --links-csv");
    const char *links = pw_arguments_value(arguments, "links-csv", NULL), *flows = pw_arguments_value(arguments, "flows-csv", NULL);
    if (links && flows && strcmp(links, flows) == 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give them two names", "--links-csv and --flows-csv name one file");
    side->bins = links ? (uint32_t)count : 0;
    side->most_flows = flows ? MOST_FLOWS : 0;
    return PW_OK;
}

/* A message gets the place where its job, or the field of it, was written. */
static void place_message(const pw_scenario *scenario, const placed_path *path, pw_error *error) {
    if (path) pw_command_place_at(scenario, path->kind, path->text, path->record, error);
    else pw_scenario_refine(scenario, &pw_scenario_kind, "", error);
    pw_command_place(scenario, error);
}

/* Every job's paths and places. */
static pw_status find_places(const pw_scenario *scenario, pw_arena *arena, pw_side_call *side, placed_path **paths, pw_error *error) {
    uint32_t count = side->jobs.count;
    const char **files = pw_arena_alloc(arena, (count + (size_t)1) * sizeof *files);
    int *lines = pw_arena_alloc(arena, (count + (size_t)1) * sizeof *lines);
    *paths = pw_arena_alloc(arena, (count + (size_t)1) * sizeof **paths);
    if (!files || !lines || !*paths) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    const pw_one_of *items = side->jobs.items;
    for (uint32_t j = 0; j < (count ? count : 1); j++) {
        char text[64];
        pw_one_of job = count ? items[j] : side->job;
        snprintf(text, sizeof text, count ? "jobs[%u]" : "job", (unsigned)j + 1);
        if (job.kind == &pw_job_on_kind) {
            job = ((const pw_job_on_desc *)job.record)->job;
            snprintf(text, sizeof text, "jobs[%u].job", (unsigned)j + 1);
        }
        (*paths)[j] = (placed_path){job.kind, job.record, pw_arena_text(arena, text)};
        if (!(*paths)[j].text) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        const pw_origin *place = pw_scenario_origin(scenario, text);
        files[j] = place ? place->file : scenario->file;
        lines[j] = place ? place->line : 0;
    }
    side->files = files;
    side->lines = lines;
    return PW_OK;
}

static pw_status write_sides(pw_host *host, const pw_arguments *arguments, const pw_sides_report *report, pw_error *error) {
    pw_file *file;
    PW_TRY(pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error));
    if (pw_arguments_has(arguments, "json")) pw_report_sides_json(report, file);
    else if (pw_arguments_has(arguments, "csv")) pw_report_sides_csv(report, file);
    else pw_report_sides_text(report, file);
    return pw_host_close(file, PW_OK, error);
}

static pw_status write_report(pw_host *host, const pw_arguments *arguments, const pw_run_report *report, pw_error *error) {
    pw_file *file;
    PW_TRY(pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error));
    if (pw_arguments_has(arguments, "json")) pw_report_run_json(report, file);
    else if (pw_arguments_has(arguments, "csv")) pw_report_run_csv(report, file);
    else pw_report_run_text(report, file);
    return pw_host_close(file, PW_OK, error);
}

/* One job on the whole cluster. */
static pw_status report_one(pw_host *host, const pw_arguments *arguments, const pw_job_call *call, const pw_scenario *scenario,
                            pw_one_of job, pw_run_result *result, const pw_side_by_side *watched, pw_error *error) {
    const pw_job_kind *kind = pw_job_kind_of(job.kind);
    const pw_cluster_desc *cluster = scenario->desc.cluster;
    for (size_t i = 0; i < scenario->notes.count; i++) pw_result_note(result, "%s", scenario->notes.items[i]);
    PW_TRY(pw_result_finish(result, error));
    pw_run_report report = {.title = scenario->title,
                            .version = PODWRIGHT_VERSION,
                            .seed = call->seed,
                            .cluster = cluster,
                            .job = job,
                            .server = cluster->node.server ? cluster->node.server : result->device->name,
                            .nodes = cluster->nodes,
                            .result = result,
                            .suite = kind->suite,
                            .answers = kind->answers,
                            .accuracy = {.source = NULL},
                            .long_notes = pw_arguments_has(arguments, "notes"),
                            .watched = watched};
    if (kind->suite)
        report.accuracy = pw_accuracy_find(call->catalogue, kind->suite, result->answer_class, result->device->name, result->device->arch);
    return write_report(host, arguments, &report, error);
}

static pw_status report_sides(pw_host *host, const pw_arguments *arguments, const pw_job_call *call, const pw_scenario *scenario,
                              pw_side_run *ran, pw_error *error) {
    const pw_cluster_desc *cluster = scenario->desc.cluster;
    PW_TRY(write_csv(host, pw_arguments_value(arguments, "links-csv", NULL), &ran->sides, pw_report_links_csv, error));
    PW_TRY(write_csv(host, pw_arguments_value(arguments, "flows-csv", NULL), &ran->sides, pw_report_flows_csv, error));
    if (!scenario->desc.jobs.count)
        return report_one(host, arguments, call, scenario, scenario->desc.job, &ran->sides.jobs[0].result, &ran->sides, error);
    const pw_sides_report report = {.title = scenario->title,
                                    .version = PODWRIGHT_VERSION,
                                    .seed = call->seed,
                                    .cluster = cluster,
                                    .server = cluster->node.server ? cluster->node.server : ran->sides.jobs[0].result.device->name,
                                    .sides = &ran->sides,
                                    .long_notes = pw_arguments_has(arguments, "notes")};
    return write_sides(host, arguments, &report, error);
}

static pw_status simulate_sides(pw_host *host, const pw_arguments *arguments, pw_job_call *call, const pw_scenario *scenario,
                                pw_arena *arena, pw_error *error) {
    pw_side_call side = {.call = call, .jobs = scenario->desc.jobs, .job = scenario->desc.job, .events = scenario->desc.events};
    placed_path *paths;
    pw_side_run ran;
    uint32_t failed;
    if (!side.jobs.count && !side.job.record)
        return pw_fail(error, PW_BAD_INPUT, scenario->file, 0, "add job = o.train { ... }; `podwright describe` shows a cluster",
                       "the scenario has no job to run");
    if (pw_arguments_has(arguments, "messages"))
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave it out, or jobs, events, --links-csv and --flows-csv",
                       "--messages is for one job whose links are not watched");
    if (pw_monitor_is_asked(arguments, scenario))
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave it out, or jobs, events, --links-csv and --flows-csv",
                       "--metrics-csv, --openmetrics, meter and alarms are for one job whose links are not watched");
    if (pw_arguments_has(arguments, "series-csv"))
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave it out, or jobs, events, --links-csv and --flows-csv", "--series-csv is for one job whose links are not watched");
    PW_TRY(read_watch(arguments, &side, error));
    PW_TRY(find_places(scenario, arena, &side, &paths, error));
    call->cluster = scenario->desc.cluster;
    call->ignore_memory = pw_arguments_has(arguments, "ignore-memory");
    call->unfolded = pw_arguments_has(arguments, "unfolded");
    pw_host_talk(host, "Simulating %s ...", scenario->title);
    pw_status status = pw_jobs_side_by_side(&side, arena, &ran, &failed, error);
    if (status == PW_OK) status = report_sides(host, arguments, call, scenario, &ran, error);
    else place_message(scenario, failed == PW_NONE ? NULL : &paths[failed], error);
    pw_side_run_end(&ran);
    return status;
}

/* One job, watched by whatever options and scenario ask for. */
static pw_status simulate_one(pw_host *host, const pw_arguments *arguments, pw_job_call *call, const pw_scenario *scenario, pw_arena *arena, pw_error *error) {
    const pw_one_of job = scenario->desc.job;
    const pw_job_kind *kind = pw_job_kind_of(job.kind);
    pw_run_result result = {.arena = arena};
    pw_monitor monitor;
    pw_host_talk(host, "Simulating %s ...", scenario->title);
    pw_status status = pw_monitor_begin(host, arguments, scenario, kind, call, &monitor, error);
    if (status == PW_OK) {
        status = kind->run(call, &result, error);
        if (status != PW_OK) status = pw_monitor_explain(&monitor, status, error);
        if (status == PW_OK) status = pw_monitor_take(&monitor, host, scenario, kind, call, &result, error);
        if (status != PW_OK) pw_command_place(scenario, error);
    }
    pw_monitor_end(&monitor);
    PW_TRY(status);
    PW_TRY(write_series(host, arguments, kind, &result, error));
    return report_one(host, arguments, call, scenario, job, &result, NULL, error);
}

static pw_status simulate(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena, pw_scenario *scenario, pw_error *error) {
    pw_job_call call = {.allocator = host->allocator, .catalogue = catalogue, .interrupt = host->interrupt};
    if (pw_arguments_has(arguments, "json") && pw_arguments_has(arguments, "csv"))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "run it twice for both", "--json and --csv exclude each other");
    PW_TRY(pw_command_seed(arguments, &call.seed, error));
    PW_TRY(pw_command_load_with_hooks(host, arguments, catalogue, arena, scenario, error));
    const pw_one_of job = scenario->desc.job;
    if (scenario->desc.jobs.count || scenario->desc.events.count || pw_arguments_has(arguments, "links-csv") ||
        pw_arguments_has(arguments, "flows-csv") || pw_arguments_has(arguments, "bins"))
        return simulate_sides(host, arguments, &call, scenario, arena, error);
    if (!job.record)
        return pw_fail(error, PW_BAD_INPUT, scenario->file, 0, "add job = o.train { ... }; `podwright describe` shows a cluster",
                       "the scenario has no job to run");
    const pw_job_kind *kind = pw_job_kind_of(job.kind);
    const pw_origin *place = pw_scenario_origin(scenario, "job");
    const pw_cluster_desc *cluster = scenario->desc.cluster;
    call.cluster = cluster;
    call.desc = job.record;
    call.file = place->file;
    call.line = place->line;
    PW_TRY(read_options(arguments, kind, &call, error));
    PW_TRY(pw_job_check_power(kind, cluster, error));
    pw_status status = pw_job_check_cooling(kind, cluster, error);
    if (status != PW_OK) {
        pw_command_place(scenario, error);
        return status;
    }
    return simulate_one(host, arguments, &call, scenario, arena, error);
}

static pw_status simulate_and_end(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena, pw_error *error) {
    pw_scenario scenario = {.script = NULL};
    pw_status status = simulate(host, arguments, catalogue, arena, &scenario, error);
    pw_scenario_end(&scenario);
    return status;
}

static int run(pw_host *host, const pw_arguments *arguments) {
    return pw_command_with_catalogue(host, arguments, simulate_and_end);
}

const pw_command pw_command_run = {
    "run", "FILE", "simulates a scenario: step time, where the time goes, whether it fits",
    "  podwright run llama3.lua\n"
    "  podwright run llama3.lua --set job.tensor_parallel=4 --set cluster.nodes=64\n"
    "  podwright run llama3.lua --json -o result.json\n"
    "FILE is a Lua scenario, \"-\" is standard input. Equal files, options and versions give equal bytes.\n",
    options, 1, 1, run};
