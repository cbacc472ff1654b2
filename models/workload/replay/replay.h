/* Replay of a program on a cluster: a Chakra execution trace (one file per rank) or a GOAL schedule (one file), run as a job.
 *
 * Nodes keep their dependencies; computations keep their seconds (x time_scale), or take what their operations and bytes need
 * at the GPU's peaks; messages and collectives take what the cluster's network gives them. trace.h says what a node means.
 */
#ifndef PW_MODELS_REPLAY_H
#define PW_MODELS_REPLAY_H

#include "models/workload/session.h"

typedef enum pw_replay_format { PW_REPLAY_CHAKRA, PW_REPLAY_GOAL } pw_replay_format;

typedef struct pw_replay_desc {
    const char *name;
    const char *trace;   /* file; Chakra: with "%r" where the rank's number stands */
    int format;          /* pw_replay_format */
    int64_t ranks;       /* Chakra: number of files; GOAL: 0, the file says it */
    const char *groups;  /* Chakra: file of process groups; NULL: none but all ranks */
    double time_scale;   /* on the seconds of the trace */
    int precision;       /* pw_precision, for computations without seconds */
} pw_replay_desc;
extern const pw_kind pw_replay_kind;

typedef struct pw_replay_result {
    pw_session_result session;
    const pw_device *device;
    uint32_t ranks;
    double nodes, messages, collectives, message_bytes;
    const double *compute_s; /* [ranks] */
    double roofline_nodes;   /* computations whose time is not in the trace */
} pw_replay_result;

typedef struct pw_replay_options {
    uint64_t seed;
    const volatile int *interrupt;
    const pw_sink *sinks;
    uint32_t sink_count;
    bool messages; /* collectives message by message */
    bool plain; /* collectives in their uncalibrated form, for tests of laws */
    const pw_session_runner *runner; /* takes the place of the run; NULL: none */
} pw_replay_options;

/* Paths of desc are relative to the folder of `file` (where the job was written) and lie in it or below. Results live in
 * arena. A trace that would wait for ever is PW_DEADLOCK and names the nodes. */
pw_status pw_replay_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                        const pw_replay_desc *desc, const pw_replay_options *options, const char *file, int line,
                        pw_arena *arena, pw_replay_result *result, pw_error *error);

/* Whether this build reads the protobuf form of Chakra (.et). */
bool pw_replay_reads_protobuf(void);

#endif
