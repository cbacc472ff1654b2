/* The power of a cluster from the profile of one node's step: the step over and over on many nodes that wait for each other.
 *
 * Node n of a repetition runs the profile stretched by 1 + |z|, z normal with deviation `jitter`, from the barrier on; when it is done it
 * stays at the profile's last level until the slowest node is done: the next barrier. Levels of node n are those of the profile times
 * 1 + z', z' normal with deviation `spread`, the same in all repetitions. Draws come from the streams "meter jitter" and "meter spread". */
#ifndef PW_MODELS_POWER_METER_REPEAT_H
#define PW_MODELS_POWER_METER_REPEAT_H

#include "models/power/meter_signal.h"

typedef struct pw_repeat {
    uint32_t nodes, times; /* at least 1 */
    double jitter, spread; /* 0 to 0.5 */
    uint64_t seed;
} pw_repeat;
/* *sum is initialised here and freed by the caller. Law, asserted: energy of the sum = energies of the nodes, to 1e-9. */
pw_status pw_signal_repeat(const pw_signal *profile, const pw_repeat *repeat, pw_signal *sum, pw_error *error);

#endif
