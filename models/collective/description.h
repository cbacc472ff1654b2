/* A collective algorithm as a user writes it: a list of messages with the blocks that they carry.
 *
 *   o.algorithm { name = "neighbours", kind = "all_gather", ranks = 4, steps = { o.step { round = 0, from = 0, to = 1, block = 0 }, ... } }
 */
#ifndef PW_MODELS_COLLECTIVE_DESCRIPTION_H
#define PW_MODELS_COLLECTIVE_DESCRIPTION_H

#include "models/collective/custom.h"
#include "sim/registry.h"

typedef struct pw_step_desc {
    int64_t round, from, to;
    int64_t block, blocks; /* the first that it carries, and how many from there on */
    int64_t source;        /* of an all_to_all: whose buffer they lie in; -1: the sender's */
} pw_step_desc;
extern const pw_kind pw_step_kind; /* "step" in the registry */

typedef struct pw_algorithm_desc {
    const char *name;
    int kind;       /* pw_collective_kind */
    int64_t ranks;
    int64_t blocks; /* that S is cut into; 0: one for each rank */
    pw_list steps;  /* of pw_one_of: pw_step_desc */
} pw_algorithm_desc;
/* "algorithm" in the registry. Its check runs the proof of contents.h, so that what is wrong has the file and line. */
extern const pw_kind pw_algorithm_kind;

/* The same as a pw_custom_algorithm; all memory is the arena's. Numbers are within the ranges of the fields. */
pw_status pw_algorithm_from_desc(const pw_algorithm_desc *desc, pw_arena *arena, pw_custom_algorithm *custom, pw_error *error);

#endif
