/* Each repetition gathers the changes of all nodes, sorts them, and walks over them with a compensated sum (Neumaier), which begins
 * anew at every barrier, so that errors do not grow with the number of steps. */
#include "models/power/meter_repeat.h"

#include <math.h>
#include <stdlib.h>

#include "sim/random.h"

typedef struct change {
    double time_s, watts; /* added */
    uint32_t order;
} change;

static int by_time(const void *a, const void *b) {
    const change *x = a, *y = b;
    if (x->time_s != y->time_s) return x->time_s < y->time_s ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

typedef struct crowd {
    const pw_signal *profile;
    const pw_repeat *repeat;
    double *scale;
    change *changes;
    double begin_s, energy_J;
} crowd;

/* One step of all nodes; moves begin_s to the next barrier. */
static pw_status step(crowd *c, uint32_t number, pw_signal *sum, pw_error *error) {
    const pw_signal *p = c->profile;
    pw_random random = pw_random_stream(c->repeat->seed, "meter jitter", number);
    double base_W = 0, lost_W = 0, longest_s = 0, scales = 0, stretched = 0;
    size_t count = 0;
    for (uint32_t n = 0; n < c->repeat->nodes; n++) {
        double stretch = 1 + fabs(pw_random_normal(&random, 0, c->repeat->jitter));
        base_W += c->scale[n] * p->watts[0];
        for (size_t i = 1; i < p->count; i++, count++)
            c->changes[count] = (change){c->begin_s + stretch * p->from_s[i], c->scale[n] * (p->watts[i] - p->watts[i - 1]), (uint32_t)count};
        longest_s = fmax(longest_s, stretch * p->end_s);
        scales += c->scale[n];
        stretched += c->scale[n] * stretch;
    }
    c->energy_J += stretched * pw_signal_energy_J(p, 0, p->end_s) + p->watts[p->count - 1] * (longest_s * scales - p->end_s * stretched);
    qsort(c->changes, count, sizeof *c->changes, by_time);
    PW_TRY(pw_signal_put(sum, c->begin_s, base_W, error));
    for (size_t i = 0; i < count; i++) {
        double more_W = c->changes[i].watts, next_W = base_W + more_W;
        lost_W += fabs(base_W) >= fabs(more_W) ? base_W - next_W + more_W : more_W - next_W + base_W;
        base_W = next_W;
        PW_TRY(pw_signal_put(sum, c->changes[i].time_s, fmax(0, base_W + lost_W), error));
    }
    c->begin_s += longest_s;
    return PW_OK;
}

static pw_status repeat_all(crowd *c, pw_signal *sum, pw_error *error) {
    pw_random random = pw_random_stream(c->repeat->seed, "meter spread", 0);
    for (uint32_t n = 0; n < c->repeat->nodes; n++) c->scale[n] = fmax(0, 1 + pw_random_normal(&random, 0, c->repeat->spread));
    for (uint32_t i = 0; i < c->repeat->times; i++) PW_TRY(step(c, i, sum, error));
    PW_TRY(pw_signal_end(sum, c->begin_s, error));
    double energy_J = pw_signal_energy_J(sum, 0, sum->end_s);
    if (fabs(energy_J - c->energy_J) <= 1e-9 * c->energy_J) return PW_OK;
    return pw_fail(error, PW_LAW, NULL, 0, "this is an error in a model; please report it with the input",
                   "the energy of a cluster is that of its nodes: %.12g J of %.12g", energy_J, c->energy_J);
}

pw_status pw_signal_repeat(const pw_signal *profile, const pw_repeat *repeat, pw_signal *sum, pw_error *error) {
    PW_CHECK(repeat->nodes && repeat->times && profile->end_s > 0);
    const pw_allocator *allocator = profile->allocator;
    size_t changes = (size_t)repeat->nodes * profile->count;
    crowd c = {.profile = profile, .repeat = repeat, .scale = pw_alloc(allocator, repeat->nodes * sizeof *c.scale),
               .changes = pw_alloc(allocator, changes * sizeof *c.changes)};
    pw_signal_init(sum, allocator);
    pw_status status = c.scale && c.changes ? repeat_all(&c, sum, error) : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the power of a cluster");
    if (c.scale) pw_free(allocator, c.scale, repeat->nodes * sizeof *c.scale);
    if (c.changes) pw_free(allocator, c.changes, changes * sizeof *c.changes);
    if (status != PW_OK) pw_signal_free(sum);
    return status;
}
