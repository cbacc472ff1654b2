#include "sim/time.h"

#include <math.h>

/* seconds carries a relative error of up to 2^-53 from being written in binary and the product another; within that
 * distance of a whole tick it is that tick. */
#define RELATIVE_ERROR 0x1p-52

pw_time pw_time_from_seconds(double seconds, double ticks_per_second) {
    double ticks = seconds * ticks_per_second;
    if (!(ticks > 0)) return 0;
    if (ticks >= 0x1p63) return PW_TIME_MAX;
    double below = (double)(int64_t)ticks; /* whole ticks; a call of floor would cost more than all the rest */
    if (ticks - below > ticks * RELATIVE_ERROR) below += 1;
    return below >= 0x1p63 ? PW_TIME_MAX : (pw_time)below;
}

double pw_time_to_seconds(pw_time time, double ticks_per_second) {
    return time == PW_TIME_MAX ? (double)INFINITY : (double)time / ticks_per_second;
}

pw_time pw_time_add(pw_time a, pw_time b) {
    pw_time sum;
    if (a == PW_TIME_MAX || b == PW_TIME_MAX) return PW_TIME_MAX;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b > 0 ? PW_TIME_MAX : INT64_MIN;
}
