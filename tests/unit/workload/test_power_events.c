/* What the loss of a feed does to a step: nothing, a brake, caps, or the end of the job. */
#include <math.h>

#include "models/power/budget.h"
#include "models/workload/power_events.h"
#include "tests/unit/workload/runs.h"

enum { MOST_EVENTS = 4 };

typedef struct asked {
    pw_power_desc power;
    pw_supplies_desc supplies;
    pw_breaker_desc breaker;
    pw_power_event_desc events[MOST_EVENTS];
    pw_one_of list[MOST_EVENTS];
    uint32_t count;
} asked;

static asked *ask(void) {
    asked *a = pw_arena_alloc(arena(), sizeof *a);
    pw_error error = {0};
    must(pw_description_defaults(&pw_power_kind, &a->power, arena(), &error), &error);
    must(pw_description_defaults(&pw_supplies_kind, &a->supplies, arena(), &error), &error);
    a->power.supplies = &a->supplies;
    return a;
}

static void happen(asked *a, const char *what, double at_s, double lasts_s, int64_t node) {
    a->events[a->count] = (pw_power_event_desc){.what = what, .at_s = at_s, .lasts_s = lasts_s, .node = node, .nodes = 1};
    a->list[a->count] = (pw_one_of){&pw_power_event_kind, &a->events[a->count]};
    a->power.events = (pw_list){a->list, ++a->count};
}

static pw_train_desc *llama(void) {
    pw_train_desc *made = pw_arena_alloc(arena(), sizeof *made);
    pw_model_desc *model = pw_arena_alloc(arena(), sizeof *model);
    *model = preset("llama2-7b");
    *made = job(model, "nemo-2024", 2048, 64);
    made->tensor_parallel = made->pipeline_parallel = 2;
    made->micro_batch = 2;
    return made;
}

static pw_status try_run(asked *a, int64_t nodes, bool unfolded, pw_train_result *result, pw_error *error) {
    pw_cluster_desc cluster = nodes_of("DGX H100", nodes);
    pw_run_options options = {.ignore_memory = true, .unfolded = unfolded};
    cluster.power = &a->power;
    return pw_train_run(NULL, catalogue(), &cluster, llama(), &options, "job.lua", 1, arena(), result, error);
}

static pw_train_result run_with(asked *a, int64_t nodes) {
    pw_train_result result;
    pw_error error = {0};
    must(try_run(a, nodes, false, &result, &error), &error);
    return result;
}

static const pw_power_events *events_of(const pw_train_result *ran) {
    PW_EXPECT(ran->power && ran->power->events);
    return ran->power->events;
}

PW_TEST(without_events_supplies_change_nothing) {
    asked *with = ask(), *without = ask();
    without->power.supplies = NULL;
    pw_train_result a = run_with(with, 2), b = run_with(without, 2);
    PW_EXPECT_NEAR(a.step_s, b.step_s, 0);
    PW_EXPECT(b.power && !b.power->events);
    const pw_power_events *e = events_of(&a);
    PW_EXPECT_INT(e->effect_count, 0);
    PW_EXPECT(e->flow.output_W > 3000 && e->flow.output_W < e->node_W && e->flow.input_W > e->flow.output_W);
    PW_EXPECT(e->braked_W < e->flow.output_W);
}

PW_TEST(a_brake_from_the_start_is_a_fixed_clock) {
    asked *braked = ask(), *fixed = ask();
    braked->supplies.after_brake = PW_AFTER_BRAKE_STAY;
    happen(braked, "feed a", 0, NAN, -1);
    fixed->power.supplies = NULL;
    pw_train_result b = run_with(braked, 1);
    double half = 0;
    for (uint32_t i = 0; i < events_of(&b)->effect_count; i++)
        if (!isnan(events_of(&b)->effects[i].clock_ratio)) half = events_of(&b)->effects[i].clock_ratio;
    PW_EXPECT(half > 0);
    fixed->power.governor = PW_GOVERNOR_FIXED;
    fixed->power.clock_Hz = half * b.power->reference_Hz;
    pw_train_result f = run_with(fixed, 1);
    PW_EXPECT_NEAR(b.step_s, f.step_s, 0.01); /* but for the first milliseconds */
    PW_EXPECT(b.step_s < f.step_s && b.step_s > 1.3 * events_of(&b)->calm_s);
    PW_EXPECT_NEAR(events_of(&b)->braked_gpu_s, 8 * (b.step_s - 0.005), 1e-6);
}

PW_TEST(the_slowest_node_holds_up_the_step) { /* one node of two braked costs what both cost */
    asked *one = ask(), *both = ask(), *later = ask();
    one->supplies.after_brake = both->supplies.after_brake = later->supplies.after_brake = PW_AFTER_BRAKE_STAY;
    happen(one, "feed b", 0, NAN, 1);
    happen(both, "feed b", 0, NAN, -1);
    pw_train_result a = run_with(one, 2), b = run_with(both, 2);
    PW_EXPECT_NEAR(a.step_s, b.step_s, 0.05);
    double calm = events_of(&a)->calm_s;
    happen(later, "feed b", calm / 2, NAN, 1);
    pw_train_result c = run_with(later, 2);
    PW_EXPECT_NEAR(c.step_s - calm, (a.step_s - calm) / 2, 0.1); /* half of the step at half the clock */
}

PW_TEST(folded_and_unfolded_runs_agree) {
    asked *a = ask();
    pw_train_result folded, unfolded;
    pw_error error = {0};
    happen(a, "feed a", 0.5, 1.0, 1);
    must(try_run(a, 2, false, &folded, &error), &error);
    must(try_run(a, 2, true, &unfolded, &error), &error);
    PW_EXPECT_NEAR(folded.step_s, unfolded.step_s, 1e-9);
    PW_EXPECT_INT(folded.power->events->effect_count, unfolded.power->events->effect_count);
}

PW_TEST(caps_replace_the_brake_and_then_it_is_over) {
    asked *a = ask();
    happen(a, "feed a", 0.2, 0.3, 0);
    a->supplies.settle_s = 0.1;
    a->supplies.restore_s = 0.05;
    pw_train_result ran = run_with(a, 1);
    const pw_power_events *e = events_of(&ran);
    static const double times[] = {0.2, 0.205, 0.305, 0.5, 0.55};
    PW_EXPECT_INT(e->effect_count, 5);
    for (uint32_t i = 0; i < e->effect_count && i < 5; i++) PW_EXPECT_NEAR(e->effects[i].at_s, times[i], 1e-9);
    PW_EXPECT_TEXT(e->effects[1].what, "power brake");
    PW_EXPECT(e->effects[1].reason == PW_CLOCK_REASON_HW_POWER_BRAKE && e->effects[4].reason == PW_CLOCK_REASON_NONE);
    PW_EXPECT_NEAR(e->effects[2].left_W, 9900, 1e-15);
    PW_EXPECT(ran.step_s > e->calm_s);
    PW_EXPECT_NEAR(e->braked_gpu_s, 8 * 0.1, 1e-6);
}

PW_TEST(a_node_without_supply_ends_the_job) {
    asked *a = ask(), *dip = ask(), *after = ask();
    pw_train_result ran;
    pw_error error = {0};
    happen(a, "feed a", 0.1, NAN, 1);
    happen(a, "feed b", 0.2, NAN, 1);
    PW_EXPECT(try_run(a, 2, false, &ran, &error) == PW_DEADLOCK);
    PW_EXPECT_CONTAINS(error.what, "node 1 falls at");
    happen(dip, "mains", 0.1, 0.004, -1);
    ran = run_with(dip, 2);
    PW_EXPECT_NEAR(ran.step_s, events_of(&ran)->calm_s, 1e-12);
    happen(after, "mains", 1000, NAN, -1); /* the step is over by then */
    ran = run_with(after, 2);
    PW_EXPECT_INT(events_of(&ran)->effect_count, 0);
}

PW_TEST(caps_reach_the_gpus_of_every_stage) { /* stages on nodes of their own: all nodes in one event, or each in its own */
    asked *all = ask(), *each = ask();
    all->supplies.units = each->supplies.units = 4;
    all->supplies.redundancy = each->supplies.redundancy = "2N";
    happen(all, "feed a", 0, NAN, -1);
    happen(each, "feed a", 0, NAN, 0);
    happen(each, "feed a", 0, NAN, 1);
    pw_train_desc *job = llama();
    job->tensor_parallel = 8;
    pw_train_result a, b;
    pw_error error = {0};
    pw_cluster_desc cluster = nodes_of("DGX H100", 2);
    pw_run_options options = {.ignore_memory = true};
    cluster.power = &all->power;
    must(pw_train_run(NULL, catalogue(), &cluster, job, &options, "job.lua", 1, arena(), &a, &error), &error);
    cluster.power = &each->power;
    must(pw_train_run(NULL, catalogue(), &cluster, job, &options, "job.lua", 1, arena(), &b, &error), &error);
    PW_EXPECT_NEAR(a.step_s, b.step_s, 1e-12);
    PW_EXPECT_NEAR(events_of(&a)->braked_gpu_s, events_of(&b)->braked_gpu_s, 1e-12);
}

PW_TEST(a_budget_caps_nodes_from_the_start) {
    asked *a = ask(), *wide = ask();
    pw_power_budget_desc budget;
    pw_error error = {0};
    must(pw_description_defaults(&pw_power_budget_kind, &budget, arena(), &error), &error);
    budget.rack_W = 14000;
    budget.nodes = 2;
    a->power.budget = &budget;
    pw_train_result ran = run_with(a, 2);
    const pw_power_events *e = events_of(&ran);
    PW_EXPECT(ran.step_s > e->calm_s && e->effect_count == 2); /* a stage on each node */
    for (uint32_t i = 0; i < e->effect_count; i++) PW_EXPECT(e->effects[i].reason == PW_CLOCK_REASON_SW_POWER_CAP);
    PW_EXPECT_NEAR(e->capped_gpu_s, 16 * ran.step_s, 1e-9);
    PW_EXPECT(e->oversubscription > 1.4 && e->oversubscription < 1.6);
    pw_power_budget_desc much = budget;
    much.rack_W = 30000;
    wide->power.budget = &much;
    ran = run_with(wide, 2);
    PW_EXPECT_NEAR(ran.step_s, events_of(&ran)->calm_s, 1e-12);
    much.rack_W = 9000;
    PW_EXPECT(try_run(wide, 2, false, &ran, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "power_budget");
}

PW_TEST(policies_of_budgets_have_one_name) {
    for (int i = 0; i <= PW_BUDGET_POLICY_COUNT; i++) {
        if (!pw_budget_policy_names[i] || !pw_power_policy_names[i]) PW_EXPECT(!pw_budget_policy_names[i] && !pw_power_policy_names[i]);
        else PW_EXPECT_TEXT(pw_power_policy_names[i], pw_budget_policy_names[i]);
    }
}

PW_TEST(what_cannot_be_is_refused) {
    asked *a = ask();
    pw_train_result ran;
    pw_error error = {0};
    happen(a, "feed c", 0.1, NAN, -1);
    PW_EXPECT(try_run(a, 1, false, &ran, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "power.events[1]");
    a = ask();
    happen(a, "breaker a", 0.1, NAN, 0);
    PW_EXPECT(try_run(a, 1, false, &ran, &error) == PW_BAD_INPUT);
    a = ask();
    happen(a, "supply 0", 0.1, NAN, 5);
    PW_EXPECT(try_run(a, 1, false, &ran, &error) == PW_BAD_INPUT);
    a = ask();
    a->supplies.node_W = 5000; /* less than eight GPUs */
    PW_EXPECT(try_run(a, 1, false, &ran, &error) == PW_BAD_INPUT);
    a = ask();
    a->supplies.units = 7; /* and no word how many are needed */
    PW_EXPECT(try_run(a, 1, false, &ran, &error) == PW_UNSUPPORTED);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
