/* Laws: a refit finds the value that the measurements were made with; families weigh the same; a parameter needs rows. */
#include "scenarios/validation/refit.h"
#include "scenarios/validation/training.h"
#include "tests/unit/validation/steps.h"

typedef struct truth { /* of a row: what it is made with */
    double factor, clock_ratio;
} truth;

static pw_status predict_truth(const pw_validation_context *context, uint32_t row, pw_prediction *p, pw_error *error) {
    const truth *made = (const truth *)context->user + row;
    pw_training_row described = {0};
    PW_TRY(pw_training_describe(context, row, context->arena, &described, p, &p->ran, error));
    return pw_training_predict(context, &described, made->factor, made->clock_ratio, &p->plain, error);
}

/* Files in which each row's step time is the simulator's at its truth. */
static void make(scratch *s, step_row *rows, const truth *made, int count) {
    pw_suite suite = pw_suite_training;
    pw_validation v;
    truth user[32];
    memcpy(user, made, (size_t)count * sizeof *made);
    suite.predict = predict_truth;
    for (int i = 0; i < count; i++) rows[i].step_s = 1;
    step_files(s, rows, count);
    pw_status status = pw_validation_run(&suite, s->catalogue, &(pw_validation_options){.threads = 1, .user = user}, s->arena, &v, &s->error);
    scratch_must(s, status == PW_OK);
    for (int i = 0; i < count; i++) {
        scratch_must(s, v.predictions[i].ran);
        rows[i].step_s = v.predictions[i].plain;
    }
    step_files(s, rows, count);
}

static pw_measured refit(scratch *s, pw_refit_kind kind) {
    int memory;
    pw_measured table = {0};
    pw_file *file = scratch_open(s, &memory);
    PW_EXPECT(pw_refit_write(kind, s->catalogue, NULL, file, s->arena, &s->error) == PW_OK);
    const char *path = scratch_file(s, "refit.csv", scratch_close(s, memory, file));
    scratch_must(s, pw_measured_read(path, s->arena, &table, &s->error) == PW_OK);
    return table;
}

static int64_t row_of(const pw_measured *table, const char *name) {
    for (uint32_t row = 0; row < table->rows; row++)
        if (strcmp(pw_measured_text(table, row, "name"), name) == 0) return row;
    return -1;
}
static double value(const pw_measured *table, int64_t row, const char *column) {
    double number = NAN;
    if (row >= 0) (void)pw_measured_number(table, (uint32_t)row, column, &number, NULL);
    return number;
}

PW_TEST(factors_are_found_again_with_families_weighing_the_same) {
    step_row rows[] = {
        {"a1", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 0}, {"a2", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 0},
        {"a3", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 0}, {"b1", "fit-b", "H100", "bf16", "Megatron", NULL, 64, 0},
        {"c1", "fit-c", "H100", "bf16", "Megatron", NULL, 64, 0},
        /* rows that must not count: check, and remembered figures */
        {"k1", "check", "H100", "bf16", "Megatron", NULL, 64, 0}, {"m1", "fit-b", "H100", "bf16", "Megatron", "memory", 64, 0},
        /* a stack with too few rows */
        {"n1", "fit-a", "H100", "bf16", "NeMo", NULL, 64, 0},     {"n2", "fit-a", "H100", "bf16", "NeMo", NULL, 64, 0},
        {"n3", "fit-a", "H100", "bf16", "NeMo", NULL, 64, 0},     {"n4", "fit-a", "H100", "bf16", "NeMo", NULL, 64, 0}};
    static const truth made[] = {{1.1, 0}, {1.1, 0}, {1.1, 0}, {1.3, 0}, {1.2, 0}, {2.5, 0}, {2.5, 0}, {1.5, 0}, {1.5, 0}, {1.5, 0}, {1.5, 0}};
    scratch s;
    scratch_begin(&s);
    make(&s, rows, made, 11);
    pw_measured table = refit(&s, PW_REFIT_STACKS);
    int64_t row = row_of(&table, "megatron-2023");
    /* Of the weights 1/3, 1/3, 1/3 at 1.1, 1 at 1.2 and 1 at 1.3 half lies at 1.2; of the rows it lies at 1.1. */
    PW_EXPECT_NEAR(value(&table, row, "factor [ratio]"), 1.2, 1e-3);
    PW_EXPECT_NEAR(value(&table, row, "low [ratio]"), 1.1, 1e-3);
    PW_EXPECT_NEAR(value(&table, row, "high [ratio]"), 1.3, 1e-3);
    PW_EXPECT_INT(value(&table, row, "rows [count]"), PW_REFIT_LEAST);
    PW_EXPECT_INT(value(&table, row, "families [count]"), 3);
    if (row >= 0) PW_EXPECT_TEXT(pw_measured_text(&table, (uint32_t)row, "provenance"), "FITTED");
    PW_EXPECT_INT(row_of(&table, "nemo-2024"), -1);      /* 4 rows are too few */
    PW_EXPECT_INT(row_of(&table, "deepspeed-2021"), -1); /* fitted once, on rows that are no longer there */
    scratch_end(&s);
}

PW_TEST(clocks_are_found_again_and_a_gpu_with_few_rows_has_its_architecture) {
    step_row rows[] = {
        {"a1", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 0},    {"a2", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 0},
        {"b1", "fit-b", "H100", "bf16", "Megatron", NULL, 64, 0},    {"b2", "fit-b", "H100", "bf16", "Megatron", NULL, 64, 0},
        {"c1", "fit-c", "H100", "bf16", "Megatron", NULL, 64, 0},    {"d1", "fit-a", "A100-80", "bf16", "Megatron", NULL, 64, 0},
        {"d2", "fit-b", "A100-80", "bf16", "Megatron", NULL, 64, 0}, {"d3", "fit-c", "A100-80", "bf16", "Megatron", NULL, 64, 0}};
    static const truth made[] = {{1, 0.8}, {1, 0.8}, {1, 0.8}, {1, 0.8}, {1, 0.8}, {1, 0.7}, {1, 0.9}, {1, 0.95}};
    scratch s;
    scratch_begin(&s);
    make(&s, rows, made, 8);
    pw_measured table = refit(&s, PW_REFIT_CLOCKS);
    const pw_device *h100, *a100;
    char name[128];
    PW_EXPECT(pw_catalogue_device(s.catalogue, "H100", &h100, NULL) == PW_OK);
    PW_EXPECT(pw_catalogue_device(s.catalogue, "A100-80", &a100, NULL) == PW_OK);
    snprintf(name, sizeof name, "%s 16-bit", h100->name);
    PW_EXPECT_NEAR(value(&table, row_of(&table, name), "ratio [ratio]"), 0.8, 2e-3);
    PW_EXPECT_NEAR(value(&table, row_of(&table, "Hopper 16-bit"), "ratio [ratio]"), 0.8, 2e-3);
    snprintf(name, sizeof name, "%s 16-bit", a100->name);
    PW_EXPECT_INT(row_of(&table, name), -1);
    PW_EXPECT_NEAR(value(&table, row_of(&table, "Ampere 16-bit"), "ratio [ratio]"), 0.9, 2e-3);
    PW_EXPECT_INT(value(&table, row_of(&table, "Ampere 16-bit"), "rows [count]"), 3);
    /* What no row bears on stays when it was assumed, and goes when it was fitted. */
    int64_t assumed = row_of(&table, "Blackwell 16-bit");
    PW_EXPECT(assumed >= 0);
    if (assumed >= 0) PW_EXPECT_TEXT(pw_measured_text(&table, (uint32_t)assumed, "provenance"), "ASSUMED");
    PW_EXPECT_INT(row_of(&table, "Volta 16-bit"), -1);
    scratch_end(&s);
}

PW_TEST(a_source_that_only_judges_shapes_no_parameter) {
    step_row rows[] = {
        {"a1", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 0}, {"a2", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 0},
        {"b1", "fit-b", "H100", "bf16", "Megatron", NULL, 64, 0}, {"b2", "fit-b", "H100", "bf16", "Megatron", NULL, 64, 0},
        {"c1", "fit-c", "H100", "bf16", "Megatron", NULL, 64, 0}, {"j1", "fit-judge", "H100", "bf16", "Megatron", NULL, 64, 0},
        {"j2", "fit-judge", "A100-80", "bf16", "Megatron", NULL, 64, 0}};
    static const truth made[] = {{1.1, 0}, {1.1, 0}, {1.1, 0}, {1.1, 0}, {1.1, 0}, {1.9, 0}, {1.9, 0}};
    scratch s;
    scratch_begin(&s);
    make(&s, rows, made, 7);
    scratch_file(&s, "judges.csv", "source,reason\nfit-judge,to judge\n");
    pw_measured table = refit(&s, PW_REFIT_STACKS);
    int64_t row = row_of(&table, "megatron-2023");
    PW_EXPECT_NEAR(value(&table, row, "high [ratio]"), 1.1, 1e-3);
    PW_EXPECT_INT(value(&table, row, "rows [count]"), 5);
    PW_EXPECT_INT(value(&table, row, "families [count]"), 3);
    table = refit(&s, PW_REFIT_CLOCKS);
    PW_EXPECT_INT(row_of(&table, "Ampere 16-bit"), -1); /* only the judge has an A100 */
    scratch_end(&s);
}

PW_TEST(runs_that_gather_sharded_weights_shape_no_clock_and_a_factor_only_where_others_are_few) {
    step_row rows[] = {
        {"a1", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 0, NULL},         {"a2", "fit-b", "H100", "bf16", "Megatron", NULL, 64, 0, "ZeRO1"},
        {"b1", "fit-c", "H100", "bf16", "Megatron", NULL, 64, 0, NULL},         {"b2", "fit-c", "H100", "bf16", "Megatron", NULL, 64, 0, NULL},
        {"c1", "fit-c", "H100", "bf16", "Megatron", NULL, 64, 0, NULL},         {"t1", "fit-judge", "H100", "bf16", "Megatron", NULL, 64, 0, "FSDP"},
        {"s1", "fit-judge", "H100", "bf16", "NeMo", NULL, 64, 0, "FSDP"},       {"s2", "fit-judge", "H100", "bf16", "NeMo", NULL, 64, 0, "FSDP"},
        {"s3", "fit-judge", "H100", "bf16", "NeMo", NULL, 64, 0, "FSDP"},       {"s4", "fit-judge", "H100", "bf16", "NeMo", NULL, 64, 0, "FSDP"},
        {"s5", "fit-judge", "A100-80", "bf16", "NeMo", NULL, 64, 0, "FSDP"}};
    static const truth made[] = {{1, 0.8}, {1, 0.8}, {1, 0.8}, {1, 0.8}, {1, 0.8}, {1, 0.6}, {1, 0.6}, {1, 0.6}, {1, 0.6}, {1, 0.6}, {1, 0.6}};
    scratch s;
    scratch_begin(&s);
    make(&s, rows, made, 11);
    pw_measured table = refit(&s, PW_REFIT_CLOCKS);
    int64_t row = row_of(&table, "Hopper 16-bit");
    PW_EXPECT_NEAR(value(&table, row, "low [ratio]"), 0.8, 2e-3);
    PW_EXPECT_INT(value(&table, row, "rows [count]"), 5);
    PW_EXPECT_INT(row_of(&table, "Ampere 16-bit"), -1);
    table = refit(&s, PW_REFIT_STACKS);
    PW_EXPECT_INT(value(&table, row_of(&table, "megatron-2023"), "rows [count]"), 5);
    PW_EXPECT_INT(value(&table, row_of(&table, "nemo-2024"), "rows [count]"), 5);
    scratch_end(&s);
}

PW_TEST(a_judge_that_has_no_row_is_an_error_with_its_line) {
    step_row rows[] = {{"a1", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1}};
    scratch s;
    scratch_begin(&s);
    step_files(&s, rows, 1);
    scratch_file(&s, "judges.csv", "source,reason\nfit-a,to judge\nfitt-b,misspelt\n");
    int memory;
    pw_file *file = scratch_open(&s, &memory);
    PW_EXPECT(pw_refit_write(PW_REFIT_STACKS, s.catalogue, NULL, file, s.arena, &s.error) == PW_BAD_INPUT);
    PW_EXPECT_INT(s.error.line, 3);
    PW_EXPECT(strstr(s.error.what, "fitt-b") != NULL);
    pw_file_discard(file);
    close(memory);
    scratch_end(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
