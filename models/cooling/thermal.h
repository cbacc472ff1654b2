/* Thermal networks of resistances and heat capacities, advanced exactly.
 *
 * A network has nodes with a heat capacity (a die, its memory, a heat sink), conductances between nodes and to
 * boundaries (inlet air, coolant) whose temperature is given from outside. Heat enters the first `heated` nodes. Between two
 * events heats and boundary temperatures are constant, and then
 *
 *     C_i dT_i/dt = sum_j G_ij (T_j - T_i) + sum_b H_ib (B_b - T_i) + P_i + k_i (T_i - T0_i)
 *
 * is linear: with S = sqrt(C) it is a symmetric matrix, whose eigenvalues and vectors are found once per network. A step of any length
 * is then two small matrices (pw_thermal_make_step) for any number of equal parts, and free of error but rounding: there is no step
 * size to choose. k_i is a linearised feedback, such as leakage that grows with temperature; it may even exceed the conductance to
 * the outside (thermal runaway), which pw_thermal_steady reports.
 *
 * Everything is a plain value: no allocation, nothing to release. Units: K or degrees Celsius, W, J/K, W/K, s.
 * Eigenvectors by cyclic Jacobi rotations (Golub and Van Loan, Matrix Computations, section 8.5), exponentials by sim/math: same bits
 * everywhere, since temperatures become times of events.
 *
 *   pw_thermal_network desc = {.nodes = 2, .boundaries = 1, .heated = 1, .capacity_JpK = {60, 900}};
 *   desc.between_WpK[0][1] = 50; desc.outside_WpK[1][0] = 25;
 *   pw_thermal network; PW_TRY(pw_thermal_init(&network, &desc, error));
 *   pw_thermal_step second; pw_thermal_make_step(&network, 1, &second);
 *   pw_thermal_advance(&second, count, stride, temperatures, heats, outside, NULL);
 */
#ifndef PW_MODELS_COOLING_THERMAL_H
#define PW_MODELS_COOLING_THERMAL_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/status.h"

enum { PW_THERMAL_NODES = 8, PW_THERMAL_BOUNDARIES = 4, PW_THERMAL_INPUTS = PW_THERMAL_NODES + PW_THERMAL_BOUNDARIES };

typedef struct pw_thermal_network {
    int nodes, boundaries, heated;                                 /* heated: nodes 0 .. heated - 1 take heat */
    double capacity_JpK[PW_THERMAL_NODES];                         /* above 0 */
    double between_WpK[PW_THERMAL_NODES][PW_THERMAL_NODES];        /* read at [i][j] with i < j; at least 0 */
    double outside_WpK[PW_THERMAL_NODES][PW_THERMAL_BOUNDARIES];   /* at least 0 */
    double feedback_WpK[PW_THERMAL_NODES];                         /* k: extra heat of a node per K above its reference */
    double reference_C[PW_THERMAL_NODES];                          /* T0 */
} pw_thermal_network;

/* A decomposed network. rate_ps: decay rates of its modes, rising; below 0: it runs away. */
typedef struct pw_thermal {
    pw_thermal_network network;
    double rate_ps[PW_THERMAL_NODES];
    double from_mode[PW_THERMAL_NODES][PW_THERMAL_NODES]; /* temperature of node i per unit of mode m */
    double to_mode[PW_THERMAL_NODES][PW_THERMAL_NODES];   /* mode m per K of node i */
} pw_thermal;

/* Fails (PW_BAD_INPUT) when a capacity is not above 0, a conductance below 0 or not finite, or a count out of range. */
pw_status pw_thermal_init(pw_thermal *thermal, const pw_thermal_network *network, pw_error *error);

/* What one length of time does: temperatures after it and their means over it, each linear in the temperatures before, the heats and
 * the boundaries. About 1 us to make for three nodes, so keep it while steps are equal. */
typedef struct pw_thermal_step {
    int nodes, heated, boundaries;
    double length_s;
    double keep[PW_THERMAL_NODES][PW_THERMAL_NODES];
    double gain[PW_THERMAL_NODES][PW_THERMAL_INPUTS];      /* heats, then boundaries */
    double offset[PW_THERMAL_NODES];                       /* from the feedbacks' references */
    double mean_keep[PW_THERMAL_NODES][PW_THERMAL_NODES];
    double mean_gain[PW_THERMAL_NODES][PW_THERMAL_INPUTS];
    double mean_offset[PW_THERMAL_NODES];
} pw_thermal_step;
/* length_s at least 0 and finite. */
void pw_thermal_make_step(const pw_thermal *thermal, double length_s, pw_thermal_step *step);

/* Advances `count` parts. Arrays are one row per node (heated node, boundary): part i of row r is at [r * stride + i]; stride >= count.
 * heat_W: `heated` rows (NULL: none); outside_C: `boundaries` rows (NULL: none); mean_C: NULL or `nodes` rows, filled with means over the step. The
 * rows must not overlap. A few ns per part. */
void pw_thermal_advance(const pw_thermal_step *step, size_t count, size_t stride, double *temperature_C,
                        const double *heat_W, const double *outside_C, double *mean_C);

/* Where one part's temperatures go if heats and boundaries stay. PW_OUT_OF_RANGE: nowhere, the network runs away or has no way for
 * heat to leave; temperatures are then untouched. temperature_C: one per node. */
pw_status pw_thermal_steady(const pw_thermal *thermal, const double *heat_W, const double *outside_C, double *temperature_C,
                            pw_error *error);

/* When node `node` of a part next reaches level_C, with constant heats and boundaries, within horizon_s. Returns the time in
 * s from now, 0 when it is exactly there now, or infinity when it does not get there. The first crossing is found even where the
 * temperature rises and falls in between (a sum of n exponentials has fewer than n zeros; they are separated by those of its
 * derivatives). The time is that of the far side, so that a step to it ends at or beyond the level, but for the last bits of a
 * temperature. An infinite horizon is fine. Some microseconds. */
double pw_thermal_time_to(const pw_thermal *thermal, const double *temperature_C, const double *heat_W,
                          const double *outside_C, int node, double level_C, double horizon_s);

/* Heat that leaves through boundary b in a step of mean temperatures mean_C (one per node): sum_i H_ib (mean_i - B_b), in W. */
double pw_thermal_heat_out(const pw_thermal *thermal, const double *mean_C, const double *outside_C, int boundary);

#endif
