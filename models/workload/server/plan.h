/* A parameter server job with everything resolved: bytes, times, places. Internal to this folder. */
#ifndef PW_MODELS_SERVER_PLAN_H
#define PW_MODELS_SERVER_PLAN_H

#include "models/workload/server/server.h"
#include "sim/random.h"

typedef struct server_plan {
    const pw_parameter_server_desc *desc;
    uint32_t workers, servers;
    double push_bytes, pull_bytes;
    double compute_s;             /* of a step, mean */
    double apply_s;               /* of one push at every server; 0: no limit */
    uint32_t activation_layers;
    const pw_kernel *kernels;     /* of a step, when the GPU computes the layers */
    uint32_t kernel_count;
    bool as_segment;              /* the step is a segment of those; else a time */
    bool apart;                   /* every worker has a program of its own */
    double *drawn_s;              /* [workers]: compute times drawn so far; equal workers that share a program: by the first */
    const uint32_t *hosts;        /* [servers]: GPUs near whose memory they lie */
    const char *compute_source;
} server_plan;

/* gpu: of the nodes. */
pw_status server_plan_make(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_gpu *gpu,
                           const pw_parameter_server_desc *desc, const char *file, int line, pw_arena *arena, server_plan *plan,
                           pw_error *error);
bool server_is_slow(const server_plan *plan, uint32_t worker); /* the last ones are */
int64_t server_steps_of(const server_plan *plan, uint32_t worker);
/* Compute times of a worker, one after the other. */
pw_random server_stream(uint64_t seed, uint32_t worker);
double server_draw_s(const server_plan *plan, uint32_t worker, pw_random *random);

/* --- Lowering ------------------------------------------------------------------------------------------------------ */

enum { STREAM_COMPUTE, STREAM_PULL, STREAM_PUSH, STREAM_MEET, SERVER_STREAMS };
enum { SLOT_PULLED, SLOT_COMPUTED, SLOT_PUSHED, SLOT_MET }; /* the last and further ones: one per step of the bound, and one */
enum { CATEGORY_COMPUTE, CATEGORY_PULL, CATEGORY_PUSH, CATEGORY_MEET, CATEGORY_START, CATEGORY_REDUCE };

/* What the workers of a backup job know in common, and the state of each (backup.c). */
typedef struct server_backup server_backup;
server_backup *server_backup_create(const server_plan *plan, uint64_t seed, pw_arena *arena); /* NULL: no memory */
bool server_backup_next(void *object, uint32_t rank, pw_time now, pw_op *op); /* a pw_source_fn */
pw_time server_backup_end(const server_backup *backup);  /* when the last step was complete */
double server_backup_dropped(const server_backup *backup); /* share of pushes */

/* The job, all arrays in arena; draws of compute times come from the seed. backup: of that mode, else NULL. */
pw_status server_lower(const server_plan *plan, uint64_t seed, server_backup *backup, pw_arena *arena, pw_job **job,
                       pw_error *error);
pw_op server_compute_op(const server_plan *plan, uint32_t worker, pw_random *random);
pw_op server_io_op(const server_plan *plan, bool push);

/* --- Staleness ----------------------------------------------------------------------------------------------------- */

typedef struct staleness_log staleness_log;
staleness_log *staleness_log_create(const pw_allocator *allocator, const server_plan *plan);
void staleness_log_destroy(staleness_log *log);
pw_sink staleness_log_sink(staleness_log *log);
/* From the first instant at which every worker has pushed to the last at which all still run. PW_BAD_INPUT: no such time. */
pw_status staleness_log_result(staleness_log *log, pw_arena *arena, pw_staleness *staleness, double *updates_per_s,
                               pw_error *error);

#endif
