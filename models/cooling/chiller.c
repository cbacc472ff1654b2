/* Chiller curves; symbols as in the EnergyPlus Engineering Reference. */
#include "models/cooling/chiller.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

pw_status pw_chiller_find(const pw_catalogue *catalogue, const char *name, double capacity_W, pw_chiller *chiller, pw_error *error) {
    const pw_table *table;
    char names[768];
    PW_TRY(pw_catalogue_need(catalogue, "chillers", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "chillers:", names, sizeof names), "there is no chiller '%s'", name);
    size_t at = (size_t)row;
    *chiller = (pw_chiller){.name = pw_table_text_of(table, at, "name"), .capacity_W = capacity_W};
    const char *forms[] = {"ratio", "eir", "carnot", NULL}, *form = pw_table_text_of(table, at, "form");
    int found = 0;
    while (forms[found] && strcmp(forms[found], form)) found++;
    if (!forms[found]) return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, at), "ratio, eir, carnot", "no chiller has the form '%s'", form);
    chiller->form = (pw_chiller_form)found;
    chiller->air_cooled = !strcmp(pw_table_text_of(table, at, "condenser"), "air");
    const struct { const char *column; double *value; } amounts[] = {
        {"cop", &chiller->cop}, {"evaporator", &chiller->evaporator_C}, {"condenser_at", &chiller->condenser_C}, {"least", &chiller->least}, {"most", &chiller->most},
        {"evaporator_least", &chiller->evaporator_least_C}, {"evaporator_most", &chiller->evaporator_most_C}, {"condenser_least", &chiller->condenser_least_C},
        {"condenser_most", &chiller->condenser_most_C}};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) PW_TRY(pw_table_amount_of(table, at, amounts[i].column, amounts[i].value, error));
    chiller->rise_KpK = pw_table_number_of(table, at, "rise");
    chiller->pinch_K = pw_table_number_of(table, at, "pinch");
    const char *letters = "abcdef", *wrong = NULL;
    bool curves = chiller->form != PW_CHILLER_CARNOT;
    for (int i = 0; i < 6 && curves; i++) {
        char column[32];
        double *to[] = {chiller->capacity, chiller->input, chiller->part};
        const char *heads[] = {"capacity_", "input_", "part_"};
        for (int k = 0; k < 3; k++) {
            if (i >= (k == 2 || chiller->form == PW_CHILLER_RATIO ? 3 : 6)) continue;
            snprintf(column, sizeof column, "%s%c", heads[k], letters[i]);
            to[k][i] = pw_table_number_of(table, at, column);
            if (!isfinite(to[k][i])) wrong = "a coefficient is missing";
        }
    }
    if (chiller->form == PW_CHILLER_RATIO && !(chiller->rise_KpK > 0)) wrong = "rise must be above 0";
    if (!curves && !(chiller->pinch_K >= 0)) wrong = "pinch must be at least 0";
    if (!(chiller->cop > 0 && chiller->most > 0)) wrong = "cop and most must be above 0";
    if (wrong) return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, at), NULL, "chiller '%s': %s", chiller->name, wrong);
    return PW_OK;
}

static double quadratic(const double *c, double x) { return c[0] + c[1] * x + c[2] * x * x; }
static double biquadratic(const double *c, double x, double y) { return c[0] + c[1] * x + c[2] * x * x + c[3] * y + c[4] * y * y + c[5] * x * y; }

static void into_range(const pw_chiller *c, double *evaporator_C, double *condenser_C) {
    *evaporator_C = clamp(*evaporator_C, c->evaporator_least_C, c->evaporator_most_C);
    *condenser_C = clamp(*condenser_C, c->condenser_least_C, c->condenser_most_C);
}

static double ratio_of(const pw_chiller *c, double evaporator_C, double condenser_C) {
    if (c->form == PW_CHILLER_EIR) return fmax(biquadratic(c->capacity, evaporator_C, condenser_C), 0);
    if (c->form == PW_CHILLER_CARNOT) return 1;
    double x = (condenser_C - c->condenser_C) / c->rise_KpK - (evaporator_C - c->evaporator_C);
    return fmax(quadratic(c->capacity, x), 0);
}

double pw_chiller_capacity_W(const pw_chiller *chiller, double evaporator_C, double condenser_C) {
    into_range(chiller, &evaporator_C, &condenser_C);
    return chiller->capacity_W * ratio_of(chiller, evaporator_C, condenser_C) * chiller->most;
}

static double carnot(const pw_chiller *c, double evaporator_C, double condenser_C) {
    double cold = evaporator_C - c->pinch_K + 273.15, hot = condenser_C + c->pinch_K + 273.15;
    return cold / fmax(hot - cold, 5); /* machines hold a least lift */
}

double pw_chiller_power_W(const pw_chiller *chiller, double load_W, double evaporator_C, double condenser_C) {
    into_range(chiller, &evaporator_C, &condenser_C);
    double ratio = ratio_of(chiller, evaporator_C, condenser_C), available = chiller->capacity_W * ratio;
    if (!(load_W > 0) || !(available > 0)) return 0;
    double share = fmin(load_W / available, chiller->most), run = fmax(share, chiller->least), cycling = share / run;
    if (chiller->form == PW_CHILLER_CARNOT) {
        double cop = chiller->cop * carnot(chiller, evaporator_C, condenser_C) / carnot(chiller, chiller->evaporator_C, chiller->condenser_C);
        return share * available / cop;
    }
    double full = chiller->form == PW_CHILLER_EIR ? biquadratic(chiller->input, evaporator_C, condenser_C) : quadratic(chiller->input, ratio);
    return quadratic(chiller->part, run) * full * available / chiller->cop * cycling;
}
