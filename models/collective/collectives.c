/* Collectives of one cluster: the parameters that hold for it, shapes of groups, and their loads on links. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/collective/algorithm.h"
#include "models/collective/collectives_internal.h"
#include "models/collective/fitting.h"

/* --- Life ---------------------------------------------------------------------------------------------------------- */

/* NICs were added node after node, so that their order of vertices is the order of ports. */
static pw_status number_ports(pw_collectives *collectives, pw_error *error) {
    const pw_fabric *fabric = pw_cluster_fabric(collectives->cluster);
    uint32_t port = 0;
    collectives->vertices = pw_fabric_vertices(fabric);
    collectives->port_of = pw_alloc(collectives->allocator, (collectives->vertices + 1) * sizeof *collectives->port_of);
    if (!collectives->port_of)
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the collectives of the cluster");
    for (uint32_t vertex = 0; vertex < collectives->vertices; vertex++)
        collectives->port_of[vertex] = pw_fabric_vertex_kind(fabric, vertex) == PW_VERTEX_NIC ? port++ : PW_NONE;
    return PW_OK;
}

static void write_provenance(pw_collectives *collectives) {
    const pw_device *device = pw_cluster_device(collectives->cluster);
    const parameter_table *set = &collectives->parameters;
    char *text = collectives->provenance;
    size_t size = sizeof collectives->provenance;
    if (!collectives->calibrated) {
        snprintf(text, size, "uncalibrated: hops x latency + busiest link's bytes over its payload bandwidth");
        return;
    }
    if (!set->own) {
        snprintf(text, size, "%s: no measurements for %s (%s); the rows for any generation stand in", set->file,
                 device->name, device->arch);
        return;
    }
    snprintf(text, size, "%s: %zu rows for %s%s", set->file, set->own, set->generation,
             pw_cluster_parts(collectives->cluster) > 1 ? ", which stand for every type of node" : "");
    const char *separator = "; rows for any generation stand in for ";
    for (int several = 0; several < 2; several++)
        for (int kind = 0; kind <= PARAMETER_KIND_MESSAGE; kind++) {
            bool own = parameters_has(set, kind, -1, several, true);
            for (int i = 0; pw_algorithm_table[i].name; i++) own = own || parameters_has(set, kind, i, several, true);
            if (own || (several && pw_cluster_scaleup_domain(collectives->cluster) == pw_cluster_gpus(collectives->cluster)))
                continue;
            size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s in %s", separator,
                     kind == PARAMETER_KIND_MESSAGE ? "messages" : pw_collective_names[kind],
                     several ? "several domains" : "one domain");
            separator = ", ";
        }
}

static pw_status read_memory_traffic(const pw_catalogue *catalogue, pw_collectives *made, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "collective-memory", &table, error));
    for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++) {
        int row = pw_table_find_row(table, pw_collective_names[kind]);
        double *traffic = &made->memory_traffic[kind];
        *traffic = row < 0 ? -1 : pw_table_number_of(table, (size_t)row, "traffic");
        if (!(*traffic >= 0))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), row < 0 ? 0 : pw_table_line(table, (size_t)row),
                           "give a row for each kind, with a number of at least 0", "the HBM traffic of %s is unknown",
                           pw_collective_names[kind]);
    }
    return PW_OK;
}

/* Library, network stack and way of launching: what the cluster says, else by GPU and ports. */
static pw_status read_library(const pw_catalogue *catalogue, pw_collectives *made, pw_error *error) {
    const pw_device *device = pw_cluster_device(made->cluster);
    const pw_communication_desc *said = pw_cluster_communication(made->cluster);
    const pw_table *servers = pw_catalogue_table(catalogue, "servers");
    const char *server = pw_cluster_get_facts(made->cluster).server;
    const char *library = *said->library ? said->library : !strcmp(device->vendor, "AMD") ? "rccl" : "nccl";
    int row = servers && *server ? pw_table_find_row(servers, server) : -1;
    made->amd_host = row >= 0 && strstr(pw_table_text_of(servers, (size_t)row, "cpus"), "EPYC");
    made->threads = said->launch == PW_LAUNCH_THREADS;
    made->chooses_library = said->choice == PW_CHOICE_LIBRARY;
    PW_TRY(parameters_load_stack(catalogue, said->stack, pw_cluster_nic_protocol(made->cluster), &made->stack, error));
    PW_TRY(parameters_load_launch(catalogue, pw_launch_names[said->launch], device->arch, pw_cluster_host(made->cluster), made->launch_s, &made->launch_member_s, error));
    PW_TRY(library_load(catalogue, library, said->version, device->arch, &made->library, error));
    return parameters_load(made->allocator, catalogue, device->arch, library, said->version, &made->parameters, error);
}

pw_status pw_collectives_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster *cluster,
                                bool calibrated, pw_collectives **collectives, pw_error *error) {
    *collectives = NULL;
    if (!allocator) allocator = pw_allocator_default();
    pw_collectives *made = pw_alloc_zero(allocator, sizeof *made);
    if (!made) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the collectives of the cluster");
    made->allocator = allocator;
    made->cluster = cluster;
    made->calibrated = calibrated;
    uint32_t per_node = pw_cluster_gpus_per_node(cluster), domain = pw_cluster_scaleup_domain(cluster);
    made->domain_gpus = pw_cluster_parts(cluster) > 1 ? 0 : domain > 1 ? domain : per_node;
    const pw_network *network = pw_cluster_network(cluster);
    made->full = !network || pw_network_is_nonblocking(network);
    made->rails = network && pw_network_is_rail_aligned(network);
    made->crossbar = true;
    for (uint32_t i = 0; i < pw_cluster_parts(cluster); i++) {
        const char *scaleup = pw_cluster_get_part(cluster, i).scaleup;
        made->crossbar = made->crossbar && !strcmp(scaleup, "nvswitch");
        made->mesh = made->mesh || !strcmp(scaleup, "mesh");
    }
    pw_status status = number_ports(made, error);
    if (status == PW_OK && calibrated) status = read_memory_traffic(catalogue, made, error);
    if (status == PW_OK && calibrated) status = read_library(catalogue, made, error);
    if (status != PW_OK) {
        pw_collectives_destroy(made);
        return status;
    }
    write_provenance(made);
    *collectives = made;
    return PW_OK;
}

void pw_collectives_destroy(pw_collectives *collectives) {
    if (!collectives) return;
    const pw_allocator *allocator = collectives->allocator;
    parameters_free(allocator, &collectives->parameters);
    variants_free(collectives);
    if (collectives->port_of)
        pw_free(allocator, collectives->port_of, (collectives->vertices + 1) * sizeof *collectives->port_of);
    pw_free(allocator, collectives, sizeof *collectives);
}

void pw_collectives_watch(pw_collectives *collectives, const volatile int *interrupt) { collectives->interrupt = interrupt; }

pw_status collectives_check(const pw_collectives *collectives, pw_error *error) {
    if (!collectives->interrupt || !*collectives->interrupt) return PW_OK;
    return pw_fail(error, PW_INTERRUPTED, NULL, 0, NULL, "interrupted");
}

bool pw_collectives_calibrated(const pw_collectives *collectives) {
    return collectives->calibrated;
}

void collectives_try_rows(pw_collectives *collectives, parameter_row *rows, size_t count) {
    if (collectives->parameters.capacity) parameters_free(collectives->allocator, &collectives->parameters);
    collectives->parameters.rows = rows; /* capacity 0: not its own */
    collectives->parameters.count = collectives->parameters.own = count;
}

void collectives_try_stack(pw_collectives *collectives, const parameter_stack *stack) { collectives->stack = *stack; }

void collectives_try_launch(pw_collectives *collectives, double added_s, double added_exchange_s) {
    collectives->launch_s[0] = added_s;
    collectives->launch_s[1] = added_exchange_s;
}

const library_constants *collectives_library(const pw_collectives *collectives) { return &collectives->library; }

const char *pw_collectives_provenance(const pw_collectives *collectives) {
    return collectives->provenance;
}

uint32_t collectives_domain(const pw_collectives *collectives, uint32_t gpu) {
    return collectives->domain_gpus ? gpu / collectives->domain_gpus : pw_cluster_domain_of(collectives->cluster, gpu);
}

/* --- Shape --------------------------------------------------------------------------------------------------------- */

static pw_status check_members(const pw_collectives *collectives, const uint32_t *gpus, uint32_t count, pw_error *error) {
    if (count == 0) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a group without members");
    for (uint32_t i = 0; i < count; i++) {
        if (gpus[i] >= pw_cluster_gpus(collectives->cluster))
            return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, NULL, "the cluster has %u GPUs; a group names GPU %u",
                           pw_cluster_gpus(collectives->cluster), gpus[i]);
        if (i > 0 && gpus[i] == gpus[i - 1])
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "GPU %u is twice in a group", gpus[i]);
    }
    return PW_OK;
}

/* Counts runs of members in one domain. Even: all runs are equally long and no domain comes twice. */
static void count_domains(const pw_collectives *collectives, const uint32_t *gpus, uint32_t count, pw_group_shape *shape) {
    uint32_t runs = 0, run = 0, shortest = UINT32_MAX;
    bool ascending = true, descending = true;
    shape->per_domain = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t domain = collectives_domain(collectives, gpus[i]);
        bool last = i + 1 == count, ends = last || collectives_domain(collectives, gpus[i + 1]) != domain;
        run++;
        if (!ends) continue;
        if (!last) {
            ascending = ascending && collectives_domain(collectives, gpus[i + 1]) > domain;
            descending = descending && collectives_domain(collectives, gpus[i + 1]) < domain;
        }
        runs++;
        if (run > shape->per_domain) shape->per_domain = run;
        if (run < shortest) shortest = run;
        run = 0;
    }
    shape->domains = runs;
    shape->even = shortest == shape->per_domain && (ascending || descending);
}

/* Rate inside a domain when every member sends to the next one; in a mesh, of the member with the least on direct links. */
static pw_status measure_domain(const pw_collectives *collectives, const uint32_t *gpus, uint32_t members, load_sum *sum,
                                pw_group_shape *shape, pw_error *error) {
    double rate = 0, latency = 0, least = INFINITY;
    for (uint32_t i = 0; i < members; i++) {
        uint32_t next = gpus[i + 1 < members ? i + 1 : 0];
        PW_TRY(load_sum_message(sum, gpus[i], next, 1, error));
        PW_TRY(collectives_message_path(collectives, gpus[i], next, &rate, &latency, error));
        if (latency > shape->latency_s) shape->latency_s = latency;
        double direct = 0;
        for (uint32_t j = 0; collectives->mesh && j < members; j++) {
            pw_link link = PW_NONE;
            if (j == i) continue;
            PW_TRY(collectives_direct_link(collectives, gpus[i], gpus[j], &link, &rate, error));
            direct += rate;
            double way_s = 0;
            PW_TRY(collectives_message_path(collectives, gpus[i], gpus[j], &rate, &way_s, error));
            if (shape->pair_Bps == 0 || rate < shape->pair_Bps) shape->pair_Bps = rate;
        }
        if (direct < least) least = direct;
    }
    shape->scaleup_Bps = least > 0 ? least : load_sum_rate(sum);
    return PW_OK;
}

/* Where domains differ: the least rate and largest latency of the messages over the borders of a flat ring. What several messages do
 * to each other there is found from the links of the group (uneven.c, collectives_need). */
static pw_status measure_borders(const pw_collectives *collectives, const uint32_t *gpus, uint32_t count, pw_group_shape *shape,
                                 pw_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = gpus[i + 1 < count ? i + 1 : 0];
        double rate, latency;
        if (collectives_domain(collectives, gpus[i]) == collectives_domain(collectives, to)) continue;
        PW_TRY(collectives_message_path(collectives, gpus[i], to, &rate, &latency, error));
        if (shape->network_Bps == 0 || rate < shape->network_Bps) shape->network_Bps = rate;
        if (latency > shape->latency_s) shape->latency_s = latency;
    }
    return PW_OK;
}

/* Rate per member when all members of the largest run send to the next domain (or to the first). */
static pw_status measure_network(const pw_collectives *collectives, const uint32_t *gpus, uint32_t count, uint32_t first,
                                 load_sum *sum, pw_group_shape *shape, pw_error *error) {
    uint32_t members = shape->per_domain, after = first + members < count ? first + members : 0, others = 0;
    while (after + others < count &&
           collectives_domain(collectives, gpus[after + others]) == collectives_domain(collectives, gpus[after]))
        others++;
    for (uint32_t i = 0; i < members; i++) {
        double rate = 0, latency = 0;
        uint32_t to = gpus[after + i % others];
        if (collectives_domain(collectives, to) == collectives_domain(collectives, gpus[first])) continue;
        PW_TRY(load_sum_message(sum, gpus[first + i], to, 1, error));
        PW_TRY(collectives_message_path(collectives, gpus[first + i], to, &rate, &latency, error));
        if (latency > shape->latency_s) shape->latency_s = latency;
    }
    shape->network_Bps = load_sum_rate(sum);
    const pw_network *network = pw_cluster_network(collectives->cluster);
    const pw_fabric *fabric = pw_cluster_fabric(collectives->cluster);
    if (!network || !pw_network_has_routers(network)) return PW_OK;
    for (uint32_t i = 0; i < sum->count; i++) {
        const pw_link_info *link = pw_fabric_link(fabric, sum->links[i]);
        double rate = link->bandwidth_Bps / sum->bytes[i];
        if (link->kind != PW_LINK_TRUNK && (shape->exchange_Bps == 0 || rate < shape->exchange_Bps)) shape->exchange_Bps = rate;
    }
    return PW_OK;
}

/* Rate of one member that sends to every member of the next domain alike. */
static pw_status measure_lone(const pw_collectives *collectives, const uint32_t *gpus, uint32_t count, uint32_t first,
                              pw_group_shape *shape, pw_error *error) {
    load_sum sum;
    load_sum_create(collectives, &sum);
    pw_status status = PW_OK;
    uint32_t after = first + shape->per_domain < count ? first + shape->per_domain : 0, others = 0;
    uint32_t domain = collectives_domain(collectives, gpus[after]);
    while (after + others < count && collectives_domain(collectives, gpus[after + others]) == domain) others++;
    for (uint32_t i = 0; status == PW_OK && i < others; i++)
        status = load_sum_message(&sum, gpus[first], gpus[after + i], 1.0 / others, error);
    shape->lone_Bps = load_sum_rate(&sum);
    load_sum_destroy(&sum);
    return status;
}

pw_status pw_collective_shape(const pw_collectives *collectives, const uint32_t *gpus, uint32_t count,
                              pw_group_shape *shape, pw_error *error) {
    *shape = (pw_group_shape){.members = count, .domains = 1, .per_domain = 1, .even = true};
    PW_TRY(check_members(collectives, gpus, count, error));
    if (count < 2) return PW_OK;
    count_domains(collectives, gpus, count, shape);
    const pw_network *network = pw_cluster_network(collectives->cluster);
    shape->network_reduces = network && pw_network_reduces(network);
    uint32_t first = 0, run = 1; /* where the longest run begins */
    for (; run < shape->per_domain; first++) {
        run = 1;
        while (run < shape->per_domain && first + run < count &&
               collectives_domain(collectives, gpus[first + run]) == collectives_domain(collectives, gpus[first]))
            run++;
        if (run == shape->per_domain) break;
    }
    load_sum inside, between;
    pw_status status = PW_OK;
    load_sum_create(collectives, &inside);
    load_sum_create(collectives, &between);
    if (shape->per_domain > 1)
        status = measure_domain(collectives, gpus + first, shape->per_domain, &inside, shape, error);
    shape->scaleup_latency_s = shape->latency_s;
    if (status == PW_OK && shape->domains > 1 && !shape->even) status = measure_borders(collectives, gpus, count, shape, error);
    if (status == PW_OK && shape->domains > 1 && shape->even)
        status = measure_network(collectives, gpus, count, first, &between, shape, error);
    if (status == PW_OK && shape->domains > 1) status = measure_lone(collectives, gpus, count, first, shape, error);
    load_sum_destroy(&between);
    load_sum_destroy(&inside);
    return status;
}

/* --- Loads --------------------------------------------------------------------------------------------------------- */

typedef struct load_walk {
    const pw_collectives *collectives;
    const uint32_t *gpus;
    load_sum *sum;
    double *mesh_bytes; /* per run of members in one domain, collected to be spread; NULL: by routes */
    const uint32_t *run_of;
    bool chain;         /* from or to one member */
    uint32_t count;
    pw_status status;
    pw_error *error;
} load_walk;

static void walk_edge(void *object, const pw_collective_step *step) {
    load_walk *walk = object;
    if (walk->status == PW_OK && walk->count++ % 1024 == 0) walk->status = collectives_check(walk->collectives, walk->error);
    if (walk->status != PW_OK) return;
    uint32_t from = walk->gpus[step->from], to = walk->gpus[step->to];
    if (walk->mesh_bytes && collectives_domain(walk->collectives, from) == collectives_domain(walk->collectives, to))
        walk->mesh_bytes[walk->run_of[step->from]] += step->fraction;
    else
        walk->status = load_sum_message(walk->sum, from, to, step->fraction, walk->error);
}

/* Rings in a mesh are laid so that every direct link between members carries its share: bytes in proportion to
 * bandwidth. Members first to end sit in one domain. Without direct links the ring's own routes are used. */
static pw_status spread_run(const load_walk *walk, uint32_t first, uint32_t end, double bytes, pw_error *error) {
    double total = 0, least = INFINITY, bandwidth = 0;
    pw_link link = PW_NONE;
    for (uint32_t i = first; i < end; i++) {
        double own = 0;
        for (uint32_t j = first; j < end; j++) {
            if (i == j) continue;
            PW_TRY(collectives_direct_link(walk->collectives, walk->gpus[i], walk->gpus[j], &link, &bandwidth, error));
            own += bandwidth;
        }
        total += own;
        if (own < least) least = own;
    }
    if (!(least > 0)) {
        for (uint32_t i = first; i < end; i++)
            PW_TRY(load_sum_message(walk->sum, walk->gpus[i], walk->gpus[i + 1 < end ? i + 1 : first], bytes / (end - first),
                                    error));
        return PW_OK;
    }
    /* What every member passes on (of a chain, all but one) must get over the links of the one that has the least. */
    double passed = bytes / (walk->chain ? end - first - 1 : end - first), needed = passed * total / least;
    if (needed > bytes) bytes = needed;
    for (uint32_t i = first; i < end; i++)
        for (uint32_t j = first; j < end; j++) {
            if (i == j) continue;
            PW_TRY(collectives_direct_link(walk->collectives, walk->gpus[i], walk->gpus[j], &link, &bandwidth, error));
            if (bandwidth > 0) load_sum_add(walk->sum, link, bytes * bandwidth / total);
        }
    return PW_OK;
}

static pw_status spread_mesh(load_walk *walk, uint32_t members, pw_error *error) {
    for (uint32_t first = 0, end; first < members; first = end) {
        for (end = first; end < members && walk->run_of[end] == walk->run_of[first];) end++;
        if (end - first > 1 && walk->mesh_bytes[walk->run_of[first]] > 0)
            PW_TRY(spread_run(walk, first, end, walk->mesh_bytes[walk->run_of[first]], error));
    }
    return PW_OK;
}

static pw_status collect_loads(const pw_collectives *collectives, pw_collective_kind kind, const pw_algorithm *row,
                               const uint32_t *gpus, const pw_group_shape *shape, load_sum *sum, pw_error *error) {
    load_walk walk = {.collectives = collectives, .gpus = gpus, .sum = sum, .status = PW_OK, .error = error,
                      .chain = kind == PW_COLLECTIVE_BROADCAST || kind == PW_COLLECTIVE_REDUCE};
    const pw_allocator *allocator = collectives->allocator;
    uint32_t members = shape->members, *run_of = NULL;
    double *mesh_bytes = NULL;
    bool mesh = collectives->mesh && row->edges && row->edges != direct_edges && /* others say who sends to whom */
                kind != PW_COLLECTIVE_SEND_RECV;
    if (mesh) {
        run_of = pw_alloc(allocator, members * sizeof *run_of);
        mesh_bytes = pw_alloc_zero(allocator, members * sizeof *mesh_bytes);
        if (!run_of || !mesh_bytes) {
            walk.status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the link loads of a collective");
        } else {
            for (uint32_t i = 0, run = 0; i < members; i++) {
                if (i > 0 && collectives_domain(collectives, gpus[i]) != collectives_domain(collectives, gpus[i - 1])) run++;
                run_of[i] = run;
            }
            walk.run_of = run_of;
            walk.mesh_bytes = mesh_bytes;
        }
    }
    bool done = false;
    bool uniform = row->edges == direct_edges && (kind == PW_COLLECTIVE_ALL_TO_ALL || kind == PW_COLLECTIVE_ALL_GATHER ||
                                                  kind == PW_COLLECTIVE_REDUCE_SCATTER || is_all_reduce(kind));
    if (walk.status == PW_OK && uniform)
        walk.status = exchange_loads(collectives, gpus, shape, row->rounds(kind, shape) / (double)members, sum, &done, error);
    if (walk.status == PW_OK && !done) (row->edges ? row->edges : row->steps)(kind, shape, walk_edge, &walk);
    if (walk.status == PW_OK && mesh) walk.status = spread_mesh(&walk, members, error);
    if (run_of) pw_free(allocator, run_of, members * sizeof *run_of);
    if (mesh_bytes) pw_free(allocator, mesh_bytes, members * sizeof *mesh_bytes);
    return walk.status;
}

pw_status pw_collective_loads(const pw_collectives *collectives, pw_collective_kind kind, int algorithm,
                              const uint32_t *gpus, const pw_group_shape *shape, pw_link_load_fn *add, void *object,
                              pw_error *error) {
    if (shape->members < 2) return PW_OK;
    pw_group_shape with = *shape;
    const pw_algorithm *row = pw_collectives_algorithm(collectives, algorithm, &with);
    if (!row)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "take the algorithm from pw_collective_cost_of",
                       "loads need one algorithm, not number %d", algorithm);
    load_sum sum;
    load_sum_create(collectives, &sum);
    pw_status status = collect_loads(collectives, kind, row, gpus, &with, &sum, error);
    if (status == PW_OK && sum.failed)
        status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the link loads of a collective");
    for (uint32_t i = 0; status == PW_OK && i < sum.count; i++) add(object, sum.links[i], sum.bytes[i]);
    load_sum_destroy(&sum);
    return status;
}

/* --- What the links of some members need ---------------------------------------------------------------------------- */

pw_status collectives_need(const pw_collectives *collectives, pw_collective_kind kind, const uint32_t *gpus,
                           const pw_group_shape *shape, double bytes, pw_collective_cost *cost, pw_error *error) {
    load_sum sum;
    pw_group_shape with = *shape;
    const pw_algorithm *row = pw_collectives_algorithm(collectives, cost->algorithm, &with);
    load_sum_create(collectives, &sum);
    pw_status status = collect_loads(collectives, kind, row, gpus, &with, &sum, error);
    if (status == PW_OK && sum.failed)
        status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the link loads of a collective");
    double floor_s = bytes / load_sum_rate(&sum);
    load_sum_destroy(&sum);
    PW_TRY(status);
    if (floor_s > cost->floor_s) cost->floor_s = floor_s;
    if (!(cost->total_s - cost->alpha_s < floor_s)) return PW_OK;
    cost->total_s = cost->alpha_s + floor_s;
    if (cost->cap_Bps > 0) cost->memory_Bps *= bytes / floor_s / cost->cap_Bps;
    cost->cap_Bps = bytes / floor_s;
    return PW_OK;
}
