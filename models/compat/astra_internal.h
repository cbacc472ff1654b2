/* Shared by the two modes. */
#ifndef PW_MODELS_COMPAT_ASTRA_INTERNAL_H
#define PW_MODELS_COMPAT_ASTRA_INTERNAL_H

#include "models/compat/astra.h"

/* One phase: a collective on the rings (or cliques, or switches) of one dimension. `bytes` is what a rank puts in, a chunk's share. */
typedef struct astra_phase {
    pw_astra_collective kind;
    pw_astra_algorithm algorithm;
    const pw_astra_dimension *dimension;
    double bytes;
} astra_phase;

/* A phase as it stands in the way of a chunk. */
typedef struct astra_stage {
    int dimension;
    int64_t ns;
} astra_stage;
/* Time until the last chunk has been through all stages. PW_UNSUPPORTED: it depends on an order that is not known here. */
pw_status astra_chunks(const astra_stage *stages, uint32_t count, const pw_astra_system *system, int64_t *ns, pw_error *error);

/* Checks what both modes ask of an algorithm, with its name in the message. */
pw_status astra_check(const astra_phase *phase, const pw_astra_system *system, pw_error *error);
pw_status astra_check_given(const pw_astra_system *system, pw_astra_collective kind, pw_error *error);
int64_t astra_reduction(const pw_astra_system *system, double bytes); /* ns: two reads and a write */
int astra_log2(int64_t n);

#endif
