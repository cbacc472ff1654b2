/* Figures of the catalogue that cost or emit something, with where they come from. */
#ifndef PW_MODELS_FACILITY_PRICES_H
#define PW_MODELS_FACILITY_PRICES_H

#include "models/facility/facility.h"
#include "models/facility/steps.h"

/* "USD" or "CNY" to the currency of a result. */
typedef struct facility_exchange {
    pw_currency currency;
    pw_sourced cny_per_usd;
} facility_exchange;
pw_status facility_exchange_read(const pw_catalogue *catalogue, pw_currency currency, facility_exchange *exchange, pw_error *error);

/* The row `name` of prices. unit: what is behind the money ("/kWh", "/GPU-h", "" for money alone, "/W of IT"), or a whole unit that is no
 * money ("kgCO2e/kWh", "years", "percent": then a share). Another unit in the row, no value, no such row: an error that speaks of
 * `field`. */
pw_status facility_price(const pw_catalogue *catalogue, const facility_exchange *exchange, const char *name, const char *unit, const char *field,
                         pw_sourced *price, pw_error *error);
/* given when it is a number, else the row. */
pw_status facility_price_or(const pw_catalogue *catalogue, const facility_exchange *exchange, double given, const char *name, const char *unit,
                            const char *field, pw_sourced *price, pw_error *error);

/* The price per kWh of a site as steps over [0, end). where: the site in messages, "facility.sites[1]". path: of site->tariff_file, or
 * NULL. */
pw_status facility_tariff(const pw_catalogue *catalogue, const facility_exchange *exchange, const pw_site_desc *site, const char *where, int new_year,
                          pw_time end, const char *path, const pw_allocator *allocator, pw_arena *arena, facility_steps *steps, pw_sourced *price,
                          pw_error *error);
#endif
