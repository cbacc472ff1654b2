/* An algorithm written by the user: a list of messages, each with the blocks that it carries. */
#ifndef PW_MODELS_COLLECTIVE_CUSTOM_H
#define PW_MODELS_COLLECTIVE_CUSTOM_H

#include "models/collective/collective.h"

#define PW_CUSTOM_MEMBERS 1024u /* at most */

typedef struct pw_custom_step {
    uint32_t round, from, to;
    uint32_t block, blocks; /* the first, and how many from there on, past the last to the first */
    uint32_t source;        /* of an all_to_all: whose buffer they lie in */
} pw_custom_step;

struct pw_custom_algorithm {
    const char *name;
    pw_collective_kind kind;
    uint32_t members;  /* groups of this size */
    uint32_t units;    /* blocks that S is cut into; a multiple of members where members own blocks */
    const pw_custom_step *steps;
    size_t count;      /* in order of round, the rounds numbered from 0 without gaps */
};

/* Numbers in range, rounds in order, and what the kind promises (contents.h). */
pw_status pw_custom_check(const pw_allocator *allocator, const pw_custom_algorithm *custom, pw_error *error);

#endif
