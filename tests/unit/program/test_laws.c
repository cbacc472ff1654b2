/* Laws that hold for every collective on every fabric, in random cases: cluster, group, kind, algorithm and size.
 *
 * The cut bound is computed here, from link capacities alone: whatever the algorithm, a set of vertices must let out what its
 * members have to tell the others. Cases: PODWRIGHT_LAW_CASES (default: a share for every day). A failure prints its case. */
#include <stdlib.h>

#include "models/program/executor.h"
#include "sim/random.h"
#include "tests/harness/check.h"

enum { MOST_MEMBERS = 32, PER_CLUSTER = 25, DAILY_CASES = 2500 };

static pw_catalogue *catalogue;
static pw_arena *arena;

typedef struct setting {
    pw_cluster *cluster;
    pw_collectives *plain, *calibrated;
    const char *server;
    bool mesh, crossbar, one_switch;
    uint32_t links;
    uint64_t seed;
} setting;

typedef struct law_case {
    uint32_t gpus[MOST_MEMBERS], members;
    pw_group_shape shape;
    pw_collective_kind kind;
    int algorithm;
    double bytes;
    bool calibrated;
} law_case;

static uint32_t below(pw_random *random, uint32_t n) { return (uint32_t)pw_random_below(random, n); }

#define LAW(condition, s, c, ...)                                                                                          \
    do {                                                                                                                   \
        if (!(condition)) {                                                                                                \
            PW_FAILED(__VA_ARGS__);                                                                                        \
            describe(s, c);                                                                                                \
        }                                                                                                                  \
    } while (0)

static void describe(const setting *s, const law_case *c) {
    printf("#   cluster %llu (%s, %u nodes, %s), %s %s of %.17g bytes, %s, %u members in %u domains:", (unsigned long long)s->seed,
           s->server, pw_cluster_nodes(s->cluster), pw_cluster_get_facts(s->cluster).topology, pw_collective_names[c->kind],
           pw_algorithm_names[c->algorithm + 1], c->bytes, c->calibrated ? "calibrated" : "plain", c->members, c->shape.domains);
    for (uint32_t m = 0; m < c->members; m++) printf(" %u", c->gpus[m]);
    printf("; %g B/s inside, %g B/s between, %g s\n", c->shape.scaleup_Bps, c->shape.network_Bps, c->shape.latency_s);
}

/* --- Cases --------------------------------------------------------------------------------------------------------- */

static const char *const servers[] = {"DGX H100", "DGX A100 640GB", "DGX B200", "DGX-1 V100", "DGX-2", "MI300X 8-OAM platform",
                                      "8xH100-PCIe server"};

static bool open_setting(uint64_t seed, setting *s) {
    pw_random random = pw_random_stream(seed, "fabric", 0);
    pw_error error = {0};
    pw_cluster_desc desc = {0};
    PW_CHECK(pw_description_defaults(&pw_cluster_kind, &desc, arena, &error) == PW_OK);
    *s = (setting){.seed = seed, .server = servers[below(&random, 3) ? below(&random, 3) : below(&random, 7)]};
    desc.name = "laws";
    desc.node.server = s->server;
    desc.nodes = below(&random, 4) ? 1 + below(&random, 6) : 1;
    if (below(&random, 3) == 0) desc.node.gpus = desc.node.nics = 1 + below(&random, 4);
    uint32_t topologies = 0;
    while (pw_topology_names[topologies]) topologies++;
    desc.network.topology = (int)below(&random, topologies);
    s->one_switch = !strcmp(pw_topology_names[desc.network.topology], "single_switch");
    if (below(&random, 2)) desc.network.radix = 16 << below(&random, 3);
    if (below(&random, 2)) desc.network.oversubscription = 1 + 3 * pw_random_uniform(&random);
    if (below(&random, 2)) desc.network.port_Bps = 1e9 * (5 + 95 * pw_random_uniform(&random));
    if (below(&random, 2)) desc.network.hop_latency_s = 1e-6 * pw_random_uniform(&random);
    if (s->one_switch) desc.network.radix = 0;
    if (pw_cluster_create(NULL, catalogue, &desc, &s->cluster, &error) != PW_OK) return false;
    s->mesh = !strcmp(pw_cluster_get_facts(s->cluster).scaleup, "mesh");
    s->crossbar = !strcmp(pw_cluster_get_facts(s->cluster).scaleup, "nvswitch");
    s->links = pw_fabric_links(pw_cluster_fabric(s->cluster));
    PW_CHECK(pw_collectives_create(NULL, catalogue, s->cluster, false, &s->plain, &error) == PW_OK);
    PW_CHECK(pw_collectives_create(NULL, catalogue, s->cluster, true, &s->calibrated, &error) == PW_OK);
    return true;
}

static void close_setting(setting *s) {
    pw_collectives_destroy(s->plain);
    pw_collectives_destroy(s->calibrated);
    pw_cluster_destroy(s->cluster);
}

static const pw_collectives *collectives_of(const setting *s, const law_case *c) { return c->calibrated ? s->calibrated : s->plain; }

/* All, a few in a row, one of each so many, or any in any order. */
static void draw_group(pw_random *random, const setting *s, law_case *c) {
    uint32_t total = pw_cluster_gpus(s->cluster), form = below(random, 4);
    if (form < 2) {
        uint32_t step = form ? 1 + below(random, pw_cluster_gpus_per_node(s->cluster)) : 1;
        uint32_t first = below(random, step), most = (total - first + step - 1) / step;
        if (most > MOST_MEMBERS) most = MOST_MEMBERS;
        c->members = most < 3 || below(random, 2) ? most : 2 + below(random, most - 1);
        for (uint32_t m = 0; m < c->members; m++) c->gpus[m] = first + m * step;
        return;
    }
    uint32_t count = 0;
    for (uint32_t g = 0; g < total && count < MOST_MEMBERS; g++)
        if (below(random, 2)) c->gpus[count++] = g;
    for (uint32_t m = 0; form == 3 && m + 1 < count; m++) {
        uint32_t other = m + below(random, count - m), kept = c->gpus[m];
        c->gpus[m] = c->gpus[other], c->gpus[other] = kept;
    }
    c->members = count;
}

/* False: nothing to test. */
static bool draw(pw_random *random, const setting *s, law_case *c) {
    draw_group(random, s, c);
    if (c->members < 2) return false;
    pw_error error = {0};
    c->calibrated = below(random, 2);
    if (pw_collective_shape(collectives_of(s, c), c->gpus, c->members, &c->shape, &error) != PW_OK) return false;
    c->kind = (pw_collective_kind)below(random, PW_COLLECTIVE_KIND_COUNT);
    c->bytes = floor(exp(22 * pw_random_uniform(random)));
    int algorithms = 0, tries = 0;
    while (pw_algorithm_table[algorithms].name) algorithms++;
    pw_collective_cost cost;
    do c->algorithm = (int)below(random, (uint32_t)algorithms + 1) - 1;
    while (++tries < 30 && pw_collective_group_cost(collectives_of(s, c), c->kind, c->algorithm, c->gpus, &c->shape, c->bytes, &cost, &error));
    return tries < 30;
}

static pw_collective_cost cost_of(const setting *s, const law_case *c, double bytes) {
    pw_collective_cost cost = {0};
    pw_error error = {0};
    pw_status status = pw_collective_group_cost(collectives_of(s, c), c->kind, c->algorithm, c->gpus, &c->shape, bytes, &cost, &error);
    LAW(status == PW_OK, s, c, "%s", error.what);
    return cost;
}

/* --- Runs ---------------------------------------------------------------------------------------------------------- */

typedef struct answer {
    pw_time first, second; /* ends of the collective and of its repetition */
    pw_executor_totals totals;
} answer;

/* The collective twice, one after the other. */
static answer run(const setting *s, const law_case *c, bool fold, bool messages, double bytes) {
    static uint32_t programs[MOST_MEMBERS], numbers[MOST_MEMBERS], groups[MOST_MEMBERS];
    static const pw_category categories[] = {{"it", PW_BLAME_COMMUNICATION}};
    for (uint32_t m = 0; m < c->members; m++) numbers[m] = m;
    const uint32_t first[2] = {0, c->members};
    pw_group_role role = {.name = "all", .groups = 1, .group_of_rank = groups, .first = first, .members = numbers};
    pw_op op = {.kind = PW_OP_COLLECTIVE, PW_OP_INIT,
                .collective = {.kind = c->kind, .algorithm = c->algorithm, .bytes = bytes}};
    pw_template template = {.name = "it", .ops = &op, .count = 1};
    pw_program program = {.name = "it"};
    pw_job job = {.name = "law", .ranks = c->members, .gpu_of_rank = c->gpus, .program_of_rank = programs, .programs = &program,
                  .program_count = 1, .templates = &template, .template_count = 1, .group_roles = &role, .group_role_count = 1,
                  .categories = categories, .category_count = 1, .streams = 1, .slots = 1, .kernel_time_factor = 1};
    answer a = {0};
    pw_error error = {0};
    for (uint32_t repeats = 1; repeats <= 2; repeats++) {
        pw_sim *sim;
        pw_fluid *fluid;
        pw_executor *x;
        PW_CHECK(pw_sim_create(NULL, &sim, &error) == PW_OK && pw_fluid_create(sim, false, &fluid, &error) == PW_OK);
        pw_executor_config config = {.sim = sim, .fluid = fluid, .cluster = s->cluster, .collectives = collectives_of(s, c),
                                     .clock_ratio = 1, .fold = fold, .messages = messages, .repeats = repeats};
        pw_status status = pw_executor_create(&config, &job, &x, &error);
        if (status == PW_OK) status = pw_sim_run(sim, PW_TIME_MAX);
        if (status == PW_OK) status = pw_executor_finish(x, &error);
        LAW(status == PW_OK, s, c, "%s%s", error.what, pw_sim_error(sim)->what);
        if (repeats == 1) {
            a.first = pw_sim_now(sim);
            if (x) a.totals = pw_executor_get_totals(x);
        } else {
            a.second = pw_sim_now(sim);
        }
        pw_executor_destroy(x);
        pw_fluid_destroy(fluid);
        pw_sim_destroy(sim);
    }
    return a;
}

/* --- Cuts ---------------------------------------------------------------------------------------------------------- */

/* Bytes that must leave a set with some of the members, per byte of S. in[m]: member m is in the set. */
static double must_leave(const law_case *c, const bool *in) {
    double n = c->members, inside = 0, edges = 0;
    for (uint32_t m = 0; m < c->members; m++) {
        inside += in[m];
        edges += in[m] && !in[(m + 1) % c->members];
    }
    double outside = n - inside;
    if (inside == 0 || outside == 0) return 0;
    switch (c->kind) {
    case PW_COLLECTIVE_ALL_REDUCE:
    case PW_COLLECTIVE_BARRIER: return 1;                          /* what the set's members sum up to */
    case PW_COLLECTIVE_ALL_GATHER: return inside / n;              /* their blocks */
    case PW_COLLECTIVE_REDUCE_SCATTER: return outside / n;         /* their share of the others' sums */
    case PW_COLLECTIVE_ALL_TO_ALL: return inside * outside / n;    /* a block of S / n for each pair */
    case PW_COLLECTIVE_BROADCAST: return in[0] ? 1 : 0;
    case PW_COLLECTIVE_REDUCE: return in[0] ? 0 : 1;
    case PW_COLLECTIVE_GATHER: return in[0] ? 0 : inside / n;
    case PW_COLLECTIVE_SCATTER: return in[0] ? outside / n : 0;
    case PW_COLLECTIVE_SEND_RECV: return edges;
    default: return 0;
    }
}

static double cut_time(const setting *s, const law_case *c, const bool *vertices) {
    const pw_fabric *fabric = pw_cluster_fabric(s->cluster);
    bool in[MOST_MEMBERS];
    double capacity = 0;
    for (uint32_t m = 0; m < c->members; m++) in[m] = vertices[pw_cluster_gpu_vertex(s->cluster, c->gpus[m])];
    for (pw_link l = 0; l < s->links; l++) {
        const pw_link_info *link = pw_fabric_link(fabric, l);
        if (vertices[link->from] && !vertices[link->to]) capacity += link->bandwidth_Bps;
    }
    double bytes = must_leave(c, in) * c->bytes;
    return bytes > 0 ? bytes / capacity : 0;
}

/* The largest over each member alone, each node, and random connected sets, all inside out too. */
static double cut_bound(pw_random *random, const setting *s, const law_case *c) {
    const pw_fabric *fabric = pw_cluster_fabric(s->cluster);
    uint32_t count = pw_fabric_vertices(fabric);
    bool *in = calloc(count + 1, 1);
    double bound = 0;
    for (uint32_t trial = 0; trial < c->members + 6; trial++) {
        memset(in, 0, count);
        if (trial < c->members) {
            in[pw_cluster_gpu_vertex(s->cluster, c->gpus[trial])] = true;
        } else {
            /* a node's vertices, or what is met on a random walk over links from a member */
            in[pw_cluster_gpu_vertex(s->cluster, c->gpus[below(random, c->members)])] = true;
            uint32_t passes = 1 + below(random, 3), share = 2 + below(random, 3);
            for (uint32_t pass = 0; pass < passes; pass++)
                for (pw_link l = 0; l < s->links; l++) {
                    const pw_link_info *link = pw_fabric_link(fabric, l);
                    bool net = link->kind == PW_LINK_NETWORK || link->kind == PW_LINK_TRUNK;
                    if (in[link->from] && !(net && trial % 2) && below(random, share)) in[link->to] = true;
                }
        }
        for (int side = 0; side < 2; side++) {
            double time = cut_time(s, c, in);
            if (time > bound) bound = time;
            for (uint32_t v = 0; v < count; v++) in[v] = !in[v];
        }
    }
    free(in);
    return bound;
}

/* --- Laws ---------------------------------------------------------------------------------------------------------- */

typedef struct step_sum {
    const setting *s;
    const law_case *c;
    double bytes; /* over links, per byte of S */
    double load;  /* of one message, over its links */
} step_sum;
static void add_load(void *object, pw_link link, double load) {
    step_sum *sum = object;
    const pw_network *network = pw_cluster_network(sum->s->cluster);
    sum->load += load * (network ? pw_network_twins(network, link).count : 1);
}
static void add_step(void *object, const pw_collective_step *step) {
    step_sum *sum = object;
    sum->load = 0;
    pw_error error;
    PW_CHECK(pw_message_loads(collectives_of(sum->s, sum->c), sum->c->gpus[step->from], sum->c->gpus[step->to], add_load, sum,
                              &error) == PW_OK);
    sum->bytes += step->fraction * sum->load;
}

static double link_bytes(const pw_executor_totals *totals) {
    double bytes = 0;
    for (int kind = 0; kind < PW_LINK_KIND_COUNT; kind++) bytes += totals->link_bytes[kind];
    return bytes;
}

static double seconds(pw_time ticks) { return (double)ticks / PW_TICKS_PER_SECOND_STEP; }
static const double TICK = 1 / PW_TICKS_PER_SECOND_STEP;

static void check_runs(pw_random *random, const setting *s, const law_case *c, const pw_collective_cost *cost) {
    double bound = cut_bound(random, s, c), least = bound * (1 - 1e-9) - TICK;
    LAW(cost->total_s >= least, s, c, "%.17g s, but a cut needs %.17g s", cost->total_s, bound);
    answer coupled = run(s, c, true, false, c->bytes), apart = run(s, c, false, false, c->bytes);
    answer messages = run(s, c, false, true, c->bytes);
    LAW(seconds(coupled.first) >= least, s, c, "coupled: %.17g s, but a cut needs %.17g s", seconds(coupled.first), bound);
    LAW(seconds(messages.first) >= least, s, c, "messages: %.17g s, but a cut needs %.17g s", seconds(messages.first), bound);
    LAW(fabs(seconds(coupled.first) - cost->total_s) <= 2 * TICK + 1e-12 * cost->total_s, s, c, "%.17g s idle instead of %.17g s",
        seconds(coupled.first), cost->total_s);
    LAW(llabs((long long)(coupled.first - apart.first)) <= 1, s, c, "%lld ticks folded, %lld unfolded", (long long)coupled.first,
        (long long)apart.first);
    /* where rounds are unlike, those of some members overlap those of others, which the coupled form leaves out */
    bool alike = pw_collective_capped(collectives_of(s, c), c->kind, cost->algorithm, &c->shape);
    LAW(!alike || messages.first + 1 >= coupled.first, s, c, "%lld ticks in messages, %lld coupled", (long long)messages.first,
        (long long)coupled.first);
    const answer *answers[] = {&coupled, &apart, &messages};
    /* a message that shares its links ends on a tick: a round may end on another one, and who shares with whom then grows it */
    long long rounds = pw_algorithm_table[cost->algorithm].rounds(c->kind, &c->shape), rounding[] = {1, 1, 2 * rounds + 2};
    rounding[2] += messages.first / 1000;
    for (int i = 0; i < 3; i++)
        LAW(llabs((long long)(answers[i]->second - 2 * answers[i]->first)) <= rounding[i], s, c, "once %lld ticks, twice %lld (%d)",
            (long long)answers[i]->first, (long long)answers[i]->second, i);
    step_sum sum = {.s = s, .c = c};
    pw_algorithm_table[cost->algorithm].steps(c->kind, &c->shape, add_step, &sum);
    double expected = sum.bytes * c->bytes;
    LAW(fabs(link_bytes(&messages.totals) - expected) <= 1e-9 * expected, s, c, "%.17g bytes over links, %.17g of messages",
        link_bytes(&messages.totals), expected);
    if (!s->mesh) /* there, rings are laid over all direct links at once */
        for (int i = 0; i < 2; i++)
            LAW(fabs(link_bytes(&answers[i]->totals) - expected) <= 1e-9 * expected, s, c, "%.17g bytes over links, %.17g of messages",
                link_bytes(&answers[i]->totals), expected);
}

static void check_sizes(pw_random *random, const setting *s, const law_case *c, const pw_collective_cost *cost) {
    double more = c->bytes * (1 + 3 * pw_random_uniform(random));
    pw_collective_cost larger = cost_of(s, c, more), next = cost_of(s, c, c->bytes + 1);
    LAW(larger.total_s >= cost->total_s * (1 - 1e-12), s, c, "%.17g s, %.17g s for %.17g bytes", cost->total_s, larger.total_s, more);
    LAW(next.total_s - cost->total_s <= cost->total_s / c->bytes * (1 + 1e-9) + 1e-12 * cost->total_s, s, c,
        "%.17g s, %.17g s with one byte more", cost->total_s, next.total_s);
    if (below(random, 8)) return;
    answer messages = run(s, c, false, true, c->bytes), longer = run(s, c, false, true, more);
    LAW(longer.first >= messages.first - 1, s, c, "messages: %lld ticks, %lld for %.17g bytes", (long long)messages.first,
        (long long)longer.first, more);
}

/* Scales the links of a cluster; a test may write to what the cluster has built. */
static void scale_links(const setting *s, double bandwidth, double latency) {
    for (pw_link l = 0; l < s->links; l++) {
        pw_link_info *link = (pw_link_info *)pw_fabric_link(pw_cluster_fabric(s->cluster), l);
        link->bandwidth_Bps *= bandwidth;
        link->latency_s *= latency;
    }
}

static pw_group_shape shape_now(const setting *s, const law_case *c) {
    pw_group_shape shape;
    pw_error error = {0};
    LAW(pw_collective_shape(collectives_of(s, c), c->gpus, c->members, &shape, &error) == PW_OK, s, c, "%s", error.what);
    return shape;
}

/* Powers of two, so that not a bit may change. */
static void check_scaling(const setting *s, const law_case *c, const pw_collective_cost *cost, bool with_messages) {
    law_case scaled = *c;
    answer plain = {0}, faster = {0};
    if (with_messages) plain = run(s, c, false, true, c->bytes);
    scale_links(s, 4, 1);
    scaled.shape = shape_now(s, c);
    pw_collective_cost fast = cost_of(s, &scaled, 4 * c->bytes);
    pw_collective_cost quick = cost_of(s, &scaled, c->bytes);
    if (with_messages) faster = run(s, &scaled, false, true, 4 * c->bytes);
    scale_links(s, 0.25, 1);
    LAW(fast.total_s == cost->total_s, s, c, "%.17g s, %.17g s with 4 x the bytes and bandwidths", cost->total_s, fast.total_s);
    LAW(quick.total_s <= cost->total_s, s, c, "%.17g s, %.17g s with 4 x the bandwidths", cost->total_s, quick.total_s);
    LAW(plain.first == faster.first, s, c, "messages: %lld ticks, %lld with 4 x the bytes and bandwidths", (long long)plain.first,
        (long long)faster.first);
    scale_links(s, 1, 2);
    scaled.shape = shape_now(s, c);
    pw_collective_cost late = cost_of(s, &scaled, c->bytes);
    scale_links(s, 1, 0.5);
    LAW(late.total_s >= cost->total_s, s, c, "%.17g s, %.17g s with twice the latencies", cost->total_s, late.total_s);
}

/* Members of other nodes, at the same places and in the same order, or in one domain anywhere. */
static void check_labels(pw_random *random, const setting *s, const law_case *c, const pw_collective_cost *cost) {
    law_case other = *c;
    uint32_t per_node = pw_cluster_gpus_per_node(s->cluster), nodes = pw_cluster_nodes(s->cluster);
    if (!s->crossbar || !s->one_switch) return;
    if (c->shape.domains == 1) {
        for (uint32_t m = 0; m + 1 < c->members; m++) {
            uint32_t with = m + below(random, c->members - m), kept = other.gpus[m];
            other.gpus[m] = other.gpus[with], other.gpus[with] = kept;
        }
    } else {
        uint32_t shift = 1 + below(random, nodes);
        bool wraps = false;
        for (uint32_t m = 0; m < c->members; m++) {
            wraps = wraps || c->gpus[m] / per_node + shift >= nodes;
            other.gpus[m] = c->gpus[m] + shift * per_node;
        }
        if (wraps) return;
    }
    other.shape = shape_now(s, &other);
    pw_collective_cost same = cost_of(s, &other, c->bytes);
    LAW(fabs(same.total_s - cost->total_s) <= 1e-12 * cost->total_s, s, c, "%.17g s, %.17g s under other names", cost->total_s,
        same.total_s);
    if (below(random, 8)) return;
    answer here = run(s, c, false, true, c->bytes), there = run(s, &other, false, true, c->bytes);
    LAW(llabs((long long)(here.first - there.first)) <= 1, s, c, "messages: %lld ticks, %lld under other names", (long long)here.first,
        (long long)there.first);
}

PW_TEST(no_collective_beats_a_cut_and_all_are_monotone) {
    const char *asked = getenv("PODWRIGHT_LAW_CASES");
    unsigned long long cases = asked ? strtoull(asked, NULL, 10) : DAILY_CASES, done = 0, drawn = 0;
    const char *from = getenv("PODWRIGHT_LAW_SEED");
    pw_error error = {0};
    PW_CHECK(pw_catalogue_load(NULL, NULL, &catalogue, &error) == PW_OK && (arena = pw_arena_create(NULL)) != NULL);
    for (uint64_t seed = from ? strtoull(from, NULL, 10) : 1; done < cases && drawn < 10 * cases + 1000 && pw_test_failures < 20; seed++) {
        setting s;
        if (!open_setting(seed, &s)) {
            drawn++;
            continue;
        }
        pw_random random = pw_random_stream(seed, "cases", 0);
        for (int i = 0; i < PER_CLUSTER && pw_test_failures < 20; i++, drawn++) {
            law_case c = {0};
            if (!draw(&random, &s, &c)) continue;
            pw_collective_cost cost = cost_of(&s, &c, c.bytes);
            check_runs(&random, &s, &c, &cost);
            check_sizes(&random, &s, &c, &cost);
            if (!c.calibrated) check_scaling(&s, &c, &cost, i % 8 == 0);
            check_labels(&random, &s, &c, &cost);
            done++;
        }
        close_setting(&s);
    }
    PW_EXPECT(done >= cases || pw_test_failures > 0);
    printf("# %llu cases\n", done);
    pw_arena_destroy(arena);
    pw_catalogue_destroy(catalogue);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
