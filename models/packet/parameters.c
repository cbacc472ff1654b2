/* Rows of the tables congestion-control and credit-transport. */
#include "models/packet/packet.h"

static pw_status unknown(const pw_table *table, const char *name, pw_error *error) {
    char hint[300];
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "on file:", hint, sizeof hint), "no row of %s is called '%s'",
                   pw_table_kind(table), name);
}

pw_status pw_packet_read_credit(const pw_catalogue *catalogue, double round_trip_bytes, pw_packet_desc *desc, pw_error *error) {
    const pw_table *table;
    double window, queue;
    PW_TRY(pw_catalogue_need(catalogue, "credit-transport", &table, error));
    int row = pw_table_find_row(table, "credit");
    if (row < 0) return unknown(table, "credit", error);
    PW_TRY(pw_table_amount_of(table, (size_t)row, "window", &window, error));
    PW_TRY(pw_table_amount_of(table, (size_t)row, "queue", &queue, error));
    PW_TRY(pw_table_amount_of(table, (size_t)row, "pace", &desc->pace, error));
    desc->window_bytes = window * round_trip_bytes;
    desc->queue_bytes = queue * round_trip_bytes;
    return PW_OK;
}

pw_status pw_packet_read_dcqcn(const pw_catalogue *catalogue, const char *name, double link_Bps, pw_packet_desc *desc, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "congestion-control", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) return unknown(table, name, error);
    double rate_Bps, rounds;
    pw_dcqcn *d = &desc->dcqcn;
    const struct {
        const char *column;
        double *value;
    } numbers[] = {
        {"link_rate", &rate_Bps}, {"gain", &d->gain}, {"notice_interval", &d->notice_interval_s}, {"alpha_interval", &d->alpha_interval_s},
        {"timer", &d->timer_s}, {"byte_counter", &d->byte_counter}, {"fast_rounds", &rounds}, {"additive", &d->additive_Bps},
        {"hyper", &d->hyper_Bps}, {"least_rate", &d->least_Bps}, {"mark_from", &desc->mark_from}, {"mark_to", &desc->mark_to},
        {"mark_probability", &desc->mark_probability}, {"pause", &desc->pause_bytes}, {"resume", &desc->resume_bytes},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        PW_TRY(pw_table_amount_of(table, (size_t)row, numbers[i].column, numbers[i].value, error));
    d->fast_rounds = (int64_t)rounds;
    double ratio = link_Bps / rate_Bps;
    d->additive_Bps *= ratio;
    d->hyper_Bps *= ratio;
    desc->mark_from *= ratio;
    desc->mark_to *= ratio;
    desc->pause_bytes *= ratio;
    desc->resume_bytes *= ratio;
    return PW_OK;
}
