/* Measured collectives as the fit takes them: a bench, a kind, a size, a time and a side. */
#ifndef PW_CALIBRATE_FIT_COLLECTIVE_POINTS_H
#define PW_CALIBRATE_FIT_COLLECTIVE_POINTS_H

#include "models/collective/bench.h"

typedef struct pw_collective_point {
    const pw_bench *bench;
    pw_collective_kind kind;
    double bytes, seconds;
    bool check; /* judges the fit, never shapes it */
} pw_collective_point;

typedef struct pw_collective_points {
    const pw_allocator *allocator;
    pw_benches *benches;
    pw_collective_point *points;
    size_t count, capacity;
} pw_collective_points;

/* Rows of collectives-measured.csv that have a side in split-collectives.csv (family, health, side) and a bench that can run. */
pw_status pw_collective_points_read(const pw_catalogue *catalogue, const char *data, const char *split, pw_collective_points *points,
                                    pw_error *error);
void pw_collective_points_free(pw_collective_points *points);

#endif
