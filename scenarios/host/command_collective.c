/* podwright collective: one collective over many sizes on a cluster, as nccl-tests prints it. */
#include <stdio.h>
#include <string.h>

#include "scenarios/host/collective_compat.h"
#include "scenarios/host/commands.h"
#include "scenarios/sweep/sweep.h"
#include "sim/registry.h"
#include "sim/text.h"

static const pw_option options[] = {
    PW_CLUSTER_OPTIONS,
    {'b', "minbytes", "SIZE", false, "smallest size (default 8); K, M, G and T are powers of 1024"},
    {'e', "maxbytes", "SIZE", false, "largest size (default 8G)"},
    {'f', "stepfactor", "N", false, "each size is the last one times N (default 2)"},
    {'i', "step", "SIZE", false, "each size is the last one plus SIZE, instead of a factor"},
    {'d', "datatype", "TYPE", false, "of an element (default float)"},
    {0, "ranks", "WHICH", false, "all, one-per-node, each-node, each-domain, each-rail, 16, 0-7,16-23, 0-63:8, 0-7/8-15 (default all)"},
    {0, "algorithm", "NAME", false, "auto (as cluster.communication.choice says), library, fastest, ring, tree, ..., or one of the scenario's (default auto)"},
    {0, "pieces", "N", false, "pieces that trees and chains cut a message into (default: 8 of chain, many of the rest); but for chain it needs --messages"},
    {0, "dimensions", "NxN", false, "of the algorithm hierarchical: ranks along each, the first varying fastest"},
    {0, "imbalance", "X", false, "of all_to_all_v: the busiest rank gets X times the mean (default 1)"},
    {0, "messages", NULL, false, "message by message instead of one flow per collective (slow; on an idle fabric the same time within 5 %)"},
    {0, "explain", "SIZE", false, "one size in full: latency, cap, cut bound, the ten busiest links"},
    {0, "all-devices", NULL, false, "list every GPU in the head of the table"},
    {0, "json", NULL, false, "as JSON: nccl-tests' version 3 with schema podwright.collective/1"},
    {0, "csv", NULL, false, "as CSV, one row a size"},
    {'o', "output", "FILE", false, "write to FILE, whole or not at all"},
    PW_COLLECTIVE_COMPAT_OPTIONS,
    PW_SCENARIO_OPTIONS,
    PW_HELP_OPTION,
    {0}};

static pw_status bad_count(const char *option, const char *text, const char *hint, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "--%s takes a whole number from 1 on, not '%.100s'", option, text);
}

/* Options, ended by NULL, that make no sense with another. */
static pw_status refuse(const pw_arguments *arguments, const char *const *names, const char *why, pw_error *error) {
    for (; *names; names++)
        if (pw_arguments_has(arguments, *names))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "%s: --%s is not for it", why, *names);
    return PW_OK;
}
static const char *const barrier_lacks[] = {"minbytes", "maxbytes", "stepfactor", "step", "datatype", "explain", NULL};
static const char *const explain_lacks[] = {"minbytes", "maxbytes", "stepfactor", "step", "json", "csv", "all-devices", NULL};

static pw_status read_range(const pw_arguments *arguments, pw_sweep_range *range, pw_error *error) {
    const char *factor = pw_arguments_value(arguments, "stepfactor", NULL), *step = pw_arguments_value(arguments, "step", NULL);
    const char *end, *size = pw_arguments_value(arguments, "explain", NULL);
    if (size) {
        PW_TRY(refuse(arguments, explain_lacks, "--explain SIZE shows one size as text", error));
        *range = (pw_sweep_range){.factor = 2};
        PW_TRY(pw_sweep_size("explain", size, &range->least, error));
        range->most = range->least;
        return PW_OK;
    }
    if (factor && step)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave one out", "--stepfactor and --step exclude each other");
    *range = (pw_sweep_range){.factor = step ? 0 : 2};
    PW_TRY(pw_sweep_size("minbytes", pw_arguments_value(arguments, "minbytes", "8"), &range->least, error));
    PW_TRY(pw_sweep_size("maxbytes", pw_arguments_value(arguments, "maxbytes", "8G"), &range->most, error));
    if (step) PW_TRY(pw_sweep_size("step", step, &range->step, error));
    if (factor && (!pw_text_integer(factor, &end, &range->factor) || *end || range->factor < 1 || range->factor > 1 << 20))
        return bad_count("stepfactor", factor, "write -f 2", error);
    return PW_OK;
}

static pw_status write_report(pw_host *host, const pw_arguments *arguments, const pw_sweep_report *report, pw_arena *arena,
                              pw_error *error) {
    pw_file *file;
    PW_TRY(pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error));
    pw_status status;
    if (pw_arguments_has(arguments, "explain")) status = pw_sweep_explain(report, &report->result->rows[0], arena, file, error);
    else if (pw_arguments_has(arguments, "json")) status = pw_sweep_json(report, arena, file, error);
    else if (pw_arguments_has(arguments, "csv")) status = pw_sweep_csv(report, arena, file, error);
    else status = pw_sweep_text(report, arena, file, error);
    return pw_host_close(file, status, error);
}

/* Everything that the run needs but the cluster. */
static pw_status sweep_on(pw_host *host, const pw_arguments *arguments, const pw_scenario *scenario, pw_collectives *collectives,
                          pw_sweep_config *config, pw_arena *arena, pw_error *error) {
    pw_sweep_report report = {.title = scenario->title, .version = PODWRIGHT_VERSION, .config = config,
                              .all_devices = pw_arguments_has(arguments, "all-devices")};
    pw_sweep_result result;
    int64_t *sizes;
    PW_TRY(pw_command_algorithm(arguments, scenario, collectives, arena, &config->algorithm, error));
    PW_TRY(read_range(arguments, &report.range, error));
    if (config->kind == PW_COLLECTIVE_BARRIER) PW_TRY(refuse(arguments, barrier_lacks, "a barrier moves no bytes", error));
    PW_TRY(pw_sweep_type_of(pw_arguments_value(arguments, "datatype", "float"), &report.type, error));
    PW_TRY(pw_sweep_parse_groups(config->cluster, pw_arguments_value(arguments, "ranks", "all"), arena, &config->groups, error));
    PW_TRY(pw_sweep_sizes(&report.range, pw_sweep_test_of(config->kind), config->groups.size, report.type.bytes, arena, &sizes,
                          &config->size_count, error));
    config->sizes = sizes;
    pw_host_talk(host, "Simulating %s ...", pw_collective_names[config->kind]);
    PW_TRY(pw_sweep_run(config, arena, &result, error));
    report.result = &result;
    return write_report(host, arguments, &report, arena, error);
}

static pw_status collective(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                            pw_error *error) {
    pw_scenario scenario;
    pw_sweep_config config = {.allocator = host->allocator, .messages = pw_arguments_has(arguments, "messages"),
                              .interrupt = host->interrupt};
    if (pw_arguments_has(arguments, "json") && pw_arguments_has(arguments, "csv"))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "run it twice for both", "--json and --csv exclude each other");
    if (pw_arguments_has(arguments, "all-devices") && (pw_arguments_has(arguments, "json") || pw_arguments_has(arguments, "csv")))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave one out", "--all-devices is for the head of the table, which --json and --csv do not have");
    if (pw_collective_has_compat(arguments)) return pw_collective_compat(host, arguments, arena, error);
    PW_TRY(pw_sweep_kind(arguments->operands[0], &config.kind, error));
    PW_TRY(pw_command_seed(arguments, &config.seed, error));
    PW_TRY(pw_command_load_cluster(host, arguments, arguments->operand_count > 1 ? arguments->operands[1] : NULL, catalogue, arena,
                                   &scenario, error));
    pw_cluster *cluster = NULL;
    pw_collectives *collectives = NULL;
    pw_status status = pw_cluster_create(host->allocator, catalogue, scenario.desc.cluster, &cluster, error);
    if (status != PW_OK) pw_command_place(&scenario, error);
    if (status == PW_OK) {
        status = pw_collectives_create(host->allocator, catalogue, cluster, true, &collectives, error);
        if (status != PW_OK) pw_command_place(&scenario, error);
    }
    config.cluster = cluster;
    config.collectives = collectives;
    if (status == PW_OK) pw_collectives_watch(collectives, host->interrupt);
    if (status == PW_OK) status = sweep_on(host, arguments, &scenario, collectives, &config, arena, error);
    pw_collectives_destroy(collectives);
    pw_cluster_destroy(cluster);
    return status;
}

static int run(pw_host *host, const pw_arguments *arguments) {
    return pw_command_with_catalogue(host, arguments, collective);
}

const pw_command pw_command_collective = {
    "collective", "KIND [FILE]", "times a collective over many sizes, as nccl-tests prints it",
    "  podwright collective all_reduce --server \"DGX H100\" --nodes 4\n"
    "  podwright collective all_gather pod.lua -b 1M -e 1G --set cluster.network.oversubscription=4\n"
    "  podwright collective all_reduce pod.lua --ranks each-rail --explain 64M\n"
    "  podwright collective all_reduce --compat astra-sim --network net.yml --system sys.json -b 1M -e 1G\n"
    "KIND is all_reduce, all_gather, ... or the name of a program of nccl-tests. FILE is a Lua scenario, whose cluster is taken, "
    "or a cluster; \"-\" is standard input. Without FILE the options describe the cluster. Ranks are numbered node after node. "
    "Nothing else runs on the cluster.\n",
    options, 1, 2, run};
