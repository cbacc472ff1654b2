/* A measured training row as a cluster and a job; shared by the training suite and by the fits of clocks and stacks. */
#ifndef PW_SCENARIOS_VALIDATION_TRAINING_H
#define PW_SCENARIOS_VALIDATION_TRAINING_H

#include "models/workload/convnet/convnet.h"
#include "models/workload/recommender/recommender.h"
#include "models/workload/train.h"
#include "scenarios/validation/validation.h"

typedef struct pw_training_row {
    pw_cluster_desc cluster;
    pw_train_desc job;
    const pw_convnet_desc *convnet; /* the job instead, of a row of convolutional networks; else NULL */
    const pw_recommender_desc *recommender; /* likewise */
    const pw_device *device;
    const char *stack;
    const char *width; /* of the operands, in bits: "32", "16", "8" */
    pw_precision arithmetic; /* of the linear layers */
    int64_t gpus, gpus_per_node;
    double flops_per_gpu;    /* of the model, in a step */
    double measured; /* s */
    double pace;     /* of arithmetic at the clock that power gives; 0: on file (pw_run_options) */
} pw_training_row;

/* *runs false: prediction->why says why not. The context's suite must be prepared. */
pw_status pw_training_describe(const pw_validation_context *context, uint32_t row, pw_arena *arena, pw_training_row *out,
                               pw_prediction *prediction, bool *runs, pw_error *error);

typedef struct pw_training_answer {
    double step_s;
    const char *step_class; /* in static storage */
    double low_s, high_s;   /* NaN: no interval on file */
} pw_training_answer;
/* Runs the row's job, or takes the answer of an equal one that ran before in this validation (sources publish one run with
 * each of their releases). factor on the software's kernel and host time (1: none), clock ratio (0: the sustained clock on
 * file). */
pw_status pw_training_answer_of(const pw_validation_context *context, const pw_training_row *row, double factor,
                                double clock_ratio, pw_training_answer *answer, pw_error *error);
/* The step time alone, in seconds. */
pw_status pw_training_predict(const pw_validation_context *context, const pw_training_row *row, double factor,
                              double clock_ratio, double *step_s, pw_error *error);

#endif
