/* Models: presets against published sizes, FLOP conventions. */
#include "models/workload/plan.h"
#include "tests/harness/check.h"
#include "tests/unit/workload/jobs.h"

PW_TEST(parameter_counts_equal_published_ones) {
    /* Counts that the sources print to four digits or more. */
    const struct { const char *name; double parameters, tolerance; } cases[] = {
        {"llama3-405b", 405.85e9, 1e-4}, {"llama3-70b", 70.554e9, 1e-4}, {"llama3-8b", 8.030e9, 1e-4},
        {"llama2-7b", 6.738e9, 1e-4},    {"llama2-13b", 13.016e9, 1e-4}, {"llama2-70b", 68.977e9, 1e-4},
        {"gpt3-175b", 175.0e9, 3e-3},    {"megatron-1008b", 1008e9, 3e-3}, {"megatron-1.7b", 1.7e9, 3e-2},
        {"nemotron4-340b", 340.7e9, 3e-3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_model_desc model = preset(cases[i].name);
        PW_EXPECT_NEAR(pw_model_parameters(&model), cases[i].parameters, cases[i].tolerance);
    }
}

PW_TEST(every_preset_is_near_its_published_size) {
    const pw_table *table = pw_catalogue_table(catalogue(), "models");
    PW_EXPECT(table && pw_table_rows(table) >= 25);
    if (!table) return;
    int column = pw_table_find_column(table, "published_parameters");
    PW_EXPECT(column >= 0);
    for (size_t row = 0; column >= 0 && row < pw_table_rows(table); row++) {
        pw_model_desc model = preset(pw_table_text_at(table, row, 0));
        double published = pw_table_number_at(table, row, (size_t)column);
        double count = pw_model_parameters(&model);
        if (!(fabs(count - published) <= 0.07 * published))
            PW_FAILED("%s has %.4g parameters, published %.4g", model.name, count, published);
    }
}

PW_TEST(flops_per_token_are_the_megatron_formula_over_batch) {
    /* Narayanan et al. 2021: 72 B s L h^2 (1 + s/6h + V/12hL) without recompute, full attention, for plain GPT. */
    pw_model_desc model = preset("gpt3-175b");
    double s = 2048, h = 12288, L = 96, V = 50257;
    double formula = 72 * L * h * h * (1 + s / (6 * h) + V / (12 * h * L));
    PW_EXPECT_NEAR(pw_model_flops_per_token(&model, 2048, false), formula, 1e-12);
    double causal = formula - 72 * L * h * h * s / (12 * h);
    PW_EXPECT_NEAR(pw_model_flops_per_token(&model, 2048, true), causal, 1e-12);
}

PW_TEST(flops_of_grouped_queries_and_gated_mlps_count_their_matrices) {
    pw_model_desc model = preset("llama3-8b");
    double weights = 32.0 * (4096.0 * (2 * 4096 + 2 * 1024) + 3 * 4096.0 * 14336) + 128256.0 * 4096;
    PW_EXPECT_NEAR(pw_model_flops_per_token(&model, 8192, true), 6 * weights + 6 * 32.0 * 8192 * 4096, 1e-12);
}

PW_TEST(an_unknown_preset_lists_the_known_ones) {
    pw_model_desc model;
    pw_error error = {0};
    PW_EXPECT_INT(pw_model_preset(catalogue(), "lama3", &model, arena(), &error), PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.what, "no model is called 'lama3'");
    PW_EXPECT_CONTAINS(error.hint, "llama3-405b");
}

PW_TEST(heads_must_divide_the_hidden_size) {
    pw_model_desc model = preset("gpt3-175b");
    pw_error error = {0};
    model.heads = 100;
    PW_EXPECT_INT(pw_description_check(&pw_model_kind, &model, "job.lua", 7, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.file, "job.lua");
    PW_EXPECT_INT(error.line, 7);
    PW_EXPECT_CONTAINS(error.what, "12288 is not a multiple of model.heads 100");
}

PW_TEST(layers_within_a_window_alternate_with_layers_that_see_all) {
    pw_model_desc model = preset("llama3-8b");
    double plain = pw_model_flops_per_token(&model, 8192, true), width = 32 * 128;
    model.window = 1024;
    model.global_every = 4;
    for (int64_t i = 0; i < 8; i++) PW_EXPECT_INT(pw_model_layer_kind(&model, i), i % 4 == 3 ? 0 : PW_LAYER_LOCAL);
    /* 24 of 32 layers: a token sees 1024 keys, but for the first 1024 tokens, which see half as many. */
    double less = 12 * width * 24 * (8192 / 2.0 - 1024 * (1 - 1024 / (2 * 8192.0)));
    PW_EXPECT_NEAR(plain - pw_model_flops_per_token(&model, 8192, true), less, 1e-9);
    model.window_chunks = true;
    less = 12 * width * 24 * (8192 / 2.0 - 1024 / 2.0);
    PW_EXPECT_NEAR(plain - pw_model_flops_per_token(&model, 8192, true), less, 1e-9);
}

PW_TEST(a_window_as_long_as_the_sequence_changes_nothing) {
    pw_model_desc model = preset("llama3-8b");
    double plain = pw_model_flops_per_token(&model, 4096, true);
    model.window = 4096;
    PW_EXPECT_NEAR(pw_model_flops_per_token(&model, 4096, true), plain, 1e-12);
}

PW_TEST(which_layers_are_local_needs_a_window) {
    pw_model_desc model = preset("llama3-8b");
    pw_error error = {0};
    model.global_every = 2;
    PW_EXPECT_INT(pw_description_check(&pw_model_kind, &model, "job.lua", 7, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "model.global_every needs model.window");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
