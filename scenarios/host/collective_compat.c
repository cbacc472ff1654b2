#include "scenarios/host/collective_compat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/compat/astra.h"
#include "scenarios/sweep/sweep.h"
#include "sim/json.h"
#include "sim/registry.h"

enum { MOST_SIZES = 64 };

typedef struct row {
    int64_t bytes, unaware_ns, aware_ns;  /* -1: not modelled */
    double floor_ns;
    pw_astra_answer own;
    char why[200]; /* why a mode is not */
} row;

bool pw_collective_has_compat(const pw_arguments *arguments) {
    return pw_arguments_has(arguments, "compat") || pw_arguments_has(arguments, "network") || pw_arguments_has(arguments, "system");
}

static pw_status check_options(const pw_arguments *arguments, pw_error *error) {
    static const char *const simulators[] = {"astra-sim", NULL};
    static const char *const others[] = {"server", "nodes", "gpus-per-node", "datatype", "ranks", "algorithm", "messages", "explain", "all-devices", "set",
                                         "seed", "script-memory", "script-instructions", "script-seconds", "step", NULL};
    const char *simulator = pw_arguments_value(arguments, "compat", NULL);
    if (!simulator) return pw_fail(error, PW_BAD_INPUT, NULL, 0, "add --compat astra-sim", "--network and --system are for --compat");
    if (strcmp(simulator, "astra-sim") != 0) {
        char hint[100];
        const char *near = pw_nearest(simulators, simulator);
        snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "it is astra-sim", near);
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "--compat does not know '%.100s'", simulator);
    }
    for (int i = 0; others[i]; i++)
        if (pw_arguments_has(arguments, others[i]))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "--compat takes network and algorithms from files: --%s is not for it", others[i]);
    if (arguments->operand_count > 1)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "--compat takes the network from --network, not from '%.200s'", arguments->operands[1]);
    if (!pw_arguments_has(arguments, "network") || !pw_arguments_has(arguments, "system"))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "podwright collective all_reduce --compat astra-sim --network net.yml --system sys.json -b 1M -e 1M",
                       "--compat needs --network and --system");
    return PW_OK;
}

static pw_status read_kind(const char *name, pw_astra_collective *kind, pw_error *error) {
    pw_collective_kind given;
    PW_TRY(pw_sweep_kind(name, &given, error));
    for (int i = 0; i < PW_ASTRA_COLLECTIVE_COUNT; i++)
        if (strcmp(pw_astra_collective_names[i], pw_collective_names[given]) == 0) return *kind = (pw_astra_collective)i, PW_OK;
    return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "all_reduce, all_gather, reduce_scatter and all_to_all are", "ASTRA-sim's networks know no %s",
                   pw_collective_names[given]);
}

static pw_status read_sizes(const pw_arguments *arguments, int64_t sizes[MOST_SIZES], uint32_t *count, pw_error *error) {
    const char *most_text = pw_arguments_value(arguments, "maxbytes", NULL), *factor = pw_arguments_value(arguments, "stepfactor", "2");
    int64_t least, most, times = factor[0] >= '1' && factor[0] <= '9' && !factor[1] ? factor[0] - '0' : 0;
    PW_TRY(pw_sweep_size("minbytes", pw_arguments_value(arguments, "minbytes", "1M"), &least, error));
    most = least;
    if (most_text) PW_TRY(pw_sweep_size("maxbytes", most_text, &most, error));
    if (times < 2) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "--stepfactor is 2 to 9 with --compat, not '%.100s'", factor);
    if (least < 1 || most < least) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "--maxbytes is below --minbytes, or a size is 0");
    for (*count = 0; least <= most && *count < MOST_SIZES; least *= times) {
        sizes[(*count)++] = least;
        if (least > INT64_MAX / times) break;
    }
    return PW_OK;
}

/* PW_UNSUPPORTED and PW_LIMIT leave a hole in the row and say why. */
static pw_status keep_reason(pw_status status, const pw_error *failure, int64_t *ns, row *of, pw_error *error) {
    if (status == PW_OK) return PW_OK;
    *ns = -1;
    if (status != PW_UNSUPPORTED && status != PW_LIMIT) {
        if (error) *error = *failure;
        return status;
    }
    snprintf(of->why, sizeof of->why, "%.190s", failure->what);
    return PW_OK;
}

static pw_status answer(const pw_host *host, const pw_astra_network *network, const pw_astra_system *system, pw_astra_collective kind, row *of,
                        pw_error *error) {
    pw_error failure = {0};
    PW_TRY(keep_reason(pw_astra_unaware(network, system, kind, of->bytes, &of->unaware_ns, &failure), &failure, &of->unaware_ns, of, error));
    PW_TRY(keep_reason(pw_astra_aware(network, system, kind, of->bytes, host->allocator, &of->aware_ns, &failure), &failure, &of->aware_ns, of, error));
    of->floor_ns = pw_astra_floor(network, kind, of->bytes);
    return pw_astra_physical(network, kind, of->bytes, host->allocator, &of->own, error);
}

static void put_time(pw_file *file, int64_t ns) {
    if (ns < 0) pw_file_print(file, "%14s", "-");
    else pw_file_print(file, "%14lld", (long long)ns);
}

static const char *remark_of(const row *of) {
    bool unaware = of->unaware_ns >= 0 && (double)of->unaware_ns < floor(of->floor_ns), aware = of->aware_ns >= 0 && (double)of->aware_ns < floor(of->floor_ns);
    return unaware && aware ? "both beat the links" : unaware ? "unaware beats the links" : aware ? "aware beats the links" : "";
}

static void write_text(const pw_astra_network *network, const char *kind, const row *rows, uint32_t count, pw_file *file) {
    pw_file_print(file, "%s on %lld NPUs, as ASTRA-sim's analytical networks time it; sizes are what one rank puts in\n", kind, (long long)network->npus);
    for (int d = 0; d < network->count; d++) {
        const pw_astra_dimension *dimension = &network->dimensions[d];
        pw_file_print(file, "  dimension %d: %s of %lld, %.6g GB/s (GB: 2^30 bytes), %.6g ns\n", d, pw_astra_topology_names[dimension->topology],
                      (long long)dimension->npus, dimension->bandwidth_GBps, dimension->latency_ns);
    }
    pw_file_print(file, "\n%14s%14s%14s%14s%14s\n", "bytes", "unaware ns", "aware ns", "cut bound ns", "podwright ns");
    for (uint32_t i = 0; i < count; i++) {
        pw_file_print(file, "%14lld", (long long)rows[i].bytes);
        put_time(file, rows[i].unaware_ns);
        put_time(file, rows[i].aware_ns);
        pw_file_print(file, "%14.0f%14.0f %s", rows[i].floor_ns, rows[i].own.ns, rows[i].own.algorithm);
        pw_file_print(file, "%s%s\n", *remark_of(&rows[i]) ? ", " : "", remark_of(&rows[i]));
    }
    if (rows[0].why[0]) pw_file_print(file, "-: %s\n", rows[0].why);
}

static void write_csv(const row *rows, uint32_t count, pw_file *file) {
    pw_file_text(file, "size_bytes,unaware_ns,aware_ns,cut_bound_ns,podwright_ns,podwright_algorithm\n");
    for (uint32_t i = 0; i < count; i++) {
        pw_file_csv_integer(file, rows[i].bytes);
        pw_file_csv_number(file, rows[i].unaware_ns < 0 ? (double)NAN : (double)rows[i].unaware_ns);
        pw_file_csv_number(file, rows[i].aware_ns < 0 ? (double)NAN : (double)rows[i].aware_ns);
        pw_file_csv_number(file, rows[i].floor_ns);
        pw_file_csv_number(file, rows[i].own.ns);
        pw_file_csv_text(file, rows[i].own.algorithm);
        pw_file_csv_end(file);
    }
}

static void write_json(const pw_astra_network *network, const char *kind, const row *rows, uint32_t count, pw_file *file) {
    pw_json json;
    pw_json_begin(&json, file);
    pw_json_object(&json, NULL);
    pw_json_text(&json, "schema", "podwright.compat/1");
    pw_json_text(&json, "simulator", "astra-sim");
    pw_json_text(&json, "collective", kind);
    pw_json_integer(&json, "npus", network->npus);
    pw_json_array(&json, "rows");
    for (uint32_t i = 0; i < count; i++) {
        pw_json_object(&json, NULL);
        pw_json_integer(&json, "size_bytes", rows[i].bytes);
        if (rows[i].unaware_ns < 0) pw_json_null(&json, "unaware_ns");
        else pw_json_integer(&json, "unaware_ns", rows[i].unaware_ns);
        if (rows[i].aware_ns < 0) pw_json_null(&json, "aware_ns");
        else pw_json_integer(&json, "aware_ns", rows[i].aware_ns);
        pw_json_number(&json, "cut_bound_ns", rows[i].floor_ns);
        pw_json_number(&json, "podwright_ns", rows[i].own.ns);
        pw_json_text(&json, "podwright_algorithm", rows[i].own.algorithm);
        pw_json_end(&json);
    }
    pw_json_end(&json);
    pw_json_end(&json);
}

static pw_status read_files(const pw_host *host, const pw_arguments *arguments, pw_astra_network *network, pw_astra_system *system, pw_error *error) {
    pw_status status = pw_astra_network_read(pw_arguments_value(arguments, "network", NULL), network, error);
    if (status == PW_OK) status = pw_astra_system_read(pw_arguments_value(arguments, "system", NULL), network, host->allocator, system, error);
    if (status == PW_IO && error) error->status = status = PW_BAD_INPUT; /* the user named these files */
    return status;
}

pw_status pw_collective_compat(pw_host *host, const pw_arguments *arguments, pw_arena *arena, pw_error *error) {
    pw_astra_network network;
    pw_astra_system system;
    pw_astra_collective kind = PW_ASTRA_ALL_REDUCE;
    int64_t sizes[MOST_SIZES];
    uint32_t count = 0;
    pw_file *file;
    PW_TRY(check_options(arguments, error));
    PW_TRY(read_kind(arguments->operands[0], &kind, error));
    PW_TRY(read_sizes(arguments, sizes, &count, error));
    PW_TRY(read_files(host, arguments, &network, &system, error));
    row *rows = pw_arena_alloc(arena, count * sizeof *rows);
    if (!rows) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = (row){.bytes = sizes[i]};
        PW_TRY(answer(host, &network, &system, kind, &rows[i], error));
    }
    if (rows[0].unaware_ns < 0 && rows[0].aware_ns < 0) return pw_fail(error, PW_UNSUPPORTED, NULL, 0, NULL, "%s", rows[0].why);
    PW_TRY(pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error));
    if (pw_arguments_has(arguments, "json")) write_json(&network, pw_astra_collective_names[kind], rows, count, file);
    else if (pw_arguments_has(arguments, "csv")) write_csv(rows, count, file);
    else write_text(&network, pw_astra_collective_names[kind], rows, count, file);
    return pw_host_close(file, PW_OK, error);
}
