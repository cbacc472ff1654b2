/* Simulated time: 64-bit ticks.
 *
 * The tick is fixed per kind of simulation: 1 ps for steps and fabrics (range 106 days), 1 ns for facilities and
 * operations (292 years). Times add and compare exactly; a duration computed in seconds is rounded up to a tick, so
 * that nothing ends before its physics allows.
 */
#ifndef PW_SIM_TIME_H
#define PW_SIM_TIME_H

#include <stdint.h>

typedef int64_t pw_time;
#define PW_TIME_MAX INT64_MAX /* "never" */

#define PW_TICKS_PER_SECOND_STEP 1e12 /* steps and fabric: picoseconds */
#define PW_TICKS_PER_SECOND_OPERATIONS 1e9

/* Seconds to ticks, rounded up (an exact tick stays); negative and NaN give 0, too large gives PW_TIME_MAX. */
pw_time pw_time_from_seconds(double seconds, double ticks_per_second);

/* Ticks to seconds; PW_TIME_MAX gives infinity. */
double pw_time_to_seconds(pw_time time, double ticks_per_second);

/* a + b, saturating at PW_TIME_MAX. */
pw_time pw_time_add(pw_time a, pw_time b);

#endif
