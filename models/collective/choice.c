/* What the communication library would do itself, for a group on the cluster. */
#include <math.h>
#include <string.h>

#include "models/collective/collectives_internal.h"

static bool choose(const pw_collectives *collectives, pw_collective_kind kind, const pw_group_shape *shape, double bytes,
                   library_choice *choice) {
    const pw_device *device = pw_cluster_device(collectives->cluster);
    pw_cluster_facts facts = pw_cluster_get_facts(collectives->cluster);
    if (!collectives->calibrated || shape->members < 2) return false;
    library_group group = {.ranks = shape->members,
                           .nodes = shape->domains,
                           .per_node = shape->per_domain,
                           .links = facts.scaleup_Bps > 0 ? device->scaleup_links : 0,
                           .pcie_Bps = device->pcie_Bps,
                           .multicast = facts.multicast,
                           .amd_host = collectives->amd_host};
    if (shape->domains > 1) {
        double ports = floor(shape->network_Bps * shape->per_domain / facts.nic_Bps + 0.5);
        group.nic_Bps = facts.nic_line_Bps;
        group.nics = ports > 1 ? (uint32_t)ports : 1;
    }
    return library_choose(&collectives->library, &group, kind, bytes, choice);
}

int collectives_chosen(const pw_collectives *collectives, pw_collective_kind kind, const pw_group_shape *shape, double bytes,
                             int *protocol) {
    library_choice choice;
    if (!choose(collectives, kind, shape, bytes, &choice)) return PW_ALGORITHM_AUTO;
    const char *name = choice.algorithm == LIBRARY_NVLS_TREE ? "nvls" : library_algorithm_names[choice.algorithm];
    for (int i = 0; pw_algorithm_table[i].name; i++) {
        if (strcmp(pw_algorithm_table[i].name, name) != 0) continue;
        if (!pw_algorithm_table[i].applies(kind, shape, pw_cluster_has_multicast(collectives->cluster))) break;
        bool several = shape->domains > 1;
        if (!parameters_has(&collectives->parameters, kind, i, several, true) && !parameters_has(&collectives->parameters, kind, i, several, false))
            break;
        *protocol = (int)choice.protocol;
        return i;
    }
    return PW_ALGORITHM_AUTO; /* the switch gathers and scatters, or PAT: nothing was measured of it */
}

bool pw_collective_library_estimate(const pw_collectives *collectives, pw_collective_kind kind, const pw_group_shape *shape,
                                    double bytes, pw_library_estimate *estimate) {
    library_choice choice;
    if (!choose(collectives, kind, shape, bytes, &choice)) return false;
    *estimate = (pw_library_estimate){library_algorithm_names[choice.algorithm], library_protocol_names[choice.protocol],
                                      choice.channels, choice.time_s};
    return true;
}
