/* Which row of training-clocks.csv a GPU takes: its own, else its architecture's, never another GPU's. */
#include "models/workload/clock.h"
#include "tests/harness/check.h"

static pw_catalogue *catalogue;

/* Ratio of the row with that name in the shipped table. */
static double ratio_of(const char *name) {
    const pw_table *table = pw_catalogue_table(catalogue, "training-clocks");
    int row = table ? pw_table_find_row(table, name) : -1;
    PW_EXPECT(row >= 0);
    return row < 0 ? NAN : pw_table_number_of(table, (size_t)row, "ratio");
}

static double clock_of(const char *gpu, pw_precision precision, const char **source) {
    const pw_device *device = NULL;
    PW_EXPECT_INT(pw_catalogue_device(catalogue, gpu, &device, NULL), PW_OK);
    return device ? pw_training_clock(catalogue, device, precision, source) : NAN;
}

PW_TEST(a_gpu_takes_its_own_row_before_its_architectures) {
    const char *source;
    PW_EXPECT_NEAR(clock_of("A100-SXM4-80GB", PW_PRECISION_BF16, &source), ratio_of("A100-SXM4-80GB 16-bit"), 0);
    PW_EXPECT(*source);
    PW_EXPECT_NEAR(clock_of("H100-SXM5-80GB", PW_PRECISION_FP8, &source), ratio_of("H100-SXM5-80GB 8-bit"), 0);
}

PW_TEST(a_gpu_without_a_row_takes_its_architectures_and_no_other_gpus) {
    const char *source;
    PW_EXPECT(ratio_of("A100-SXM4-80GB 16-bit") != ratio_of("Ampere 16-bit")); /* or this test shows nothing */
    PW_EXPECT_NEAR(clock_of("A100-SXM4-40GB", PW_PRECISION_FP16, &source), ratio_of("Ampere 16-bit"), 0);
    PW_EXPECT_NEAR(clock_of("H200-SXM-141GB", PW_PRECISION_FP8, &source), ratio_of("Hopper 8-bit"), 0);
}

PW_TEST(fp32_spares_the_tensor_units_and_keeps_a_clock_of_its_own) {
    const char *source;
    PW_EXPECT_NEAR(clock_of("A100-SXM4-80GB", PW_PRECISION_TF32, &source), ratio_of("A100-SXM4-80GB 16-bit"), 0);
    PW_EXPECT(clock_of("V100-SXM2-32GB", PW_PRECISION_FP32, &source) > ratio_of("V100-SXM2-32GB 16-bit"));
}

PW_TEST(without_any_row_the_clock_is_the_reference) {
    const char *source = NULL;
    PW_EXPECT_NEAR(clock_of("MI300X", PW_PRECISION_BF16, &source), 1, 0);
    PW_EXPECT_TEXT(source, "");
}

int main(int argc, char **argv) {
    pw_error error = {0};
    char text[2048];
    if (pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) {
        printf("# %s\n", pw_error_text(&error, text, sizeof text));
        return 1;
    }
    int failed = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    return failed;
}
