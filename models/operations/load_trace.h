/* A load that changes over seconds to hours on thousands of GPUs, with clock, watts and temperature of each.
 *
 * A load is a rate of work (shares of the GPU's peaks). At every change, and when a die has become warmer or colder by `tolerance_K` since, the
 * power model settles the GPU's clock under its limits (models/power/gpu_power.h); until then its watts are constant, so that temperatures
 * (models/cooling/cooling.h) and energies are exact. State is kept in arrays, one per quantity; a GPU is touched when its load changes and
 * looked at once per `aggregate_s`, when nodes, racks and the site are summed.
 *
 * Law, asserted: energy of the site = energies of GPUs, fans, the rest of the nodes and losses of supplies, to 1e-9.
 *
 * Levels go to the sinks on tracks "site", "rack 3", "node 12" and "gpu 98" with the names of models/power/levels.h.
 */
#ifndef PW_MODELS_OPERATIONS_LOAD_TRACE_H
#define PW_MODELS_OPERATIONS_LOAD_TRACE_H

#include "models/catalogue/catalogue.h"
#include "models/node/cluster.h"
#include "models/power/meter_signal.h"
#include "sim/record.h"

/* A rate of work for a while. Shares of the device's figures at its reference clock. */
typedef struct pw_load_phase_desc {
    const char *name;        /* row of load-phases, or a name of one's own */
    double lasts_s;
    double tensor, vector;   /* of peak flop/s */
    int precision;           /* of tensor: pw_precision */
    double memory, link;     /* of bandwidths, one direction of the link */
    double busy;             /* share of the time in which a kernel is resident */
    double compute;          /* share of the time that goes with 1/clock; at most busy */
} pw_load_phase_desc;
extern const pw_kind pw_load_phase_kind; /* "load_phase" */
pw_status pw_load_phase_preset(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error);

/* Phases over and over on some nodes, all of whose GPUs change at once. */
typedef struct pw_load_desc {
    const char *name;
    pw_list phases;          /* of pw_one_of of pw_load_phase_kind */
    int64_t first_node, nodes; /* nodes 0: all from first_node on */
    double start_s, lasts_s; /* lasts NaN: to the end */
    double shift_s;          /* begins so far into its cycle */
} pw_load_desc;
extern const pw_kind pw_load_kind; /* "load" */

/* Jobs drawn at random: each takes free nodes for a while and runs one of the cycles; the next waits until there is room. */
typedef struct pw_random_jobs_desc {
    double nodes;            /* mean of a geometric number */
    double lasts_s;          /* mean, exponential */
    double share;            /* of nodes that are in use at most */
    pw_list mix;             /* of pw_one_of of pw_load_kind: their phases */
} pw_random_jobs_desc;
extern const pw_kind pw_random_jobs_kind; /* "random_jobs" */

typedef struct pw_load_trace_desc {
    const char *name;
    double lasts_s, aggregate_s;
    int64_t rack_nodes;
    pw_list loads;           /* of pw_one_of of pw_load_kind */
    const char *file;        /* CSV of changes; NULL or "": none */
    const pw_random_jobs_desc *random;
    double tolerance_K;
    bool dies;               /* dies differ */
} pw_load_trace_desc;
extern const pw_kind pw_load_trace_kind; /* "load_trace" */

typedef struct pw_load_trace_options {
    uint64_t seed;
    const volatile int *interrupt;
    const pw_sink *sinks;
    uint32_t sink_count;
    const char *file;        /* where the job was written */
    int line;
} pw_load_trace_options;

typedef struct pw_load_trace_result {
    const pw_device *device;
    uint32_t gpus, nodes, racks;
    pw_signal site;          /* watts at the wall, exact; the caller frees it */
    double gpu_J, fan_J, rest_J, loss_J, site_J;
    double mean_W, peak_W, least_W;      /* of the site, means of aggregate_s */
    double rack_peak_W;
    uint32_t rack_peak;
    double gpu_peak_W, hottest_C, hottest_memory_C;
    uint32_t hottest_gpu;
    double busy_gpu_s;       /* GPU seconds under load */
    double kept;             /* mean over them: speed over that at the highest clock */
    double capped_gpu_s, hot_gpu_s; /* below the highest clock by power, by heat */
    uint64_t changes, settles, jobs;
    const char *power_source, *node_source, *cooling_row; /* as long as the catalogue, the first copied into the arena; node_source: words */
    uint64_t hash;           /* of all watts of the site */
} pw_load_trace_result;

/* Everything of *result but the site's series is the arena's or the catalogue's. Messages about a field say load_trace.FIELD. */
pw_status pw_load_trace_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster, const pw_load_trace_desc *desc,
                            const pw_load_trace_options *options, pw_arena *arena, pw_load_trace_result *result, pw_error *error);

#endif
