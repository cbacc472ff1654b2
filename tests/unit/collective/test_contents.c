/* What the messages of each algorithm carry does what the kind promises, for every kind and many shapes; and the proof sees
 * a step that is missing. */
#include "models/collective/algorithm.h"
#include "models/collective/contents.h"
#include "tests/unit/collective/groups.h"

static pw_group_shape shape_of(uint32_t domains, uint32_t per_domain, const pw_collective_options *options) {
    return (pw_group_shape){.members = domains * per_domain, .domains = domains, .per_domain = per_domain, .even = true,
                            .scaleup_Bps = 1e9, .network_Bps = 1e8, .latency_s = 1e-6, .network_reduces = true,
                            .options = options};
}

typedef void case_fn(int algorithm, pw_collective_kind kind, const pw_group_shape *shape);

static uint32_t for_kinds(case_fn *check, int algorithm, const pw_group_shape *shape) {
    uint32_t cases = 0;
    for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++)
        if (pw_algorithm_table[algorithm].applies(kind, shape, true)) check(algorithm, kind, shape), cases++;
    return cases;
}

static void for_all(case_fn *check) {
    static const uint32_t shapes[][2] = {{2, 2}, {3, 2}, {4, 2}, {2, 3}, {3, 3}, {2, 4}, {5, 4}, {2, 8}, {3, 8}, {8, 8}, {6, 5}, {7, 3}};
    for (int algorithm = 0; algorithm < CUSTOM; algorithm++) {
        uint32_t cases = 0;
        for (uint32_t n = 2; n <= 64; n += n < 20 ? 1 : 11) {
            pw_group_shape one = shape_of(1, n, NULL), apart = shape_of(n, 1, NULL);
            cases += for_kinds(check, algorithm, &one) + for_kinds(check, algorithm, &apart);
        }
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            pw_group_shape shape = shape_of(shapes[i][0], shapes[i][1], NULL);
            cases += for_kinds(check, algorithm, &shape);
        }
        for (uint32_t n = 3; n < 9; n++) { /* domains that differ */
            pw_group_shape shape = shape_of(2, n, NULL);
            shape.members = n + 1, shape.even = false;
            cases += for_kinds(check, algorithm, &shape);
        }
        for (uint32_t pieces = 1; pieces <= 5; pieces += 2) {
            pw_collective_options options = {.pieces = pieces};
            pw_group_shape shape = shape_of(3, 4, &options);
            cases += for_kinds(check, algorithm, &shape);
        }
        pw_collective_options torus = {.dimensions = 3, .extents = {4, 3, 2}};
        pw_group_shape shape = shape_of(6, 4, &torus);
        cases += for_kinds(check, algorithm, &shape);
        if (cases == 0) PW_FAILED("%s applies nowhere", pw_algorithm_table[algorithm].name);
    }
}

static void holds(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    pw_error error = {0};
    if (pw_collective_prove(NULL, &pw_algorithm_table[algorithm], kind, shape, &error) != PW_OK)
        PW_FAILED("%s %s in %u x %u of %u: %s", pw_algorithm_table[algorithm].name, pw_collective_names[kind], shape->domains,
                  shape->per_domain, shape->members, error.what);
}
PW_TEST(every_algorithm_leaves_what_its_kind_promises) { for_all(holds); }

typedef struct heap {
    pw_collective_step steps[40000];
    uint32_t count;
} heap;
static heap listed, touched;
static void keep_step(void *object, const pw_collective_step *step) {
    heap *h = object;
    if (h->count < 40000) h->steps[h->count++] = *step;
}

/* --- A step left out ------------------------------------------------------------------------------------------------- */

static const pw_algorithm *whole;
static uint32_t left_out;
typedef struct sieve {
    pw_collective_step_fn *emit;
    void *object;
    uint32_t seen;
} sieve;
static void pass(void *object, const pw_collective_step *step) {
    sieve *s = object;
    if (s->seen++ != left_out) s->emit(s->object, step);
}
static void count(void *object, const pw_collective_step *step) {
    (void)step;
    ++*(uint32_t *)object;
}
static void steps_with_a_gap(pw_collective_kind kind, const pw_group_shape *shape, pw_collective_step_fn *emit, void *object) {
    whole->steps(kind, shape, pass, &(sieve){emit, object, 0});
}
static uint64_t random_state = 11;

static void gap_shows(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    if (shape->members > 24) return;
    whole = &pw_algorithm_table[algorithm];
    pw_algorithm broken = *whole;
    broken.steps = steps_with_a_gap;
    uint32_t steps = 0;
    whole->steps(kind, shape, count, &steps);
    for (uint32_t trial = 0; trial < (steps < 40 ? steps : 12); trial++) {
        left_out = steps < 40 ? trial : test_below(&random_state, steps);
        /* The ring of a scatter_allgather also tells those what they had passed on before; the last member had nothing. */
        listed.count = 0;
        if (algorithm == SCATTER_ALLGATHER) whole->steps(kind, shape, keep_step, &listed);
        if (algorithm == SCATTER_ALLGATHER && listed.steps[left_out].to + 1 != shape->members) continue;
        pw_error error = {0};
        if (pw_collective_prove(NULL, &broken, kind, shape, &error) == PW_BAD_INPUT) continue;
        PW_FAILED("%s %s in %u x %u: step %u of %u is not missed", whole->name, pw_collective_names[kind], shape->domains,
                  shape->per_domain, left_out, steps);
        return;
    }
}
PW_TEST(a_step_that_is_missing_shows) { for_all(gap_shows); }

/* --- The messages themselves ------------------------------------------------------------------------------------------ */

static int order(const void *left, const void *right) {
    const pw_collective_step *a = left, *b = right;
    uint32_t x[4] = {a->round, a->from, a->to, a->part}, y[4] = {b->round, b->from, b->to, b->part};
    for (int i = 0; i < 4; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}
/* Each message is touched by its two members. */
static void touches_agree(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    const pw_algorithm *entry = &pw_algorithm_table[algorithm];
    if (!entry->touches || shape->members > 24) return;
    listed.count = touched.count = 0;
    entry->steps(kind, shape, keep_step, &listed);
    for (uint32_t i = 0, n = listed.count; i < n; i++) keep_step(&listed, &listed.steps[i]);
    for (uint32_t round = 0; round < entry->rounds(kind, shape); round++)
        for (uint32_t member = 0; member < shape->members; member++) {
            uint32_t first = touched.count;
            entry->touches(kind, shape, round, member, keep_step, &touched);
            for (uint32_t i = first; i < touched.count; i++)
                if (touched.steps[i].round != round || (touched.steps[i].from != member && touched.steps[i].to != member))
                    PW_FAILED("%s %s: a message of others", entry->name, pw_collective_names[kind]);
        }
    qsort(listed.steps, listed.count, sizeof *listed.steps, order);
    qsort(touched.steps, touched.count, sizeof *touched.steps, order);
    bool same = listed.count == touched.count;
    for (uint32_t i = 0; same && i < listed.count; i++)
        same = order(&listed.steps[i], &touched.steps[i]) == 0 && listed.steps[i].fraction == touched.steps[i].fraction;
    if (!same)
        PW_FAILED("%s %s in %u x %u: %u messages, %u ends are touched", entry->name, pw_collective_names[kind], shape->domains,
                  shape->per_domain, listed.count / 2, touched.count);
}
PW_TEST(a_member_touches_its_messages_and_no_others) { for_all(touches_agree); }

static void rounds_are_counted(int algorithm, pw_collective_kind kind, const pw_group_shape *shape) {
    const pw_algorithm *entry = &pw_algorithm_table[algorithm];
    if (shape->members > 16) return;
    listed.count = 0;
    entry->steps(kind, shape, keep_step, &listed);
    uint32_t round = 0;
    for (uint32_t i = 0; i < listed.count; i++) {
        if (listed.steps[i].round < round || listed.steps[i].round > round + 1)
            PW_FAILED("%s %s: round %u after %u", entry->name, pw_collective_names[kind], listed.steps[i].round, round);
        round = listed.steps[i].round;
    }
    PW_EXPECT_INT(round + 1, entry->rounds(kind, shape));
}
PW_TEST(rounds_follow_each_other_without_gaps) { for_all(rounds_are_counted); }

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
