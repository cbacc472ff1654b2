/* Blame: where the time of a run went, seen from home.
 *
 * A sink that keeps spans. Home is the program (in it the rank class) that computes longest on the critical path; of
 * equals the one that ends the run, then the first. Home's timeline is accounted from beginning to end:
 *
 *   home computes          kernel classes ("gemm", "norm", ...); "optimizer"
 *   home waits, because of
 *     a transfer of home   "tp communication", "dp communication", ..., for the time in which it ran and home did not
 *                          compute: overlapped communication is never blamed
 *     its launches, host   "launch", "host"
 *     another program      "bubble": its computation, its launches and the communication inside its layers (class
 *                          PW_BLAME_LAYER_COMMUNICATION); its optimizer and its other communication keep their names
 *   home is done           the same, until the run ends
 *
 * A message there and back that home waits for while it works on is blamed for what it adds to the wait (blame.c). So a
 * pipeline of equal stages reports its work, the bubble (p - 1)(f + b), and its hops, tick for tick. Parts are whole ticks
 * and add up to the length of the run (a law).
 */
#ifndef PW_MODELS_BLAME_H
#define PW_MODELS_BLAME_H

#include "models/program/program.h"
#include "sim/record.h"

typedef struct pw_blame pw_blame;
pw_status pw_blame_create(const pw_allocator *allocator, const pw_job *job, const pw_gpu *gpu, pw_recorder *recorder,
                          pw_blame **blame, pw_error *error); /* attaches itself to the recorder */
void pw_blame_destroy(pw_blame *blame);

typedef struct pw_blame_part {
    const char *name; /* "gemm", "tp communication", "bubble", "launch", "optimizer", ... */
    double seconds;
    double share; /* of the total, 0..1 */
} pw_blame_part;
/* After the run. Parts in falling order of time, without zero parts. total_s: length of the run. Arrays live as long
 * as the blame. */
pw_status pw_blame_result(pw_blame *blame, const pw_blame_part **parts, uint32_t *count, double *total_s,
                          const char **home_program, pw_error *error);

#endif
