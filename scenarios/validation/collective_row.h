/* A measured collective as a group of GPUs on a cluster. */
#ifndef PW_SCENARIOS_VALIDATION_COLLECTIVE_ROW_H
#define PW_SCENARIOS_VALIDATION_COLLECTIVE_ROW_H

#include "models/collective/collective.h"
#include "scenarios/validation/validation.h"

/* One cluster for all rows that say the same of GPU, nodes, links and software. */
typedef struct collective_system collective_system;
typedef struct collective_systems {
    const pw_catalogue *catalogue;
    pw_arena *arena;
    pw_measured table; /* collective-systems.csv */
    collective_system *first;
} collective_systems;
pw_status collective_systems_read(const pw_validation_context *context, collective_systems *systems, pw_error *error);
/* Builds what the rows need. Not for several threads; looking up afterwards is. */
pw_status collective_systems_add(collective_systems *systems, const pw_measured *input, pw_error *error);
void collective_systems_free(collective_systems *systems);

typedef struct collective_row {
    const pw_collectives *collectives; /* NULL: the prediction says why the row cannot run */
    const pw_cluster *cluster;
    const pw_device *device;
    const uint32_t *gpus;              /* [shape.members] */
    pw_group_shape shape;
    pw_collective_kind kind;
    double bytes, measured_s;
} collective_row;
/* A cell that is no number is an error with its place. */
pw_status collective_row_of(const collective_systems *systems, const pw_measured *input, uint32_t r, collective_row *row,
                            pw_prediction *prediction, pw_error *error);
/* Seconds of the row's collective, alone on its idle cluster. */
pw_status collective_row_predict(const collective_row *row, double *seconds, pw_error *error);

#endif
