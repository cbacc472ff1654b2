/* Training of recommenders with embedding tables (DLRM): description, memory account, lowering, and one call that runs it.
 *
 * Dense features pass a bottom multilayer perceptron; every categorical feature looks up a row of its table; all vectors are
 * multiplied pairwise (dot interaction) and pass a top perceptron. Tables are dealt out over the GPUs and hold the whole
 * batch's lookups of theirs; perceptrons are data parallel. So the looked-up vectors go to the GPUs of their samples in an
 * all_to_all forward, their gradients come back in one backward, and the perceptrons' gradients are reduced.
 * Source of the model: Naumov et al. 2019, DLRM (arXiv:1906.00091).
 */
#ifndef PW_MODELS_RECOMMENDER_H
#define PW_MODELS_RECOMMENDER_H

#include "models/node/cluster.h"
#include "models/program/blame.h"
#include "models/program/executor.h"
#include "models/workload/interval.h"
#include "models/workload/machine.h"

typedef struct pw_recommender_model_desc {
    const char *name;
    int64_t tables;         /* categorical features */
    double rows;            /* of all tables together */
    int64_t width;          /* of a row */
    int64_t lookups;        /* rows that a sample takes from each table; they are summed */
    int64_t dense;          /* dense features */
    pw_list bottom, top;    /* int64_t: widths of the perceptrons' layers; the bottom one ends with `width` */
} pw_recommender_model_desc;
extern const pw_kind pw_recommender_model_kind;
/* Reads the row `name` of the table recommenders; its lists lie in arena. PW_NOT_FOUND lists the names. */
pw_status pw_recommender_preset(const pw_catalogue *catalogue, const char *name, pw_recommender_model_desc *model,
                                pw_arena *arena, pw_error *error);
/* Weights and biases of both perceptrons, without tables. */
double pw_recommender_mlp_parameters(const pw_recommender_model_desc *model);
/* 2 x multiply-adds of perceptrons and interaction of one sample, three passes. */
double pw_recommender_training_flops(const pw_recommender_model_desc *model);

typedef struct pw_recommender_desc {
    const char *name;
    pw_recommender_model_desc *model;
    int64_t batch;          /* samples per step, over all GPUs */
    int precision;          /* pw_precision: fp32, tf32, fp16, bf16 */
    const char *stack;      /* row of the table recommender-stacks; NULL: the newest */
} pw_recommender_desc;
extern const pw_kind pw_recommender_kind;

typedef struct pw_recommender_memory { /* bytes on the fullest GPU */
    double embeddings, perceptrons, activations, reserve, total, capacity;
} pw_recommender_memory;

typedef struct pw_recommender_result {
    double step_s, samples_per_s, flops_per_gpu, parameters;
    const pw_device *device;
    int64_t gpus;
    double compute_s, communication_s, idle_s, launch_wait_s; /* means over ranks */
    pw_recommender_memory memory;
    pw_interval interval; /* of step_s */
    const pw_blame_part *parts;
    uint32_t part_count;
    const char *home_program;
    const char *const *notes;
    uint32_t note_count;
    pw_executor_totals totals;
    const pw_power_result *power; /* NULL: clocks did not come from power */
    uint64_t hash;
} pw_recommender_result;

/* Checks desc against the cluster and lowers it; all arrays of the job live in arena. */
pw_status pw_recommender_lower(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_recommender_desc *desc,
                               pw_arena *arena, const char *file, int line, pw_job **job, pw_error *error);
/* Everything in *result lives in arena. PW_DOES_NOT_FIT says the account and how many GPUs would hold the tables. */
pw_status pw_recommender_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                             const pw_recommender_desc *desc, const pw_run_options *options, const char *file,
                             int line, pw_arena *arena, pw_recommender_result *result, pw_error *error);

#endif
