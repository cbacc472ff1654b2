#include "models/power/meter_smoothing.h"

#include <math.h>
#include <stddef.h>

#include "sim/math.h"

enum { MOST_STRETCH = 10, MOST_INTERVALS = 1 << 26 };

#define AT(field) offsetof(pw_smoothing_desc, field)
static const pw_field smoothing_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "A row of the table power-smoothing, whose figures the other fields replace."},
    {"ramp_up", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(ramp_up_Wps), 0.01, 1e6, "", NULL, NULL, "Most that a GPU's power may rise in a second; left out: no limit."},
    {"ramp_down", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(ramp_down_Wps), 0.01, 1e6, "", NULL, NULL,
     "Most that a GPU's power may fall in a second (the rest is burned or stored); left out: no limit."},
    {"floor", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(floor_W), 0, 1e5, "", NULL, NULL, "Power of a GPU below which it burns what is missing; left out: none."},
    {"floor_hold", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(floor_hold_s), 0, 86400, "10 s", NULL, NULL,
     "How long the floor is held after the load was last above it."},
    {"storage", PW_FIELD_NUMBER, PW_UNIT_JOULES, AT(storage_J), 1e-3, 1e9, "", NULL, NULL, "Energy that a GPU's share of the store holds; left out: no store."},
    {"storage_power", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(storage_W), 0.01, 1e6, "", NULL, NULL,
     "Most that its share takes or gives; left out: no limit."},
    {"storage_efficiency", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(storage_efficiency), 0.01, 1, "", NULL, NULL,
     "Energy that comes back over energy that went in; needed with a store."},
    {"averaging", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(averaging_s), 1e-3, 3600, "1 s", NULL, NULL, "With a store, the grid follows the load averaged over so long."},
    {"interval", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(interval_s), 1e-4, 10, "10 ms", NULL, NULL, "How often the controller acts."},
    {NULL}};
#undef AT
static pw_status check_smoothing(const void *description, const char *file, int line, pw_error *error) {
    const pw_smoothing_desc *d = description;
    if (isnan(d->storage_J) && (!isnan(d->storage_W) || !isnan(d->storage_efficiency)))
        return pw_fail(error, PW_BAD_INPUT, file, line, "say the energy: storage = 65 * u.J", "smoothing.%s has no meaning without smoothing.storage",
                       isnan(d->storage_W) ? "storage_efficiency" : "storage_power");
    if (!isnan(d->storage_J) && isnan(d->storage_efficiency))
        return pw_fail(error, PW_BAD_INPUT, file, line, "storage_efficiency = 0.95, say", "smoothing.storage_efficiency is missing");
    if (isnan(d->storage_J) && isnan(d->floor_W) && isnan(d->ramp_up_Wps) && isnan(d->ramp_down_Wps))
        return pw_fail(error, PW_BAD_INPUT, file, line, "give ramp_up, ramp_down, floor or storage, or a row: o.smoothing \"gb300-psu\"",
                       "a smoothing that limits nothing changes nothing");
    return PW_OK;
}
const pw_kind pw_smoothing_kind = {"smoothing", "Smoothing of power before the grid sees it: ramp limits, a floor, storage; figures of one GPU.",
                                   sizeof(pw_smoothing_desc), smoothing_fields, check_smoothing};

pw_status pw_smoothing_preset(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error) {
    pw_smoothing_desc *d = desc;
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "power-smoothing", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, NULL, "no row of power-smoothing is called '%.100s'", name);
    const struct {
        const char *column;
        double *value;
        bool keep; /* the field's default where the cell is empty */
    } numbers[] = {{"ramp_up", &d->ramp_up_Wps, false}, {"ramp_down", &d->ramp_down_Wps, false}, {"floor", &d->floor_W, false},
                   {"floor_hold", &d->floor_hold_s, true}, {"storage", &d->storage_J, false}, {"storage_power", &d->storage_W, false},
                   {"storage_efficiency", &d->storage_efficiency, false}, {"averaging", &d->averaging_s, true}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double value = pw_table_number_of(table, (size_t)row, numbers[i].column);
        if (!isnan(value) || !numbers[i].keep) *numbers[i].value = value;
    }
    d->name = pw_arena_text(arena, name);
    return d->name ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
}

/* ---- The controller ---- */

typedef struct smoother {
    double dt, up_W, down_W;       /* per interval */
    double floor_W, hold_s, left_s; /* left: of the hold */
    double capacity_J, power_W, one_way; /* capacity 0: no store */
    double keep;                   /* of the average over an interval */
    double return_s;
    double grid_W, average_W, store_J, loss_W; /* loss: of the store in the last interval */
    pw_smoothing_result *result;
} smoother;

static smoother start(const pw_signal *load, const pw_smoothing_desc *d, double gpus, pw_smoothing_result *result) {
    smoother s = {.dt = d->interval_s, .up_W = isnan(d->ramp_up_Wps) ? INFINITY : d->ramp_up_Wps * gpus * d->interval_s,
                  .down_W = isnan(d->ramp_down_Wps) ? INFINITY : d->ramp_down_Wps * gpus * d->interval_s,
                  .floor_W = isnan(d->floor_W) ? 0 : d->floor_W * gpus, .hold_s = d->floor_hold_s,
                  .grid_W = load->watts[0], .average_W = load->watts[0], .result = result};
    if (!isnan(d->storage_J)) {
        s.capacity_J = d->storage_J * gpus;
        s.power_W = isnan(d->storage_W) ? INFINITY : d->storage_W * gpus;
        s.one_way = sqrt(d->storage_efficiency);
        s.store_J = s.capacity_J / 2;
        s.keep = pw_exp(-d->interval_s / d->averaging_s);
        s.return_s = d->averaging_s;
    }
    result->least_store = result->most_store = s.capacity_J > 0 ? 0.5 : NAN;
    return s;
}

static double clamp(double value, double least, double most) { return fmax(least, fmin(most, value)); }

/* One interval with a mean load of asked_W; returns what of it was served. */
static double act(smoother *s, double asked_W) {
    double wish_W = asked_W, least_W = s->grid_W - s->down_W, most_W = s->grid_W + s->up_W, served_W = asked_W, burned_W = 0;
    s->left_s = asked_W > s->floor_W ? s->hold_s : s->left_s - s->dt;
    bool floor = s->floor_W > 0 && s->left_s > 0;
    if (s->capacity_J > 0) {
        s->average_W = asked_W + s->loss_W + (s->average_W - asked_W - s->loss_W) * s->keep;
        s->loss_W = 0;
        wish_W = fmax(0, s->average_W + (s->capacity_J / 2 - s->store_J) / s->return_s);
    }
    if (floor) wish_W = fmax(wish_W, s->floor_W);
    double grid_W = clamp(wish_W, fmax(0, least_W), most_W);
    if (asked_W > grid_W) {
        double given_W = fmin(fmin(asked_W - grid_W, s->power_W), s->store_J / s->dt * s->one_way);
        if (s->capacity_J <= 0) given_W = 0;
        double raised_W = fmin(asked_W - given_W, most_W);
        grid_W = fmax(grid_W, raised_W);
        served_W = fmin(asked_W, grid_W + given_W);
        if (given_W > 0) {
            s->store_J = fmax(0, s->store_J - given_W / s->one_way * s->dt);
            s->loss_W = given_W * (1 / s->one_way - 1);
        }
    } else if (asked_W < grid_W) {
        double taken_W = s->capacity_J > 0 ? fmin(fmin(grid_W - asked_W, s->power_W), (s->capacity_J - s->store_J) / (s->dt * s->one_way)) : 0;
        double lowest_W = fmax(fmax(0, least_W), floor ? s->floor_W : 0);
        grid_W = fmax(asked_W + taken_W, fmin(grid_W, lowest_W));
        burned_W = fmax(0, grid_W - asked_W - taken_W);
        if (taken_W > 0) {
            s->store_J = fmin(s->capacity_J, s->store_J + taken_W * s->one_way * s->dt);
            s->loss_W = taken_W * (1 - s->one_way);
        }
    }
    s->grid_W = grid_W;
    s->result->lost_J += s->loss_W * s->dt;
    s->result->burned_J += burned_W * s->dt;
    s->result->held_back_J += (asked_W - served_W) * s->dt;
    s->result->load_J += served_W * s->dt;
    s->result->grid_J += grid_W * s->dt;
    if (s->capacity_J > 0) {
        s->result->least_store = fmin(s->result->least_store, s->store_J / s->capacity_J);
        s->result->most_store = fmax(s->result->most_store, s->store_J / s->capacity_J);
    }
    return served_W;
}

static pw_status check_energy(const pw_smoothing_result *r, pw_error *error) {
    double spent_J = r->load_J + r->burned_J + r->lost_J + r->stored_J;
    if (fabs(r->grid_J - spent_J) <= 1e-9 * r->grid_J) return PW_OK;
    return pw_fail(error, PW_LAW, NULL, 0, "this is an error in a model; please report it with the input",
                   "energy is kept: the grid gives %.12g J, load, burning and store take %.12g", r->grid_J, spent_J);
}

static pw_status run(const pw_signal *load, smoother *s, pw_signal *grid, pw_error *error) {
    double idle_W, most_W, load_s = 0, began_J = s->store_J;
    pw_signal_range_W(load, &idle_W, &most_W);
    uint64_t k = 0;
    for (; load_s < load->end_s * (1 - 1e-12); k++) {
        double to_s = fmin(load_s + s->dt, load->end_s);
        double asked_W = pw_signal_energy_J(load, load_s, to_s) / (to_s - load_s), served_W = act(s, asked_W);
        PW_TRY(pw_signal_put(grid, (double)k * s->dt, s->grid_W, error));
        double share = served_W < asked_W && asked_W > idle_W ? fmax(0, (served_W - idle_W) / (asked_W - idle_W)) : 1;
        load_s += s->dt * share;
        if (k >= MOST_INTERVALS || (double)k * s->dt > MOST_STRETCH * load->end_s)
            return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, "raise ramp_up, or give a store", "smoothing.ramp_up stretches the load beyond %d times its length",
                           MOST_STRETCH);
    }
    s->result->stored_J = s->store_J - began_J;
    s->result->delay_s = fmax(0, (double)k * s->dt - load->end_s);
    if (s->result->delay_s < s->dt) s->result->delay_s = 0; /* the last interval is a whole one */
    return pw_signal_end(grid, (double)k * s->dt, error);
}

pw_status pw_smooth(const pw_signal *load, const pw_smoothing_desc *desc, double gpus, pw_signal *grid, pw_smoothing_result *result, pw_error *error) {
    pw_signal_init(grid, load->allocator);
    *result = (pw_smoothing_result){0};
    if (load->end_s / desc->interval_s > MOST_INTERVALS / MOST_STRETCH)
        return pw_fail(error, PW_LIMIT, NULL, 0, "raise it", "smoothing.interval of %g s is too short for a signal of %g s", desc->interval_s, load->end_s);
    smoother s = start(load, desc, gpus, result);
    pw_status status = run(load, &s, grid, error);
    if (status == PW_OK) status = check_energy(result, error);
    if (status != PW_OK) pw_signal_free(grid);
    return status;
}
