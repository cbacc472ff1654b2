/* Classes of links by refinement. Every link starts with its kind and bandwidth. For one flow class after the other, the
 * loads of all its carriers are summed per link, and links that were equal so far and get equal sums stay equal. A class is
 * thus a chain of (flow, load) pairs, a path in a tree, which is its load vector.
 *
 * A class that is nowhere more loaded, relative to its bandwidth, than some other class can never be the one that limits:
 * it is marked and gets no capacity. */
#include <stdlib.h>
#include <string.h>

#include "models/program/links.h"

digest digest_number(digest d, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return digest_add(d, bits);
}

/* --- Numbering ---------------------------------------------------------------------------------------------------- */

void numbering_clear(numbering *n) {
    n->count = 0;
    for (uint32_t i = 0; i < n->size; i++) n->table[i] = PW_NONE;
}

static void enter(numbering *n, uint32_t number) {
    uint32_t at = (uint32_t)n->keys[number].a & (n->size - 1);
    while (n->table[at] != PW_NONE) at = (at + 1) & (n->size - 1);
    n->table[at] = number;
}

uint32_t numbering_of(numbering *n, digest key) {
    if (2 * (n->count + 1) > n->size) {
        uint32_t size = n->size ? 2 * n->size : 256;
        uint32_t *table = pw_alloc(n->allocator, size * sizeof *table);
        if (!table) return PW_NONE;
        pw_free(n->allocator, n->table, n->size * sizeof *table);
        n->table = table;
        n->size = size;
        for (uint32_t i = 0; i < size; i++) table[i] = PW_NONE;
        for (uint32_t i = 0; i < n->count; i++) enter(n, i);
    }
    uint32_t at = (uint32_t)key.a & (n->size - 1);
    for (; n->table[at] != PW_NONE; at = (at + 1) & (n->size - 1)) {
        const digest *other = &n->keys[n->table[at]];
        if (other->a == key.a && other->b == key.b) return n->table[at];
    }
    if (pw_grow(n->allocator, (void **)&n->keys, &n->capacity, n->count + 1, sizeof *n->keys)) return PW_NONE;
    n->keys[n->count] = key;
    n->table[at] = (uint32_t)n->count;
    return (uint32_t)n->count++;
}

void numbering_free(numbering *n) {
    pw_free(n->allocator, n->keys, n->capacity * sizeof *n->keys);
    pw_free(n->allocator, n->table, n->size * sizeof *n->table);
    *n = (numbering){.allocator = n->allocator};
}

/* --- Loads -------------------------------------------------------------------------------------------------------- */

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to fold links");
}

pw_status link_table_create(const pw_allocator *allocator, const pw_fabric *fabric, link_table *table, pw_error *error) {
    uint32_t links = pw_fabric_links(fabric);
    *table = (link_table){.allocator = allocator, .link_total = links, .numbers.allocator = allocator};
    table->sum = pw_alloc_zero(allocator, (links + 1) * sizeof *table->sum);
    table->node_of_link = pw_alloc(allocator, (links + 1) * sizeof *table->node_of_link);
    return table->sum && table->node_of_link ? PW_OK : no_memory(error);
}

void link_table_free(link_table *table) {
    const pw_allocator *a = table->allocator;
    pw_free(a, table->carriers, table->carrier_capacity * sizeof *table->carriers);
    pw_free(a, table->loads, table->load_capacity * sizeof *table->loads);
    pw_free(a, table->sum, (table->link_total + 1) * sizeof *table->sum);
    pw_free(a, table->node_of_link, (table->link_total + 1) * sizeof *table->node_of_link);
    pw_free(a, table->touched, table->touched_capacity * sizeof *table->touched);
    pw_free(a, table->nodes, table->node_capacity * sizeof *table->nodes);
    numbering_free(&table->numbers);
}

void link_table_begin(link_table *table, flow_kind kind, uint32_t unit, uint32_t detail, int algorithm) {
    if (table->failed || pw_grow(table->allocator, (void **)&table->carriers, &table->carrier_capacity,
                                 table->carrier_count + 1, sizeof *table->carriers)) {
        table->failed = true;
        return;
    }
    table->carriers[table->carrier_count++] =
        (carrier){.kind = kind, .unit = unit, .detail = detail, .algorithm = algorithm, .first = table->load_count};
    table->touched_count = 0;
}

static bool touch(link_table *table, pw_link link) {
    if (table->failed || pw_grow(table->allocator, (void **)&table->touched, &table->touched_capacity,
                                 table->touched_count + 1, sizeof *table->touched)) {
        table->failed = true;
        return false;
    }
    table->touched[table->touched_count++] = link;
    return true;
}

void link_table_add(void *object, pw_link link, double load) {
    link_table *table = object;
    if (load <= 0 || table->failed) return;
    if (table->sum[link] == 0 && !touch(table, link)) return;
    table->sum[link] += load;
}

void link_table_end(link_table *table) {
    if (table->failed || pw_grow(table->allocator, (void **)&table->loads, &table->load_capacity,
                                 table->load_count + table->touched_count, sizeof *table->loads)) {
        table->failed = true;
        return;
    }
    for (size_t t = 0; t < table->touched_count; t++) {
        pw_link link = table->touched[t];
        table->loads[table->load_count++] = (link_load){link, table->sum[link]};
        table->sum[link] = 0;
    }
    carrier *last = &table->carriers[table->carrier_count - 1];
    last->count = (uint32_t)(table->load_count - last->first);
}

/* --- Refinement --------------------------------------------------------------------------------------------------- */

/* Sums of equal loads in different orders may differ in the last bits: 12 bits are given up. */
static double rounded(double load) {
    uint64_t bits;
    memcpy(&bits, &load, sizeof bits);
    bits = (bits + (UINT64_C(1) << 11)) & ~((UINT64_C(1) << 12) - 1);
    memcpy(&load, &bits, sizeof load);
    return load;
}

static void refine_link(link_table *table, const pw_fabric *fabric, pw_link link, uint32_t flow) {
    double load = rounded(table->sum[link]);
    table->sum[link] = 0;
    uint32_t parent = table->node_of_link[link];
    digest key = {flow, 1};
    struct link_node node = {.parent = parent, .flow = flow, .load = load};
    if (parent == PW_NONE) { /* first load: the root of its kind and bandwidth is part of the key */
        const pw_link_info *info = pw_fabric_link(fabric, link);
        digest root = digest_number(digest_add((digest){7, 7}, info->kind), info->bandwidth_Bps);
        node.parent = numbering_of(&table->numbers, root);
        if (node.parent == table->node_count) {
            if (pw_grow(table->allocator, (void **)&table->nodes, &table->node_capacity, table->node_count + 1,
                        sizeof *table->nodes)) {
                table->failed = true;
                return;
            }
            table->nodes[table->node_count++] = (struct link_node){.parent = PW_NONE, .load = 0};
        }
    }
    key = digest_number(digest_add(key, node.parent), load);
    uint32_t number = node.parent == PW_NONE ? PW_NONE : numbering_of(&table->numbers, key);
    if (number == PW_NONE || (number == table->node_count &&
                              pw_grow(table->allocator, (void **)&table->nodes, &table->node_capacity,
                                      table->node_count + 1, sizeof *table->nodes))) {
        table->failed = true;
        return;
    }
    if (number == table->node_count) table->nodes[table->node_count++] = node;
    table->node_of_link[link] = number;
}

static pw_status refine(link_table *table, const pw_fabric *fabric, uint32_t flow_count, pw_error *error) {
    const pw_allocator *a = table->allocator;
    size_t *first = pw_alloc_zero(a, (flow_count + 2) * sizeof *first);
    uint32_t *order = pw_alloc(a, (table->carrier_count + 1) * sizeof *order);
    numbering_clear(&table->numbers);
    table->node_count = 0;
    for (uint32_t l = 0; l < table->link_total; l++) table->node_of_link[l] = PW_NONE;
    if (first && order) {
        for (size_t c = 0; c < table->carrier_count; c++) first[table->carriers[c].flow + 2]++;
        for (uint32_t f = 0; f < flow_count; f++) first[f + 2] += first[f + 1];
        for (size_t c = 0; c < table->carrier_count; c++) order[first[table->carriers[c].flow + 1]++] = (uint32_t)c;
        for (uint32_t f = 0; f < flow_count && !table->failed; f++) {
            table->touched_count = 0;
            for (size_t o = first[f]; o < first[f + 1]; o++) {
                const carrier *one = &table->carriers[order[o]];
                for (size_t i = one->first; i < one->first + one->count; i++)
                    link_table_add(table, table->loads[i].link, table->loads[i].load);
            }
            for (size_t t = 0; t < table->touched_count && !table->failed; t++)
                refine_link(table, fabric, table->touched[t], f);
        }
    } else {
        table->failed = true;
    }
    pw_free(a, first, (flow_count + 2) * sizeof *first);
    pw_free(a, order, (table->carrier_count + 1) * sizeof *order);
    return table->failed ? no_memory(error) : PW_OK;
}

/* --- Classes ------------------------------------------------------------------------------------------------------ */

typedef struct class_key {
    double pressure; /* sum over flows of load / bandwidth */
    uint32_t index, node;
} class_key;

static int compare_keys(const void *left, const void *right) {
    const class_key *a = left, *b = right;
    if (a->pressure != b->pressure) return a->pressure > b->pressure ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Is the one class nowhere more loaded than the other? Both paths run from the last flow to the first. */
static bool dominated(const struct link_node *nodes, uint32_t node, double bandwidth, uint32_t by, double by_bandwidth) {
    for (; nodes[node].parent != PW_NONE; node = nodes[node].parent) {
        while (nodes[by].parent != PW_NONE && nodes[by].flow > nodes[node].flow) by = nodes[by].parent;
        if (nodes[by].parent == PW_NONE || nodes[by].flow != nodes[node].flow) return false;
        if (nodes[node].load * by_bandwidth > nodes[by].load * bandwidth) return false;
    }
    return true;
}

/* A class can only be dominated by one of at least its pressure, so a sweep in falling order compares with kept ones. */
static void mark_dominated(const link_table *table, link_classes *f, class_key *keys, uint32_t *kept) {
    uint32_t kept_count = 0;
    qsort(keys, f->link_count, sizeof *keys, compare_keys);
    for (uint32_t k = 0; k < f->link_count; k++) {
        link_class *own = &f->links[keys[k].index];
        own->binding = true;
        for (uint32_t i = 0; i < kept_count && own->binding; i++) {
            const class_key *other = &keys[kept[i]];
            own->binding = !dominated(table->nodes, keys[k].node, own->bandwidth_Bps, other->node,
                                      f->links[other->index].bandwidth_Bps);
        }
        if (own->binding) kept[kept_count++] = k;
    }
}

static bool fill_uses(const link_table *table, pw_arena *arena, link_classes *f, const class_key *keys) {
    for (uint32_t i = 0; i < f->flow_count; i++) f->flows[i].use_count = 0;
    for (uint32_t k = 0; k < f->link_count; k++)
        for (uint32_t n = keys[k].node; table->nodes[n].parent != PW_NONE; n = table->nodes[n].parent)
            f->flows[table->nodes[n].flow].use_count++;
    for (uint32_t i = 0; i < f->flow_count; i++) {
        f->flows[i].uses = pw_arena_alloc(arena, (f->flows[i].use_count + 1) * sizeof(flow_use));
        if (!f->flows[i].uses) return false;
        f->flows[i].use_count = 0;
    }
    for (uint32_t k = 0; k < f->link_count; k++)
        for (uint32_t n = keys[k].node; table->nodes[n].parent != PW_NONE; n = table->nodes[n].parent) {
            flow_class *flow = &f->flows[table->nodes[n].flow];
            ((flow_use *)flow->uses)[flow->use_count++] = (flow_use){keys[k].index, table->nodes[n].load};
        }
    return true;
}

pw_status link_table_classify(link_table *table, const pw_cluster *cluster, pw_arena *arena, link_classes *f, pw_error *error) {
    const pw_fabric *fabric = pw_cluster_fabric(cluster);
    PW_TRY(refine(table, fabric, f->flow_count, error));
    const pw_allocator *a = table->allocator;
    size_t nodes = table->node_count + 1;
    uint32_t *class_of_node = pw_alloc(a, nodes * sizeof *class_of_node), *kept = pw_alloc(a, nodes * sizeof *kept);
    class_key *keys = pw_alloc(a, nodes * sizeof *keys);
    f->links = pw_arena_alloc(arena, nodes * sizeof *f->links);
    f->class_of_link = pw_arena_alloc(arena, (table->link_total + 1) * sizeof *f->class_of_link);
    bool good = class_of_node && kept && keys && f->links && f->class_of_link;
    if (good) {
        for (size_t n = 0; n < nodes; n++) class_of_node[n] = PW_NONE;
        f->link_count = 0;
        for (uint32_t l = 0; l < table->link_total; l++) {
            uint32_t node = table->node_of_link[l];
            f->class_of_link[l] = PW_NONE;
            if (node == PW_NONE) continue;
            if (class_of_node[node] == PW_NONE) {
                const pw_link_info *info = pw_fabric_link(fabric, l);
                double pressure = 0;
                for (uint32_t n = node; table->nodes[n].parent != PW_NONE; n = table->nodes[n].parent)
                    pressure += table->nodes[n].load / info->bandwidth_Bps;
                keys[f->link_count] = (class_key){pressure, f->link_count, node};
                f->links[f->link_count] = 
                    (link_class){.bandwidth_Bps = info->bandwidth_Bps, .whole_Bps = info->bandwidth_Bps, .kind = info->kind};
                class_of_node[node] = f->link_count++;
            }
            f->class_of_link[l] = class_of_node[node];
            f->links[class_of_node[node]].links += fold_twins(cluster, l).count;
        }
        mark_dominated(table, f, keys, kept);
        good = fill_uses(table, arena, f, keys);
    }
    pw_free(a, class_of_node, nodes * sizeof *class_of_node);
    pw_free(a, kept, nodes * sizeof *kept);
    pw_free(a, keys, nodes * sizeof *keys);
    return good ? PW_OK : no_memory(error);
}

digest link_table_signature(const link_table *table, const link_classes *f, const carrier *one) {
    digest sum = {0, 0};
    for (size_t i = one->first; i < one->first + one->count; i++) {
        uint32_t index = f->class_of_link[table->loads[i].link];
        if (!f->links[index].binding) continue;
        sum = digest_sum(sum, digest_number(digest_add((digest){11, 13}, index), rounded(table->loads[i].load)));
    }
    return sum;
}
