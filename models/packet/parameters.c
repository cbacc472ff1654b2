/* Rows of the table congestion-control. */
#include "models/packet/packet.h"

pw_status pw_packet_read_dcqcn(const pw_catalogue *catalogue, const char *name, double link_Bps, pw_packet_desc *desc, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "congestion-control", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) {
        char hint[300];
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "on file:", hint, sizeof hint),
                       "no row of congestion-control is called '%s'", name);
    }
    double rate_Bps, rounds;
    pw_dcqcn *d = &desc->dcqcn;
    const struct {
        const char *column;
        double *value;
    } numbers[] = {
        {"link_rate", &rate_Bps}, {"gain", &d->gain}, {"notice_interval", &d->notice_interval_s}, {"alpha_interval", &d->alpha_interval_s},
        {"timer", &d->timer_s}, {"byte_counter", &d->byte_counter}, {"fast_rounds", &rounds}, {"additive", &d->additive_Bps},
        {"hyper", &d->hyper_Bps}, {"least_rate", &d->least_Bps}, {"mark_from", &desc->mark_from}, {"mark_to", &desc->mark_to},
        {"mark_probability", &desc->mark_probability},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        PW_TRY(pw_table_amount_of(table, (size_t)row, numbers[i].column, numbers[i].value, error));
    d->fast_rounds = (int64_t)rounds;
    double ratio = link_Bps / rate_Bps;
    d->additive_Bps *= ratio;
    d->hyper_Bps *= ratio;
    desc->mark_from *= ratio;
    desc->mark_to *= ratio;
    return PW_OK;
}
