/* Failed and degraded switches and cables: dead ones carry nothing, and pairs of ports without a living path of their own get a searched
 * one (detours.c); a degraded link keeps a share of its bandwidth and its place among the equal paths. */
#include <string.h>

#include "models/fabric/table.h"

typedef struct failing {
    pw_network *network;
    double *left; /* [links of the network]: share of the bandwidth */
    pw_link first;
    uint32_t number; /* of the failure, from 1 */
    const pw_failure_desc *given;
    uint32_t hits;
} failing;

static pw_status unknown(const failing *f, const char *what, int64_t index, uint32_t count, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "they are counted from 0", "network.failures[%u]: there is no %s %lld, only %u", f->number,
                   what, (long long)index, count);
}

/* Both directions. */
static void hit(failing *f, pw_link link) {
    for (int way = 0; way < 2; way++) {
        double *left = &f->left[(link - f->first) ^ (uint32_t)way];
        if (f->given->capacity < *left) *left = f->given->capacity;
    }
    f->hits++;
}

static pw_status hit_port(failing *f, pw_error *error) {
    const pw_network *network = f->network;
    if (f->given->node >= network->nodes) return unknown(f, "node", f->given->node, network->nodes, error);
    if (f->given->port >= network->rails) return unknown(f, "port", f->given->port, network->rails, error);
    for (uint32_t p = 0; p < network->part_count; p++) {
        const network_part *part = &network->parts[p];
        if (part->rail != PW_NONE && f->given->port >= 0 && part->rail != f->given->port) continue;
        for (uint32_t rail = 0; rail < part->rails; rail++) {
            if (part->rail == PW_NONE && f->given->port >= 0 && rail != f->given->port) continue;
            pw_vertex nic = part_port(part, (uint32_t)f->given->node * part->rails + rail);
            for (uint32_t l = 0; l < part->link_count; l += 2)
                if (pw_fabric_link(network->fabric, part->first_link + l)->from == nic) hit(f, part->first_link + l);
        }
    }
    return PW_OK;
}

/* Cables of one switch: all, or trunk number `link`, in the order in which they were added. */
static pw_status hit_switch(failing *f, const pw_switch_info *info, pw_error *error) {
    const pw_network *network = f->network;
    uint32_t trunks = 0;
    for (uint32_t p = 0; p < network->part_count; p++) {
        const network_part *part = &network->parts[p];
        if (info->vertex - part->first_vertex >= part->switch_count) continue;
        for (uint32_t l = 0; l < part->link_count; l += 2) {
            const pw_link_info *link = pw_fabric_link(network->fabric, part->first_link + l);
            if (link->from != info->vertex && link->to != info->vertex) continue;
            bool trunk = link->kind == PW_LINK_TRUNK;
            if (f->given->link < 0 || (trunk && trunks == f->given->link)) hit(f, part->first_link + l);
            trunks += trunk;
        }
    }
    return f->given->link < 0 || f->given->link < trunks ? PW_OK : unknown(f, "link of that switch", f->given->link, trunks, error);
}

static pw_status find_switch(failing *f, pw_switch_info *found, pw_error *error) {
    const pw_network *network = f->network;
    uint32_t count = pw_network_switches(network), seen = 0;
    bool named = f->given->name && *f->given->name;
    for (uint32_t i = 0; i < count; i++) {
        *found = pw_network_switch(network, i);
        if (named && found->name && !strcmp(found->name, f->given->name)) return PW_OK;
        if (named || found->tier + 1 != (f->given->tier > 0 ? f->given->tier : 1)) continue;
        if (seen++ == f->given->index) return PW_OK;
    }
    if (!named) return unknown(f, "switch of that tier", f->given->index, seen, error);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "name one of network.switches", "network.failures[%u]: there is no switch '%s'", f->number,
                   f->given->name);
}

static pw_status apply(failing *f, pw_error *error) {
    const pw_failure_desc *given = f->given;
    bool port = given->node >= 0, named = given->name && *given->name, numbered = given->index >= 0;
    if (port + named + numbered != 1 || (port && given->link >= 0) || (!port && given->port >= 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give node (and port), or tier and switch (and link), or name (and link)",
                       "network.failures[%u] must say one part", f->number);
    if (port) return hit_port(f, error);
    pw_switch_info info;
    PW_TRY(find_switch(f, &info, error));
    return hit_switch(f, &info, error);
}

static pw_status search_without(failing *f, pw_error *error) {
    pw_network *network = f->network;
    for (uint32_t p = 0; p < network->part_count; p++) {
        network_part *part = &network->parts[p];
        uint32_t before = part->first_link - f->first;
        bool any = false, *dead = part->dead = pw_alloc_zero(network->allocator, part->link_count + (size_t)1);
        if (!dead) return part_no_memory(error);
        for (uint32_t l = 0; l < part->link_count; l++) {
            double left = f->left[before + l];
            dead[l] = left <= 0;
            any |= dead[l];
            if (left < 1 && left > 0) {
                pw_link link = part->first_link + l;
                pw_fabric_set_bandwidth(network->fabric, link, left * pw_fabric_link(network->fabric, link)->bandwidth_Bps);
            }
        }
        if (!any) {
            pw_free(network->allocator, dead, part->link_count + (size_t)1);
            part->dead = NULL;
            continue;
        }
        if (network->desc.paths == PW_PATHS_VALIANT)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take minimal paths, or leave a share of the capacity",
                           "Valiant routes around failed parts are not modelled");
        PW_TRY(detours_create(part, error));
    }
    return PW_OK;
}

pw_status network_fail_parts(pw_network *network, pw_error *error) {
    const pw_list list = network->desc.failures;
    uint32_t links = 0;
    if (!list.count) return PW_OK;
    for (uint32_t p = 0; p < network->part_count; p++) links += network->parts[p].link_count;
    failing f = {.network = network, .first = network->parts[0].first_link,
                 .left = pw_alloc(network->allocator, (links + (size_t)1) * sizeof *f.left)};
    pw_status status = f.left ? PW_OK : part_no_memory(error);
    for (uint32_t l = 0; status == PW_OK && l < links; l++) f.left[l] = 1;
    for (uint32_t i = 0; status == PW_OK && i < list.count; i++) {
        f.given = ((const pw_one_of *)list.items)[i].record;
        f.number = i + 1;
        status = apply(&f, error);
    }
    if (status == PW_OK) status = search_without(&f, error);
    if (f.left) pw_free(network->allocator, f.left, (links + (size_t)1) * sizeof *f.left);
    network->irregular = true;
    return status;
}
