/* The closed loop of power in a run: what GPUs do -> watts -> clock under their limits -> time of kernels -> what they do.
 *
 * Steady mode finds the fixed point: a run at some clock counts what each GPU does (models/program/effort.h); the power model says
 * at which clock that load stays within the limits; the job runs again at that clock, until nothing changes. Work does not
 * hang on the clock and the time of kernels is known at every clock, so two or three runs are enough. Every kind of GPU (program,
 * class of dies) has a clock of its own; those that wait for others draw less and run faster.
 *
 * A cap acts on an average over about a tenth of a second (table power-controller), so the load that it sees is the
 * work over the time of computation and what the average sees of each pause; a long bubble is no rest.
 */
#ifndef PW_MODELS_WORKLOAD_POWER_LOOP_H
#define PW_MODELS_WORKLOAD_POWER_LOOP_H

#include "models/node/power_desc.h"
#include "models/power/gpu_power.h"
#include "models/workload/notes.h"
#include "models/workload/session.h"

/* GPUs that hold one clock. */
typedef struct pw_power_group {
    const char *program;
    uint32_t die_class, gpus;
    double clock_ratio;          /* mean over the run in dynamic mode */
    double temperature_C;
    pw_clock_reason reason;
    bool over_cap;
    pw_gpu_watts watts;          /* of one GPU, means over the run */
} pw_power_group;

typedef struct pw_power_result {
    double span_s;               /* of one repetition of the run, with the gap behind it */
    double energy_J;             /* of all GPUs over it */
    double mean_W, p95_W, peak_W; /* of one GPU, over GPUs and windows of sample_s; the mean: over all time */
    double sample_s;
    double clock_ratio, lowest_ratio; /* mean over GPUs; of the slowest */
    double pace;                 /* of arithmetic at a clock (training-pace) */
    double reference_Hz, cap_W, temperature_C, hottest_C; /* temperatures: mean over GPUs; of the hottest group */
    const char *cooling;         /* row of cooling-devices that they come from; NULL: as said */
    /* Nodes with all their parts, where the server's are on file (node_server NULL: not). At the wall; dc: behind the supplies. */
    const char *node_server;
    double node_mean_W, node_p95_W, node_dc_W, node_sample_s, wall_J;
    uint32_t by_reason[PW_CLOCK_REASON_COUNT]; /* GPUs */
    const pw_power_group *groups;
    uint32_t group_count, runs;
    const char *provenance;
    /* Watts of all GPUs together over time: [bin_count], each bin_s long. */
    const double *bins_W;
    uint32_t bin_count;
    double bin_s;
    const struct pw_power_events *events; /* power_events.h: what happened to supplies; NULL: nothing was said of them */
} pw_power_result;

typedef struct pw_power_loop pw_power_loop;
/* Resolves what the user said; sets the job's clock groups. desc NULL: the defaults. pace: of arithmetic at a clock, over that of the
 * kernels on file. seed: of the dies. Everything lies in arena. The catalogue, cluster and job outlive it. Errors: no parameters for the device; limits out of its range; an unknown profile. */
pw_status pw_power_loop_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster,
                               const pw_power_desc *desc, double pace, uint64_t seed, pw_arena *arena, pw_job *job,
                               pw_power_loop **loop, pw_error *error);
void pw_power_loop_destroy(pw_power_loop *loop); /* NULL is fine */
/* Runs the job until clocks hold, then, when somebody listens or it runs beside others, once more at those. */
pw_status pw_power_loop_run(pw_power_loop *loop, const pw_session_config *config, const pw_job *job, pw_arena *arena,
                            pw_session_result *result, pw_power_result *power, pw_error *error);
/* Call before the run when the next ones will be asked. */
void pw_power_loop_keep(pw_power_loop *loop);
/* After a run, for what happens to the supply of nodes (power_events.h): the job's clock groups, the clock that one holds, and where its
 * GPUs settle with the same load under a power cap (0: as said) or the power brake. watts: means while they compute. */
uint32_t pw_power_loop_groups(const pw_power_loop *loop);
double pw_power_loop_pace(const pw_power_loop *loop); /* what the executor gets is the clock times this */
double pw_power_loop_clock(const pw_power_loop *loop, uint32_t group);
pw_gpu_settled pw_power_loop_settle(const pw_power_loop *loop, uint32_t group, double cap_W, bool brake);
const pw_gpu_power *pw_power_loop_model(const pw_power_loop *loop);
void pw_power_loop_note(const pw_power_result *power, pw_notes *notes);

#endif
