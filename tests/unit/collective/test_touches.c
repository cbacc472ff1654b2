/* What an algorithm says of one member's messages in a round is what its list of all messages says. */
#include "tests/unit/collective/groups.h"

typedef struct message_sum {
    double from, to, fractions; /* sums that tell lists apart, whatever the order */
    uint32_t count;
} message_sum;

static double weight_of(const pw_collective_step *step) {
    return step->fraction * (1 + 0.37 * step->from + 0.0019 * step->to + 1e-3 * step->from * step->to);
}

typedef struct sums {
    message_sum *of; /* [rounds][members] */
    uint32_t members;
} sums;

static void add(message_sum *sum, const pw_collective_step *step) {
    sum->from += step->from;
    sum->to += step->to;
    sum->fractions += weight_of(step);
    sum->count++;
}
static void add_both(void *object, const pw_collective_step *step) {
    sums *all = object;
    add(&all->of[(size_t)step->round * all->members + step->from], step);
    add(&all->of[(size_t)step->round * all->members + step->to], step);
}
static void add_one(void *object, const pw_collective_step *step) { add(object, step); }

static void compare(int number, pw_collective_kind kind, const pw_group_shape *shape) {
    const pw_algorithm *algorithm = &pw_algorithm_table[number];
    uint32_t rounds = algorithm->rounds(kind, shape), n = shape->members;
    sums all = {calloc((size_t)rounds * n + 1, sizeof(message_sum)), n};
    algorithm->steps(kind, shape, add_both, &all);
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t member = 0; member < n; member++) {
            message_sum own = {0}, expected = all.of[(size_t)round * n + member];
            algorithm->touches(kind, shape, round, member, add_one, &own);
            if (own.count != expected.count || own.from != expected.from || own.to != expected.to ||
                fabs(own.fractions - expected.fractions) > 1e-12 * (1 + expected.fractions)) {
                PW_FAILED("%s %s, %u members in %u domains: round %u, member %u: %u messages instead of %u", algorithm->name,
                          pw_collective_names[kind], n, shape->domains, round, member, own.count, expected.count);
                free(all.of);
                return;
            }
        }
    free(all.of);
}

PW_TEST(messages_of_a_member_are_those_of_the_whole) {
    int compared = 0;
    for (uint32_t domains = 1; domains <= 5; domains++)
        for (uint32_t per_domain = 1; per_domain <= 8; per_domain++)
            for (int even = 0; even < 2; even++) {
                pw_group_shape shape = {.members = domains * per_domain - (even ? 0 : 1), .domains = domains,
                                        .per_domain = per_domain, .even = even, .scaleup_Bps = 1e9, .network_Bps = 1e9};
                if (shape.members < 2 || (!even && (domains < 2 || per_domain < 2))) continue;
                for (int a = 0; pw_algorithm_table[a].name; a++)
                    for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++) {
                        if (!pw_algorithm_table[a].touches) continue;
                        if (!pw_algorithm_table[a].applies((pw_collective_kind)kind, &shape, true)) continue;
                        compare(a, (pw_collective_kind)kind, &shape);
                        compared++;
                    }
            }
    PW_EXPECT(compared > 500);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
