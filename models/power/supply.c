#include "models/power/supply.h"

#include <gsl/gsl_spline.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/text.h"

/* ---- curves ---- */

static pw_status bad_row(const pw_table *table, size_t row, const char *hint, pw_error *error, const char *what) {
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), hint, "'%s': %s", pw_table_text_at(table, row, 0), what);
}

static pw_status unknown_curve(const pw_table *table, const char *name, pw_error *error) {
    char hint[400] = "curves:";
    const char *last = "";
    size_t used = strlen(hint);
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        const char *curve = pw_table_text_of(table, row, "curve");
        if (strcmp(curve, last) != 0 && used < sizeof hint) used += (size_t)snprintf(hint + used, sizeof hint - used, " %s", curve);
        last = curve;
    }
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "no efficiency curve '%s'", name);
}

static pw_status add_point(const pw_table *table, size_t row, pw_supply_curve *curve, pw_error *error) {
    double share, efficiency;
    PW_TRY(pw_table_amount_of(table, row, "efficiency", &efficiency, error));
    if (!(efficiency > 0 && efficiency < 1)) return bad_row(table, row, NULL, error, "efficiency must lie between 0 and 100 %");
    if (isnan(pw_table_number_of(table, row, "load"))) {
        if (curve->points || curve->efficiency > 0) return bad_row(table, row, NULL, error, "a curve has points, or one row with a constant");
        curve->efficiency = efficiency;
        return pw_table_amount_of(table, row, "constant", &curve->constant_W, error);
    }
    PW_TRY(pw_table_amount_of(table, row, "load", &share, error));
    if (curve->efficiency > 0) return bad_row(table, row, NULL, error, "a curve has points, or one row with a constant");
    if (curve->points == PW_SUPPLY_POINTS - 1) return bad_row(table, row, NULL, error, "too many points");
    int at = ++curve->points; /* place 0 is for the loss without load */
    curve->share[at] = share;
    curve->loss[at] = share * (1 / efficiency - 1);
    if (!(share > 0) || (at > 1 && !(share > curve->share[at - 1]))) return bad_row(table, row, "sort the points by load", error, "loads must rise");
    if (at > 1 && curve->loss[at] < curve->loss[at - 1])
        return bad_row(table, row, "check both efficiencies", error, "a larger load must not lose fewer watts");
    return PW_OK;
}

/* The loss without load lies on the line through the first two points, but is not below 0. Slopes are those of Steffen's method. */
static pw_status join_points(pw_supply_curve *curve, pw_error *error) {
    double *x = curve->share, *y = curve->loss;
    curve->low = x[1];
    curve->high = x[curve->points];
    x[0] = 0;
    y[0] = fmax(0, y[1] - x[1] * (y[2] - y[1]) / (x[2] - x[1]));
    curve->points++;
    size_t count = (size_t)curve->points;
    gsl_interp *joined = gsl_interp_alloc(gsl_interp_steffen, count);
    if (!joined) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for an efficiency curve");
    gsl_interp_init(joined, x, y, count);
    for (size_t i = 0; i < count; i++) curve->slope[i] = gsl_interp_eval_deriv(joined, x, y, x[i], NULL);
    gsl_interp_free(joined);
    return PW_OK;
}

pw_status pw_supply_curve_find(const pw_catalogue *catalogue, const char *name, pw_supply_curve *curve, pw_error *error) {
    const pw_table *table;
    pw_supply_curve found = {.low = 0, .high = 1};
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_SUPPLY_EFFICIENCY, &table, error));
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        if (strcmp(pw_table_text_of(table, row, "curve"), name) != 0) continue;
        if (!found.name) {
            found.name = pw_table_text_of(table, row, "curve");
            found.provenance = pw_table_text_of(table, row, "provenance");
            found.source = pw_table_text_of(table, row, "source");
        }
        PW_TRY(add_point(table, row, &found, error));
    }
    if (!found.name) return unknown_curve(table, name, error);
    if (found.points == 1) return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), 0, "give it a second load", "curve '%s' has one point", name);
    if (found.points) PW_TRY(join_points(&found, error));
    *curve = found;
    return PW_OK;
}

double pw_supply_loss_W(const pw_supply_curve *curve, double rated_W, double output_W) {
    if (!curve->points) return (output_W + curve->constant_W) / curve->efficiency - output_W;
    const double *x = curve->share, *y = curve->loss, *s = curve->slope;
    double share = output_W / rated_W;
    int last = curve->points - 1, i = 0;
    if (share >= x[last]) return rated_W * (y[last] + s[last] * (share - x[last]));
    while (i + 1 < last && share >= x[i + 1]) i++;
    double h = x[i + 1] - x[i], rise = (y[i + 1] - y[i]) / h, t = share - x[i];
    double cubic = (s[i] + s[i + 1] - 2 * rise) / (h * h), square = (3 * rise - 2 * s[i] - s[i + 1]) / h;
    return rated_W * (y[i] + t * (s[i] + t * (square + t * cubic)));
}

double pw_supply_input_W(const pw_supply_curve *curve, double rated_W, double output_W) {
    return output_W + pw_supply_loss_W(curve, rated_W, output_W);
}

/* Input is a rising function of output and lies above it. */
static double inverse(double (*input_of)(const void *object, double output_W), const void *object, double input_W, double scale_W) {
    double low = 0, high = input_W;
    if (!(input_of(object, 0) < input_W)) return 0;
    while (high - low > 1e-13 * scale_W) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break;
        if (input_of(object, middle) > input_W) high = middle;
        else low = middle;
    }
    return low;
}

typedef struct one_unit { const pw_supply_curve *curve; double rated_W; } one_unit;
static double unit_input(const void *object, double output_W) {
    const one_unit *one = object;
    return pw_supply_input_W(one->curve, one->rated_W, output_W);
}

double pw_supply_output_W(const pw_supply_curve *curve, double rated_W, double input_W) {
    const one_unit one = {curve, rated_W};
    return inverse(unit_input, &one, input_W, rated_W);
}

/* ---- groups ---- */

static pw_status read_kind(const pw_catalogue *catalogue, const char *kind, const char *curve, pw_supply_group *group, pw_error *error) {
    const pw_table *table;
    char hint[300];
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_SUPPLY_UNITS, &table, error));
    int found = pw_table_find_row(table, kind);
    if (found < 0)
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "kinds:", hint, sizeof hint), "no kind of power supply '%s'", kind);
    size_t row = (size_t)found;
    PW_TRY(pw_supply_curve_find(catalogue, curve && *curve ? curve : pw_table_text_of(table, row, "curve"), &group->curve, error));
    PW_TRY(pw_table_amount_of(table, row, "hold_up", &group->hold_up_s, error));
    PW_TRY(pw_table_amount_of(table, row, "overload", &group->overload, error));
    PW_TRY(pw_table_amount_of(table, row, "overload_for", &group->overload_s, error));
    PW_TRY(pw_table_amount_of(table, row, "standby", &group->standby_W, error));
    PW_TRY(pw_table_amount_of(table, row, "brake", &group->brake_s, error));
    PW_TRY(pw_table_amount_of(table, row, "settle", &group->settle_s, error));
    PW_TRY(pw_table_amount_of(table, row, "restore", &group->restore_s, error));
    if (group->overload < 1) return bad_row(table, row, NULL, error, "overload is below the rated power");
    return PW_OK;
}

/* Units that are needed; 0: the words mean nothing for so many. */
static int needed_of(const char *words, int units) {
    const char *end;
    int64_t needed, spare;
    if (!strcmp(words, "N") || !strcmp(words, "none")) return units;
    if (!strcmp(words, "2N") || !strcmp(words, "N+N")) return units % 2 ? 0 : units / 2;
    if (words[0] == 'N' && words[1] == '+') needed = -1;
    else if (!pw_text_integer(words, &end, &needed) || *end != '+' || needed < 1) return 0;
    else words = end - 1;
    if (!pw_text_integer(words + 2, &end, &spare) || *end || spare < 1) return 0;
    if (needed < 0) needed = units - spare;
    return needed >= 1 && needed + spare == units ? (int)needed : 0;
}

pw_status pw_supply_group_make(const pw_catalogue *catalogue, const char *kind, const char *curve, double unit_W, int units, const char *redundancy,
                               int feeds, pw_supply_group *group, pw_error *error) {
    pw_supply_group made = {.unit_W = unit_W, .units = units, .feeds = feeds};
    if (!(unit_W > 0) || !isfinite(unit_W)) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a power supply of %g W", unit_W);
    if (units < 1 || units > PW_SUPPLY_UNITS || feeds < 1 || feeds > PW_SUPPLY_FEEDS)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%d power supplies on %d feeds; 1 to %d on 1 to %d are possible", units, feeds,
                       PW_SUPPLY_UNITS, PW_SUPPLY_FEEDS);
    if (feeds > units) return pw_fail(error, PW_BAD_INPUT, NULL, 0, "a supply hangs on one feed", "%d feeds for %d power supplies", feeds, units);
    made.needed = needed_of(redundancy, units);
    if (!made.needed)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write N, N+1, 2N, or 4+2 for 6 units of which 4 are needed",
                       "redundancy \"%.40s\" means nothing for %d power supplies", redundancy, units);
    PW_TRY(read_kind(catalogue, kind, curve, &made, error));
    for (int u = 0; u < units; u++) made.feed_of[u] = (uint8_t)(u * feeds / units);
    *group = made;
    return PW_OK;
}

pw_status pw_supply_of_server(const pw_catalogue *catalogue, const char *server, int *units, double *unit_W, const char **redundancy,
                              double *rated_W, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "servers", &table, error));
    int found = pw_table_find_row(table, server);
    if (found < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_nearest(table, server), "no server '%s'", server);
    size_t row = (size_t)found;
    double count = pw_table_number_of(table, row, "power_supplies"), power_W = pw_table_number_of(table, row, "power_supply");
    const char *words = pw_table_text_of(table, row, "power_supply_redundancy");
    *units = count >= 1 && count <= PW_SUPPLY_UNITS ? (int)count : 0;
    *unit_W = power_W > 0 ? power_W : 0;
    *redundancy = *units && needed_of(words, *units) ? words : "";
    *rated_W = pw_table_number_of(table, row, "rated_max");
    return PW_OK;
}

pw_status pw_supply_group_of_server(const pw_catalogue *catalogue, const char *server, pw_supply_group *group, pw_error *error) {
    int units = 0;
    double unit_W = 0, rated_W;
    const char *redundancy = "";
    PW_TRY(pw_supply_of_server(catalogue, server, &units, &unit_W, &redundancy, &rated_W, error));
    if (!units || !(unit_W > 0) || !*redundancy)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "say units, power, redundancy and feeds", "the catalogue does not say how '%s' is supplied", server);
    return pw_supply_group_make(catalogue, "server", NULL, unit_W, units, redundancy, units > 1 ? 2 : 1, group, error);
}

static bool is_lost(const pw_supply_group *group, pw_supply_state state, int unit) {
    return (state.units_failed >> unit & 1) || (state.feeds_lost >> group->feed_of[unit] & 1);
}

pw_supply_flow pw_supply_flow_at(const pw_supply_group *group, pw_supply_state state, double output_W) {
    pw_supply_flow flow = {0};
    int alive = 0;
    for (int u = 0; u < group->units; u++) alive += !is_lost(group, state, u);
    flow.lost = group->units - alive;
    flow.capacity_W = alive * group->unit_W;
    flow.spare = alive - (int)ceil(output_W / group->unit_W);
    if (!alive) return flow;
    flow.active = alive;
    if (group->cold_share > 0) {
        double wanted = ceil(output_W / (group->unit_W * group->cold_share));
        flow.active = wanted < 1 ? 1 : wanted > alive ? alive : (int)wanted;
    }
    flow.standing_by = alive - flow.active;
    flow.output_W = output_W;
    double each_W = output_W / flow.active, input_W = pw_supply_input_W(&group->curve, group->unit_W, each_W);
    flow.share = each_W / group->unit_W;
    int active = 0;
    for (int u = 0; u < group->units; u++)
        if (!is_lost(group, state, u)) flow.feed_W[group->feed_of[u]] += active++ < flow.active ? input_W : group->standby_W;
    for (int f = 0; f < group->feeds; f++) flow.input_W += flow.feed_W[f];
    flow.loss_W = flow.input_W - output_W;
    return flow;
}

typedef struct whole_group { const pw_supply_group *group; pw_supply_state state; } whole_group;
static double group_input(const void *object, double output_W) {
    const whole_group *whole = object;
    return pw_supply_flow_at(whole->group, whole->state, output_W).input_W;
}

double pw_supply_group_output_W(const pw_supply_group *group, pw_supply_state state, double input_W) {
    const whole_group whole = {group, state};
    if (!pw_supply_flow_at(group, state, 0).active) return 0;
    return inverse(group_input, &whole, input_W, group->units * group->unit_W);
}

/* ---- losses ---- */

const char *const pw_supply_verdict_names[] = {"runs", "brakes", "falls", NULL};

double pw_supply_hold_up_s(const pw_supply_group *group, double output_W) {
    double longest = 4 * group->hold_up_s, energy_J = group->hold_up_s * group->unit_W;
    return output_W * longest > energy_J ? energy_J / output_W : longest;
}

pw_supply_verdict pw_supply_judge(const pw_supply_group *group, pw_supply_state state, double demand_W, double braked_W) {
    double left_W = pw_supply_flow_at(group, state, demand_W).capacity_W;
    if (demand_W <= left_W) return PW_SUPPLY_RUNS;
    if (!(left_W > 0) || braked_W > left_W) return PW_SUPPLY_FALLS;
    double late_s = group->brake_s - pw_supply_hold_up_s(group, demand_W / group->units);
    if (late_s > 0 && (demand_W > group->overload * left_W || late_s > group->overload_s)) return PW_SUPPLY_FALLS;
    return PW_SUPPLY_BRAKES;
}
