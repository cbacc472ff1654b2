/* How sure a predicted step time is: an interval from what published steps of its class left unexplained, and from the
 * covariance of the kernel parameters.
 *
 * Classes are regimes in which errors are alike; step-intervals.csv of the catalogue holds, for each, the quantiles of
 * measured over predicted time over fit rows (`podwright calibrate intervals` writes it; whole families of rows weigh the same).
 */
#ifndef PW_MODELS_WORKLOAD_INTERVAL_H
#define PW_MODELS_WORKLOAD_INTERVAL_H

#include "models/gpu/uncertainty.h"
#include "models/program/program.h"

#define PW_INTERVAL_LEVEL 0.9      /* of steps that lie within */
#define PW_TABLE_INTERVALS "step-intervals"

/* X(NAME, name, text): in the order in which a step is tried; the last one takes all that is left. */
#define PW_STEP_CLASS_MAP(X)                                                                          \
    X(EXPERTS, "experts", "models with experts")                                                      \
    X(CONVNET, "convnet", "convolutional networks")                                                   \
    X(RECOMMENDER, "recommender", "recommenders with embedding tables")                               \
    X(PARTIAL, "partial", "part of the weights is trained: adapters, heads, frozen layers")           \
    X(ENCODER, "encoder", "encoders")                                                                 \
    X(OFFLOAD, "offload", "states or activations offloaded to the host")                              \
    X(SHARDED, "sharded", "parameters sharded over data-parallel ranks")                              \
    X(LAUNCH, "launch-bound", "the host's launches hold up a twentieth of the step or more")          \
    X(DENSE, "dense", "dense transformers, parameters whole on every data-parallel rank")
typedef enum pw_step_class {
#define PW_STEP_CLASS_ENUM(NAME, name, text) PW_STEP_##NAME,
    PW_STEP_CLASS_MAP(PW_STEP_CLASS_ENUM)
#undef PW_STEP_CLASS_ENUM
    PW_STEP_CLASS_COUNT
} pw_step_class;
extern const char *const pw_step_class_names[]; /* NULL-terminated */

typedef struct pw_interval {
    double low_s, high_s;   /* NaN: nothing is on file about the class */
    double level;
    const char *step_class;
    int64_t rows, families; /* of published steps behind it */
    double kernel_sd;       /* relative, of the computation, from the parameters' covariance */
} pw_interval;

/* Launches of every kernel of a job's program (loops and calls resolved), in the order of job->kernels; counts has
 * job->kernel_count entries and is added to, times the factor. */
void pw_job_count_kernels(const pw_job *job, uint32_t program, double factor, double *counts);

/* The interval of a step of step_s, of which compute_s is computation of the program given, at a clock ratio. */
pw_status pw_step_interval(const pw_catalogue *catalogue, const pw_device *device, const pw_job *job, uint32_t program,
                           double clock_ratio, pw_step_class step_class, double step_s, double compute_s, pw_arena *arena,
                           pw_interval *interval, pw_error *error);

#endif
