/* What a decode step executes, counted by hand; and points: what is given, what is predicted. */
#include "models/power/gpu_points.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdlib.h>

static pw_catalogue *catalogue;

static void open_catalogue(void) {
    pw_error error = {0};
    if (!catalogue && pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) {
        printf("# %s\n", error.what);
        exit(1);
    }
}

PW_TEST(a_dense_step_reads_weights_once_and_every_cache) {
    pw_served_model model = {.dense = 10e9, .cache_bytes = 1000, .state_bytes = 500, .weight_bytes = 2};
    pw_decode_tiles tiles = {.dense = 1, .attention = 64};
    pw_gpu_work w = pw_decode_work(&model, &tiles, 32, 4, 100, 0.5, false);
    double cache = 32 * 100 * 1000 / 4.0, state = 32 * 500 / 4.0;
    PW_EXPECT_NEAR(w.memory_bytes, 10e9 * 2 / 4 + cache + state, 1e-6);
    PW_EXPECT_NEAR(w.tensor_flops[PW_PRECISION_BF16], 2 * 10e9 * 48 / 4 + (cache + state) * 64, 1);
    tiles.dense = 64; /* a batch below the tile executes the tile */
    PW_EXPECT_NEAR(pw_decode_work(&model, &tiles, 32, 4, 100, 0, false).tensor_flops[PW_PRECISION_BF16], 2 * 10e9 * 64 / 4 + (cache + state) * 64, 1);
    model.cache_replicated = true;
    PW_EXPECT_NEAR(pw_decode_work(&model, &tiles, 32, 4, 100, 0, false).memory_bytes, 10e9 * 2 / 4 + 4 * cache + state, 1e-6);
}

PW_TEST(experts_are_hit_by_chance_and_work_on_whole_tiles) {
    pw_served_model model = {.routed = 64e9, .experts = 64, .experts_per_token = 1, .weight_bytes = 1};
    pw_decode_tiles tiles = {.few_experts = 16, .experts = 64, .experts_8 = 128};
    pw_gpu_work one = pw_decode_work(&model, &tiles, 1, 1, 0, 0, false);
    PW_EXPECT_NEAR(one.memory_bytes, 1e9, 1);
    PW_EXPECT_NEAR(one.tensor_flops[PW_PRECISION_BF16], 2 * 1e9 * 16, 1);
    PW_EXPECT_NEAR(pw_decode_work(&model, &tiles, 1, 1, 0, 0, true).tensor_flops[PW_PRECISION_FP8], 2 * 1e9 * 128, 1);
    pw_gpu_work many = pw_decode_work(&model, &tiles, 1e6, 1, 0, 0, false); /* all experts, tiles full: the useful flops */
    PW_EXPECT_NEAR(many.memory_bytes, 64e9, 1);
    PW_EXPECT_NEAR(many.tensor_flops[PW_PRECISION_BF16], 2 * 1e9 * 1e6, 1e6);
}

static pw_power_point point_of(pw_power_row row) {
    pw_power_point point = {0};
    pw_error error = {0};
    bool known = false;
    char why[200] = "";
    open_catalogue();
    PW_EXPECT_INT(pw_power_point_make(catalogue, &row, &point, &known, why, sizeof why, &error), PW_OK);
    PW_EXPECT(known);
    return point;
}

static pw_gpu_power *model_of(const pw_power_point *point) {
    pw_error error = {0};
    pw_gpu_power *model = NULL;
    PW_EXPECT_INT(pw_gpu_power_create(NULL, catalogue, point->device->name, &model, &error), PW_OK);
    return model;
}

PW_TEST(throughput_under_a_cap_falls_with_the_cap_and_is_one_at_the_default) {
    double last = 0;
    for (double cap = 100; cap < 250; cap += 10) {
        pw_power_point point = point_of((pw_power_row){"perf_vs_power_cap", "V100-PCIe-32GB (250 W)", "resnet50 on imagenet",
                                                       "throughput_ratio_capped_over_default", "", 1, 360, cap, 250, NAN, 217.5});
        pw_gpu_power *model = model_of(&point);
        double ratio = pw_power_point_predict(model, &point);
        PW_EXPECT(ratio >= last && ratio <= 1);
        last = ratio;
        pw_gpu_power_destroy(model);
    }
    PW_EXPECT(last > 0.97);
}

PW_TEST(the_watts_at_the_default_cap_set_the_pauses) {
    pw_power_row row = {"perf_vs_power_cap", "V100-PCIe-32GB", "resnet50 on imagenet", "mean_gpu_power", "", 1, 360, 249.9, 250, NAN, 150};
    pw_power_point point = point_of(row);
    pw_gpu_power *model = model_of(&point);
    PW_EXPECT_NEAR(pw_power_point_predict(model, &point), 150, 2); /* nearly the same cap */
    pw_gpu_power_destroy(model);
}

PW_TEST(serving_watts_rise_with_the_batch_up_to_what_the_controller_holds) {
    double last = 0;
    static const double batches[] = {8, 64, 256}, tokens[] = {1070, 5147, 9010};
    for (int i = 0; i < 3; i++) {
        pw_power_point point = point_of((pw_power_row){"llm_serving_power", "H100", "meta-llama/Llama-3.1-8B-Instruct", "mean_gpu_power_per_gpu",
                                                       "bfloat16", 1, batches[i], NAN, NAN, tokens[i], NAN});
        pw_gpu_power *model = model_of(&point);
        double watts = pw_power_point_predict(model, &point);
        PW_EXPECT(watts > last && watts <= 700);
        last = watts;
        pw_gpu_power_destroy(model);
    }
}

PW_TEST(rows_that_no_point_describes_say_why) {
    open_catalogue();
    pw_power_point point;
    pw_error error = {0};
    bool known = true;
    char why[200];
    pw_power_row rows[] = {{.category = "pue", .device = "AWS", .task = "", .metric = "pue", .dtype = ""},
                           {.category = "llm_serving_power", .device = "H100", .task = "no/such-model", .metric = "mean_gpu_power_per_gpu", .dtype = ""},
                           {.category = "perf_vs_power_cap", .device = "H100", .task = "no such task", .metric = "mean_gpu_power", .dtype = "",
                            .cap_W = 300, .default_cap_W = 700},
                           {.category = "gpu_idle", .device = "H101", .task = "idle", .metric = "idle_gpu_power", .dtype = ""}};
    static const char *const parts[] = {"no GPU figure", "served-models", "no activity class", "not in the catalogue"};
    for (int i = 0; i < 4; i++) {
        PW_EXPECT_INT(pw_power_point_make(catalogue, &rows[i], &point, &known, why, sizeof why, &error), PW_OK);
        PW_EXPECT(!known);
        PW_EXPECT_CONTAINS(why, parts[i]);
    }
}

int main(int argc, char **argv) {
    int result = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    return result;
}
