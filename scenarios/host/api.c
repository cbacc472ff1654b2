#include "scenarios/host/api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const pw_field scenario_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_scenario_desc, name), 0, 0, "", NULL, NULL,
     "Title of the report; without one, the name of the file."},
    {"cluster", PW_FIELD_POINTER, PW_UNIT_NONE, offsetof(pw_scenario_desc, cluster), 0, 0, NULL, NULL, &pw_cluster_kind,
     "The cluster that the job runs on."},
    {"job", PW_FIELD_POINTER, PW_UNIT_NONE, offsetof(pw_scenario_desc, job), 0, 0, "", NULL, &pw_train_kind,
     "What runs on the cluster; a scenario without a job can be described, not run."},
    {NULL}};

const pw_kind pw_scenario_kind = {"scenario", "A cluster and what runs on it: what a file returns.",
                                  sizeof(pw_scenario_desc), scenario_fields, NULL};

const pw_kind *const pw_api_kinds[] = {&pw_scenario_kind, &pw_cluster_kind, &pw_node_kind, &pw_network_kind,
                                       &pw_train_kind,    &pw_model_kind,   NULL};

const pw_kind *pw_api_kind(const char *name) {
    for (const pw_kind *const *kind = pw_api_kinds; *kind; kind++)
        if (strcmp((*kind)->name, name) == 0) return *kind;
    return NULL;
}

const char *pw_api_type_text(const pw_field *field, char *text, size_t size) {
    const char *unit = pw_unit_text(field->unit);
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
    default: snprintf(text, size, "o.%s", field->record->name);
    }
    return text;
}

const char *pw_api_preset_text(const pw_field *field, char *text, size_t size) {
    if (field->type == PW_FIELD_RECORD) snprintf(text, size, "its own defaults");
    else if (!field->preset) snprintf(text, size, "required");
    else snprintf(text, size, "%s", *field->preset ? field->preset : "none");
    return text;
}
