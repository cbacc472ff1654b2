/* Laws: the baseline is one MFU per GPU and precision; the stack variant is the prediction at the stack's factor. */
#include "models/workload/stack.h"
#include "scenarios/validation/training_row.h"
#include "tests/unit/validation/steps.h"

static pw_status run(scratch *s, pw_validation *v) {
    return pw_validation_run(&pw_suite_training, s->catalogue, &(pw_validation_options){0}, s->arena, v, &s->error);
}

/* One model, so that a rate of flops is a batch over a time, and peaks are the catalogue's. */
PW_TEST(the_baseline_is_the_median_mfu_of_the_gpu_with_sources_weighing_the_same) {
    static const step_row rows[] = {
        {"a1", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1}, {"a2", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1},
        {"a3", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1}, {"b1", "fit-b", "H100", "bf16", "Megatron", NULL, 64, 2},
        {"c1", "fit-c", "H100", "fp8", "NeMo", NULL, 64, 1},      {"k1", "check", "H100", "bf16", "Megatron", NULL, 128, 7},
        {"k2", "check", "H100", "fp8", "NeMo", NULL, 64, 7},      {"k3", "check", "A100-80", "bf16", "Megatron", NULL, 64, 7}};
    scratch s;
    pw_validation v;
    const pw_device *h100, *a100;
    scratch_begin(&s);
    step_files(&s, rows, 8);
    PW_EXPECT(run(&s, &v) == PW_OK);
    for (int i = 0; i < 8; i++) PW_EXPECT_TEXT(v.predictions[i].why, "");
    PW_EXPECT(pw_catalogue_device(s.catalogue, "H100", &h100, NULL) == PW_OK);
    PW_EXPECT(pw_catalogue_device(s.catalogue, "A100-80", &a100, NULL) == PW_OK);
    /* Two sources, one half of the weight each: the lower of their medians, 64 samples in 2 s. */
    PW_EXPECT_NEAR(v.predictions[5].baseline, 4, 1e-12);
    PW_EXPECT_NEAR(v.predictions[0].baseline, 2, 1e-12);
    PW_EXPECT_NEAR(v.predictions[6].baseline, 1, 1e-12);
    /* No fit row of the A100: over all rows, MFUs of 1/2 (b), 1/2 (c, of twice the peak) and 1 (a), in units of a's. */
    PW_EXPECT_NEAR(v.predictions[7].baseline, 2 * h100->peak_flops[PW_PRECISION_BF16] / a100->peak_flops[PW_PRECISION_BF16], 1e-3);
    for (int i = 0; i < 8; i++) PW_EXPECT_TEXT(v.predictions[i].side, i < 5 ? "fit" : "check");
    scratch_end(&s);
}

PW_TEST(check_rows_shape_no_baseline) {
    step_row rows[] = {{"a1", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1}, {"k1", "check", "H100", "bf16", "Megatron", NULL, 64, 100}};
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    step_files(&s, rows, 2);
    PW_EXPECT(run(&s, &v) == PW_OK);
    PW_EXPECT_NEAR(v.predictions[1].baseline, 1, 1e-12);
    PW_EXPECT_NEAR(v.predictions[1].measured, 100, 0);
    scratch_end(&s);
}

static pw_status predict_at_factor(const pw_validation_context *context, uint32_t row, pw_prediction *p, pw_error *error) {
    pw_training_row described = {0};
    pw_stack stack;
    PW_TRY(pw_training_describe(context, row, context->arena, &described, p, &p->ran, error));
    PW_TRY(pw_stack_read(context->catalogue, described.stack, described.device, &stack, NULL, 0, error));
    p->baseline = stack.kernel_time_factor;
    return pw_training_predict(context, &described, stack.kernel_time_factor, 0, &p->stack, error);
}

PW_TEST(the_stack_variant_applies_the_factor_on_file) {
    static const step_row rows[] = {{"a", "fit-a", "H100", "bf16", "DeepSpeed", NULL, 64, 1}, {"b", "fit-b", "H100", "bf16", "Megatron", NULL, 64, 1}};
    pw_suite at_factor = pw_suite_training;
    at_factor.predict = predict_at_factor;
    scratch s;
    pw_validation v, expected;
    scratch_begin(&s);
    step_files(&s, rows, 2);
    PW_EXPECT(run(&s, &v) == PW_OK);
    PW_EXPECT(pw_validation_run(&at_factor, s.catalogue, &(pw_validation_options){.threads = 1}, s.arena, &expected, &s.error) == PW_OK);
    PW_EXPECT(expected.predictions[0].baseline != 1 && expected.predictions[1].baseline == 1);
    PW_EXPECT(v.predictions[0].plain > 0 && v.predictions[0].stack != v.predictions[0].plain);
    PW_EXPECT_NEAR(v.predictions[0].stack, expected.predictions[0].stack, 0);
    PW_EXPECT_NEAR(v.predictions[1].stack, v.predictions[1].plain, 0);
    scratch_end(&s);
}

/* Whether two rows of a scratch file are one job to the memo. The first is known at a factor of 1.1 and a clock ratio of 0.9. */
static pw_status compare_keys(const pw_validation_context *context, uint32_t row, pw_prediction *p, pw_error *error) {
    training_state *state = context->state;
    pw_training_row described = {0};
    training_key key;
    pw_training_answer answer = {.step_s = 7};
    PW_TRY(pw_training_describe(context, row, context->arena, &described, p, &p->ran, error));
    PW_TRY(training_key_make(&described, row == 3 ? 1.2 : 1.1, row == 4 ? 0.8 : 0.9, &key, error));
    p->plain = training_memo_find(&state->memo, &key, &answer);
    pw_status status = row ? PW_OK : training_memo_keep(&state->memo, context->arena, &key, &answer, error);
    training_key_free(&key);
    p->stack = answer.step_s;
    return status;
}

PW_TEST(equal_jobs_are_run_once_and_others_are_told_apart) {
    static const step_row rows[] = {
        {"a", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1},  {"b", "fit-b", "H100", "bf16", "Megatron", NULL, 64, 2},
        {"c", "fit-a", "H100", "bf16", "Megatron", NULL, 128, 1}, {"d", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1},
        {"e", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1},  {"f", "fit-a", "H100", "fp16", "Megatron", NULL, 64, 1},
        {"g", "fit-a", "A100-80", "bf16", "Megatron", NULL, 64, 1}, {"h", "fit-a", "H100", "bf16", "NeMo", NULL, 64, 1}};
    pw_suite keys = pw_suite_training;
    keys.predict = compare_keys;
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    step_files(&s, rows, 8);
    PW_EXPECT(pw_validation_run(&keys, s.catalogue, &(pw_validation_options){.threads = 1}, s.arena, &v, &s.error) == PW_OK);
    for (int i = 0; i < 8; i++) PW_EXPECT_NEAR(v.predictions[i].plain, i == 1, 0); /* only what was measured differs */
    PW_EXPECT_NEAR(v.predictions[1].stack, 7, 0);
    PW_EXPECT(run(&s, &v) == PW_OK);
    PW_EXPECT(v.predictions[0].stack > 0 && v.predictions[1].stack == v.predictions[0].stack);
    PW_EXPECT(v.predictions[1].measured == 2 * v.predictions[0].measured);
    PW_EXPECT(v.predictions[1].low == v.predictions[0].low && v.predictions[1].step_class == v.predictions[0].step_class);
    PW_EXPECT(v.predictions[2].stack != v.predictions[0].stack);
    scratch_end(&s);
}

PW_TEST(odd_rows_are_skipped_with_a_reason_and_stop_no_other) {
    static const step_row rows[] = {
        {"a", "fit-a", "H100", "bf16", "Megatron", NULL, 64, NAN},  {"b", "fit-a", "H100", "bf16", "Megatron", NULL, 64, -1},
        {"c", "fit-a", "H100", "int3", "Megatron", NULL, 64, 1},    {"d", "fit-a", "H100", "bf16", "nobody's", NULL, 64, 1},
        {"e", "fit-a", "TPU", "bf16", "Megatron", NULL, 64, 1},     {"f", "fit-a", "H100-of-1850", "bf16", "Megatron", NULL, 64, 1},
        {"g", "nowhere", "H100", "bf16", "Megatron", NULL, 63, 1},  {"h", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1}};
    static const char *const reasons[] = {"is no number", "not positive", "precision 'int3'", "has no stack on file", "has no server on file",
                                          "not in the catalogue", "global_batch"};
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    static const step_row good[] = {{"a", "fit-a", "H100", "bf16", "Megatron", NULL, 64, 1}};
    step_files(&s, rows, 8);
    char odd[512];
    snprintf(odd, sizeof odd, "%s/odd.csv", s.folder);
    scratch_file(&s, "odd.csv", "");
    char from[512];
    snprintf(from, sizeof from, "%s/data/training-measured.csv", s.folder);
    scratch_must(&s, rename(from, odd) == 0);
    step_files(&s, good, 1);
    PW_EXPECT(pw_validation_run(&pw_suite_training, s.catalogue, &(pw_validation_options){.data = odd}, s.arena, &v, &s.error) == PW_OK);
    for (int i = 0; i < 7; i++) {
        PW_EXPECT(!v.predictions[i].ran);
        PW_EXPECT_CONTAINS(v.predictions[i].why, reasons[i]);
    }
    PW_EXPECT(v.predictions[7].ran);
    PW_EXPECT_TEXT(v.predictions[6].side, "");
    scratch_end(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
