/* Blame: where the time of a run went, along its critical path.
 *
 * A sink that keeps spans and walks back from the last one along the causes. The home program is the one with the most
 * time on the path. Time on the path is: compute by kernel class and communication by parallelism while at home; launch;
 * optimiser; and the bubble: work of other programs that home had to wait for (pipeline fill and drain), with the
 * communication inside their layers (categories "tp", "cp", "ep", "sp"). Where the path runs through another program while
 * home is at work, it is home's work that counts. Optimiser, launches and other communication keep their names wherever
 * they happen. The parts add up to the length of the run (a law).
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
