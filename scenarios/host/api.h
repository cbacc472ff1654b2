/* What a scenario is made of, and which kinds of the registry have a constructor in Lua.
 */
#ifndef PW_HOST_API_H
#define PW_HOST_API_H

#include "models/import/import.h"
#include "models/node/cluster.h"
#include "models/power/meter.h"
#include "scenarios/jobs/together.h"
#include "scenarios/report/alarms.h"
#include "sim/registry.h"

/* Functions of a scenario that are called while its job runs. */
typedef enum pw_scenario_hook { PW_HOOK_ALARM, PW_HOOK_COUNT } pw_scenario_hook;

/* What a file returns. A file that returns a cluster alone gives a scenario without a job. */
typedef struct pw_scenario_desc {
    const char *name;
    pw_cluster_desc *cluster;
    pw_one_of job; /* of one of pw_job_registry_kinds; record NULL: none */
    pw_list algorithms; /* of pw_one_of: pw_algorithm_desc */
    pw_list jobs;   /* of pw_one_of, of one of pw_job_list_kinds: side by side, instead of job */
    pw_list events; /* of pw_one_of, of one of pw_event_kinds */
    const pw_meter_desc *meter; /* NULL: none */
    pw_list alarms; /* of pw_one_of: pw_alarm_desc */
    pw_hooks on;    /* by pw_scenario_hook; functions of the scenario's script */
} pw_scenario_desc;
extern const pw_kind pw_scenario_kind;

/* The kinds that fields of root reach, each once, root first and each before what its fields hold: those with a constructor.
 * Ends with NULL; returns the count. A kind joins the API by being the type of a field. */
enum { PW_API_MOST = 128 };
size_t pw_api_kinds(const pw_kind *root, const pw_kind *kinds[PW_API_MOST]);
const pw_kind *pw_api_kind(const char *name); /* below scenario; NULL when there is none */

/* Kinds whose name stands for a row of the catalogue: o.model "gpt3-175b". */
typedef struct pw_preset_kind {
    const pw_kind *kind;
    const char *table; /* of the catalogue, for hints */
    pw_status (*load)(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error);
    /* Reads a file instead, when the name ends with ".json"; NULL: there is no such form. */
    pw_status (*import)(const pw_catalogue *catalogue, const char *path, void *desc, pw_arena *arena, pw_import_notes *notes,
                        pw_error *error);
} pw_preset_kind;
const pw_preset_kind *pw_api_presets(const pw_kind *kind); /* NULL: the kind has none */

/* "number, bytes/s", "one of fp16, bf16", "o.node": what a field takes, for help and pages. Returns text. */
const char *pw_api_type_text(const pw_field *field, char *text, size_t size);
/* Default in words: "required", "8", "none". Returns text. */
const char *pw_api_preset_text(const pw_field *field, char *text, size_t size);

#endif
