/* Laws of variability: what is expected is the mean of what is drawn; a straggler holds up its job by what it is slower; folded
 * and unfolded runs agree; one seed gives one answer. */
#include "tests/unit/workload/runs.h"

#include <math.h>

static pw_variability_desc described(void) {
    pw_variability_desc v;
    pw_error error = {0};
    must(pw_description_defaults(&pw_variability_kind, &v, arena(), &error), &error);
    return v;
}

static pw_variability_desc resolved(const pw_variability_desc *desc) {
    pw_variability_desc v;
    pw_error error = {0};
    must(pw_variability_resolve(catalogue(), desc, &v, &error), &error);
    return v;
}

PW_TEST(the_expected_slowest_is_the_mean_of_the_slowest_drawn) {
    pw_variability_desc v = described();
    v.draws = PW_DRAWS_SAMPLED;
    v.tail_index = 3; /* a tail whose sample mean settles */
    v.tail_scale = 0.01;
    v = resolved(&v);
    const int64_t sizes[] = {1, 8, 64, 512};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double sum = 0, squares = 0;
        enum { SEEDS = 2000 };
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const double *factors;
            pw_error error = {0};
            pw_arena *own = pw_arena_create(NULL);
            must(pw_variability_draw(&v, seed, sizes[i], own, &factors, &error), &error);
            double most = 0;
            for (int64_t r = 0; r < sizes[i]; r++) most = fmax(most, factors[r]);
            sum += most;
            squares += most * most;
            pw_arena_destroy(own);
        }
        double mean = sum / SEEDS, error_of_mean = sqrt((squares / SEEDS - mean * mean) / SEEDS);
        /* the largest of a sum is a little less than the sum of the largest */
        PW_EXPECT(mean < 1 + pw_variability_slowest(&v, sizes[i]) + 4 * error_of_mean);
        PW_EXPECT(mean > 1 + 0.6 * pw_variability_slowest(&v, sizes[i]) - 4 * error_of_mean || sizes[i] <= 8);
        pw_variability_desc speed = v;
        speed.tail_scale = 0;
        PW_EXPECT(mean > 1 + pw_variability_slowest(&speed, sizes[i]) - 4 * error_of_mean);
    }
}

PW_TEST(steps_differ_as_published) {
    pw_variability_desc v = resolved(NULL);
    PW_EXPECT_NEAR(pw_variability_step_spread(&v, 512), 0.005, 0.1);
    PW_EXPECT_NEAR(pw_variability_step_spread(&v, 10000), 0.04, 0.1);
    PW_EXPECT(fabs(pw_variability_slowest(&v, 8)) < 2e-4); /* the clock holds it */
    PW_EXPECT(pw_variability_slowest(&v, 1) < 0);
    double before = -1;
    for (int64_t n = 1; n <= 100000; n *= 3) {
        double slowest = pw_variability_slowest(&v, n);
        PW_EXPECT(slowest > before);
        before = slowest;
    }
    v.tail_scale = 0; /* one more rank adds a 65th of the mean, by either way to sum */
    PW_EXPECT_NEAR(pw_variability_slowest(&v, 65) - pw_variability_slowest(&v, 64), v.spread / log(2) / 65, 1e-3);
}

/* Data parallel alone: no barrier before the gradients, which do not overlap here. */
static pw_train_result run_with(pw_variability_desc *v, uint64_t seed, bool unfolded) {
    pw_model_desc model = preset("gpt3-1.3b");
    pw_train_desc desc = job(&model, "nemo-2024", 2048, 64);
    desc.overlap_gradients = 0;
    desc.overlap_parameters = 0;
    desc.cuda_graphs = 1;
    desc.variability = v;
    pw_cluster_desc cluster = nodes_of("DGX H100", 4);
    pw_run_options options = {.ignore_memory = true, .clock_ratio = 1, .seed = seed, .unfolded = unfolded};
    pw_train_result result;
    pw_error error = {0};
    must(pw_train_run(NULL, catalogue(), &cluster, &desc, &options, "job.lua", 1, arena(), &result, &error), &error);
    return result;
}

PW_TEST(a_straggler_holds_up_its_job_by_what_it_is_slower) {
    pw_variability_desc none = described(), one = described();
    none.spread = none.tail_scale = one.spread = one.tail_scale = 0;
    one.stragglers = 1;
    one.straggler_slowdown = 1.25;
    pw_train_result even = run_with(&none, 7, false), slow = run_with(&one, 7, false), unfolded = run_with(&one, 7, true);
    PW_EXPECT_NEAR(slow.step_s / unfolded.step_s, 1, 1e-12);
    PW_EXPECT(slow.totals.classes == 2 && even.totals.classes == 1);
    double computing = even.stages[0].compute_s; /* of it, the optimizer's last part follows the gradients everywhere */
    PW_EXPECT(slow.step_s > even.step_s + 0.2 * computing && slow.step_s < even.step_s + 0.2501 * computing);
}

PW_TEST(the_mean_of_sampled_steps_is_the_expected_one) {
    pw_variability_desc v = described();
    v.tail_scale = 0;
    v.spread = 0.02;
    pw_train_result expected = run_with(&v, 1, false);
    v.draws = PW_DRAWS_SAMPLED;
    double sum = 0, squares = 0;
    enum { SEEDS = 40 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        double step_s = run_with(&v, seed, false).step_s;
        sum += step_s;
        squares += step_s * step_s;
    }
    double mean = sum / SEEDS, error_of_mean = sqrt((squares / SEEDS - mean * mean) / SEEDS);
    v.draws = PW_DRAWS_EXPECTED;
    v.spread = 0;
    /* the optimizer runs after the barrier, where the slowest rank holds up nobody */
    double lengthened = expected.step_s - run_with(&v, 1, false).step_s;
    PW_EXPECT(lengthened > 0.03 * expected.step_s);
    PW_EXPECT(fabs(mean - expected.step_s) < 4 * error_of_mean + 0.2 * lengthened);
    v.draws = PW_DRAWS_SAMPLED;
    v.spread = 0.02;
    PW_EXPECT(run_with(&v, 3, false).hash == run_with(&v, 3, false).hash);
    PW_EXPECT(run_with(&v, 3, false).hash != run_with(&v, 4, false).hash);
}

PW_TEST(sampling_a_large_job_is_refused_with_a_way_out) {
    pw_variability_desc v = described();
    v.draws = PW_DRAWS_SAMPLED;
    pw_model_desc model = preset("llama3-405b");
    pw_train_desc desc = job(&model, NULL, 8192, 2048);
    desc.tensor_parallel = 8;
    desc.pipeline_parallel = 16;
    desc.variability = &v;
    pw_cluster_desc cluster = nodes_of("DGX H100", 2048);
    pw_run_options options = {.ignore_memory = true};
    pw_train_result result;
    pw_error error = {0};
    PW_EXPECT(pw_train_run(NULL, catalogue(), &cluster, &desc, &options, "job.lua", 1, arena(), &result, &error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.hint, "expected");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
