#include "scenarios/host/api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/collective/description.h"
#include "models/operations/load_trace.h"
#include "models/power/meter.h"
#include "models/workload/convnet/convnet.h"
#include "models/workload/recommender/recommender.h"
#include "models/workload/train.h"

static const pw_kind *const algorithm_kinds[] = {&pw_algorithm_kind, NULL};
static const pw_field algorithm_item = {"algorithm", PW_FIELD_ONE_OF, .kinds = algorithm_kinds, .text = "An algorithm."};
static const pw_field job_item = {"job", PW_FIELD_ONE_OF, .kinds = pw_job_list_kinds, .text = "A job, or o.job_on with its nodes."};
static const pw_field event_item = {"event", PW_FIELD_ONE_OF, .kinds = pw_event_kinds, .text = "A failure."};

static const pw_kind *const alarm_kinds[] = {&pw_alarm_kind, NULL};
static const pw_field alarm_item = {"alarm", PW_FIELD_ONE_OF, .kinds = alarm_kinds, .text = "An alarm."};
static const char *const hook_names[] = {"alarm", NULL}; /* in the order of pw_scenario_hook */

static const pw_field scenario_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_scenario_desc, name), 0, 0, "", NULL, NULL,
     "Title of the report; without one, the name of the file."},
    {"cluster", PW_FIELD_POINTER, PW_UNIT_NONE, offsetof(pw_scenario_desc, cluster), 0, 0, NULL, NULL, &pw_cluster_kind,
     "The cluster that the job runs on."},
    {"job", PW_FIELD_ONE_OF, PW_UNIT_NONE, offsetof(pw_scenario_desc, job), 0, 0, "", .kinds = pw_job_registry_kinds,
     .text = "What runs on the cluster; a scenario without a job can be described, not run."},
    {"algorithms", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(pw_scenario_desc, algorithms), 1, 1000, "", .item = &algorithm_item,
     .text = "Algorithms of one's own for `podwright collective --algorithm NAME`."},
    {"jobs", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(pw_scenario_desc, jobs), 1, 1000, "", .item = &job_item,
     .text = "Several jobs side by side, instead of job; each on nodes of its own."},
    {"events", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(pw_scenario_desc, events), 1, 10000, "", .item = &event_item,
     .text = "What fails while they run."},
    {"meter", PW_FIELD_POINTER, PW_UNIT_NONE, offsetof(pw_scenario_desc, meter), 0, 0, "", .record = &pw_meter_kind,
     .text = "The power meter of the site, for jobs that report power."},
    {"alarms", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(pw_scenario_desc, alarms), 1, 64, "", .item = &alarm_item,
     .text = "Thresholds that are watched while the job runs, for jobs that report clocks, watts or temperatures."},
    {"on", PW_FIELD_HOOKS, PW_UNIT_NONE, offsetof(pw_scenario_desc, on), 0, 0, "", .choices = hook_names,
     .text = "Functions that are called while the job runs: alarm = function(event, sim) ... end, at each alarm raised or cleared."},
    {NULL}};

static pw_status check_scenario(const void *description, const char *file, int line, pw_error *error) {
    const pw_scenario_desc *d = description;
    if (d->job.record && d->jobs.count)
        return pw_fail(error, PW_BAD_INPUT, file, line, "put it into the list", "scenario.job and scenario.jobs exclude each other");
    if (d->on.function[PW_HOOK_ALARM] && !d->alarms.count)
        return pw_fail(error, PW_BAD_INPUT, file, line, "add alarms = { o.alarm { ... } }", "scenario.on has a function for alarms, but there are none");
    if (d->events.count && !d->job.record && !d->jobs.count)
        return pw_fail(error, PW_BAD_INPUT, file, line, "add a job", "scenario.events change nothing: there is no job");
    return PW_OK;
}

const pw_kind pw_scenario_kind = {"scenario", "A cluster and what runs on it: what a file returns.",
                                  sizeof(pw_scenario_desc), scenario_fields, check_scenario};

static size_t collect(const pw_kind *kind, const pw_kind **kinds, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (kinds[i] == kind) return count;
    PW_CHECK(count + 1 < PW_API_MOST);
    kinds[count++] = kind;
    const pw_kind *inner;
    for (const pw_field *field = kind->fields; field->name; field++)
        for (size_t i = 0; (inner = pw_field_kind(field, i)); i++) count = collect(inner, kinds, count);
    return count;
}

size_t pw_api_kinds(const pw_kind *root, const pw_kind *kinds[PW_API_MOST]) {
    size_t count = collect(root, kinds, 0);
    kinds[count] = NULL;
    return count;
}

const pw_kind *pw_api_kind(const char *name) {
    const pw_kind *kinds[PW_API_MOST];
    pw_api_kinds(&pw_scenario_kind, kinds);
    for (const pw_kind **kind = kinds; *kind; kind++)
        if (strcmp((*kind)->name, name) == 0) return *kind;
    return NULL;
}

static pw_status load_model(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error) {
    return pw_model_preset(catalogue, name, desc, arena, error);
}

static pw_status import_model(const pw_catalogue *catalogue, const char *path, void *desc, pw_arena *arena,
                              pw_import_notes *notes, pw_error *error) {
    return pw_import_huggingface(catalogue, path, desc, arena, notes, error);
}

static pw_status load_image_model(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error) {
    return pw_image_model_preset(catalogue, name, desc, arena, error);
}

static pw_status load_recommender(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error) {
    return pw_recommender_preset(catalogue, name, desc, arena, error);
}

static const pw_preset_kind preset_kinds[] = {{&pw_model_kind, "models", load_model, import_model},
                                              {&pw_image_model_kind, "convnets", load_image_model, NULL},
                                              {&pw_recommender_model_kind, "recommenders", load_recommender, NULL},
                                              {&pw_load_phase_kind, "load-phases", pw_load_phase_preset, NULL},
                                              {&pw_grid_limits_kind, "grid-limits", pw_grid_limits_preset, NULL},
                                              {&pw_smoothing_kind, "power-smoothing", pw_smoothing_preset, NULL}};

const pw_preset_kind *pw_api_presets(const pw_kind *kind) {
    for (size_t i = 0; i < sizeof preset_kinds / sizeof *preset_kinds; i++)
        if (preset_kinds[i].kind == kind) return &preset_kinds[i];
    return NULL;
}

const char *pw_api_type_text(const pw_field *field, char *text, size_t size) {
    const char *unit = pw_unit_text(field->unit), *item_unit = field->item ? pw_unit_text(field->item->unit) : "";
    const pw_kind *kind;
    char inner[400];
    size_t used;
    switch (field->type) {
    case PW_FIELD_NUMBER: snprintf(text, size, *unit ? "quantity in %s" : "number%s", unit); break;
    case PW_FIELD_INTEGER: snprintf(text, size, *unit ? "whole number of %s" : "whole number%s", unit); break;
    case PW_FIELD_BOOL: snprintf(text, size, "true or false"); break;
    case PW_FIELD_TEXT: snprintf(text, size, "text"); break;
    case PW_FIELD_CHOICE:
        used = 0;
        text[0] = '\0';
        for (int i = 0; field->choices[i] && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", i ? ", " : "", field->choices[i]);
        break;
    case PW_FIELD_LIST:
        switch (field->item->type) {
        case PW_FIELD_NUMBER: snprintf(text, size, *item_unit ? "list of quantities in %s" : "list of numbers%s", item_unit); break;
        case PW_FIELD_INTEGER: snprintf(text, size, "list of whole numbers%s%s", *item_unit ? " of " : "", item_unit); break;
        case PW_FIELD_TEXT: snprintf(text, size, "list of texts"); break;
        default: snprintf(text, size, "list of %s", pw_api_type_text(field->item, inner, sizeof inner));
        }
        break;
    case PW_FIELD_HOOKS: snprintf(text, size, "table of functions"); break;
    default:
        used = 0;
        text[0] = '\0';
        for (size_t i = 0; (kind = pw_field_kind(field, i)) && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%so.%s", i ? ", " : "", kind->name);
    }
    return text;
}

const char *pw_api_preset_text(const pw_field *field, char *text, size_t size) {
    if (field->type == PW_FIELD_RECORD) snprintf(text, size, "its own defaults");
    else if (!field->preset) snprintf(text, size, "required");
    else snprintf(text, size, "%s", *field->preset ? field->preset : "none");
    return text;
}
