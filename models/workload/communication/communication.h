/* Jobs of communication alone: a collective issued over and over, and background traffic that never ends. Questions about a
 * fabric need no training job.
 */
#ifndef PW_MODELS_COMMUNICATION_H
#define PW_MODELS_COMMUNICATION_H

#include "models/traffic/traffic.h"
#include "models/workload/machine.h"

/* --- Collectives ------------------------------------------------------------------------------------------------- */

typedef enum pw_grouping { PW_GROUPING_CONSECUTIVE, PW_GROUPING_STRIDED } pw_grouping;

typedef struct pw_collective_job_desc {
    int operation;      /* pw_collective_kind */
    double bytes;       /* S, as collective.h counts it */
    int algorithm;      /* index into pw_algorithm_names: 0 is auto */
    int64_t group_size; /* ranks of each group; 0: one group of all */
    int grouping;       /* pw_grouping: members of a group lie side by side, or groups apart */
    int64_t repeats;
    double gap_s;       /* between the end of one and the start of the next */
} pw_collective_job_desc;
extern const pw_kind pw_collective_job_kind; /* "collective" in the registry */

typedef struct pw_collective_job_result {
    pw_session_result session;
    const pw_device *device;
    uint32_t gpus, groups, group_size;
    double time_s;                 /* of one operation, mean, without the gap */
    double algbw_Bps, busbw_Bps;   /* as nccl-tests defines them, of a group */
    const char *algorithm;         /* that ran */
    const char *provenance;
} pw_collective_job_result;

/* Every GPU of the cluster is a rank. Results live in arena. */
pw_status pw_collective_job_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                                const pw_collective_job_desc *desc, const pw_run_options *options, const char *file, int line,
                                pw_arena *arena, pw_collective_job_result *result, pw_error *error);

/* --- Background traffic ------------------------------------------------------------------------------------------- */

/* Flows that go on at a steady rate, or slower where the fabric leaves them less. */
typedef struct pw_background_desc {
    pw_pattern_desc pattern; /* who sends to whom; ends are GPUs */
    double load;             /* of each flow, as a share of a network port's payload rate; NaN: rate_Bps */
    double rate_Bps;         /* of each flow; NaN: load */
} pw_background_desc;
extern const pw_kind pw_background_kind; /* "background" */

typedef struct pw_background_result {
    pw_session_result session;
    const pw_device *device;
    uint32_t gpus, flows;
    double rate_Bps; /* that each flow offers */
} pw_background_result;

/* Runs until options->runner stops it; without one it is refused. */
pw_status pw_background_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                            const pw_background_desc *desc, const pw_run_options *options, const char *file, int line,
                            pw_arena *arena, pw_background_result *result, pw_error *error);

#endif
