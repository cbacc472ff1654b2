/* What the GPUs of each class of ranks do in a run, counted for whoever turns work into watts: operations and bytes of
 * segments, bytes of transfers, time at work. Counting changes no time of the run, and costs nothing where nobody asks.
 *
 * A power limit acts on an average over about a tenth of a second. Computation with pauses far shorter than that looks like
 * less power all the time; a long pause (a bubble, an exposed transfer) is forgotten soon after computation goes on. An
 * exponential average of the time constant tau has forgotten all but tau (1 - exp(-g / tau)) of a pause of length g, so
 * active_s is the time of computation and that much of every pause between two computations.
 */
#ifndef PW_MODELS_PROGRAM_EFFORT_H
#define PW_MODELS_PROGRAM_EFFORT_H

#include "models/gpu/work.h"

typedef struct pw_effort_config {
    double average_s;  /* tau, at least 0; 0: no pause counts */
    uint32_t bins;     /* most bins of time in which work is kept, per class; 0: none */
    double bin_s;      /* their width to begin with; doubled, neighbours joined, when the run outgrows them */
} pw_effort_config;

/* Of one GPU of a class, all repetitions together. */
typedef struct pw_effort {
    pw_gpu_work work;  /* busy_s: a segment, a collective or a message was resident, waiting for partners too */
    double compute_s;  /* segments ran */
    double active_s;   /* see above; what is before the first computation and behind the last is one pause */
    double span_s;     /* from the start of the run to its end */
} pw_effort;

#endif
