/* Clocks from power: the steady state is a fixed point, and power is what the counted work says. */
#include <math.h>

#include "models/workload/clock.h"
#include "models/workload/power_loop.h"
#include "tests/unit/workload/runs.h"

static pw_power_desc power_desc(void) {
    pw_power_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_power_kind, &desc, arena(), &error), &error);
    return desc;
}

static pw_status try_run(const pw_train_desc *job, const pw_power_desc *power, const char *server, int64_t nodes,
                         const pw_run_options *options, pw_train_result *result, pw_error *error) {
    pw_cluster_desc cluster = nodes_of(server, nodes);
    pw_power_desc *copy = power ? pw_arena_alloc(arena(), sizeof *copy) : NULL;
    pw_run_options chosen = options ? *options : (pw_run_options){0};
    chosen.ignore_memory = true;
    if (copy) *copy = *power;
    cluster.power = copy;
    return pw_train_run(NULL, catalogue(), &cluster, job, &chosen, "job.lua", 1, arena(), result, error);
}

static pw_train_result run_with(const pw_train_desc *job, const pw_power_desc *power, const char *server, int64_t nodes) {
    pw_train_result result;
    pw_error error = {0};
    must(try_run(job, power, server, nodes, NULL, &result, &error), &error);
    return result;
}

/* tensor x pipeline x data = 2 x 2 x the rest. */
static pw_train_desc *job_of(int64_t batch) {
    pw_train_desc *made = pw_arena_alloc(arena(), sizeof *made);
    pw_model_desc *model = pw_arena_alloc(arena(), sizeof *model);
    *model = preset("llama2-7b");
    *made = job(model, "nemo-2024", 2048, batch);
    made->tensor_parallel = made->pipeline_parallel = 2;
    made->micro_batch = 2;
    return made;
}
static pw_train_desc *job_of_8(void) { return job_of(32); }

static double mean_watts_of_parts(const pw_gpu_watts *w) {
    return w->idle + w->leakage + w->active + w->tensor + w->vector + w->memory + w->link;
}

PW_TEST(a_cap_lowers_clock_and_power_and_lengthens_the_step) {
    pw_train_desc *job = job_of_8();
    double last_W = 0, last_clock = 0, last_step = INFINITY;
    for (double cap = 200; cap <= 400; cap += 50) {
        pw_power_desc power = power_desc();
        power.governor = PW_GOVERNOR_CAP;
        power.cap_W = cap;
        pw_train_result ran = run_with(job, &power, "DGX A100 640GB", 1);
        PW_EXPECT(ran.power != NULL);
        PW_EXPECT(ran.power->mean_W <= cap && ran.power->p95_W <= 1.05 * cap);
        PW_EXPECT(ran.power->mean_W >= last_W && ran.power->clock_ratio >= last_clock && ran.step_s <= last_step * (1 + 1e-9));
        last_W = ran.power->mean_W;
        last_clock = ran.power->clock_ratio;
        last_step = ran.step_s;
    }
    PW_EXPECT(last_W > 220);
}

PW_TEST(energy_is_mean_power_times_time_and_the_sum_of_its_parts) {
    pw_power_desc power = power_desc();
    pw_train_result ran = run_with(job_of_8(), &power, "DGX H100", 1);
    const pw_power_result *p = ran.power;
    double gpus = 0, parts_W = 0, bins_J = 0;
    for (uint32_t g = 0; g < p->group_count; g++) {
        gpus += p->groups[g].gpus;
        parts_W += p->groups[g].gpus * mean_watts_of_parts(&p->groups[g].watts);
    }
    PW_EXPECT_NEAR(gpus, 8, 0);
    PW_EXPECT_NEAR(p->energy_J, p->mean_W * gpus * p->span_s, 1e-12);
    PW_EXPECT_NEAR(p->energy_J, parts_W * p->span_s, 1e-9);
    for (uint32_t b = 0; b < p->bin_count; b++)
        bins_J += p->bins_W[b] * (b + 1 < p->bin_count ? p->bin_s : p->span_s - b * p->bin_s);
    PW_EXPECT_NEAR(p->energy_J, bins_J, 1e-9);
    PW_EXPECT_NEAR(p->span_s, ran.step_s, 1e-9);
}

/* A run at the clocks that the loop found needs those clocks: a third run changes nothing. */
PW_TEST(the_steady_state_is_a_fixed_point_found_in_few_runs) {
    pw_power_desc power = power_desc();
    power.governor = PW_GOVERNOR_CAP;
    power.cap_W = 400;
    pw_train_result ran = run_with(job_of_8(), &power, "DGX H100", 1);
    PW_EXPECT(ran.power->runs >= 2 && ran.power->runs <= 3);
    PW_EXPECT(ran.power->by_reason[PW_CLOCK_REASON_SW_POWER_CAP] == 8);
    double allowed = 400;
    for (uint32_t g = 0; g < ran.power->group_count; g++) PW_EXPECT(ran.power->groups[g].watts.total < allowed);
}

PW_TEST(a_low_fixed_clock_binds_instead_of_the_cap) {
    pw_power_desc power = power_desc();
    power.governor = PW_GOVERNOR_FIXED;
    power.clock_Hz = 705e6;
    pw_train_result ran = run_with(job_of_8(), &power, "DGX A100 640GB", 1);
    PW_EXPECT(ran.power->by_reason[PW_CLOCK_REASON_CLOCKS_SETTING] == 8);
    PW_EXPECT(fabs(ran.power->clock_ratio * ran.power->reference_Hz - 705e6) <= 15e6);
}

PW_TEST(off_is_what_nothing_said_was_and_a_given_clock_wins) {
    pw_power_desc power = power_desc();
    pw_train_result with = run_with(job_of_8(), &power, "DGX A100 640GB", 1);
    power.model = PW_POWER_OFF;
    pw_train_result off = run_with(job_of_8(), &power, "DGX A100 640GB", 1), plain;
    pw_error error = {0};
    PW_EXPECT(off.power == NULL && with.power != NULL);
    PW_EXPECT(off.hash != with.hash);
    power.model = PW_POWER_ON;
    const pw_device *device;
    const char *source;
    must(pw_catalogue_device(catalogue(), "A100-SXM4-80GB", &device, &error), &error);
    double sustained = pw_training_clock(catalogue(), device, PW_PRECISION_BF16, &source);
    PW_EXPECT(sustained > 0.5 && sustained < 1);
    must(try_run(job_of_8(), &power, "DGX A100 640GB", 1, &(pw_run_options){.clock_ratio = sustained}, &plain, &error), &error);
    PW_EXPECT(plain.power == NULL && plain.hash == off.hash);
}

PW_TEST(dies_that_differ_hold_each_other_up_and_fold) {
    pw_power_desc power = power_desc();
    power.governor = PW_GOVERNOR_CAP;
    power.cap_W = 300;
    pw_train_desc *job = job_of(64);
    pw_train_result even = run_with(job, &power, "DGX A100 640GB", 2);
    power.die_classes = 4;
    pw_train_result apart = run_with(job, &power, "DGX A100 640GB", 2), unfolded;
    PW_EXPECT(apart.step_s > even.step_s);
    PW_EXPECT(apart.power->lowest_ratio < even.power->lowest_ratio);
    PW_EXPECT(apart.power->mean_W < even.power->mean_W); /* the better dies wait */
    pw_error error = {0};
    must(try_run(job, &power, "DGX A100 640GB", 2, &(pw_run_options){.unfolded = true}, &unfolded, &error), &error);
    PW_EXPECT_NEAR(unfolded.step_s, apart.step_s, 1e-9);
    PW_EXPECT_NEAR(unfolded.power->energy_J, apart.power->energy_J, 1e-9);
    PW_EXPECT_NEAR(unfolded.power->p95_W, apart.power->p95_W, 1e-9);
    PW_EXPECT(apart.totals.classes < unfolded.totals.classes);
}

PW_TEST(hot_dies_draw_more_and_lose_clock) {
    pw_power_desc power = power_desc();
    power.governor = PW_GOVERNOR_CAP;
    power.cap_W = 300;
    power.temperature_C = 30;
    pw_train_result cool = run_with(job_of_8(), &power, "DGX A100 640GB", 1);
    power.temperature_C = 80;
    pw_train_result hot = run_with(job_of_8(), &power, "DGX A100 640GB", 1);
    PW_EXPECT(hot.power->clock_ratio < cool.power->clock_ratio && hot.step_s > cool.step_s);
    power.temperature_C = 100;
    pw_train_result result;
    pw_error error = {0};
    PW_EXPECT_INT(try_run(job_of_8(), &power, "DGX A100 640GB", 1, NULL, &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "shuts down");
}

/* --- The controller as the run goes -------------------------------------------------------------------------------- */

PW_TEST(the_controller_agrees_with_the_steady_state_in_long_phases) {
    pw_train_desc *job = job_of(512);
    job->pipeline_parallel = 1;
    for (double cap = 220; cap <= 300; cap += 40) {
        pw_power_desc power = power_desc();
        power.governor = PW_GOVERNOR_CAP;
        power.cap_W = cap;
        pw_train_result steady = run_with(job, &power, "DGX A100 640GB", 1);
        power.mode = PW_POWER_DYNAMIC;
        pw_train_result dynamic = run_with(job, &power, "DGX A100 640GB", 1);
        PW_EXPECT(steady.step_s > 3); /* far longer than the controller's average */
        PW_EXPECT_NEAR(dynamic.step_s, steady.step_s, 1e-2);
        PW_EXPECT_NEAR(dynamic.power->mean_W, steady.power->mean_W, 1e-2);
        PW_EXPECT_NEAR(dynamic.power->clock_ratio, steady.power->clock_ratio, 1e-2);
        PW_EXPECT(dynamic.power->by_reason[PW_CLOCK_REASON_SW_POWER_CAP] == 8);
    }
}

PW_TEST(without_a_binding_limit_the_controller_does_nothing) {
    pw_power_desc power = power_desc();
    power.governor = PW_GOVERNOR_FIXED;
    power.clock_Hz = 600e6;
    pw_train_result steady = run_with(job_of_8(), &power, "DGX A100 640GB", 1);
    power.mode = PW_POWER_DYNAMIC;
    pw_train_result dynamic = run_with(job_of_8(), &power, "DGX A100 640GB", 1);
    PW_EXPECT(dynamic.hash == steady.hash);
    PW_EXPECT_NEAR(dynamic.power->energy_J, steady.power->energy_J, 2e-3); /* transfers count at the pace they have alone */
}

PW_TEST(the_controller_folds) {
    pw_power_desc power = power_desc();
    power.governor = PW_GOVERNOR_CAP;
    power.cap_W = 250;
    power.mode = PW_POWER_DYNAMIC;
    power.die_classes = 2;
    pw_train_desc *job = job_of(64);
    pw_train_result folded = run_with(job, &power, "DGX A100 640GB", 2), unfolded;
    pw_error error = {0};
    must(try_run(job, &power, "DGX A100 640GB", 2, &(pw_run_options){.unfolded = true}, &unfolded, &error), &error);
    PW_EXPECT_NEAR(unfolded.step_s, folded.step_s, 1e-6);
    PW_EXPECT_NEAR(unfolded.power->energy_J, folded.power->energy_J, 1e-6);
}

PW_TEST(a_node_draws_more_at_the_wall_than_its_gpus) {
    pw_power_desc power = power_desc();
    pw_train_result ran = run_with(job_of_8(), &power, "DGX H100", 1);
    const pw_power_result *p = ran.power;
    PW_EXPECT_TEXT(p->node_server, "DGX H100");
    PW_EXPECT(p->node_dc_W > 8 * p->mean_W + 500 && p->node_mean_W > p->node_dc_W && p->node_p95_W >= p->node_mean_W * 0.99);
    PW_EXPECT_NEAR(p->wall_J, p->node_mean_W * p->span_s, 1e-9); /* one node */
}

PW_TEST(pace_scales_arithmetic_at_one_clock_and_is_no_clock) {
    pw_train_result slow, fast;
    pw_error error = {0};
    pw_power_desc power = power_desc();
    must(try_run(job_of_8(), &power, "DGX A100 640GB", 1, &(pw_run_options){.pace = 0.9}, &slow, &error), &error);
    must(try_run(job_of_8(), &power, "DGX A100 640GB", 1, &(pw_run_options){.pace = 1}, &fast, &error), &error);
    PW_EXPECT(slow.step_s > 1.01 * fast.step_s && slow.step_s < 1.12 * fast.step_s);
    PW_EXPECT(slow.power->clock_ratio >= fast.power->clock_ratio);
}

PW_TEST(limits_out_of_range_are_refused) {
    pw_power_desc power = power_desc();
    pw_train_result result;
    pw_error error = {0};
    power.governor = PW_GOVERNOR_CAP;
    power.cap_W = 50;
    PW_EXPECT_INT(try_run(job_of_8(), &power, "DGX A100 640GB", 1, NULL, &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "50 W");
    power = power_desc();
    power.governor = PW_GOVERNOR_PROFILE;
    power.profile = "no such";
    PW_EXPECT(try_run(job_of_8(), &power, "DGX A100 640GB", 1, NULL, &result, &error) != PW_OK);
    PW_EXPECT_CONTAINS(error.what, "no such");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
