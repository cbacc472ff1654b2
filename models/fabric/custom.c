/* A network switch by switch and cable by cable, as the user lists it. Routes are shortest paths by hops (table.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/table.h"

enum { CABLE_NAME_MOST = 64 };

typedef struct custom {
    uint32_t switches, cables, ports;
    uint32_t trunks;     /* cables between switches, with parallel ones */
    double trunk_Bps, port_Bps; /* payload of all of them together */
    uint32_t *tier;      /* [switches] */
    uint32_t *index;     /* [switches]: among those of its tier */
    uint32_t *used;      /* [switches]: cables */
    char *names;         /* [switches][CABLE_NAME_MOST] */
    uint32_t *by_name;   /* [switches], sorted */
} custom;

static const custom *custom_of(const network_part *part) { return part->state; }
static const char *name_of(const custom *c, uint32_t i) { return c->names + (size_t)i * CABLE_NAME_MOST; }

/* --- Names ---------------------------------------------------------------------------------------------------------- */

static int compare_names(const void *left, const void *right, void *object) {
    return strcmp(name_of(object, *(const uint32_t *)left), name_of(object, *(const uint32_t *)right));
}

static uint32_t find_switch(const custom *c, const char *name) {
    uint32_t low = 0, high = c->switches;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(name_of(c, c->by_name[middle]), name);
        if (order == 0) return c->by_name[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return PW_NONE;
}

static pw_status need_switch(const custom *c, const char *what, uint32_t item, const char *field, const char *name, uint32_t *found,
                             pw_error *error) {
    *found = name ? find_switch(c, name) : PW_NONE;
    if (*found != PW_NONE) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "name one of network.switches", "network.%s[%u].%s: there is no switch '%s'", what,
                   item + 1, field, name ? name : "");
}

static const void *item(pw_list list, uint32_t i) { return ((const pw_one_of *)list.items)[i].record; }

static pw_status add_switches(network_part *part, custom *c, pw_error *error) {
    pw_list list = part->desc->switches;
    pw_vertex first;
    for (uint32_t i = 0; i < c->switches; i++) {
        const pw_switch_desc *given = item(list, i);
        if (!given->name || !*given->name || strlen(given->name) >= CABLE_NAME_MOST)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "network.switches[%u].name must have 1 to %d characters", i + 1,
                           CABLE_NAME_MOST - 1);
        strcpy(c->names + (size_t)i * CABLE_NAME_MOST, given->name);
        c->tier[i] = given->tier > 1 ? (uint32_t)given->tier - 1 : 0;
        for (uint32_t j = i; j-- > 0 && c->index[i] == 0;)
            if (c->tier[j] == c->tier[i]) c->index[i] = c->index[j] + 1;
        c->by_name[i] = i;
        if (!part_add_switches(part, c->tier[i] == 0 ? PW_VERTEX_LEAF : c->tier[i] == 1 ? PW_VERTEX_SPINE : PW_VERTEX_CORE, 1, &first))
            return part_no_memory(error);
    }
    qsort_r(c->by_name, c->switches, sizeof *c->by_name, compare_names, c);
    for (uint32_t i = 1; i < c->switches; i++)
        if (!strcmp(name_of(c, c->by_name[i - 1]), name_of(c, c->by_name[i])))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "network.switches: two are called '%s'", name_of(c, c->by_name[i]));
    return PW_OK;
}

static pw_status add_cables(network_part *part, custom *c, pw_error *error) {
    for (uint32_t i = 0; i < part->desc->cables.count; i++) {
        const pw_cable_desc *given = item(part->desc->cables, i);
        uint32_t from, to, count = given->count > 1 ? (uint32_t)given->count : 1;
        PW_TRY(need_switch(c, "cables", i, "from", given->from, &from, error));
        PW_TRY(need_switch(c, "cables", i, "to", given->to, &to, error));
        if (from == to)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "network.cables[%u] joins switch '%s' to itself", i + 1, given->from);
        double cable_Bps = given->rate_Bps > 0 ? given->rate_Bps * part->desc->efficiency : part->cable_Bps;
        pw_link first = PW_NONE;
        if (!part_add_trunk(part, part->first_vertex + from, part->first_vertex + to, count * cable_Bps, &first))
            return part_no_memory(error);
        if (given->latency_s >= 0) pw_fabric_set_latency(part->fabric, first, given->latency_s + part->desc->hop_latency_s);
        if (given->latency_s >= 0) pw_fabric_set_latency(part->fabric, first + 1, given->latency_s + part->desc->hop_latency_s);
        c->trunks += count;
        c->trunk_Bps += count * cable_Bps;
        c->used[from] += count;
        c->used[to] += count;
    }
    return PW_OK;
}

/* --- Ports ---------------------------------------------------------------------------------------------------------- */

/* "*", "3", "0-7", "0-3,8,12-15": marks numbers below most; false when it is no such list, or names none or others. */
static bool mark(const char *text, uint8_t *marks, uint32_t most) {
    memset(marks, 0, most);
    if (!text || !strcmp(text, "*")) {
        memset(marks, 1, most);
        return true;
    }
    for (;;) {
        char *end;
        if (*text < '0' || *text > '9') return false;
        unsigned long from = strtoul(text, &end, 10), to = from;
        if (*end == '-') {
            text = end + 1;
            if (*text < '0' || *text > '9') return false;
            to = strtoul(text, &end, 10);
        }
        if (from > to || to >= most) return false;
        memset(marks + from, 1, to - from + 1);
        if (*end == 0) return true;
        if (*end != ',') return false;
        text = end + 1;
    }
}

typedef struct wanted { /* cables of ports: counted first, so that each gets its share of the rate */
    uint32_t *per_port;
    uint8_t *nodes, *ports;
} wanted;

static pw_status mark_both(const network_part *part, uint32_t i, wanted *w, pw_error *error) {
    const pw_attach_desc *given = item(part->desc->attachments, i);
    const struct {
        const char *name, *text;
        uint8_t *marks;
        uint32_t most;
    } fields[] = {{"nodes", given->nodes, w->nodes, part->nodes}, {"ports", given->ports, w->ports, part->rails}};
    for (int f = 0; f < 2; f++)
        if (!mark(fields[f].text, fields[f].marks, fields[f].most))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write \"*\", \"3\", \"0-7\" or \"0-3,8\", counted from 0",
                           "network.attachments[%u].%s is \"%s\"; there are %u", i + 1, fields[f].name, fields[f].text, fields[f].most);
    return PW_OK;
}

static pw_status attach_all(network_part *part, custom *c, wanted *w, bool counting, pw_error *error) {
    for (uint32_t i = 0; i < part->desc->attachments.count; i++) {
        const pw_attach_desc *given = item(part->desc->attachments, i);
        uint32_t to;
        PW_TRY(need_switch(c, "attachments", i, "to", given->to, &to, error));
        PW_TRY(mark_both(part, i, w, error));
        for (uint32_t port = 0; port < part->nodes * part->rails; port++) {
            if (!w->nodes[port / part->rails]) { /* a list of attachments names few of the nodes each time */
                port += part->rails - 1;
                continue;
            }
            if (!w->ports[port % part->rails]) continue;
            pw_link first = PW_NONE;
            if (counting) w->per_port[port]++;
            else if (!part_add_port(part, port, part->first_vertex + to, part->cable_Bps / w->per_port[port], &first))
                return part_no_memory(error);
            if (counting) continue;
            c->ports++;
            c->port_Bps += part->cable_Bps / w->per_port[port];
            c->used[to]++;
        }
    }
    return PW_OK;
}

static pw_status add_ports(network_part *part, custom *c, pw_error *error) {
    size_t ports = (size_t)part->nodes * part->rails;
    wanted w = {pw_alloc_zero(part->allocator, ports * sizeof *w.per_port), pw_alloc_zero(part->allocator, part->nodes),
                pw_alloc_zero(part->allocator, part->rails)};
    pw_status status = w.per_port && w.nodes && w.ports ? PW_OK : part_no_memory(error);
    if (status == PW_OK) status = attach_all(part, c, &w, true, error);
    if (status == PW_OK) status = attach_all(part, c, &w, false, error);
    if (w.per_port) pw_free(part->allocator, w.per_port, ports * sizeof *w.per_port);
    if (w.nodes) pw_free(part->allocator, w.nodes, part->nodes);
    if (w.ports) pw_free(part->allocator, w.ports, part->rails);
    return status;
}

/* --- The topology --------------------------------------------------------------------------------------------------- */

static pw_status build(network_part *part, pw_error *error) {
    const pw_network_desc *desc = part->desc;
    if (!desc->switches.count || !desc->attachments.count)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "list o.switch { ... }, o.cable { ... } and o.attach { ... }",
                       "topology 'custom' needs network.switches and network.attachments");
    PW_TRY(part_begin(part, sizeof(custom), error));
    custom *c = part->state;
    c->switches = desc->switches.count;
    c->tier = pw_alloc_zero(part->allocator, c->switches * sizeof *c->tier);
    c->index = pw_alloc_zero(part->allocator, c->switches * sizeof *c->index);
    c->used = pw_alloc_zero(part->allocator, c->switches * sizeof *c->used);
    c->by_name = pw_alloc_zero(part->allocator, c->switches * sizeof *c->by_name);
    c->names = pw_alloc_zero(part->allocator, (size_t)c->switches * CABLE_NAME_MOST);
    if (!c->tier || !c->index || !c->used || !c->by_name || !c->names) return part_no_memory(error);
    PW_TRY(add_switches(part, c, error));
    PW_TRY(add_cables(part, c, error));
    PW_TRY(add_ports(part, c, error));
    for (uint32_t i = 0; desc->radix && i < c->switches; i++)
        if (c->used[i] > desc->radix)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "raise network.radix, or leave it out", "switch '%s' has %u cables, more than its radix %lld",
                           name_of(c, i), c->used[i], (long long)desc->radix);
    return PW_OK;
}

static void destroy(network_part *part) {
    custom *c = part->state;
    uint32_t *const lists[] = {c->tier, c->index, c->used, c->by_name};
    for (int i = 0; i < 4; i++)
        if (lists[i]) pw_free(part->allocator, lists[i], c->switches * sizeof *lists[i]);
    if (c->names) pw_free(part->allocator, c->names, (size_t)c->switches * CABLE_NAME_MOST);
    pw_free(part->allocator, c, sizeof *c);
}

static pw_switch_info place(const network_part *part, uint32_t i) {
    const custom *c = custom_of(part);
    return (pw_switch_info){.tier = c->tier[i], .index = c->index[i], .name = name_of(c, i)};
}

static pw_network_facts facts(const network_part *part) {
    static const char *const names[PW_NETWORK_TIERS] = {"tier 1", "tier 2", "tier 3", "tier 4", "tier 5", "tier 6", "tier 7", "tier 8"};
    const custom *c = custom_of(part);
    pw_network_facts made = {.cable_count = 2, .oversubscription = 1, .cables = c->ports + c->trunks};
    for (uint32_t i = 0; i < c->switches; i++) {
        uint32_t t = c->tier[i];
        made.tier[t].switches++;
        if (c->used[i] > made.tier[t].most_cables) made.tier[t].most_cables = c->used[i];
        if (t + 1 > made.tier_count) made.tier_count = t + 1;
        (*(t == 0 ? &made.leaves : t == 1 ? &made.spines : &made.cores))++;
    }
    made.tiers = made.tier_count;
    for (uint32_t t = 0; t < made.tier_count; t++) made.tier[t].name = names[t];
    made.cable[0].name = "port", made.cable[0].cables = c->ports;
    made.cable[0].cable_Bps = c->ports ? c->port_Bps / c->ports : 0;
    made.cable[1].name = "switch to switch", made.cable[1].cables = c->trunks;
    made.cable[1].cable_Bps = c->trunks ? c->trunk_Bps / c->trunks : 0;
    return made;
}

const pw_topology topology_custom = {.name = "custom", .text = "switches and cables one by one: network.switches, cables, attachments",
                                     .one_switch = true, .searched = true, .uses = USES_GRAPH, .build = build, .destroy = destroy,
                                     .place = place, .facts = facts};
