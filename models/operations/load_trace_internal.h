/* What the files of the load trace share. */
#ifndef PW_MODELS_OPERATIONS_LOAD_TRACE_INTERNAL_H
#define PW_MODELS_OPERATIONS_LOAD_TRACE_INTERNAL_H

#include "models/cooling/cooling.h"
#include "models/operations/load_trace.h"
#include "models/power/gpu_power.h"
#include "models/power/node_power.h"
#include "sim/event.h"

/* A distinct rate of work. */
typedef struct trace_load {
    pw_load_phase_desc phase;
    pw_gpu_load load;  /* of one second */
    double free_s;     /* its span at the highest clock */
    bool idle;
} trace_load;
enum { TRACE_IDLE = 0, TRACE_MOST_LOADS = 4096 };

typedef struct trace_jobs trace_jobs;

typedef struct trace {
    const pw_allocator *allocator;
    const pw_catalogue *catalogue;
    const pw_load_trace_desc *desc;
    const pw_load_trace_options *options;
    pw_load_trace_result *result;
    pw_arena *arena;           /* of the run: arrays, jobs */
    pw_sim *sim;
    pw_recorder *recorder;     /* NULL: nobody listens */
    const pw_device *device;
    pw_gpu_power *power;
    pw_gpu_limits limits;
    pw_cooling *cooling;
    pw_node_power *node_model; /* NULL: the server is not on file; then rest_W, and fans as models/cooling has them */
    double rest_W, memory_share;
    uint32_t nodes, gpus_per_node, gpus, racks, rack_nodes;
    trace_load *loads;
    uint32_t load_count;
    trace_jobs *jobs;

    /* per GPU */
    pw_gpu_die *die;
    float *settled_C, *clock, *speed; /* temperature at which it was settled; clock ratio; speed over that at the highest clock */
    double *watts;
    uint8_t *reason;
    /* per node */
    uint32_t *load;
    double *last_s, *node_W, *node_J, *node_before_J, *gpu_W, *fan_W, *rest, *loss_W;
    float *fan_share;          /* at which the node was summed */
    float *busy, *fast, *capped, *hot; /* of its GPUs: under load, sum of speeds, held by power, by heat */
    /* per rack and tick */
    double *rack_before_J;
    double site_W;
    pw_track *gpu_track, *node_track, *rack_track, site_track;
    pw_name names[10];
    pw_time last_tick;
    int hook;                  /* at the end of an instant in which watts changed */
    double site_before_J;
} trace;

/* load_trace.c: the number of an equal load, made where there is none. Before the run alone. */
pw_status trace_find_load(trace *t, const pw_load_phase_desc *phase, uint32_t *number, pw_error *error);
/* load_trace.c: from now on a node has this load. */
void trace_set(trace *t, uint32_t node, uint32_t load);
/* load_trace.c: after the last trace_set of an event. */
void trace_changed(trace *t);

/* load_trace_jobs.c: schedules everything that changes. */
pw_status trace_start_jobs(trace *t, pw_error *error);

#endif
