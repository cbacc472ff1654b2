/* What a user said of cooling, kept and made. */
#include "models/node/node_internal.h"

/* The cooling is tried on a node of each part, so that what it cannot be is said now. */
pw_status keep_cooling(pw_cluster *cluster, const pw_cluster_desc *desc, pw_error *error) {
    if (!desc->cooling) return pw_description_defaults(&pw_cooling_kind, &cluster->cooling, cluster->arena, error);
    cluster->cooling = *desc->cooling;
    cluster->has_cooling = true;
    for (uint32_t part = 0; part < cluster->part_count; part++) {
        pw_cooling *tried;
        PW_TRY(pw_cluster_make_cooling(cluster, part, 1, cluster->allocator, &tried, error));
        pw_cooling_destroy(tried);
    }
    return PW_OK;
}

const pw_cooling_desc *pw_cluster_cooling(const pw_cluster *cluster) { return cluster->has_cooling ? &cluster->cooling : NULL; }

pw_status pw_cluster_make_cooling(const pw_cluster *cluster, uint32_t part, uint32_t nodes, const pw_allocator *allocator, pw_cooling **cooling,
                                  pw_error *error) {
    pw_cluster_part of = pw_cluster_get_part(cluster, part);
    return pw_cooling_create(allocator, cluster->catalogue, &cluster->cooling, of.device, of.gpus_per_node, nodes, cooling, error);
}
