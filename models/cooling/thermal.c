/* With S = diag(sqrt C), x = S T obeys dx/dt = -M x + S^-1 u, M = S^-1 A S^-1 symmetric, A the conductance matrix less feedback and u what
 * heats and boundaries bring. M = Q L Q' gives modes y = Q' S T that do not know of each other:
 *
 *     y(h) = e^-lh y(0) + h phi1(lh) (Q' S^-1 u),           phi1(x) = (1 - e^-x) / x
 *     mean of y over h = phi1(lh) y(0) + h phi2(lh) (Q' S^-1 u),  phi2(x) = (1 - phi1(x)) / x
 */
#include "models/cooling/thermal.h"

#include <math.h>
#include <string.h>

#include "sim/math.h"

enum { NODES = PW_THERMAL_NODES };

/* ---- decomposition ---- */

/* Cyclic Jacobi: rotates m to diagonal form, columns of q become eigenvectors. A sweep squares the size of what is off the diagonal;
 * five to eight suffice, the limit is never met. */
static void jacobi(int n, double m[NODES][NODES], double q[NODES][NODES]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) q[i][j] = i == j;
    for (int sweep = 0; sweep < 60; sweep++) {
        bool done = true;
        for (int a = 0; a < n; a++)
            for (int b = a + 1; b < n; b++) {
                if (fabs(m[a][b]) <= 1e-30 * (fabs(m[a][a]) + fabs(m[b][b])) || m[a][b] == 0) continue;
                done = false;
                double theta = (m[b][b] - m[a][a]) / (2 * m[a][b]);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c, move = t * m[a][b];
                m[a][a] -= move;
                m[b][b] += move;
                m[a][b] = m[b][a] = 0;
                for (int k = 0; k < n; k++) {
                    if (k != a && k != b) {
                        double ka = m[k][a], kb = m[k][b];
                        m[k][a] = m[a][k] = c * ka - s * kb;
                        m[k][b] = m[b][k] = s * ka + c * kb;
                    }
                    double qa = q[k][a], qb = q[k][b];
                    q[k][a] = c * qa - s * qb;
                    q[k][b] = s * qa + c * qb;
                }
            }
        if (done) return;
    }
}

static pw_status check_network(const pw_thermal_network *d, pw_error *error) {
    if (d->nodes < 1 || d->nodes > NODES || d->boundaries < 0 || d->boundaries > PW_THERMAL_BOUNDARIES || d->heated < 0 || d->heated > d->nodes)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a thermal network of %d nodes, %d boundaries and %d heated nodes; at most %d, %d and the nodes",
                       d->nodes, d->boundaries, d->heated, NODES, PW_THERMAL_BOUNDARIES);
    for (int i = 0; i < d->nodes; i++) {
        if (!(d->capacity_JpK[i] > 0) || !isfinite(d->capacity_JpK[i]))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "heat capacity of thermal node %d is %g J/K, must be above 0", i, d->capacity_JpK[i]);
        if (!isfinite(d->feedback_WpK[i]) || !isfinite(d->reference_C[i]))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "feedback of thermal node %d is not a number", i);
        for (int j = i + 1; j < d->nodes; j++)
            if (!(d->between_WpK[i][j] >= 0) || !isfinite(d->between_WpK[i][j]))
                return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "conductance between thermal nodes %d and %d is %g W/K, must be at least 0", i, j,
                               d->between_WpK[i][j]);
        for (int b = 0; b < d->boundaries; b++)
            if (!(d->outside_WpK[i][b] >= 0) || !isfinite(d->outside_WpK[i][b]))
                return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "conductance of thermal node %d to boundary %d is %g W/K, must be at least 0", i, b,
                               d->outside_WpK[i][b]);
    }
    return PW_OK;
}

pw_status pw_thermal_init(pw_thermal *thermal, const pw_thermal_network *network, pw_error *error) {
    double m[NODES][NODES] = {{0}}, q[NODES][NODES], root[NODES];
    int n = network->nodes, order[NODES];
    PW_TRY(check_network(network, error));
    memset(thermal, 0, sizeof *thermal);
    thermal->network = *network;
    for (int i = 0; i < n; i++) {
        root[i] = sqrt(network->capacity_JpK[i]);
        m[i][i] -= network->feedback_WpK[i];
        for (int b = 0; b < network->boundaries; b++) m[i][i] += network->outside_WpK[i][b];
        for (int j = i + 1; j < n; j++) {
            double g = network->between_WpK[i][j];
            m[i][i] += g;
            m[j][j] += g;
            m[i][j] = m[j][i] = -g;
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) m[i][j] /= root[i] * root[j];
    jacobi(n, m, q);
    for (int i = 0; i < n; i++) { /* modes in order of their rates */
        int at = i;
        for (; at > 0 && m[order[at - 1]][order[at - 1]] > m[i][i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    double fastest = fmax(fabs(m[order[0]][order[0]]), fabs(m[order[n - 1]][order[n - 1]]));
    for (int k = 0; k < n; k++) {
        double rate = m[order[k]][order[k]];
        thermal->rate_ps[k] = fabs(rate) <= 1e-15 * fastest ? 0 : rate;
        for (int i = 0; i < n; i++) {
            thermal->from_mode[i][k] = q[i][order[k]] / root[i];
            thermal->to_mode[k][i] = q[i][order[k]] * root[i];
        }
    }
    return PW_OK;
}

/* ---- steps ---- */

/* phi1 and phi2, by their series near 0, where the differences lose digits. */
static void phis(double x, double decay, double *phi1, double *phi2) {
    if (fabs(x) < 0.5) {
        double one = 1, two = 0.5, term1 = 1, term2 = 0.5;
        for (int k = 2; k < 18; k++) {
            term1 *= -x / k;
            term2 *= -x / (k + 1);
            one += term1;
            two += term2;
        }
        *phi1 = one;
        *phi2 = two;
    } else {
        *phi1 = (1 - decay) / x;
        *phi2 = (1 - *phi1) / x;
    }
}

void pw_thermal_make_step(const pw_thermal *thermal, double length_s, pw_thermal_step *step) {
    const pw_thermal_network *d = &thermal->network;
    int n = d->nodes;
    PW_CHECK(length_s >= 0 && isfinite(length_s));
    memset(step, 0, sizeof *step);
    step->nodes = n;
    step->heated = d->heated;
    step->boundaries = d->boundaries;
    step->length_s = length_s;
    double drive[NODES][NODES] = {{0}}, mean_drive[NODES][NODES] = {{0}}; /* K of node i per W into node j */
    for (int m = 0; m < n; m++) {
        double x = thermal->rate_ps[m] * length_s, decay = pw_exp(-x), phi1, phi2;
        phis(x, decay, &phi1, &phi2);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double path = thermal->from_mode[i][m] * thermal->to_mode[m][j];
                double push = path * length_s / d->capacity_JpK[j];
                step->keep[i][j] += decay * path;
                step->mean_keep[i][j] += phi1 * path;
                drive[i][j] += phi1 * push;
                mean_drive[i][j] += phi2 * push;
            }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (j < d->heated) {
                step->gain[i][j] = drive[i][j];
                step->mean_gain[i][j] = mean_drive[i][j];
            }
            for (int b = 0; b < d->boundaries; b++) {
                step->gain[i][d->heated + b] += drive[i][j] * d->outside_WpK[j][b];
                step->mean_gain[i][d->heated + b] += mean_drive[i][j] * d->outside_WpK[j][b];
            }
            step->offset[i] -= drive[i][j] * d->feedback_WpK[j] * d->reference_C[j];
            step->mean_offset[i] -= mean_drive[i][j] * d->feedback_WpK[j] * d->reference_C[j];
        }
}

enum { BLOCK = 64 }; /* parts at a time: the sums of a row stay in the first cache */

static inline void add_row(double *restrict sum, double factor, const double *restrict row, size_t count) {
    for (size_t i = 0; i < count; i++) sum[i] += factor * row[i];
}

static void apply(const pw_thermal_step *step, const double keep[][NODES], const double gain[][PW_THERMAL_INPUTS], const double *offset, size_t count,
                  size_t stride, const double *temperature, const double *heat, const double *outside, double sums[NODES][BLOCK]) {
    for (int i = 0; i < step->nodes; i++) {
        for (size_t p = 0; p < count; p++) sums[i][p] = offset[i];
        for (int j = 0; j < step->nodes; j++) add_row(sums[i], keep[i][j], temperature + (size_t)j * stride, count);
        for (int j = 0; j < step->heated; j++) add_row(sums[i], gain[i][j], heat + (size_t)j * stride, count);
        for (int b = 0; b < step->boundaries; b++) add_row(sums[i], gain[i][step->heated + b], outside + (size_t)b * stride, count);
    }
}

void pw_thermal_advance(const pw_thermal_step *step, size_t count, size_t stride, double *temperature_C, const double *heat_W,
                        const double *outside_C, double *mean_C) {
    double sums[NODES][BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t block = count - at < BLOCK ? count - at : BLOCK;
        const double *heats = heat_W ? heat_W + at : NULL, *outsides = outside_C ? outside_C + at : NULL; /* NULL: no rows */
        if (mean_C) {
            apply(step, step->mean_keep, step->mean_gain, step->mean_offset, block, stride, temperature_C + at, heats, outsides, sums);
            for (int i = 0; i < step->nodes; i++) memcpy(mean_C + (size_t)i * stride + at, sums[i], block * sizeof(double));
        }
        apply(step, step->keep, step->gain, step->offset, block, stride, temperature_C + at, heats, outsides, sums);
        for (int i = 0; i < step->nodes; i++) memcpy(temperature_C + (size_t)i * stride + at, sums[i], block * sizeof(double));
    }
}

/* ---- one part: where it goes, and when it gets there ---- */

/* Speeds of the modes without decay: Q' S^-1 u. */
static void push_of(const pw_thermal *thermal, const double *heat, const double *outside, double push[NODES]) {
    const pw_thermal_network *d = &thermal->network;
    for (int m = 0; m < d->nodes; m++) {
        push[m] = 0;
        for (int j = 0; j < d->nodes; j++) {
            double u = -d->feedback_WpK[j] * d->reference_C[j];
            if (j < d->heated) u += heat[j];
            for (int b = 0; b < d->boundaries; b++) u += d->outside_WpK[j][b] * outside[b];
            push[m] += thermal->to_mode[m][j] * u / d->capacity_JpK[j];
        }
    }
}

pw_status pw_thermal_steady(const pw_thermal *thermal, const double *heat_W, const double *outside_C, double *temperature_C, pw_error *error) {
    double push[NODES];
    int n = thermal->network.nodes;
    if (thermal->rate_ps[0] <= 0)
        return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, "more cooling, or less leakage per K",
                       thermal->rate_ps[0] < 0 ? "temperatures run away: heat grows faster with temperature than it leaves"
                                               : "temperatures rise without end: heat has no way out");
    push_of(thermal, heat_W, outside_C, push);
    for (int i = 0; i < n; i++) {
        temperature_C[i] = 0;
        for (int m = 0; m < n; m++) temperature_C[i] += thermal->from_mode[i][m] * push[m] / thermal->rate_ps[m];
    }
    return PW_OK;
}

/* f(t) = slope t + sum of factor[m] e^(-rate[m] t), rates rising; its sign is that of f e^(rate[0] t). */
typedef struct curve {
    int terms;
    double slope, rate[NODES + 1], factor[NODES + 1];
} curve;

static double value_of(const curve *f, double t) {
    double base = f->slope != 0 || f->terms == 0 ? 0 : f->rate[0], value = f->slope * t;
    for (int m = 0; m < f->terms; m++) value += f->factor[m] * pw_exp(-(f->rate[m] - base) * t);
    return value;
}

/* The zero between low and high, where the signs differ: Illinois steps, halving when they are slow. */
static double zero_between(const curve *f, double low, double high, double at_low, double at_high) {
    int side = 0;
    for (int i = 0; i < 200 && high - low > 4e-16 * high; i++) {
        double middle = i % 3 == 2 ? (low + high) / 2 : (low * at_high - high * at_low) / (at_high - at_low);
        if (!(middle > low && middle < high)) middle = (low + high) / 2;
        if (middle <= low || middle >= high) break;
        double at = value_of(f, middle);
        if (at == 0) return middle;
        if ((at > 0) == (at_low > 0)) {
            low = middle;
            at_low = at;
            if (side == -1) at_high /= 2;
            side = -1;
        } else {
            high = middle;
            at_high = at;
            if (side == 1) at_low /= 2;
            side = 1;
        }
    }
    return high;
}

/* All zeros in (0, horizon], rising; returns how many. Between zeros of (f e^(rate[0] t))', which has one term less, f crosses at most
 * once. at_zero: f(0), which the caller may know better than by the sum. */
static int zeros_of(const curve *f, double at_zero, double horizon, double *zeros) {
    double turns[NODES + 2];
    int turn_count = 0, count = 0;
    if (f->terms > 1 || (f->terms == 1 && f->slope != 0)) {
        curve g = {0};
        double base = f->slope != 0 ? 0 : f->rate[0];
        bool constant = false;
        if (f->slope != 0) { /* f' = slope - sum rate factor e^..: the slope is the term of rate 0 */
            g.factor[g.terms] = f->slope;
            g.rate[g.terms++] = 0;
        }
        for (int m = 0; m < f->terms; m++) {
            if (f->rate[m] == base && !constant) { /* dropped by the derivative */
                constant = true;
                continue;
            }
            double factor = f->factor[m] * (base - f->rate[m]);
            if (factor == 0) continue;
            int at = g.terms++;
            for (; at > 0 && g.rate[at - 1] > f->rate[m]; at--) {
                g.rate[at] = g.rate[at - 1];
                g.factor[at] = g.factor[at - 1];
            }
            g.rate[at] = f->rate[m];
            g.factor[at] = factor;
        }
        turn_count = zeros_of(&g, value_of(&g, 0), horizon, turns);
    }
    turns[turn_count++] = horizon;
    double low = 0, at_low = at_zero;
    for (int i = 0; i < turn_count; i++) {
        double high = turns[i], at_high = value_of(f, high);
        if (at_high == 0 && high > low) zeros[count++] = high;
        else if (at_low != 0 && (at_low > 0) != (at_high > 0)) zeros[count++] = zero_between(f, low, high, at_low, at_high);
        low = high;
        at_low = at_high;
    }
    return count;
}

double pw_thermal_time_to(const pw_thermal *thermal, const double *temperature_C, const double *heat_W, const double *outside_C, int node,
                          double level_C, double horizon_s) {
    int n = thermal->network.nodes;
    double push[NODES], zeros[NODES + 2];
    PW_CHECK(node >= 0 && node < n);
    if (temperature_C[node] == level_C) return 0;
    push_of(thermal, heat_W, outside_C, push);
    curve f = {0};
    double constant = 0;
    bool placed = false;
    for (int m = 0; m < n; m++) {
        double weight = thermal->from_mode[node][m], rate = thermal->rate_ps[m], mode = 0;
        for (int i = 0; i < n; i++) mode += thermal->to_mode[m][i] * temperature_C[i];
        if (rate == 0) {
            constant += weight * mode;
            f.slope += weight * push[m];
        } else constant += weight * push[m] / rate;
    }
    for (int m = 0; m < n; m++) {
        double weight = thermal->from_mode[node][m], rate = thermal->rate_ps[m], mode = 0;
        if (!placed && rate >= 0) { /* the constant is the term of rate 0 */
            f.factor[f.terms] = constant - level_C;
            f.rate[f.terms++] = 0;
            placed = true;
        }
        if (rate == 0) continue;
        for (int i = 0; i < n; i++) mode += thermal->to_mode[m][i] * temperature_C[i];
        double factor = weight * (mode - push[m] / rate);
        if (factor == 0) continue;
        f.factor[f.terms] = factor;
        f.rate[f.terms++] = rate;
    }
    if (!placed) {
        f.factor[f.terms] = constant - level_C;
        f.rate[f.terms++] = 0;
    }
    if (!isfinite(horizon_s)) horizon_s = thermal->rate_ps[0] > 0 ? 750 / thermal->rate_ps[0] : 1e18; /* e^-750 is 0 */
    return zeros_of(&f, temperature_C[node] - level_C, horizon_s, zeros) > 0 ? zeros[0] : INFINITY;
}

double pw_thermal_heat_out(const pw_thermal *thermal, const double *mean_C, const double *outside_C, int boundary) {
    double heat = 0;
    for (int i = 0; i < thermal->network.nodes; i++) heat += thermal->network.outside_WpK[i][boundary] * (mean_C[i] - outside_C[boundary]);
    return heat;
}
