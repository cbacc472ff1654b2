/* Money: what hardware costs over the span, per GPU-hour and per token, and against a cloud. */
#ifndef PW_MODELS_FACILITY_COST_H
#define PW_MODELS_FACILITY_COST_H

#include "models/facility/prices.h"

/* The prices and lifetimes of a facility, and its capital; sites are then priced by facility_site_cost. */
pw_status facility_cost_prices(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_economics_desc *desc,
                               const facility_exchange *exchange, pw_facility_result *result, pw_error *error);
/* Of one site, from its energy and the capital. */
void facility_site_cost(const pw_facility_result *result, const pw_economics_desc *desc, const pw_site_result *site, pw_site_cost *cost);
/* kg of CO2e of making a node, from the description or the table; value NaN when nothing is on file. */
pw_status facility_embodied(const pw_catalogue *catalogue, const pw_cluster *cluster, double given_kg, pw_sourced *embodied, pw_error *error);

#endif
