/* The messages of one member and round, for algorithms that cannot name them: all messages, indexed. Internal to this folder. */
#ifndef PW_MODELS_PROGRAM_TOUCHING_H
#define PW_MODELS_PROGRAM_TOUCHING_H

#include "models/collective/collective.h"

typedef struct touching touching;
pw_status touching_create(const pw_allocator *allocator, const pw_algorithm *algorithm, pw_collective_kind kind,
                          const pw_group_shape *shape, touching **made, pw_error *error);
void touching_destroy(touching *t); /* NULL is fine */
/* Emits the messages that the member sends or receives in the round. Rounds of one member must be asked for in order. */
void touching_of(touching *t, uint32_t round, uint32_t member, pw_collective_step_fn *emit, void *object);

#endif
