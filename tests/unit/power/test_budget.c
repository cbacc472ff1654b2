/* Divisions of a power budget: what every policy keeps, and what each one does. */
#include "models/power/budget.h"
#include "sim/random.h"
#include "tests/harness/catalogue.h"

static pw_division divide(pw_budget_policy policy, double budget, const pw_consumer *consumers, uint32_t count, double *caps) {
    pw_division division;
    pw_error error = {0};
    must(pw_budget_divide(NULL, policy, budget, consumers, count, caps, &division, &error), &error);
    return division;
}

static const pw_consumer four[] = {{100, 1000, 900, 0}, {100, 1000, 600, 2}, {100, 1000, 300, 1}, {100, 500, 500, 1}};

PW_TEST(uniform_gives_one_cap) {
    double caps[4];
    pw_division d = divide(PW_BUDGET_UNIFORM, 1800, four, 4, caps);
    for (int i = 0; i < 4; i++) PW_EXPECT_NEAR(caps[i], 450, 1e-14);
    PW_EXPECT_NEAR(d.caps_W, 1800, 1e-14);
    PW_EXPECT_INT(d.cut, 3);
    d = divide(PW_BUDGET_UNIFORM, 2900, four, 4, caps);
    PW_EXPECT_NEAR(caps[3], 500, 1e-14);
    PW_EXPECT_NEAR(caps[0], 800, 1e-14);
}

PW_TEST(proportional_cuts_all_by_one_share) {
    double caps[4];
    divide(PW_BUDGET_PROPORTIONAL, 1840, four, 4, caps);
    for (int i = 0; i < 4; i++) PW_EXPECT_NEAR(caps[i], 0.8 * four[i].wants_W, 1e-14);
}

PW_TEST(priority_serves_the_higher_one_first) {
    double caps[4];
    divide(PW_BUDGET_PRIORITY, 1300, four, 4, caps); /* 600 for the first, 100 kept for the last, 600 for two that want 300 and 500 */
    PW_EXPECT_NEAR(caps[1], 600, 1e-14);
    PW_EXPECT_NEAR(caps[2], 300, 1e-14);
    PW_EXPECT_NEAR(caps[3], 300, 1e-14);
    PW_EXPECT_NEAR(caps[0], 100, 1e-14);
}

PW_TEST(highest_draws_are_cut_first) {
    double caps[4];
    pw_division d = divide(PW_BUDGET_HIGHEST_FIRST, 2000, four, 4, caps); /* level 600 */
    PW_EXPECT_NEAR(caps[0], 600, 1e-14);
    PW_EXPECT_NEAR(caps[1], 600, 1e-14);
    PW_EXPECT_NEAR(caps[2], 300, 1e-14);
    PW_EXPECT_NEAR(caps[3], 500, 1e-14);
    PW_EXPECT_INT(d.cut, 1);
}

PW_TEST(least_powers_may_exceed_a_budget_and_it_is_said) {
    double caps[4];
    pw_division d = divide(PW_BUDGET_PROPORTIONAL, 350, four, 4, caps);
    PW_EXPECT_NEAR(d.short_W, 50, 1e-14);
    for (int i = 0; i < 4; i++) PW_EXPECT_NEAR(caps[i], 100, 0);
    pw_consumer bad = {10, 5, 5, 0};
    pw_error error = {0};
    PW_EXPECT(pw_budget_divide(NULL, PW_BUDGET_UNIFORM, 10, &bad, 1, caps, &d, &error) == PW_BAD_INPUT);
}

PW_TEST(every_policy_keeps_the_budget_and_spends_it) {
    pw_random random = pw_random_stream(11, "budgets", 0);
    pw_consumer c[40];
    double caps[40];
    pw_sim *sim;
    must(pw_sim_create(NULL, &sim, NULL), NULL);
    for (int round = 0; round < 3000; round++) {
        uint32_t count = 1 + (uint32_t)(pw_random_uniform(&random) * 40);
        double least = 0, rated = 0;
        for (uint32_t i = 0; i < count; i++) {
            c[i].least_W = 100 * pw_random_uniform(&random);
            c[i].rated_W = c[i].least_W + 900 * pw_random_uniform(&random);
            c[i].wants_W = 1100 * pw_random_uniform(&random) * (pw_random_uniform(&random) > 0.1);
            c[i].priority = (int)(4 * pw_random_uniform(&random));
            least += c[i].least_W;
            rated += c[i].rated_W;
        }
        double budget = least + (rated - least) * 1.2 * pw_random_uniform(&random);
        for (int p = 0; p < PW_BUDGET_POLICY_COUNT; p++) {
            pw_division d = divide((pw_budget_policy)p, budget, c, count, caps);
            pw_budget_check(sim, budget, c, count, caps, &d);
            PW_EXPECT_NEAR(d.caps_W, fmin(budget, rated), 1e-11);
        }
        PW_EXPECT_NEAR(pw_budget_oversubscription(budget, c, count), rated / budget, 1e-12);
    }
    PW_EXPECT(pw_sim_error(sim)->status == PW_OK);
    double too_much[] = {1000, 1000, 1000, 500};
    pw_division d = {0};
    pw_budget_check(sim, 2000, four, 4, too_much, &d);
    PW_EXPECT(pw_sim_error(sim)->status == PW_LAW);
    pw_sim_destroy(sim);
}

PW_TEST(racks_keep_their_own_limits_within_a_row) {
    static const uint32_t rack_of[] = {0, 0, 1, 1};
    static const double limits[] = {1000, 5000};
    double racks[2], caps[4];
    pw_division d;
    pw_error error = {0};
    must(pw_budget_divide_row(NULL, PW_BUDGET_HIGHEST_FIRST, 3000, limits, 2, four, rack_of, 4, racks, caps, &d, &error), &error);
    PW_EXPECT(caps[0] + caps[1] <= 1000 * (1 + 1e-12) && racks[0] <= 1000 * (1 + 1e-12));
    PW_EXPECT_NEAR(caps[0], 500, 1e-14);
    PW_EXPECT(caps[2] >= 300 && caps[3] >= 500 && caps[2] + caps[3] <= racks[1] * (1 + 1e-12));
    PW_EXPECT(d.caps_W <= 3000 * (1 + 1e-12));
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
