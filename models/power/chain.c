#include "models/power/chain.h"

#include <math.h>

pw_status pw_power_stage_find(const pw_catalogue *catalogue, const char *name, double rated_W, pw_power_stage *stage, pw_error *error) {
    const pw_table *table;
    char hint[400];
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_POWER_STAGES, &table, error));
    int found = pw_table_find_row(table, name);
    if (found < 0)
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "stages:", hint, sizeof hint), "no stage of power distribution '%.60s'", name);
    if (!(rated_W > 0) || !isfinite(rated_W))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "stage '%s' has a rated power of %g W, must be above 0", name, rated_W);
    size_t row = (size_t)found;
    pw_power_stage read = {.name = pw_table_text_at(table, row, 0), .kind = pw_table_text_of(table, row, "kind"),
                           .provenance = pw_table_text_of(table, row, "provenance"), .source = pw_table_text_of(table, row, "source"),
                           .rated_W = rated_W};
    PW_TRY(pw_table_amount_of(table, row, "constant", &read.constant, error));
    PW_TRY(pw_table_amount_of(table, row, "proportional", &read.proportional, error));
    PW_TRY(pw_table_amount_of(table, row, "square", &read.square, error));
    *stage = read;
    return PW_OK;
}

double pw_power_stage_loss_W(const pw_power_stage *stage, double output_W) {
    double share = output_W / stage->rated_W;
    return stage->rated_W * (stage->constant + share * (stage->proportional + share * stage->square));
}

/* square x^2 + (1 + proportional) x + constant = input / rated; the form without a difference of near numbers. */
double pw_power_stage_output_W(const pw_power_stage *stage, double input_W) {
    double left = input_W / stage->rated_W - stage->constant, b = 1 + stage->proportional;
    return left > 0 ? stage->rated_W * 2 * left / (b + sqrt(b * b + 4 * stage->square * left)) : 0;
}

pw_status pw_power_chain_add(const pw_catalogue *catalogue, const char *name, double rated_W, pw_power_chain *chain, pw_error *error) {
    if (chain->count == PW_CHAIN_STAGES)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a chain of power has at most %d stages", PW_CHAIN_STAGES);
    PW_TRY(pw_power_stage_find(catalogue, name, rated_W, &chain->stages[chain->count], error));
    chain->count++;
    return PW_OK;
}

pw_chain_flow pw_power_chain_flow(const pw_power_chain *chain, double load_W) {
    pw_chain_flow flow = {.count = chain->count, .load_W = load_W, .meter_W = load_W};
    for (int i = 0; i < chain->count; i++) {
        flow.output_W[i] = flow.meter_W;
        flow.share[i] = flow.meter_W / chain->stages[i].rated_W;
        flow.loss_W[i] = pw_power_stage_loss_W(&chain->stages[i], flow.meter_W);
        flow.meter_W += flow.loss_W[i];
    }
    return flow;
}

double pw_power_chain_load_W(const pw_power_chain *chain, double meter_W) {
    double power_W = meter_W;
    for (int i = chain->count - 1; i >= 0; i--) power_W = pw_power_stage_output_W(&chain->stages[i], power_W);
    return power_W;
}

double pw_power_chain_limit_W(const pw_power_chain *chain) {
    double limit_W = INFINITY;
    for (int i = chain->count - 1; i >= 0; i--) {
        if (limit_W < INFINITY) limit_W = pw_power_stage_output_W(&chain->stages[i], limit_W);
        limit_W = fmin(limit_W, chain->stages[i].rated_W);
    }
    return limit_W;
}
