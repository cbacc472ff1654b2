/* The power chain of a site: models/power/chain for the IT and for everything, booked by kind of stage. */
#include <stdio.h>
#include <string.h>

#include "models/facility/site.h"

pw_status facility_chain_make(const pw_catalogue *catalogue, const pw_site_desc *site, double it_peak_W, const char *where, facility_chain *chain,
                              pw_error *error) {
    const char *const *names = site->chain.items;
    *chain = (facility_chain){{0}};
    double load_W = it_peak_W; /* what the next stage carries */
    for (uint32_t i = 0; i < site->chain.count; i++) {
        pw_power_stage stage;
        if (chain->critical.count + chain->common.count == PW_CHAIN_STAGES)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "%s.chain has more than %d stages", where, PW_CHAIN_STAGES);
        double rated_W = load_W / site->chain_share;
        PW_TRY(pw_power_stage_find(catalogue, names[i], rated_W, &stage, error));
        bool is_common = strcmp(stage.kind, "transformer") == 0;
        if (!is_common && chain->common.count)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "name the stages from the racks to the meter", "%s.chain[%u]: '%.60s' comes behind a transformer", where,
                           i + 1, names[i]);
        pw_power_chain *part = is_common ? &chain->common : &chain->critical;
        pw_facility_part *booked = is_common ? &chain->common_part[part->count] : &chain->critical_part[part->count];
        *booked = is_common ? PW_FACILITY_TRANSFORMER : strcmp(stage.kind, "ups") == 0 ? PW_FACILITY_UPS : PW_FACILITY_RACK;
        PW_TRY(pw_power_chain_add(catalogue, names[i], rated_W, part, error));
        load_W += pw_power_stage_loss_W(&stage, load_W);
    }
    return PW_OK;
}

static double add_losses(const pw_chain_flow *flow, const pw_facility_part *part, double *W) {
    for (int i = 0; i < flow->count; i++) W[part[i]] += flow->loss_W[i];
    return flow->meter_W;
}

double facility_chain_at(const facility_chain *chain, double it_W, double other_W, double *W) {
    pw_chain_flow critical = pw_power_chain_flow(&chain->critical, it_W);
    pw_chain_flow common = pw_power_chain_flow(&chain->common, add_losses(&critical, chain->critical_part, W) + other_W);
    return add_losses(&common, chain->common_part, W);
}
