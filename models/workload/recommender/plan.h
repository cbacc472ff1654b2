/* What the files of this folder share: a stack's row and a job with every size resolved. Internal. */
#ifndef PW_MODELS_RECOMMENDER_PLAN_H
#define PW_MODELS_RECOMMENDER_PLAN_H

#include "models/workload/recommender/recommender.h"

/* X(column): a number >= 0 of the table recommender-stacks. A pass is one read or write of a tensor. */
#define PW_RECOMMENDER_NUMBER_MAP(X)                                                       \
    X(cuda_graphs)                                   /* 1: launches cost no host time */   \
    X(relu_forward) X(relu_backward)                 /* passes over a layer's output */    \
    X(interaction_forward) X(interaction_backward)   /* passes over what it reads and writes */ \
    X(table)                                         /* bytes of a table's weight; 0: as the number format */ \
    X(update)                                        /* passes over a looked-up row and its gradient, after the backward pass */ \
    X(optimizer) X(optimizer_kernels)                /* bytes per parameter of the perceptrons; kernels per array */ \
    X(cast)                                          /* 16 bits: bytes per parameter of the perceptrons */ \
    X(gradient_wire)                                 /* bytes of a perceptron's gradient */ \
    X(launch_factor) X(reserve)

typedef struct pw_recommender_stack {
    const char *name, *text, *source;
#define PW_RECOMMENDER_NUMBER(column) double column;
    PW_RECOMMENDER_NUMBER_MAP(PW_RECOMMENDER_NUMBER)
#undef PW_RECOMMENDER_NUMBER
    double kernel_time_factor;
} pw_recommender_stack;
/* Reads the row `name`; NULL or "": the last row. PW_NOT_FOUND lists the names; file:line on a bad cell. */
pw_status pw_recommender_stack_read(const pw_catalogue *catalogue, const char *name, pw_recommender_stack *stack,
                                    const char *file, int line, pw_error *error);

typedef struct pw_recommender_plan {
    const pw_recommender_desc *desc;
    const pw_recommender_model_desc *model;
    pw_recommender_stack stack;
    pw_precision precision;
    double element_bytes, table_bytes;
    int64_t ranks, samples; /* samples of one rank */
    double tables;          /* on the fullest rank */
} pw_recommender_plan;
/* device NULL: neither precision nor capacity is checked. */
pw_status pw_recommender_plan_make(const pw_catalogue *catalogue, const pw_device *device, int64_t gpus,
                                   const pw_recommender_desc *desc, const char *file, int line, pw_recommender_plan *plan,
                                   pw_error *error);
void pw_recommender_account(const pw_recommender_plan *plan, const pw_device *device, pw_recommender_memory *account);
/* The job of a plan, without host launch time; all its arrays live in arena. PW_NO_MEMORY alone. */
pw_status pw_recommender_plan_lower(const pw_recommender_plan *plan, pw_arena *arena, pw_job **job, pw_error *error);

/* Width of what the top perceptron sees: the dense vector and every pair of vectors. */
int64_t pw_recommender_pairs(const pw_recommender_model_desc *model);

#endif
