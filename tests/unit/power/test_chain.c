/* The chain from the meter to a rack: losses, inverses, the law of energy. */
#include "models/power/chain.h"
#include "tests/harness/check.h"
#include "tests/harness/catalogue.h"

static pw_power_chain usual(void) {
    pw_power_chain chain = {0};
    pw_error error = {0};
    if (pw_power_chain_add(catalogue(), "busway", 1e6, &chain, &error) != PW_OK ||
        pw_power_chain_add(catalogue(), "ups-double-conversion", 1.2e6, &chain, &error) != PW_OK ||
        pw_power_chain_add(catalogue(), "transformer-dry", 2.5e6, &chain, &error) != PW_OK) PW_FAILED("%s", error.what);
    return chain;
}

PW_TEST(a_stage_loses_what_its_row_says) {
    pw_power_stage stage;
    pw_error error = {0};
    PW_EXPECT(pw_power_stage_find(catalogue(), "transformer-dry", 2.5e6, &stage, &error) == PW_OK);
    PW_EXPECT_NEAR(pw_power_stage_loss_W(&stage, 0), 2800, 1e-12);
    PW_EXPECT_NEAR(pw_power_stage_loss_W(&stage, 2.5e6), 2800 + 19000, 1e-12);
    PW_EXPECT_NEAR(pw_power_stage_loss_W(&stage, 1.25e6), 2800 + 4750, 1e-12);
    PW_EXPECT_TEXT(stage.kind, "transformer");
}

PW_TEST(stages_are_within_their_published_ranges) { /* efficiency at half and at full load */
    static const struct { const char *name; double low, high; } known[] = {
        {"rack-pdu", 0.99, 1}, {"pdu-transformer", 0.94, 0.98}, {"busway", 0.99, 1}, {"ups-double-conversion", 0.94, 0.97}, {"ups-legacy", 0.92, 0.97},
        {"ups-eco", 0.98, 0.99}, {"transformer-dry", 0.985, 0.995}, {"transformer-oil", 0.985, 0.997}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        pw_power_stage stage;
        pw_error error = {0};
        PW_EXPECT(pw_power_stage_find(catalogue(), known[i].name, 1000, &stage, &error) == PW_OK);
        for (double x = 0.5; x <= 1; x += 0.5) {
            double efficiency = x / (x + pw_power_stage_loss_W(&stage, 1000 * x) / 1000);
            PW_EXPECT(efficiency >= known[i].low && efficiency <= known[i].high);
        }
    }
}

PW_TEST(the_meter_reads_load_plus_losses) {
    pw_power_chain chain = usual();
    for (double load = 0; load < 1.1e6; load += 37e3) {
        pw_chain_flow flow = pw_power_chain_flow(&chain, load);
        PW_EXPECT_NEAR(flow.meter_W, load + flow.loss_W[0] + flow.loss_W[1] + flow.loss_W[2], 1e-14);
        PW_EXPECT_NEAR(pw_power_chain_load_W(&chain, flow.meter_W), load, 1e-10);
        PW_EXPECT_NEAR(flow.output_W[1], load + flow.loss_W[0], 1e-15);
    }
    PW_EXPECT(pw_power_chain_load_W(&chain, 100) == 0);
    pw_power_chain none = {0};
    PW_EXPECT_NEAR(pw_power_chain_flow(&none, 5).meter_W, 5, 0);
    PW_EXPECT(isinf(pw_power_chain_limit_W(&none)));
}

PW_TEST(the_tightest_stage_sets_the_limit) {
    pw_power_chain chain = usual();
    PW_EXPECT_NEAR(pw_power_chain_limit_W(&chain), 1e6, 1e-15);
    chain.stages[1].rated_W = 0.5e6;
    double limit = pw_power_chain_limit_W(&chain);
    PW_EXPECT_NEAR(pw_power_chain_flow(&chain, limit).output_W[1], 0.5e6, 1e-12);
}

PW_TEST(the_meter_reads_the_load_and_all_losses) {
    pw_power_chain chain = usual();
    uint64_t state = 1;
    for (int i = 0; i < 1000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        pw_chain_flow flow = pw_power_chain_flow(&chain, 1e6 * ((double)(state >> 40) / (1 << 24)));
        double rest_W = flow.meter_W - flow.load_W;
        for (int stage = 0; stage < flow.count; stage++) {
            PW_EXPECT(flow.loss_W[stage] > 0);
            rest_W -= flow.loss_W[stage];
        }
        PW_EXPECT(flow.count == chain.count && fabs(rest_W) <= 1e-12 * flow.meter_W);
    }
}

PW_TEST(unknown_stages_are_named) {
    pw_power_stage stage;
    pw_error error = {0};
    PW_EXPECT(pw_power_stage_find(catalogue(), "usp-eco", 1e6, &stage, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "ups-eco");
    PW_EXPECT(pw_power_stage_find(catalogue(), "ups-eco", 0, &stage, &error) == PW_BAD_INPUT);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
