/* Laws: scores are what a hand computes; every row lands in one group and one line of output; a claim fails when it must. */
#include "tests/unit/validation/scratch.h"

/* A suite whose predictions are cells of the file. */
static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *p, pw_error *error) {
    const struct { const char *name; double *value; } cells[] = {
        {"measured", &p->measured}, {"plain", &p->plain}, {"stack", &p->stack}, {"baseline", &p->baseline}};
    p->side = pw_validation_side(context->split, context->input, row);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        PW_TRY(pw_measured_number(context->input, row, cells[i].name, cells[i].value, error));
    const char *why = pw_measured_text(context->input, row, "why");
    p->ran = !*why;
    snprintf(p->why, sizeof p->why, "%s", why);
    return PW_OK;
}
static const char *const required[] = {"id", "measured", NULL};
static const char *const by[] = {"side", "colour", NULL};
static const pw_suite suite = {.name = "cells", .text = "cells of a file", .unit = "s", .file = "cells.csv", .split = "split.csv",
                               .required = required, .by = by, .baseline = "a cell", .predict = predict};

/* Errors of plain: +10 %, -20 %, +30 %, 0; of baseline: +50 % throughout. */
static const char cells[] = "id,colour,measured,plain,stack,baseline,why\n"
                            "one,red,10,11,10,15,\n"
                            "\"two, twice\",red,10,8,10,15,\n"
                            "three,blue,10,13,10,15,\n"
                            "four,green,10,10,10,15,no reason\n"
                            "five,blue,10,10,10,15,\n"
                            "six,blue,soon,10,10,15,\n";

static pw_status run(scratch *s, pw_validation_options options, pw_validation *v) {
    scratch_file(s, "data/cells.csv", cells);
    scratch_file(s, "split.csv", "colour,side\nred,fit\nblue,check\n");
    return pw_validation_run(&suite, s->catalogue, &options, s->arena, v, &s->error);
}

PW_TEST(scores_are_those_of_a_hand) {
    static const double errors[] = {0.1, -0.2, 0.3, 0, -0.4};
    pw_score score = pw_validation_score(errors, 5);
    PW_EXPECT_INT(score.n, 5);
    PW_EXPECT_NEAR(score.bias_pct, -4, 1e-12);
    PW_EXPECT_NEAR(score.mape_pct, 20, 1e-12);
    PW_EXPECT_NEAR(score.median_pct, 20, 1e-12);
    PW_EXPECT_NEAR(score.worst_pct, 40, 1e-12);
    PW_EXPECT(score.p90_pct > 30 && score.p90_pct <= 40);
    pw_score none = pw_validation_score(NULL, 0);
    PW_EXPECT(none.n == 0 && isnan(none.bias_pct) && isnan(none.median_pct));
}

PW_TEST(every_input_row_gives_one_line_in_its_order) {
    for (uint32_t threads = 1; threads <= 5; threads += 4) {
        scratch s;
        pw_validation v;
        int memory;
        scratch_begin(&s);
        PW_EXPECT(run(&s, (pw_validation_options){.threads = threads}, &v) == PW_OK);
        pw_file *file = scratch_open(&s, &memory);
        PW_EXPECT(pw_validation_write_csv(&v, file, &s.error) == PW_OK);
        char expected[1024];
        snprintf(expected, sizeof expected,
                 "row,id,status,measured,predicted,predicted_stack\n"
                 "1,one,ok,10,11,10\n"
                 "2,\"two, twice\",ok,10,8,10\n"
                 "3,three,ok,10,13,10\n"
                 "4,four,skipped: no reason,,,\n"
                 "5,five,ok,10,10,10\n"
                 "6,six,skipped: %s/data/cells.csv:7: column 'measured': 'soon' is no number,,,\n", s.folder);
        PW_EXPECT_TEXT(scratch_close(&s, memory, file), expected);
        scratch_end(&s);
    }
}

static const char *as_json(scratch *s, const pw_validation *v) {
    int memory;
    pw_file *file = scratch_open(s, &memory);
    PW_EXPECT(pw_validation_write_json(v, file, s->arena, &s->error) == PW_OK);
    return scratch_close(s, memory, file);
}
static const char *as_text(scratch *s, const pw_validation *v) {
    int memory;
    pw_file *file = scratch_open(s, &memory);
    PW_EXPECT(pw_validation_write_text(v, file, s->arena, &s->error) == PW_OK);
    return scratch_close(s, memory, file);
}

PW_TEST(the_json_form_has_the_keys_of_its_schema) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    PW_EXPECT(run(&s, (pw_validation_options){0}, &v) == PW_OK);
    const char *json = as_json(&s, &v);
    static const char *const expected[] = {"\"schema\": \"podwright.validation/1\"", "\"suite\": \"cells\"", "\"rows\": 6",
                                           "\"unit\": \"s\"", "\"baseline\": \"a cell\"", "\"variants\": [", "\"name\": \"plain\"",
                                           "\"name\": \"stack\"", "\"name\": \"baseline\"", "\"all\": {", "\"groups\": [", "\"n\": 4",
                                           "\"bias_pct\": 5", "\"mape_pct\": 15", "\"median_pct\":", "\"p90_pct\":", "\"worst_pct\": 30",
                                           "\"column\": \"colour\"", "\"value\": \"blue\"", "\"skipped\": [", "\"row\": 4",
                                           "\"why\": \"no reason\"", "\"row\": 6"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) PW_EXPECT_CONTAINS(json, expected[i]);
    PW_EXPECT(!strstr(json, "\"green\"")); /* no row of it ran */
    scratch_end(&s);
}

PW_TEST(the_readable_form_counts_rows_and_reasons) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    PW_EXPECT(run(&s, (pw_validation_options){0}, &v) == PW_OK);
    const char *text = as_text(&s, &v);
    PW_EXPECT_CONTAINS(text, "4 of 6 rows ran");
    PW_EXPECT_CONTAINS(text, "by side");
    PW_EXPECT_CONTAINS(text, "by colour");
    PW_EXPECT_CONTAINS(text, "skipped 2 rows");
    PW_EXPECT_CONTAINS(text, "    1  no reason");
    scratch_end(&s);
}

PW_TEST(only_keeps_the_rows_that_match_every_wish) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    const char *const one[] = {"colour=red,green"}, *const two[] = {"colour=blue", "side=check", "id=three"};
    PW_EXPECT(run(&s, (pw_validation_options){.only = one, .only_count = 1}, &v) == PW_OK);
    static const bool ran_one[] = {true, true, false, false, false, false}, ran_two[] = {false, false, true, false, false, false};
    for (int row = 0; row < 6; row++) PW_EXPECT_INT(v.predictions[row].ran, ran_one[row]);
    PW_EXPECT_TEXT(v.predictions[2].why, "left out by --only");
    PW_EXPECT_TEXT(v.predictions[3].why, "no reason");
    PW_EXPECT(run(&s, (pw_validation_options){.only = two, .only_count = 3}, &v) == PW_OK);
    for (int row = 0; row < 6; row++) PW_EXPECT_INT(v.predictions[row].ran, ran_two[row]);
    const char *const part[] = {"colour=re"}; /* a part of a cell is no match */
    PW_EXPECT(run(&s, (pw_validation_options){.only = part, .only_count = 1}, &v) == PW_OK);
    for (int row = 0; row < 6; row++) PW_EXPECT(!v.predictions[row].ran);
    scratch_end(&s);
}

PW_TEST(columns_that_are_not_there_are_named_with_the_nearest) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    const char *const only[] = {"color=red"}, *const wish[] = {"color"}, *const no_value[] = {"colour"};
    PW_EXPECT(run(&s, (pw_validation_options){.only = only, .only_count = 1}, &v) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(s.error.hint, "colour");
    PW_EXPECT(run(&s, (pw_validation_options){.by = wish, .by_count = 1}, &v) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(s.error.hint, "colour");
    PW_EXPECT(run(&s, (pw_validation_options){.only = no_value, .only_count = 1}, &v) == PW_BAD_INPUT);
    const char *other = scratch_file(&s, "other.csv", "id,time\none,1\n");
    PW_EXPECT(run(&s, (pw_validation_options){.data = other}, &v) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(s.error.what, "measured");
    scratch_end(&s);
}

PW_TEST(groups_are_those_asked_for_in_order_of_their_text) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    const char *const wish[] = {"colour"};
    PW_EXPECT(run(&s, (pw_validation_options){.by = wish, .by_count = 1}, &v) == PW_OK);
    const char *text = as_text(&s, &v), *blue = strstr(text, "\n  blue "), *red = strstr(text, "\n  red ");
    PW_EXPECT(blue && red && blue < red);
    PW_EXPECT(!strstr(text, "by side"));
    /* blue: +30 % and 0; red: +10 % and -20 % */
    if (blue) PW_EXPECT_CONTAINS(blue, "2   +15.0    15.0    15.0");
    if (red) PW_EXPECT_CONTAINS(red, "2    -5.0    15.0    15.0");
    scratch_end(&s);
}

PW_TEST(a_claim_fails_when_and_only_when_the_figures_do_not_bear_it) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    PW_EXPECT(run(&s, (pw_validation_options){0}, &v) == PW_OK); /* MAPE 15, median 15, p90 at most 30, baseline 50 */
    PW_EXPECT(pw_validation_claim(&v, 0, 0, s.arena, &s.error) == PW_OK);
    PW_EXPECT(pw_validation_claim(&v, 15.001, 0, s.arena, &s.error) == PW_OK);
    PW_EXPECT(pw_validation_claim(&v, 14.999, 0, s.arena, &s.error) == PW_CLAIM);
    PW_EXPECT_CONTAINS(s.error.what, "15.00 %");
    PW_EXPECT(pw_validation_claim(&v, 0, 0.61, s.arena, &s.error) == PW_OK);
    PW_EXPECT(pw_validation_claim(&v, 0, 0.4, s.arena, &s.error) == PW_CLAIM); /* the median bears it, the p90 does not */
    PW_EXPECT(pw_validation_claim(&v, 0, 0.29, s.arena, &s.error) == PW_CLAIM);
    PW_EXPECT(pw_validation_claim(&v, 20, 0.29, s.arena, &s.error) == PW_CLAIM);
    const char *const none[] = {"colour=pink"};
    PW_EXPECT(run(&s, (pw_validation_options){.only = none, .only_count = 1}, &v) == PW_OK);
    PW_EXPECT(pw_validation_claim(&v, 1000, 0, s.arena, &s.error) == PW_CLAIM);
    PW_EXPECT_CONTAINS(s.error.what, "no row ran");
    scratch_end(&s);
}

PW_TEST(an_interrupt_ends_the_run) {
    scratch s;
    pw_validation v;
    const volatile int interrupt = 1;
    scratch_begin(&s);
    PW_EXPECT(run(&s, (pw_validation_options){.interrupt = &interrupt}, &v) == PW_INTERRUPTED);
    scratch_end(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
