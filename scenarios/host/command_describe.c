#include <stdio.h>
#include <string.h>

#include "scenarios/host/commands.h"
#include "scenarios/report/report.h"

static const pw_option options[] = {PW_SCENARIO_OPTIONS,
                                    {0, "json", NULL, false, "as JSON, schema podwright.describe/1"},
                                    {'o', "output", "FILE", false, "write to FILE, whole or not at all"},
                                    PW_HELP_OPTION,
                                    {0}};

enum { MOST_FIELDS = 512, LONGEST = 256 };

typedef struct listing {
    const pw_scenario *scenario;
    pw_arena *arena;
    pw_described_field *fields;
    size_t count;
} listing;

/* Where the value of a path comes from; a field of a preset inherits the preset's origin. */
static void origin_text(const pw_scenario *scenario, const char *path, const char *parent, char *text, size_t size) {
    const pw_origin *origin = pw_scenario_origin(scenario, path);
    if (!origin) {
        origin = pw_scenario_origin(scenario, parent);
        if (origin && origin->kind != PW_ORIGIN_PRESET) origin = NULL;
    }
    if (!origin) snprintf(text, size, "default");
    else if (origin->kind == PW_ORIGIN_OVERRIDE) snprintf(text, size, "--set");
    else if (origin->kind == PW_ORIGIN_PRESET) snprintf(text, size, "preset %s", origin->text);
    else if (strcmp(origin->file, scenario->file) == 0) snprintf(text, size, "line %d", origin->line);
    else snprintf(text, size, "%s:%d", origin->file, origin->line);
}

static pw_status list(listing *out, const pw_kind *kind, const void *desc, const char *parent, pw_error *error) {
    for (const pw_field *field = kind->fields; field->name; field++) {
        char path[LONGEST], origin[LONGEST + 64];
        snprintf(path, sizeof path, "%s%s%s", parent, *parent ? "." : "", field->name);
        const void *inner = NULL;
        if (field->type == PW_FIELD_RECORD) inner = (const char *)desc + field->offset;
        else if (field->type == PW_FIELD_POINTER) memcpy(&inner, (const char *)desc + field->offset, sizeof inner);
        if (inner) {
            PW_TRY(list(out, field->record, inner, path, error));
            continue;
        }
        if (out->count == MOST_FIELDS) return PW_OK;
        origin_text(out->scenario, path, parent, origin, sizeof origin);
        out->fields[out->count++] = (pw_described_field){pw_arena_text(out->arena, path), kind, field, desc,
                                                         pw_arena_text(out->arena, origin)};
        if (!out->fields[out->count - 1].path || !out->fields[out->count - 1].origin)
            return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    }
    return PW_OK;
}

static pw_status describe(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                          pw_error *error) {
    pw_scenario scenario;
    PW_TRY(pw_command_load(host, arguments, catalogue, arena, &scenario, error));
    listing fields = {&scenario, arena, pw_arena_alloc(arena, MOST_FIELDS * sizeof *fields.fields), 0};
    if (!fields.fields) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    PW_TRY(list(&fields, &pw_scenario_kind, &scenario.desc, "", error));
    pw_cluster *cluster;
    pw_status status = pw_cluster_create(host->allocator, catalogue, scenario.desc.cluster, &cluster, error);
    if (status != PW_OK) {
        pw_command_place(&scenario, error);
        return status;
    }
    pw_describe_report report = {.title = scenario.title,
                                 .version = PODWRIGHT_VERSION,
                                 .cluster = cluster,
                                 .cluster_desc = scenario.desc.cluster,
                                 .job = scenario.desc.job,
                                 .fields = fields.fields,
                                 .field_count = fields.count};
    pw_file *file;
    status = pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error);
    if (status == PW_OK) {
        if (pw_arguments_has(arguments, "json")) pw_report_describe_json(&report, file);
        else pw_report_describe_text(&report, file);
        status = pw_host_close(file, PW_OK, error);
    }
    pw_cluster_destroy(cluster);
    return status;
}

static int run(pw_host *host, const pw_arguments *arguments) {
    return pw_command_with_catalogue(host, arguments, describe);
}

const pw_command pw_command_describe = {
    "describe", "FILE", "shows the cluster of a scenario, and every field with its value and where that comes from",
    "Nothing is simulated. FILE is a Lua scenario or a file that returns a cluster; \"-\" is standard input.\n", options, 1, 1,
    run};
