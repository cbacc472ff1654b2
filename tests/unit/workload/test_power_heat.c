/* Heat closes the loop: temperatures are those of the watts, and hot dies slow the job. */
#include <math.h>

#include "models/workload/power_heat.h"
#include "models/workload/power_loop.h"
#include "tests/unit/workload/runs.h"

static pw_cooling_desc cooling_desc(void) {
    pw_cooling_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_cooling_kind, &desc, arena(), &error), &error);
    return desc;
}

static pw_status try_run(const pw_cooling_desc *cooling, double temperature_C, const char *server, pw_train_result *result, pw_error *error) {
    pw_cluster_desc cluster = nodes_of(server, 1);
    pw_power_desc *power = pw_arena_alloc(arena(), sizeof *power);
    pw_cooling_desc *copy = cooling ? pw_arena_alloc(arena(), sizeof *copy) : NULL;
    pw_model_desc *model = pw_arena_alloc(arena(), sizeof *model);
    pw_run_options options = {.ignore_memory = true};
    must(pw_description_defaults(&pw_power_kind, power, arena(), error), error);
    power->temperature_C = temperature_C;
    if (copy) *copy = *cooling;
    cluster.power = power;
    cluster.cooling = copy;
    *model = preset("llama2-7b");
    pw_train_desc made = job(model, "nemo-2024", 2048, 32);
    made.tensor_parallel = made.pipeline_parallel = 2;
    made.micro_batch = 2;
    return pw_train_run(NULL, catalogue(), &cluster, &made, &options, "job.lua", 1, arena(), result, error);
}

static pw_train_result run_with(const pw_cooling_desc *cooling, double temperature_C, const char *server) {
    pw_train_result result;
    pw_error error = {0};
    must(try_run(cooling, temperature_C, server, &result, &error), &error);
    return result;
}

PW_TEST(temperatures_are_those_of_the_watts) {
    pw_cooling_desc desc = cooling_desc();
    pw_train_result ran = run_with(&desc, NAN, "DGX H100");
    PW_EXPECT_TEXT(ran.power->cooling, "SXM5 air");
    /* the reverse: put the watts of the groups of the first program into a node and compare */
    pw_cluster_desc described = nodes_of("DGX H100", 1);
    pw_cluster *cluster;
    pw_cooling *cooling;
    pw_error error = {0};
    described.cooling = &desc;
    must(pw_cluster_create(NULL, catalogue(), &described, &cluster, &error), &error);
    must(pw_cluster_make_cooling(cluster, 0, 1, NULL, &cooling, &error), &error);
    for (uint32_t first = 0; first < ran.power->group_count; first += 2) { /* front and behind of each stage */
        const pw_power_group *of = ran.power->groups + first;
        PW_EXPECT(of[0].program == of[1].program);
        for (uint32_t gpu = 0; gpu < 8; gpu++) pw_cooling_set_gpu(cooling, gpu, of[gpu % 2].watts.total, NAN);
        must(pw_cooling_settle(cooling, 0, 1, &error), &error);
        for (uint32_t seat = 0; seat < 2; seat++) PW_EXPECT(fabs(pw_cooling_die_C(cooling)[seat] - of[seat].temperature_C) < 0.02);
        PW_EXPECT(of[1].temperature_C > of[0].temperature_C + 2);
        PW_EXPECT(of[1].watts.leakage > of[0].watts.leakage);
    }
    pw_cooling_destroy(cooling);
    pw_cluster_destroy(cluster);
}

PW_TEST(hot_air_costs_watts_and_then_clock) {
    pw_cooling_desc cool = cooling_desc(), warm = cool, failing = cool;
    warm.inlet_C = 45;
    failing.fan_share = 0.12;
    pw_train_result a = run_with(&cool, NAN, "DGX H100"), b = run_with(&warm, NAN, "DGX H100"), c = run_with(&failing, NAN, "DGX H100");
    PW_EXPECT(b.power->temperature_C > a.power->temperature_C + 10);
    PW_EXPECT(b.power->energy_J > a.power->energy_J);
    PW_EXPECT(c.power->hottest_C > 85 && c.power->hottest_C < 89.5);
    PW_EXPECT(c.power->by_reason[PW_CLOCK_REASON_SW_THERMAL] > 0);
    PW_EXPECT(c.power->lowest_ratio < a.power->lowest_ratio && c.step_s > a.step_s * 1.02);
}

PW_TEST(a_said_temperature_and_cooling_exclude_each_other) {
    pw_cooling_desc desc = cooling_desc();
    pw_train_result result;
    pw_error error = {0};
    PW_EXPECT(try_run(&desc, 50, "DGX H100", &result, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "exclude each other");
}

PW_TEST(without_cooling_temperature_is_as_said) {
    pw_train_result ran = run_with(NULL, 61, "DGX H100");
    PW_EXPECT(ran.power->temperature_C == 61 && ran.power->cooling == NULL);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
