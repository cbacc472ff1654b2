/* Groups whose nodes hold different numbers of members: the coupled form against the messages. */
#include "sim/random.h"
#include "tests/unit/program/fixture.h"

static uint32_t across(uint32_t group, uint32_t member) { return (void)group, member; }

enum { MOST = 40 };

/* Nodes of 8 GPUs with 1 to 8 members each; in the last rounds with members in any order. */
static uint32_t draw_members(pw_random *random, uint32_t nodes, bool mixed, uint32_t *gpus) {
    uint32_t count = 0;
    for (uint32_t node = 0; node < nodes; node++) {
        uint32_t here = 1 + (uint32_t)pw_random_below(random, 8);
        for (uint32_t g = 0; g < here && count < MOST; g++) gpus[count++] = node * 8 + g;
    }
    for (uint32_t m = 0; mixed && m + 1 < count; m++) {
        uint32_t other = m + (uint32_t)pw_random_below(random, count - m), kept = gpus[m];
        gpus[m] = gpus[other], gpus[other] = kept;
    }
    return count;
}

static void compare(const uint32_t *gpus, uint32_t n, uint32_t nodes, int kind, int algorithm, double bytes, double *worst) {
    pw_cluster_desc desc = world_desc(nodes, 8);
    world *w = world_on(&desc, n);
    memcpy(w->gpu_of_rank, gpus, n * sizeof *gpus);
    uint16_t all = groups_of(w, "all", 1, n, across);
    uint32_t t = template_of(w, "it");
    pw_op made = collective_op(0, (pw_collective_kind)kind, all, bytes);
    made.collective.algorithm = algorithm;
    op(w, t, made);
    program_of(w, "it", t);
    outcome messages = run(w, &(options){.messages = true}), coupled = run(w, &(options){.messages = false});
    EXPECT_RAN(messages);
    EXPECT_RAN(coupled);
    double ratio = (double)coupled.end / (double)messages.end;
    if (fabs(log(ratio)) > fabs(log(*worst))) *worst = ratio;
    if (getenv("PW_SHOW") && fabs(log(ratio)) > 0.03) printf("# n %u nodes %u %s by %s, %g B: %.3f\n", n, nodes, pw_collective_names[kind], pw_algorithm_table[algorithm].name, bytes, ratio);
    world_free(w);
}

PW_TEST(uneven_groups_take_as_long_coupled_as_by_messages) {
    pw_random random = pw_random_stream(4, "uneven", 0);
    uint32_t gpus[MOST] = {0}, compared = 0;
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t nodes = round == 0 ? 2 : 2 + (uint32_t)pw_random_below(&random, 4), n;
        if (round == 0) /* one member beside eight */
            for (n = 0; n < 9; n++) gpus[n] = n;
        else n = draw_members(&random, nodes, false, gpus);
        pw_group_shape shape = {.members = n, .domains = nodes, .per_domain = 8, .even = false};
        for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++)
            for (int a = 0; pw_algorithm_table[a].name && strcmp(pw_algorithm_table[a].name, "custom"); a++) {
                double worst = 1;
                if (!pw_algorithm_table[a].applies((pw_collective_kind)kind, &shape, true)) continue;
                for (int size = 0; size < 2; size++) compare(gpus, n, nodes, kind, a, size ? 1e9 : 1e6, &worst);
                compared++;
                if (fabs(worst - 1) > 0.05)
                    PW_FAILED("%s by %s, %u members in %u nodes: coupled takes %.3f of the time of its messages", pw_collective_names[kind],
                              pw_algorithm_table[a].name, n, nodes, worst);
            }
    }
    PW_EXPECT(compared > 100);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
