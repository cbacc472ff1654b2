/* Laws of the step graphs, for every algorithm and many shapes of groups. */
#include "models/collective/algorithm.h"
#include "tests/unit/collective/groups.h"

enum { LARGEST = 64 };

static pw_group_shape make_shape(uint32_t domains, uint32_t per_domain) {
    return (pw_group_shape){.members = domains * per_domain, .domains = domains, .per_domain = per_domain, .even = true,
                            .scaleup_Bps = 1e9, .network_Bps = 1e8, .latency_s = 1e-6};
}

static pw_group_shape flat_shape(uint32_t members) {
    pw_group_shape shape = make_shape(1, members);
    shape.domains = members > 2 ? 3 : 2;
    shape.per_domain = members - shape.domains + 1;
    shape.even = false;
    return shape;
}

static bool is_applicable(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    return pw_algorithm_table[algorithm].applies(kind, shape, true);
}

typedef void case_fn(int algorithm, pw_collective_kind kind, const pw_group_shape *shape);

static void for_all_cases(case_fn *check) {
    static const uint32_t shapes[][2] = {{1, 2}, {1, 3},  {1, 4}, {1, 7}, {1, 8}, {1, 16}, {2, 1}, {3, 1}, {4, 1},
                                         {5, 1}, {8, 1},  {9, 1}, {2, 2}, {3, 2}, {4, 2},  {2, 3}, {3, 3}, {2, 4},
                                         {3, 4}, {5, 4}, {2, 8}, {3, 8}, {4, 8}, {7, 8},  {8, 8}, {6, 5}, {16, 1}};
    for (int algorithm = 0; algorithm < ALGORITHMS; algorithm++)
        for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++) {
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
                pw_group_shape shape = make_shape(shapes[i][0], shapes[i][1]);
                if (is_applicable(algorithm, kind, &shape)) check(algorithm, kind, &shape);
            }
            for (uint32_t n = 3; n < 12; n++) {
                pw_group_shape shape = flat_shape(n);
                if (is_applicable(algorithm, kind, &shape)) check(algorithm, kind, &shape);
            }
        }
}

static void case_failed(const char *what, int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    PW_FAILED("%s: %s %s, %u domains of %u, even %d", what, pw_algorithm_table[algorithm].name, pw_collective_names[kind],
              shape->domains, shape->per_domain, shape->even);
}

PW_TEST(the_table_and_its_names_agree) {
    int count = 0;
    for (; pw_algorithm_table[count].name; count++)
        PW_EXPECT_TEXT(pw_algorithm_names[count + 1], pw_algorithm_table[count].name);
    PW_EXPECT_INT(count, ALL_ALGORITHMS);
    PW_EXPECT_TEXT(pw_algorithm_table[CHAIN].name, "chain");
    PW_EXPECT_TEXT(pw_algorithm_names[0], "auto");
    PW_EXPECT(pw_algorithm_names[count + 1] == NULL);
    PW_EXPECT_TEXT(pw_algorithm_table[RING].name, "ring");
    PW_EXPECT_TEXT(pw_algorithm_table[NVLS].name, "nvls");
    PW_EXPECT_TEXT(pw_collective_names[PW_COLLECTIVE_ALL_TO_ALL], "all_to_all");
}

/* --- steps and edges ------------------------------------------------------------------------------------------------- */

typedef struct pair_sums {
    uint32_t members, last_round, messages;
    bool ordered, in_range;
    double bytes[LARGEST][LARGEST];
} pair_sums;

static void add_step(void *object, const pw_collective_step *step) {
    pair_sums *sums = object;
    if (step->from >= sums->members || step->to >= sums->members || step->from == step->to || !(step->fraction > 0))
        sums->in_range = false;
    else sums->bytes[step->from][step->to] += step->fraction;
    if (step->round < sums->last_round) sums->ordered = false;
    sums->last_round = step->round;
    sums->messages++;
}

static pair_sums collect(int algorithm, pw_collective_kind kind, const pw_group_shape *shape, bool steps) {
    pair_sums sums = {.members = shape->members, .ordered = true, .in_range = true};
    const pw_algorithm *entry = &pw_algorithm_table[algorithm];
    (steps ? entry->steps : entry->edges)(kind, shape, add_step, &sums);
    return sums;
}

static void steps_equal_edges(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    pair_sums steps = collect(algorithm, kind, shape, true), edges = collect(algorithm, kind, shape, false);
    if (!steps.in_range || !edges.in_range) case_failed("a message names no member", algorithm, kind, shape);
    if (!steps.ordered) case_failed("rounds fall", algorithm, kind, shape);
    if (steps.messages == 0) case_failed("no messages", algorithm, kind, shape);
    if (steps.last_round + 1 != pw_algorithm_table[algorithm].rounds(kind, shape))
        case_failed("rounds() is not the number of rounds", algorithm, kind, shape);
    for (uint32_t i = 0; i < shape->members; i++)
        for (uint32_t j = 0; j < shape->members; j++)
            if (fabs(steps.bytes[i][j] - edges.bytes[i][j]) > 1e-12) {
                case_failed("steps and edges differ", algorithm, kind, shape);
                return;
            }
}
PW_TEST(steps_and_edges_put_the_same_bytes_on_every_pair) { for_all_cases(steps_equal_edges); }

/* --- volume ---------------------------------------------------------------------------------------------------------- */

static double total(const pair_sums *sums) {
    double bytes = 0;
    for (uint32_t i = 0; i < sums->members; i++)
        for (uint32_t j = 0; j < sums->members; j++) bytes += sums->bytes[i][j];
    return bytes;
}

static double closed_volume(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    double n = shape->members, p = shape->per_domain, d = shape->domains;
    if (algorithm == TREE) return 2 * (n - d) + 2 * (d - 1); /* every member but a root once up, once down */
    if (algorithm == NVLS) return n + d + 2 * (d - 1);      /* ports: 1 + 1/p each; trees between domains */
    if (algorithm == RING && kind == PW_COLLECTIVE_ALL_TO_ALL) return n * (n - 1) / 2; /* mean distance n/2 */
    if (kind == PW_COLLECTIVE_ALL_REDUCE || kind == PW_COLLECTIVE_BARRIER) return 2 * (n - 1);
    if (kind == PW_COLLECTIVE_GATHER || kind == PW_COLLECTIVE_SCATTER) return (n - 1) / n; /* S is what the root holds */
    if (kind == PW_COLLECTIVE_SEND_RECV) return n;
    (void)p;
    return n - 1;
}
static void volume_is_closed(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    pair_sums edges = collect(algorithm, kind, shape, false);
    if (fabs(total(&edges) / closed_volume(algorithm, kind, shape) - 1) > 1e-12)
        case_failed("the volume is not that of the closed form", algorithm, kind, shape);
}
PW_TEST(volumes_equal_their_closed_forms) { for_all_cases(volume_is_closed); }

/* No member of a ring or direct exchange sends more than another, and none beats the information bound. */
static void bound_holds(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    pair_sums edges = collect(algorithm, kind, shape, false);
    double n = shape->members, least = (n - 1) / n;
    if (kind == PW_COLLECTIVE_ALL_REDUCE || kind == PW_COLLECTIVE_BARRIER) least *= 2;
    if (kind == PW_COLLECTIVE_BROADCAST || kind == PW_COLLECTIVE_REDUCE || kind == PW_COLLECTIVE_SEND_RECV) least = 1;
    bool sinks = kind == PW_COLLECTIVE_REDUCE || kind == PW_COLLECTIVE_GATHER; /* towards the first member */
    for (uint32_t i = 0; i < shape->members; i++) {
        double out = 0, in = 0;
        for (uint32_t j = 0; j < shape->members; j++) out += edges.bytes[i][j], in += edges.bytes[j][i];
        bool symmetric = algorithm == RING || algorithm == DIRECT;
        if (sinks || kind == PW_COLLECTIVE_SCATTER) {
            double own = kind == PW_COLLECTIVE_REDUCE ? 1 : 1 / n, root = kind == PW_COLLECTIVE_REDUCE ? 1 : least;
            double to = sinks ? in : out, from = sinks ? out : in;
            if (i == 0 ? to < root - 1e-12 || from != 0 : from < own - 1e-12)
                case_failed("a member moves less than its own", algorithm, kind, shape);
        } else if (kind == PW_COLLECTIVE_BROADCAST) {
            if (i > 0 && in < least - 1e-12) case_failed("a member does not receive the message", algorithm, kind, shape);
            if (i == 0 && in != 0) case_failed("the root receives", algorithm, kind, shape);
        } else if (symmetric && (fabs(out - in) > 1e-12 || out < least - 1e-12)) {
            case_failed("a member sends too little or unlike it receives", algorithm, kind, shape);
        } else if (algorithm == NVLS && in < 1) {
            case_failed("a port receives less than the result", algorithm, kind, shape);
        }
    }
}
PW_TEST(no_member_moves_less_than_the_information_bound) { for_all_cases(bound_holds); }

/* --- causality ------------------------------------------------------------------------------------------------------- */

/* What a member has heard of before a round; a message carries all of it. */
typedef struct knowledge {
    uint32_t members, round;
    uint64_t now[LARGEST], next[LARGEST];
    bool early; /* a member passed on what it did not have (broadcast, scatter) */
    bool from_root;
} knowledge;
static void learn(void *object, const pw_collective_step *step) {
    knowledge *known = object;
    if (step->round != known->round) {
        memcpy(known->now, known->next, sizeof known->now);
        known->round = step->round;
    }
    if (known->from_root && !(known->now[step->from] & 1)) known->early = true;
    known->next[step->to] |= known->now[step->from];
}
static void everyone_hears(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    /* In-switch reduction joins ports that exchange no messages here. */
    if (algorithm == NVLS) return;
    if (kind == PW_COLLECTIVE_SEND_RECV) return; /* each hears of one */
    bool from_root = kind == PW_COLLECTIVE_BROADCAST || kind == PW_COLLECTIVE_SCATTER;
    bool to_root = kind == PW_COLLECTIVE_REDUCE || kind == PW_COLLECTIVE_GATHER;
    knowledge known = {.members = shape->members, .from_root = from_root};
    uint64_t all = 0;
    for (uint32_t i = 0; i < shape->members; i++) known.now[i] = known.next[i] = UINT64_C(1) << i, all |= known.now[i];
    pw_algorithm_table[algorithm].steps(kind, shape, learn, &known);
    for (uint32_t i = 0; i < shape->members; i++)
        if (from_root ? !(known.next[i] & 1) : (!to_root || i == 0) && known.next[i] != all) {
            case_failed("a member never hears of another", algorithm, kind, shape);
            return;
        }
    if (known.early) case_failed("a member sends what it does not have", algorithm, kind, shape);
}
PW_TEST(everyone_hears_from_everyone_and_nobody_sends_ahead) { for_all_cases(everyone_hears); }

typedef struct reduction {
    uint32_t messages[256];
} reduction;
static void count_messages(void *object, const pw_collective_step *step) {
    reduction *seen = object;
    if (step->round < 256) seen->messages[step->round]++;
}
PW_TEST(a_tree_is_busy_in_every_round) {
    for (uint32_t d = 1; d <= 8; d++) {
        pw_group_shape shape = make_shape(d, 4);
        reduction seen = {0};
        pw_algorithm_table[TREE].steps(PW_COLLECTIVE_ALL_REDUCE, &shape, count_messages, &seen);
        uint32_t rounds = pw_algorithm_table[TREE].rounds(PW_COLLECTIVE_ALL_REDUCE, &shape);
        for (uint32_t round = 0; round < rounds; round++) PW_EXPECT(seen.messages[round] > 0);
    }
}

/* --- The double tree ------------------------------------------------------------------------------------------------ */

typedef struct tree_order {
    uint32_t domains, hop, depth, edges;
    uint32_t sent[LARGEST][2], got[LARGEST][2]; /* hop + 1 at which a domain sent up, or was reached from above, per tree */
    uint32_t wrong;
} tree_order;
static void order_edge(void *object, uint32_t from, uint32_t to, double weight) {
    tree_order *order = object;
    bool up = order->hop < order->depth, known = false;
    (void)weight;
    order->edges++;
    for (int tree = 0; tree < 2; tree++) {
        uint32_t child = up ? from : to, parent = up ? to : from;
        if (double_tree_parent(order->domains, tree, child) != parent) continue;
        uint32_t *mark = up ? &order->sent[child][tree] : &order->got[child][tree];
        if (*mark == 0) *mark = order->hop + 1;
        known = true;
    }
    if (!known) order->wrong++;
}
PW_TEST(sums_rise_before_results_come_down) {
    for (uint32_t domains = 2; domains <= LARGEST; domains++) {
        tree_order order = {.domains = domains, .depth = double_tree_depth(domains)};
        for (; order.hop < 2 * order.depth; order.hop++) double_tree_hop(domains, order.hop, order_edge, &order);
        PW_EXPECT_INT(order.wrong, 0);
        PW_EXPECT_INT(order.edges, 4 * (domains - 1));
        if (domains == 3) continue; /* both trees hold the edge from 2 to 0: its messages cannot be told apart */
        for (int tree = 0; tree < 2; tree++)
            for (uint32_t child = 0; child < domains; child++) {
                uint32_t parent = double_tree_parent(domains, tree, child);
                if (parent == PW_NONE) continue;
                PW_EXPECT(order.sent[child][tree] > 0 && order.got[child][tree] > order.depth);
                if (double_tree_parent(domains, tree, parent) == PW_NONE) continue;
                PW_EXPECT(order.sent[child][tree] < order.sent[parent][tree]);
                PW_EXPECT(order.got[parent][tree] < order.got[child][tree]);
            }
    }
}

static void count_edge(void *object, uint32_t from, uint32_t to, double weight) {
    double *out = object;
    (void)to;
    out[from] += weight / 2;
}
PW_TEST(the_busiest_domain_of_the_trees_is_known) {
    for (uint32_t domains = 1; domains <= LARGEST; domains++) {
        double out[LARGEST] = {0}, busiest = 0, sum = 0;
        double_tree_edges(domains, count_edge, out);
        for (uint32_t i = 0; i < domains; i++) {
            if (out[i] > busiest) busiest = out[i];
            sum += out[i];
        }
        PW_EXPECT(busiest == double_tree_load(domains));
        PW_EXPECT_NEAR(sum, 2.0 * (domains - 1), 1e-12);
    }
}

/* --- per-NIC rings --------------------------------------------------------------------------------------------------- */

static void nics_share(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    if (!shape->even || shape->domains < 2 || algorithm == DIRECT || kind == PW_COLLECTIVE_BROADCAST ||
        kind == PW_COLLECTIVE_REDUCE || kind == PW_COLLECTIVE_SEND_RECV)
        return;
    pair_sums edges = collect(algorithm, kind, shape, false);
    double first = -1;
    for (uint32_t i = 0; i < shape->members; i++) {
        double out = 0, domain_first = -1;
        for (uint32_t j = 0; j < shape->members; j++)
            if (j / shape->per_domain != i / shape->per_domain) out += edges.bytes[i][j];
        if (algorithm == RING) {
            if (first < 0) first = out;
            if (fabs(out - first) > 1e-12) case_failed("a NIC carries more than another", algorithm, kind, shape);
        }
        uint32_t head = i - i % shape->per_domain;
        domain_first = 0;
        for (uint32_t j = 0; j < shape->members; j++)
            if (j / shape->per_domain != i / shape->per_domain) domain_first += edges.bytes[head][j];
        if (fabs(out - domain_first) > 1e-12) case_failed("NICs of a domain differ", algorithm, kind, shape);
    }
}
PW_TEST(bus_bandwidth_is_that_of_the_benchmark) {
    PW_EXPECT(pw_collective_bus_factor(PW_COLLECTIVE_ALL_REDUCE, 8) == 1.75);
    PW_EXPECT(pw_collective_bus_factor(PW_COLLECTIVE_ALL_TO_ALL_V, 8) == 0.875);
    PW_EXPECT(pw_collective_bus_factor(PW_COLLECTIVE_GATHER, 4) == 0.75);
    PW_EXPECT(pw_collective_bus_factor(PW_COLLECTIVE_REDUCE, 4) == 1);
    PW_EXPECT(pw_collective_bus_factor(PW_COLLECTIVE_SEND_RECV, 2) == 1);
}

PW_TEST(every_nic_of_a_domain_carries_the_same) { for_all_cases(nics_share); }

/* Between an even number of domains, traffic stays on its rail. */
PW_TEST(rings_leave_and_enter_domains_on_one_rail) {
    for (uint32_t d = 2; d <= 8; d += 2) {
        pw_group_shape shape = make_shape(d, 8);
        pair_sums edges = collect(RING, PW_COLLECTIVE_ALL_REDUCE, &shape, false);
        for (uint32_t i = 0; i < shape.members; i++)
            for (uint32_t j = 0; j < shape.members; j++)
                if (i / 8 != j / 8 && edges.bytes[i][j] > 0) PW_EXPECT_INT(i % 8, j % 8);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
