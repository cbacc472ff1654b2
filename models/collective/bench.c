#include "models/collective/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/csv.h"
#include "sim/text.h"

const char *const pw_bench_columns[] = {
#define BENCH_NAME(name) #name,
    PW_BENCH_COLUMNS(BENCH_NAME)
#undef BENCH_NAME
    NULL};

/* A row of the table of patterns: cells by column name. */
typedef struct system_row {
    struct system_row *next;
    const char *words[PW_BENCH_WORDS]; /* patterns; "": any */
    const char *server, *device, *stack, *why;
    int64_t ports, domain;
    double port_Bps; /* NaN: the server's */
} system_row;

struct pw_benches {
    const pw_allocator *allocator;
    const pw_catalogue *catalogue;
    pw_arena *arena;
    system_row *systems;
    pw_bench *first;
};

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory"); }

/* --- The table of patterns ------------------------------------------------------------------------------------------- */

static pw_status cell_of(pw_csv *csv, pw_arena *arena, const char *column, const char **text, pw_error *error) {
    int at = pw_csv_find(csv, column);
    *text = pw_arena_text(arena, at < 0 ? "" : pw_csv_text(csv, at));
    return *text ? PW_OK : no_memory(error);
}

static pw_status number_of(pw_csv *csv, const char *column, double preset, double *value, pw_error *error) {
    int at = pw_csv_find(csv, column);
    *value = preset;
    return at < 0 ? PW_OK : pw_csv_number_or(csv, at, preset, value, error);
}

static pw_status read_system(pw_csv *csv, pw_arena *arena, system_row *row, pw_error *error) {
    double ports, domain, port_Gbps;
    for (int w = 0; w < PW_BENCH_WORDS; w++) PW_TRY(cell_of(csv, arena, pw_bench_columns[w], &row->words[w], error));
    PW_TRY(cell_of(csv, arena, "server", &row->server, error));
    PW_TRY(cell_of(csv, arena, "device", &row->device, error));
    PW_TRY(cell_of(csv, arena, "stack", &row->stack, error));
    PW_TRY(cell_of(csv, arena, "why", &row->why, error));
    PW_TRY(number_of(csv, "ports", 0, &ports, error));
    PW_TRY(number_of(csv, "domain", 0, &domain, error));
    PW_TRY(number_of(csv, "port_gbps", NAN, &port_Gbps, error));
    row->ports = (int64_t)ports;
    row->domain = (int64_t)domain;
    row->port_Bps = port_Gbps * 1e9 / 8;
    return PW_OK;
}

static pw_status read_systems(pw_benches *benches, const char *file, pw_error *error) {
    pw_csv *csv = NULL;
    PW_TRY(pw_csv_open(file, NULL, NULL, &csv, error));
    system_row **last = &benches->systems;
    pw_status status = PW_OK;
    for (bool more = true; status == PW_OK;) {
        status = pw_csv_next(csv, &more, error);
        if (status != PW_OK || !more) break;
        system_row *row = pw_arena_alloc(benches->arena, sizeof *row);
        if (!row) {
            status = no_memory(error);
            break;
        }
        *row = (system_row){0};
        status = read_system(csv, benches->arena, row, error);
        *last = row;
        last = &row->next;
    }
    pw_csv_close(csv);
    return status;
}

pw_status pw_benches_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *systems, pw_benches **benches,
                            pw_error *error) {
    *benches = NULL;
    if (!allocator) allocator = pw_allocator_default();
    pw_arena *arena = pw_arena_create(allocator);
    pw_benches *made = arena ? pw_arena_alloc(arena, sizeof *made) : NULL;
    if (!made) {
        pw_arena_destroy(arena);
        return no_memory(error);
    }
    *made = (pw_benches){.allocator = allocator, .catalogue = catalogue, .arena = arena};
    pw_status status = read_systems(made, systems, error);
    if (status == PW_OK) *benches = made;
    else pw_benches_destroy(made);
    return status;
}

void pw_benches_destroy(pw_benches *benches) {
    if (!benches) return;
    for (pw_bench *b = benches->first; b; b = b->next) {
        pw_collectives_destroy(b->collectives);
        pw_cluster_destroy(b->cluster);
    }
    pw_arena_destroy(benches->arena);
}

static const system_row *match(const pw_benches *benches, const char *const words[PW_BENCH_WORDS]) {
    for (const system_row *row = benches->systems; row; row = row->next) {
        bool same = true;
        for (int w = 0; same && w < PW_BENCH_WORDS; w++) same = strncmp(words[w], row->words[w], strlen(row->words[w])) == 0;
        if (same) return row;
    }
    return NULL;
}

/* --- A bench --------------------------------------------------------------------------------------------------------- */

typedef struct sizes {
    int64_t nodes, per_node, ranks, groups;
} sizes;

static pw_status read_sizes(const char *const words[PW_BENCH_WORDS], sizes *n, pw_error *error) {
    const struct { int word; int64_t preset, *to; } numbers[] = {
        {PW_BENCH_nodes, 1, &n->nodes}, {PW_BENCH_gpus_per_node, 0, &n->per_node}, {PW_BENCH_ranks, 0, &n->ranks},
        {PW_BENCH_concurrent_groups, 1, &n->groups}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = words[numbers[i].word], *end;
        *numbers[i].to = numbers[i].preset;
        if (*text && (!pw_text_integer(text, &end, numbers[i].to) || *end))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "column '%s': '%s' is no whole number",
                           pw_bench_columns[numbers[i].word], text);
    }
    if (n->ranks == 0) n->ranks = n->nodes * n->per_node;
    if (n->nodes < 1 || n->per_node < 1 || n->groups < 1 || n->nodes > 1 << 16 || n->per_node > 1 << 10 || n->groups > 1 << 10 ||
        n->ranks < 1 || n->ranks > 1 << 20)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "no such number of nodes, ranks or groups");
    return PW_OK;
}

static int choice_of(const char *const *names, const char *word) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], word) == 0) return i;
    return 0;
}

static pw_status why_not(pw_benches *benches, pw_bench *bench, pw_error *error, const char *format, const char *text) {
    char why[400];
    snprintf(why, sizeof why, format, text);
    bench->why = pw_arena_text(benches->arena, why);
    return bench->why ? PW_OK : no_memory(error);
}

static pw_status describe(pw_benches *benches, const system_row *row, const sizes *n, pw_bench *bench, pw_cluster_desc *desc,
                          pw_error *error) {
    const char *gpu = bench->words[PW_BENCH_gpu], *lib = bench->words[PW_BENCH_lib];
    PW_TRY(pw_description_defaults(&pw_cluster_kind, desc, benches->arena, error));
    PW_TRY(pw_description_defaults(&pw_network_kind, &desc->network, benches->arena, error));
    bool generic = strcmp(row->server, "generic") == 0;
    desc->node.server = row->server;
    if (*row->device || generic) desc->node.gpu = *row->device ? row->device : gpu;
    if (generic) desc->node.gpus = n->per_node * (n->nodes > 1 ? 1 : n->groups);
    desc->node.nics = row->ports;
    desc->node.nic_Bps = row->port_Bps;
    desc->node.scaleup_domain = row->domain;
    desc->name = gpu;
    desc->nodes = (n->ranks + n->per_node - 1) / n->per_node;
    desc->network.topology = pw_topology_find("rail_optimized");
    /* A version that does not begin with a digit is no version of the library: the newest constants. */
    const char *version = bench->words[PW_BENCH_lib_version];
    desc->communication.library = strcmp(lib, "rccl") == 0 || strcmp(lib, "nccl") == 0 ? lib : "";
    desc->communication.version = *version >= '0' && *version <= '9' ? version : "";
    desc->communication.launch = choice_of(pw_launch_names, bench->words[PW_BENCH_launch]);
    desc->communication.stack = row->stack;
    return PW_OK;
}

/* The first GPUs of every node. Disjoint groups of one domain do not share a link. */
static pw_status choose_gpus(pw_benches *benches, const sizes *n, pw_bench *bench, pw_error *error) {
    uint32_t per_node = pw_cluster_gpus_per_node(bench->cluster), count = (uint32_t)n->ranks;
    char text[120];
    if (n->per_node > per_node) {
        snprintf(text, sizeof text, "%d ranks in a node of %u GPUs", (int)n->per_node, per_node);
        return why_not(benches, bench, error, "%s", text);
    }
    if (n->groups > 1 && n->nodes > 1 && pw_cluster_scaleup_domain(bench->cluster) < count)
        return why_not(benches, bench, error, "%s", "groups side by side over several nodes share ports, and are no single collective");
    if (count < 2) return why_not(benches, bench, error, "%s", "a group of one");
    uint32_t *gpus = pw_arena_alloc(benches->arena, count * sizeof *gpus);
    if (!gpus) return no_memory(error);
    for (uint32_t i = 0; i < count; i++) gpus[i] = i / (uint32_t)n->per_node * per_node + i % (uint32_t)n->per_node;
    bench->gpus = gpus;
    return pw_collective_shape(bench->collectives, gpus, count, &bench->shape, error);
}

static pw_status build(pw_benches *benches, pw_bench *bench, const sizes *n, pw_error *error) {
    pw_cluster_desc desc;
    const char *lib = bench->words[PW_BENCH_lib];
    const system_row *row = match(benches, bench->words);
    if (*lib && strcmp(lib, "nccl") != 0 && strcmp(lib, "rccl") != 0)
        return why_not(benches, bench, error, "library '%.60s' is not modelled", lib);
    if (!row) return why_not(benches, bench, error, "GPU '%.60s' has no server on file", bench->words[PW_BENCH_gpu]);
    if (*row->why) return why_not(benches, bench, error, "%.300s", row->why);
    bench->stack = row->stack;
    PW_TRY(describe(benches, row, n, bench, &desc, error));
    PW_TRY(pw_cluster_create(benches->allocator, benches->catalogue, &desc, &bench->cluster, error));
    PW_TRY(pw_collectives_create(benches->allocator, benches->catalogue, bench->cluster, true, &bench->collectives, error));
    return choose_gpus(benches, n, bench, error);
}

const pw_bench *pw_benches_find(const pw_benches *benches, const char *const words[PW_BENCH_WORDS]) {
    for (const pw_bench *b = benches->first; b; b = b->next) {
        bool same = true;
        for (int w = 0; same && w < PW_BENCH_WORDS; w++) same = strcmp(b->words[w], words[w]) == 0;
        if (same) return b;
    }
    return NULL;
}

pw_status pw_benches_add(pw_benches *benches, const char *const words[PW_BENCH_WORDS], const pw_bench **bench, pw_error *error) {
    sizes n;
    if ((*bench = pw_benches_find(benches, words))) return PW_OK;
    PW_TRY(read_sizes(words, &n, error));
    pw_bench *made = pw_arena_alloc(benches->arena, sizeof *made);
    if (!made) return no_memory(error);
    *made = (pw_bench){.why = "", .stack = "", .next = benches->first};
    for (int w = 0; w < PW_BENCH_WORDS; w++)
        if (!(made->words[w] = pw_arena_text(benches->arena, words[w]))) return no_memory(error);
    benches->first = made;
    *bench = made;
    pw_error failure = {0};
    pw_status status = build(benches, made, &n, &failure);
    if (status == PW_NO_MEMORY) return no_memory(error);
    return status == PW_OK ? PW_OK : why_not(benches, made, error, "%.390s", failure.what);
}

/* --- A row ----------------------------------------------------------------------------------------------------------- */

int pw_bench_kind(const char *word) {
    static const struct { const char *theirs, *ours; } names[] = {{"alltoall", "all_to_all"}, {"sendrecv", "send_recv"}, {"alltoallv", "all_to_all_v"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i].theirs) == 0) word = names[i].ours;
    for (int i = 0; pw_collective_names[i]; i++)
        if (strcmp(pw_collective_names[i], word) == 0) return i;
    return -1;
}

pw_status pw_bench_time(const pw_bench *bench, pw_collective_kind kind, double bytes, double *seconds, pw_error *error) {
    pw_collective_cost cost;
    PW_TRY(pw_collective_cost_of(bench->collectives, kind, PW_ALGORITHM_AUTO, &bench->shape, bytes, &cost, error));
    *seconds = cost.total_s;
    return PW_OK;
}
