/* What a scenario is made of: the kinds of the registry that have a constructor in Lua.
 */
#ifndef PW_HOST_API_H
#define PW_HOST_API_H

#include "models/node/cluster.h"
#include "models/workload/train.h"
#include "sim/registry.h"

/* What a file returns. A file that returns a cluster alone gives a scenario without a job. */
typedef struct pw_scenario_desc {
    const char *name;
    pw_cluster_desc *cluster;
    pw_train_desc *job; /* NULL: none */
} pw_scenario_desc;
extern const pw_kind pw_scenario_kind;

extern const pw_kind *const pw_api_kinds[]; /* scenario, cluster, node, network, train, model; ends with NULL */
const pw_kind *pw_api_kind(const char *name); /* NULL when there is none */

/* "number, bytes/s", "one of fp16, bf16", "o.node": what a field takes, for help and pages. Returns text. */
const char *pw_api_type_text(const pw_field *field, char *text, size_t size);
/* Default in words: "required", "8", "none". Returns text. */
const char *pw_api_preset_text(const pw_field *field, char *text, size_t size);

#endif
