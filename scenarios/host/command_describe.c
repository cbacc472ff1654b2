#include <stdio.h>
#include <string.h>

#include "scenarios/drawing/drawing.h"
#include "scenarios/host/commands.h"
#include "scenarios/report/report.h"

static const pw_option options[] = {PW_CLUSTER_OPTIONS,
                                    PW_SCENARIO_OPTIONS,
                                    {0, "json", NULL, false, "as JSON, schema podwright.describe/1"},
                                    {0, "svg", "FILE", false, "draw the cluster as an SVG picture as well: network, inside of a node"},
                                    {'o', "output", "FILE", false, "write to FILE, whole or not at all"},
                                    PW_HELP_OPTION,
                                    {0}};

enum { LONGEST = 256 };

typedef struct listing {
    const pw_scenario *scenario;
    pw_arena *arena;
    pw_described_field *fields;
    size_t count, capacity;
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

static pw_status add(listing *out, const pw_kind *kind, const pw_field *field, const void *desc, const char *path,
                     const char *parent, pw_error *error) {
    char origin[LONGEST + 64];
    if (out->count == out->capacity) { /* the old array stays in the arena */
        size_t grown = out->capacity ? 2 * out->capacity : 128;
        pw_described_field *fields = pw_arena_alloc(out->arena, grown * sizeof *fields);
        if (!fields) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        if (out->count) memcpy(fields, out->fields, out->count * sizeof *fields);
        out->fields = fields;
        out->capacity = grown;
    }
    origin_text(out->scenario, path, parent, origin, sizeof origin);
    out->fields[out->count] = (pw_described_field){pw_arena_text(out->arena, path), kind, field, desc,
                                                   pw_arena_text(out->arena, origin)};
    if (!out->fields[out->count].path || !out->fields[out->count].origin)
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    out->count++;
    return PW_OK;
}

static pw_status list(listing *out, const pw_kind *kind, const void *desc, const char *parent, pw_error *error);

/* A record has a line per field, a list of records goes through its items, all else is one line. */
static pw_status list_field(listing *out, const pw_kind *kind, const pw_field *field, const void *desc, const char *path,
                            const char *parent, pw_error *error) {
    const pw_kind *inner_kind;
    const void *inner = pw_field_record(field, desc, &inner_kind);
    if (inner) return list(out, inner_kind, inner, path, error);
    pw_list items = pw_field_list(field, desc);
    if (items.count == 0 || field->item->type != PW_FIELD_ONE_OF) return add(out, kind, field, desc, path, parent, error);
    for (uint32_t i = 0; i < items.count; i++) {
        char below[LONGEST], name[PW_ITEM_NAME];
        pw_field item = pw_field_item(field, i, name);
        snprintf(below, sizeof below, "%.200s[%u]", path, (unsigned)i + 1);
        inner = pw_field_record(&item, pw_list_at(field, items, i), &inner_kind); /* there is one: the checks passed */
        PW_TRY(list(out, inner_kind, inner, below, error));
    }
    return PW_OK;
}

static pw_status list(listing *out, const pw_kind *kind, const void *desc, const char *parent, pw_error *error) {
    for (const pw_field *field = kind->fields; field->name; field++) {
        char path[LONGEST];
        snprintf(path, sizeof path, "%s%s%s", parent, *parent ? "." : "", field->name);
        PW_TRY(list_field(out, kind, field, desc, path, parent, error));
    }
    return PW_OK;
}

static pw_status draw(pw_host *host, const pw_arguments *arguments, const pw_scenario *scenario, const pw_cluster *cluster,
                      pw_arena *arena, pw_error *error) {
    const char *path = pw_arguments_value(arguments, "svg", NULL);
    char subtitle[256];
    pw_file *file;
    pw_cluster_facts facts = pw_cluster_get_facts(cluster);
    snprintf(subtitle, sizeof subtitle, "%u node%s, %u GPUs %.80s%s", facts.nodes, facts.nodes == 1 ? "" : "s", facts.gpus, facts.gpu,
             pw_cluster_parts(cluster) > 1 ? " and others" : "");
    PW_TRY(pw_host_open(host, path, &file, error));
    return pw_host_close(file, pw_draw_cluster(cluster, scenario->title, subtitle, arena, file, error), error);
}

static pw_status describe(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                          pw_error *error) {
    pw_scenario scenario;
    PW_TRY(pw_command_load_cluster(host, arguments, arguments->operand_count ? arguments->operands[0] : NULL, catalogue, arena, &scenario,
                                   error));
    listing fields = {.scenario = &scenario, .arena = arena};
    PW_TRY(list(&fields, &pw_scenario_kind, &scenario.desc, "", error));
    pw_cluster *cluster;
    pw_status status = pw_cluster_create(host->allocator, catalogue, scenario.desc.cluster, &cluster, error);
    if (status != PW_OK) {
        pw_command_place(&scenario, error);
        return status;
    }
    const pw_one_of *job = &scenario.desc.job;
    const pw_job_kind *job_kind = job->record ? pw_job_kind_of(job->kind) : NULL;
    pw_run_result facts = {.arena = arena};
    if (job_kind && job_kind->describe) job_kind->describe(job->record, &facts);
    for (size_t i = 0; i < scenario.notes.count; i++) pw_result_note(&facts, "%s", scenario.notes.items[i]);
    pw_describe_report report = {.title = scenario.title,
                                 .version = PODWRIGHT_VERSION,
                                 .catalogue = catalogue,
                                 .cluster = cluster,
                                 .cluster_desc = scenario.desc.cluster,
                                 .job = job_kind ? &facts : NULL,
                                 .fields = fields.fields,
                                 .field_count = fields.count};
    pw_file *file;
    status = pw_result_finish(&facts, error);
    if (status == PW_OK) status = pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error);
    if (status == PW_OK) {
        if (pw_arguments_has(arguments, "json")) pw_report_describe_json(&report, file);
        else pw_report_describe_text(&report, file);
        status = pw_host_close(file, PW_OK, error);
    }
    if (status == PW_OK && pw_arguments_has(arguments, "svg")) status = draw(host, arguments, &scenario, cluster, arena, error);
    pw_cluster_destroy(cluster);
    return status;
}

static int run(pw_host *host, const pw_arguments *arguments) {
    return pw_command_with_catalogue(host, arguments, describe);
}

const pw_command pw_command_describe = {
    "describe", "[FILE]", "shows the cluster of a scenario, and every field with its value and where that comes from",
    "Nothing is simulated. FILE is a Lua scenario or a file that returns a cluster; \"-\" is standard input. Without FILE the options "
    "describe the cluster.\n"
    "  podwright describe --server \"DGX H100\" --nodes 64\n"
    "  podwright describe pod.lua --svg pod.svg\n", options, 0, 1,
    run};
