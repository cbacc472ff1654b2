/* What programs use, found by reading their templates once, without walking loops. Internal to this folder. */
#ifndef PW_MODELS_PROGRAM_USAGE_H
#define PW_MODELS_PROGRAM_USAGE_H

#include "models/program/program.h"

/* Values above half of PW_ARGUMENT stand for the enclosing call's argument plus or minus a little. */
static inline bool pw_is_argument(int64_t value) { return value > PW_ARGUMENT / 2; }

/* Frames a walk of the template needs. */
uint32_t pw_template_depth(const pw_job *job, uint32_t template_index);

typedef struct pw_collective_use {
    uint16_t role;
    pw_collective_kind kind;
    int algorithm;
    double bytes;
} pw_collective_use;
typedef struct pw_message_use {
    uint16_t role;
    bool send;
    double bytes;
} pw_message_use;
enum { PW_STORE_READ = 1, PW_STORE_WRITE = 2 };
/* Of one program; both lists sorted, without repetition. */
typedef struct pw_usage {
    const pw_collective_use *collectives;
    uint32_t collective_count;
    const pw_message_use *messages;
    uint32_t message_count;
    bool copies[2]; /* [to_host] */
    const uint8_t *stores; /* [job->store_count]: PW_STORE_READ, PW_STORE_WRITE, both, or 0 */
    const bool *quorums;   /* [job->group_role_count] */
} pw_usage;

/* Usage of every program of a checked job; a source's is empty, or all stores and quorums when it emits only io. Lists live in the arena. */
pw_status pw_usage_scan(pw_arena *arena, const pw_allocator *allocator, const pw_job *job, pw_usage **usage,
                        pw_error *error);

/* One operation of a source, for a rank. */
pw_status pw_op_check(const pw_job *job, uint32_t rank, const pw_op *op, pw_error *error);

#endif
