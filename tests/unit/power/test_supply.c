/* Power supplies: curves against their sources, shares, redundancy, what is left after a loss. */
#include <gsl/gsl_spline.h>

#include "models/power/supply.h"
#include "tests/harness/check.h"
#include "tests/harness/catalogue.h"

static pw_supply_curve curve_of(const char *name) {
    pw_supply_curve curve = {0};
    pw_error error = {0};
    if (pw_supply_curve_find(catalogue(), name, &curve, &error) != PW_OK) PW_FAILED("%s", error.what);
    return curve;
}

static pw_supply_group group_of(double unit_W, int units, const char *redundancy, int feeds) {
    pw_supply_group group = {0};
    pw_error error = {0};
    if (pw_supply_group_make(catalogue(), "server", NULL, unit_W, units, redundancy, feeds, &group, &error) != PW_OK) PW_FAILED("%s", error.what);
    return group;
}

PW_TEST(curves_meet_every_point_of_their_source) {
    const pw_table *table = pw_catalogue_table(catalogue(), PW_TABLE_SUPPLY_EFFICIENCY);
    int met = 0;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double load = pw_table_number_of(table, row, "load"), efficiency = pw_table_number_of(table, row, "efficiency");
        if (isnan(load)) continue;
        pw_supply_curve curve = curve_of(pw_table_text_of(table, row, "curve"));
        PW_EXPECT_NEAR(3000 * load / pw_supply_input_W(&curve, 3000, 3000 * load), efficiency, 1e-14);
        met++;
    }
    PW_EXPECT(met >= 14);
}

PW_TEST(between_points_it_is_steffens_cubic) {
    pw_supply_curve curve = curve_of("titanium");
    gsl_interp *reference = gsl_interp_alloc(gsl_interp_steffen, (size_t)curve.points);
    gsl_interp_init(reference, curve.share, curve.loss, (size_t)curve.points);
    for (double x = 0; x <= 1; x += 0.0137)
        PW_EXPECT_NEAR(pw_supply_loss_W(&curve, 3300, 3300 * x), 3300 * gsl_interp_eval(reference, curve.share, curve.loss, x, NULL), 1e-13);
    gsl_interp_free(reference);
}

PW_TEST(input_rises_with_output_and_never_is_below_it) {
    static const char *const names[] = {"titanium", "platinum", "gold", "measured-8xh100", "frontier-sivoc", "frontier-rectifier"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        pw_supply_curve curve = curve_of(names[n]);
        double before = pw_supply_input_W(&curve, 3000, 0);
        PW_EXPECT(before >= 0 && before < 100);
        for (double w = 1; w < 4000; w += 3.7) {
            double input = pw_supply_input_W(&curve, 3000, w);
            PW_EXPECT(input > before && input > w);
            PW_EXPECT_NEAR(pw_supply_output_W(&curve, 3000, input), w, 1e-9);
            before = input;
        }
    }
}

PW_TEST(frontiers_stages_are_constant_and_proportional) {
    pw_supply_curve sivoc = curve_of("frontier-sivoc"), rectifier = curve_of("frontier-rectifier");
    double after = pw_supply_input_W(&sivoc, 2700, 2640);
    PW_EXPECT_NEAR(after, (2640 + 13) / 0.98, 1e-14);
    PW_EXPECT_NEAR(pw_supply_input_W(&rectifier, 12500, 4 * after), (4 * after + 17) / 0.96, 1e-14);
}

PW_TEST(equal_units_share_equally_and_feeds_add_up) {
    pw_supply_group group = group_of(3300, 6, "4+2", 2);
    pw_supply_flow flow = pw_supply_flow_at(&group, (pw_supply_state){0}, 9900);
    PW_EXPECT_INT(flow.active, 6);
    PW_EXPECT_NEAR(flow.share, 0.5, 1e-15);
    PW_EXPECT_NEAR(flow.input_W, 9900 / 0.96, 1e-13);
    PW_EXPECT_NEAR(flow.loss_W, flow.input_W - 9900, 1e-12);
    PW_EXPECT_NEAR(flow.feed_W[0], flow.feed_W[1], 1e-15);
    PW_EXPECT_NEAR(flow.feed_W[0] + flow.feed_W[1], flow.input_W, 1e-15);
    PW_EXPECT_INT(flow.spare, 3);
    PW_EXPECT_NEAR(pw_supply_group_output_W(&group, (pw_supply_state){0}, flow.input_W), 9900, 1e-10);
}

PW_TEST(cold_units_stand_by_and_save_at_low_load) {
    pw_supply_group hot = group_of(3000, 6, "N+2", 2), cold = hot;
    cold.cold_share = 0.6;
    pw_supply_flow all = pw_supply_flow_at(&hot, (pw_supply_state){0}, 1500), few = pw_supply_flow_at(&cold, (pw_supply_state){0}, 1500);
    PW_EXPECT_INT(few.active, 1);
    PW_EXPECT_INT(few.standing_by, 5);
    PW_EXPECT(few.input_W < all.input_W);
    PW_EXPECT_NEAR(few.input_W, pw_supply_input_W(&cold.curve, 3000, 1500) + 5 * cold.standby_W, 1e-14);
    PW_EXPECT_INT(pw_supply_flow_at(&cold, (pw_supply_state){0}, 1801).active, 2);
    PW_EXPECT_INT(pw_supply_flow_at(&cold, (pw_supply_state){.feeds_lost = 1}, 12000).active, 3);
}

PW_TEST(redundancy_says_what_may_be_lost) {
    pw_supply_group n1 = group_of(3000, 4, "N+1", 1), twice = group_of(3000, 6, "2N", 2), none = group_of(3000, 2, "N", 2);
    PW_EXPECT_INT(n1.needed, 3);
    PW_EXPECT_INT(twice.needed, 3);
    PW_EXPECT(pw_supply_judge(&n1, (pw_supply_state){.units_failed = 2}, 9000, 9000) == PW_SUPPLY_RUNS);
    PW_EXPECT(pw_supply_judge(&n1, (pw_supply_state){.units_failed = 6}, 9000, 9000) == PW_SUPPLY_FALLS);
    PW_EXPECT(pw_supply_judge(&twice, (pw_supply_state){.feeds_lost = 2}, 9000, 9000) == PW_SUPPLY_RUNS);
    PW_EXPECT(pw_supply_judge(&twice, (pw_supply_state){.feeds_lost = 2, .units_failed = 1}, 9000, 9000) == PW_SUPPLY_FALLS);
    PW_EXPECT(pw_supply_judge(&none, (pw_supply_state){.feeds_lost = 1}, 3001, 2000) == PW_SUPPLY_BRAKES);
    PW_EXPECT(pw_supply_judge(&none, (pw_supply_state){.feeds_lost = 3}, 1, 0) == PW_SUPPLY_FALLS);
}

PW_TEST(dgx_h100_brakes_when_a_feed_is_lost) {
    pw_supply_group group;
    pw_error error = {0};
    PW_EXPECT(pw_supply_group_of_server(catalogue(), "DGX H100", &group, &error) == PW_OK);
    PW_EXPECT_INT(group.units, 6);
    PW_EXPECT_INT(group.needed, 4);
    pw_supply_state state = {.feeds_lost = 1};
    PW_EXPECT_NEAR(pw_supply_flow_at(&group, state, 10200).capacity_W, 9900, 1e-15);
    PW_EXPECT(pw_supply_judge(&group, state, 10200, 6000) == PW_SUPPLY_BRAKES);
    PW_EXPECT(pw_supply_judge(&group, state, 9900, 6000) == PW_SUPPLY_RUNS);
    PW_EXPECT(pw_supply_judge(&group, (pw_supply_state){.units_failed = 3}, 10200, 6000) == PW_SUPPLY_RUNS); /* 2 lost: 13.2 kW */
    PW_EXPECT(pw_supply_judge(&group, (pw_supply_state){.feeds_lost = 1, .units_failed = 1 << 5}, 10200, 7000) == PW_SUPPLY_FALLS);
}

PW_TEST(a_late_brake_needs_overload) {
    pw_supply_group group = group_of(3300, 6, "4+2", 2);
    pw_supply_state state = {.feeds_lost = 1};
    PW_EXPECT_NEAR(pw_supply_hold_up_s(&group, 3300), group.hold_up_s, 1e-15);
    PW_EXPECT_NEAR(pw_supply_hold_up_s(&group, 1650), 2 * group.hold_up_s, 1e-15);
    PW_EXPECT_NEAR(pw_supply_hold_up_s(&group, 0), 4 * group.hold_up_s, 1e-15);
    group.brake_s = pw_supply_hold_up_s(&group, 1700) + group.overload_s / 2;
    PW_EXPECT(pw_supply_judge(&group, state, 10200, 6000) == PW_SUPPLY_BRAKES);
    PW_EXPECT(pw_supply_judge(&group, state, 9900 * group.overload + 1, 6000) == PW_SUPPLY_FALLS);
    group.brake_s += group.overload_s;
    PW_EXPECT(pw_supply_judge(&group, state, 10200, 6000) == PW_SUPPLY_FALLS);
}

PW_TEST(bad_groups_are_named) {
    pw_supply_group group;
    pw_error error = {0};
    PW_EXPECT(pw_supply_group_make(catalogue(), "server", NULL, 3000, 6, "4+3", 2, &group, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "4+3");
    PW_EXPECT(pw_supply_group_make(catalogue(), "server", NULL, 3000, 5, "2N", 2, &group, &error) == PW_BAD_INPUT);
    PW_EXPECT(pw_supply_group_make(catalogue(), "server", NULL, 3000, 1, "N", 2, &group, &error) == PW_BAD_INPUT);
    PW_EXPECT(pw_supply_group_make(catalogue(), "toaster", NULL, 3000, 6, "N", 2, &group, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "server");
    PW_EXPECT(pw_supply_group_make(catalogue(), "server", "tin", 3000, 6, "N", 2, &group, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "titanium platinum gold");
    PW_EXPECT(pw_supply_group_of_server(catalogue(), "GB200 NVL72", &group, &error) == PW_UNSUPPORTED);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
