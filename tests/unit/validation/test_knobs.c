/* Laws of the knobs suite: which rows make a pair, and what a pair says. */
#include <math.h>
#include <string.h>

#include "scenarios/validation/validation.h"
#include "tests/harness/check.h"

enum { COLUMNS = 7 };
static const char *names[] = {"id", "source", "model", "tp", "mbs", "recompute", "dp"};

typedef struct table {
    pw_measured input;
    pw_prediction predictions[8];
    const char *cells[8 * COLUMNS];
    int lines[8];
    pw_validation base;
} table;

static void add(table *t, const char *const cells[COLUMNS], double measured, double plain, const char *side) {
    memcpy(t->cells + t->input.rows * COLUMNS, cells, COLUMNS * sizeof *cells);
    t->predictions[t->input.rows] = (pw_prediction){
        .ran = true, .side = side, .measured = measured, .plain = plain, .stack = 2 * plain, .baseline = 1};
    t->input.rows++;
}

static void begin(table *t) {
    memset(t, 0, sizeof *t);
    t->input = (pw_measured){.file = "measured.csv", .columns = COLUMNS, .names = names, .cells = t->cells, .lines = t->lines};
    t->base = (pw_validation){.suite = &pw_suite_training, .input = &t->input, .predictions = t->predictions};
}

static pw_validation pairs_of(table *t, pw_arena *arena) {
    pw_validation derived = {.suite = &pw_suite_knobs};
    pw_error error = {0};
    PW_EXPECT(pw_suite_knobs.derive(&t->base, arena, &derived, &error) == PW_OK);
    return derived;
}

PW_TEST(rows_that_differ_in_one_knob_make_a_pair) {
    table t;
    begin(&t);
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    add(&t, (const char *[]){"a", "s", "m", "8", "1", "none", "4"}, 10, 12, "check");
    add(&t, (const char *[]){"b", "s", "m", "2", "1", "none", "16"}, 5, 4, "check"); /* tp; dp follows */
    add(&t, (const char *[]){"c", "s", "m", "2", "4", "none", "16"}, 4, 4, "fit");   /* mbs against b; two knobs against a */
    add(&t, (const char *[]){"d", "s", "other", "2", "1", "none", "16"}, 4, 4, "fit");
    add(&t, (const char *[]){"e", "s", "m", "2", "1", "none", "16"}, 6, 4, "check"); /* as b */
    pw_validation v = pairs_of(&t, arena);
    PW_EXPECT(v.input->rows == 4); /* b-a, e-a in tp; b-c, e-c in mbs */
    for (uint32_t i = 0; i < v.input->rows; i++) {
        const char *id = pw_measured_text(v.input, i, "id"), *knob = pw_measured_text(v.input, i, "knob");
        const pw_prediction *p = &v.predictions[i];
        if (strcmp(id, "b/a") == 0) {
            PW_EXPECT(strcmp(knob, "tp") == 0 && strcmp(p->side, "check") == 0);
            PW_EXPECT(p->measured == 2 && p->plain == 3 && p->stack == 3); /* from the smaller count to the larger */
            PW_EXPECT(strcmp(pw_measured_text(v.input, i, "from"), "2") == 0 && strcmp(pw_measured_text(v.input, i, "to"), "8") == 0);
        }
        if (strcmp(id, "b/c") == 0) PW_EXPECT(strcmp(knob, "mbs") == 0 && p->side[0] == '\0'); /* sides differ */
    }
    pw_arena_destroy(arena);
}

PW_TEST(the_baseline_is_the_median_effect_of_fit_pairs_per_doubling) {
    table t;
    begin(&t);
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    add(&t, (const char *[]){"a", "s", "m", "1", "1", "none", "1"}, 8, 8, "fit");
    add(&t, (const char *[]){"b", "s", "m", "1", "4", "none", "1"}, 2, 4, "fit"); /* two doublings quarter it: half each */
    add(&t, (const char *[]){"c", "s", "n", "1", "1", "none", "1"}, 8, 8, "check");
    add(&t, (const char *[]){"d", "s", "n", "1", "2", "none", "1"}, 7, 4, "check");
    add(&t, (const char *[]){"e", "s", "n", "1", "1", "full", "1"}, 9, 9, "check");
    pw_validation v = pairs_of(&t, arena);
    PW_EXPECT(v.input->rows == 3);
    for (uint32_t i = 0; i < v.input->rows; i++) {
        const char *id = pw_measured_text(v.input, i, "id");
        if (strcmp(id, "c/d") == 0) PW_EXPECT_NEAR(v.predictions[i].baseline, 0.5, 1e-12);
        if (strcmp(pw_measured_text(v.input, i, "knob"), "recompute") == 0)
            PW_EXPECT(v.predictions[i].baseline == 1); /* no fit pair: no effect known */
    }
    pw_arena_destroy(arena);
}

PW_TEST(a_prediction_is_right_on_the_measured_side_of_1) {
    uint32_t n;
    const double measured[] = {1.2, 0.8, 1.01, 1.5}, predicted[] = {1.1, 1.1, 0.5, 1};
    PW_EXPECT_NEAR(pw_validation_sign_pct(measured, predicted, 4, &n), 100.0 / 3, 1e-9);
    PW_EXPECT(n == 3); /* 1.01 is within the noise */
    PW_EXPECT(isnan(pw_validation_sign_pct(measured, predicted, 0, &n)) && n == 0);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
