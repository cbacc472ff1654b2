/* What run and describe share: the options that shape a scenario. */
#include <stdio.h>
#include <string.h>

#include "scenarios/host/commands.h"
#include "sim/text.h"

pw_status pw_command_seed(const pw_arguments *arguments, uint64_t *seed, pw_error *error) {
    const char *text = pw_arguments_value(arguments, "seed", "1"), *end;
    int64_t value;
    if (!pw_text_integer(text, &end, &value) || *end || value < 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --seed 7", "--seed takes a whole number from 0 on, not '%.100s'", text);
    *seed = (uint64_t)value;
    return PW_OK;
}

static pw_status read_limits(const pw_arguments *arguments, pw_script_limits *limits, pw_error *error) {
    const char *memory = pw_arguments_value(arguments, "script-memory", NULL), *end;
    const char *instructions = pw_arguments_value(arguments, "script-instructions", NULL);
    const char *seconds = pw_arguments_value(arguments, "script-seconds", NULL);
    *limits = (pw_script_limits){0};
    if (memory) {
        double bytes;
        bool has_unit;
        pw_unit unit;
        PW_TRY(pw_unit_parse(memory, PW_UNIT_BYTES, &bytes, &has_unit, &unit, error));
        if (!has_unit || unit != PW_UNIT_BYTES || !(bytes >= 1e6 && bytes <= 1e12))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --script-memory \"512 MB\"",
                           "--script-memory takes a size between 1 MB and 1 TB, not '%.100s'", memory);
        limits->memory_bytes = (size_t)bytes;
    }
    if (instructions) {
        int64_t count;
        if (!pw_text_integer(instructions, &end, &count) || *end || count < 1)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL,
                           "--script-instructions takes a whole number from 1 on, not '%.100s'", instructions);
        limits->instructions = (uint64_t)count;
    }
    if (seconds && (!pw_text_number(seconds, &end, &limits->seconds) || *end ||
                    !(limits->seconds >= 0.01 && limits->seconds <= 1e6)))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "--script-seconds takes a number between 0.01 and 1000000, not '%.100s'",
                       seconds);
    return PW_OK;
}

/* Options that stand for a field of the cluster. */
static const struct {
    const char *option, *field;
} cluster_options[] = {{"server", "cluster.node.server"}, {"nodes", "cluster.nodes"}, {"gpus-per-node", "cluster.node.gpus"}};
enum { CLUSTER_OPTIONS = sizeof cluster_options / sizeof *cluster_options };

static pw_status load(const pw_host *host, const pw_arguments *arguments, const char *file, bool has_cluster_options, bool keeps_hooks,
                      pw_catalogue *catalogue, pw_arena *arena, pw_scenario *scenario, pw_error *error) {
    pw_scenario_options options = {.allocator = host->allocator, .catalogue = catalogue, .interrupt = host->interrupt,
                                   .keeps_hooks = keeps_hooks};
    PW_TRY(pw_command_seed(arguments, &options.seed, error));
    PW_TRY(read_limits(arguments, &options.limits, error));
    const char **overrides = pw_arena_alloc(arena, ((size_t)arguments->option_count + CLUSTER_OPTIONS + 2) * sizeof *overrides);
    if (!overrides) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    for (int i = 0; has_cluster_options && i < CLUSTER_OPTIONS; i++) {
        const char *value = pw_arguments_value(arguments, cluster_options[i].option, NULL);
        char text[256];
        if (!value) continue;
        snprintf(text, sizeof text, "%s=%.200s", cluster_options[i].field, value);
        overrides[options.override_count] = pw_arena_text(arena, text);
        if (!overrides[options.override_count++]) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    }
    const char *choice = has_cluster_options ? pw_arguments_value(arguments, "algorithm", "") : "";
    if (strcmp(choice, "library") == 0) overrides[options.override_count++] = "cluster.communication.choice=library";
    if (strcmp(choice, "fastest") == 0) overrides[options.override_count++] = "cluster.communication.choice=fastest";
    int given = 0;
    for (const char *text; (text = pw_arguments_each(arguments, "set", given)); given++)
        overrides[options.override_count++] = text;
    options.overrides = overrides;
    return pw_scenario_load(file, &options, arena, scenario, error);
}

pw_status pw_command_load(const pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                          pw_scenario *scenario, pw_error *error) {
    return load(host, arguments, arguments->operands[0], false, false, catalogue, arena, scenario, error);
}

pw_status pw_command_load_with_hooks(const pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                                     pw_scenario *scenario, pw_error *error) {
    return load(host, arguments, arguments->operands[0], false, true, catalogue, arena, scenario, error);
}

pw_status pw_command_load_cluster(const pw_host *host, const pw_arguments *arguments, const char *file, pw_catalogue *catalogue,
                                  pw_arena *arena, pw_scenario *scenario, pw_error *error) {
    const char *server = pw_arguments_value(arguments, "server", NULL);
    if (!file && !server)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --server \"DGX H100\" --nodes 4, or the name of a scenario's file",
                       "%s needs a cluster", arguments->command->name);
    PW_TRY(load(host, arguments, file, true, false, catalogue, arena, scenario, error));
    if (!file) scenario->title = server;
    return PW_OK;
}

int pw_command_with_catalogue(pw_host *host, const pw_arguments *arguments, pw_command_body *body) {
    pw_error error = {0};
    pw_catalogue *catalogue;
    if (pw_catalogue_load(host->allocator, NULL, &catalogue, &error) != PW_OK) return pw_host_fail(host, &error);
    pw_arena *arena = pw_arena_create(host->allocator);
    pw_status status = arena ? body(host, arguments, catalogue, arena, &error)
                             : pw_fail(&error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    pw_arena_destroy(arena);
    pw_catalogue_destroy(catalogue);
    return status == PW_OK ? PW_EXIT_OK : pw_host_fail(host, &error);
}

/* A message that quotes the value of a text field speaks of that field. */
static void refine_by_value(const pw_scenario *scenario, const pw_kind *kind, const char *path, const void *desc,
                            pw_error *error) {
    for (const pw_field *field = kind->fields; field->name; field++) {
        const char *value;
        char quoted[160], below[128];
        if (field->type != PW_FIELD_TEXT) continue;
        memcpy(&value, (const char *)desc + field->offset, sizeof value);
        if (!value || !*value) continue;
        snprintf(quoted, sizeof quoted, "'%.150s'", value);
        snprintf(below, sizeof below, "%s.%s", path, field->name);
        const pw_origin *origin = strstr(error->what, quoted) ? pw_scenario_origin(scenario, below) : NULL;
        if (!origin || origin->kind == PW_ORIGIN_PRESET) continue;
        snprintf(error->file, sizeof error->file, "%s", origin->file);
        error->line = origin->line;
        return;
    }
}

/* The record and those that its fields hold, outermost first, but no items of lists: a message about one of those names it
 * by its index. True when the message got a place. */
static bool place_in(const pw_scenario *scenario, const pw_kind *kind, const char *path, const void *desc, pw_error *error) {
    char file[sizeof error->file], below[256];
    snprintf(file, sizeof file, "%s", error->file);
    int line = error->line;
    pw_scenario_refine(scenario, kind, path, error);
    if (strcmp(file, error->file) == 0 && line == error->line) refine_by_value(scenario, kind, path, desc, error);
    if (strcmp(file, error->file) != 0 || line != error->line) return true;
    for (const pw_field *field = kind->fields; field->name; field++) {
        const pw_kind *inner_kind;
        const void *inner = pw_field_record(field, desc, &inner_kind);
        snprintf(below, sizeof below, "%.180s.%s", path, field->name);
        if (inner && place_in(scenario, inner_kind, below, inner, error)) return true;
    }
    return false;
}

void pw_command_place_at(const pw_scenario *scenario, const pw_kind *kind, const char *path, const void *record, pw_error *error) {
    place_in(scenario, kind, path, record, error);
}

void pw_command_place(const pw_scenario *scenario, pw_error *error) {
    const pw_one_of *job = &scenario->desc.job;
    if (job->record && place_in(scenario, job->kind, "job", job->record, error)) return;
    if (place_in(scenario, &pw_cluster_kind, "cluster", scenario->desc.cluster, error)) return;
    if (error->file[0]) return;
    /* Every message about a job has the job's place; what is left without one came up while the cluster was built. */
    const pw_origin *origin = pw_scenario_origin(scenario, "cluster");
    bool has_place = origin && (error->status == PW_BAD_INPUT || error->status == PW_UNSUPPORTED || error->status == PW_NOT_FOUND);
    snprintf(error->file, sizeof error->file, "%s", has_place ? origin->file : scenario->file);
    if (has_place) error->line = origin->line;
}
