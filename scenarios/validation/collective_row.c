#include "scenarios/validation/collective_row.h"

#include <math.h>
#include <string.h>

#include "scenarios/validation/layout.h"

struct collective_system {
    collective_system *next;
    const char *cells[8]; /* what tells systems apart, of `columns` */
    char why[320];        /* not "": no cluster */
    pw_cluster *cluster;
    pw_collectives *collectives;
    uint32_t *gpus;
    pw_group_shape shape;
};
static const char *const columns[] = {"gpu", "nodes", "gpus_per_node", "concurrent_groups", "intra", "inter", "lib", "lib_version"};
enum { COLUMNS = sizeof columns / sizeof *columns };

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory"); }

pw_status collective_systems_read(const pw_validation_context *context, collective_systems *systems, pw_error *error) {
    *systems = (collective_systems){.catalogue = context->catalogue, .arena = context->arena};
    return pw_layout_table(context, "collective-systems.csv", &systems->table, error);
}

static collective_system *find_system(const collective_systems *systems, const pw_measured *input, uint32_t row) {
    for (collective_system *s = systems->first; s; s = s->next) {
        bool same = true;
        for (int c = 0; same && c < COLUMNS; c++) same = strcmp(s->cells[c], pw_measured_text(input, row, columns[c])) == 0;
        if (same) return s;
    }
    return NULL;
}

/* --- A system -------------------------------------------------------------------------------------------------------- */

typedef struct sizes {
    int64_t nodes, per_node, groups;
} sizes;

static pw_status describe_cluster(const collective_systems *systems, const pw_measured *input, uint32_t row, const sizes *n,
                                  collective_system *system, pw_cluster_desc *desc, pw_error *error) {
    const pw_measured *table = &systems->table;
    const char *gpu = pw_measured_text(input, row, "gpu");
    int64_t at = pw_layout_match(table, "server", input, row);
    PW_TRY(pw_description_defaults(&pw_cluster_kind, desc, systems->arena, error));
    PW_TRY(pw_description_defaults(&pw_network_kind, &desc->network, systems->arena, error));
    if (at < 0) {
        snprintf(system->why, sizeof system->why, "GPU '%.60s' has no server on file", gpu);
        return PW_OK;
    }
    uint32_t found = (uint32_t)at;
    const char *device = pw_measured_text(table, found, "device"), *why = pw_measured_text(table, found, "why");
    double port_Gbps;
    snprintf(system->why, sizeof system->why, "%.300s", why);
    desc->node.server = pw_measured_text(table, found, "server");
    if (*device || strcmp(desc->node.server, "generic") == 0) desc->node.gpu = *device ? device : gpu;
    if (strcmp(desc->node.server, "generic") == 0) desc->node.gpus = n->per_node * (n->nodes > 1 ? 1 : n->groups);
    PW_TRY(pw_measured_integer(table, found, "ports", 0, &desc->node.nics, error));
    PW_TRY(pw_measured_integer(table, found, "domain", 0, &desc->node.scaleup_domain, error));
    PW_TRY(pw_measured_number(table, found, "port_gbps", &port_Gbps, error));
    if (!isnan(port_Gbps)) desc->node.nic_Bps = port_Gbps * 1e9 / 8;
    desc->nodes = n->nodes;
    desc->name = gpu;
    for (int i = 0; pw_topology_names[i]; i++)
        if (strcmp(pw_topology_names[i], "rail_optimized") == 0) desc->network.topology = i;
    return PW_OK;
}

/* The first GPUs of every node. Disjoint groups of one node or domain do not share a link. */
static pw_status choose_gpus(const collective_systems *systems, const sizes *n, collective_system *system, pw_error *error) {
    uint32_t per_node = pw_cluster_gpus_per_node(system->cluster), count = (uint32_t)(n->nodes * n->per_node);
    if (n->per_node > per_node) {
        snprintf(system->why, sizeof system->why, "%d ranks in a node of %u GPUs", (int)n->per_node, per_node);
        return PW_OK;
    }
    if (n->groups > 1 && n->nodes > 1 && pw_cluster_scaleup_domain(system->cluster) < count) {
        snprintf(system->why, sizeof system->why, "groups side by side over several nodes share ports, and are no single collective");
        return PW_OK;
    }
    if (count < 2) {
        snprintf(system->why, sizeof system->why, "a group of one");
        return PW_OK;
    }
    system->gpus = pw_arena_alloc(systems->arena, count * sizeof *system->gpus);
    if (!system->gpus) return no_memory(error);
    for (uint32_t i = 0; i < count; i++)
        system->gpus[i] = i / (uint32_t)n->per_node * per_node + i % (uint32_t)n->per_node;
    return pw_collective_shape(system->collectives, system->gpus, count, &system->shape, error);
}

static pw_status build(const collective_systems *systems, const pw_measured *input, uint32_t row, collective_system *system,
                       pw_error *error) {
    sizes n;
    pw_cluster_desc desc;
    PW_TRY(pw_measured_integer(input, row, "nodes", 1, &n.nodes, error));
    PW_TRY(pw_measured_integer(input, row, "gpus_per_node", 0, &n.per_node, error));
    PW_TRY(pw_measured_integer(input, row, "concurrent_groups", 1, &n.groups, error));
    if (n.nodes < 1 || n.per_node < 1 || n.groups < 1 || n.nodes > 1 << 16 || n.per_node > 1 << 10 || n.groups > 1 << 10)
        return pw_fail(error, PW_BAD_INPUT, input->file, input->lines[row], NULL, "no such number of nodes, ranks or groups");
    PW_TRY(describe_cluster(systems, input, row, &n, system, &desc, error));
    if (*system->why) return PW_OK;
    PW_TRY(pw_cluster_create(NULL, systems->catalogue, &desc, &system->cluster, error));
    PW_TRY(pw_collectives_create(NULL, systems->catalogue, system->cluster, true, &system->collectives, error));
    return choose_gpus(systems, &n, system, error);
}

pw_status collective_systems_add(collective_systems *systems, const pw_measured *input, pw_error *error) {
    for (uint32_t row = 0; row < input->rows; row++) {
        if (find_system(systems, input, row)) continue;
        collective_system *made = pw_arena_alloc(systems->arena, sizeof *made);
        if (!made) return no_memory(error);
        *made = (collective_system){.next = systems->first};
        for (int c = 0; c < COLUMNS; c++) made->cells[c] = pw_measured_text(input, row, columns[c]);
        systems->first = made;
        pw_error failure = {0};
        pw_status status = build(systems, input, row, made, &failure);
        if (status == PW_NO_MEMORY) return no_memory(error);
        if (status != PW_OK) snprintf(made->why, sizeof made->why, "%.300s", failure.what);
    }
    return PW_OK;
}

void collective_systems_free(collective_systems *systems) {
    for (collective_system *s = systems->first; s; s = s->next) {
        pw_collectives_destroy(s->collectives);
        pw_cluster_destroy(s->cluster);
    }
    systems->first = NULL;
}

/* --- A row ----------------------------------------------------------------------------------------------------------- */

static int kind_of(const char *text) {
    static const struct { const char *theirs, *ours; } other_names[] = {{"alltoall", "all_to_all"}, {"sendrecv", "send_recv"}, {"alltoallv", "all_to_all_v"}};
    for (size_t i = 0; i < sizeof other_names / sizeof *other_names; i++)
        if (strcmp(text, other_names[i].theirs) == 0) text = other_names[i].ours;
    for (int i = 0; pw_collective_names[i]; i++)
        if (strcmp(pw_collective_names[i], text) == 0) return i;
    return -1;
}

pw_status collective_row_of(const collective_systems *systems, const pw_measured *input, uint32_t r, collective_row *row,
                            pw_prediction *prediction, pw_error *error) {
    double microseconds;
    *row = (collective_row){.measured_s = NAN};
    PW_TRY(pw_measured_number(input, r, "size_bytes", &row->bytes, error));
    PW_TRY(pw_measured_number(input, r, "time_us", &microseconds, error));
    row->measured_s = microseconds * 1e-6;
    const char *word = pw_measured_text(input, r, "collective"), *lib = pw_measured_text(input, r, "lib");
    int kind = kind_of(word);
    const collective_system *system = find_system(systems, input, r);
    if (!(microseconds > 0)) snprintf(prediction->why, sizeof prediction->why, "no time");
    else if (!(row->bytes > 0)) snprintf(prediction->why, sizeof prediction->why, "no bytes");
    else if (kind < 0) snprintf(prediction->why, sizeof prediction->why, "collective '%.60s' is not modelled", word);
    else if (*lib && strcmp(lib, "nccl") != 0 && strcmp(lib, "rccl") != 0)
        snprintf(prediction->why, sizeof prediction->why, "library '%.60s' is not modelled", lib);
    else if (!system || *system->why) snprintf(prediction->why, sizeof prediction->why, "%s", system ? system->why : "no system");
    if (*prediction->why) return PW_OK;
    row->kind = (pw_collective_kind)kind;
    row->collectives = system->collectives;
    row->cluster = system->cluster;
    row->device = pw_cluster_device(system->cluster);
    row->gpus = system->gpus;
    row->shape = system->shape;
    return PW_OK;
}

pw_status collective_row_predict(const collective_row *row, double *seconds, pw_error *error) {
    pw_collective_cost cost;
    PW_TRY(pw_collective_cost_of(row->collectives, row->kind, PW_ALGORITHM_AUTO, &row->shape, row->bytes, &cost, error));
    *seconds = cost.total_s;
    return PW_OK;
}
