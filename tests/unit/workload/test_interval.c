/* Laws of intervals: counted kernels do the run's flops; an interval holds its step, is what is on file where parameters are
 * certain, and is wider where they are not. */
#include "tests/unit/workload/runs.h"

#include <math.h>

PW_TEST(counted_kernels_do_the_flops_of_the_run) {
    pw_model_desc model = preset("gpt3-5b");
    pw_train_desc desc = job(&model, "nemo-2024", 2048, 64);
    desc.tensor_parallel = 2;
    desc.pipeline_parallel = 4;
    desc.virtual_stages = 2;
    desc.micro_batch = 1;
    bench b = bench_open(&desc, "DGX H100", 1);
    double total = 0;
    for (uint32_t program = 0; program < b.job->program_count; program++) {
        double *counts = pw_arena_alloc(arena(), b.job->kernel_count * sizeof *counts);
        pw_job_count_kernels(b.job, program, 1, counts);
        for (uint32_t i = 0; i < b.job->kernel_count; i++) {
            pw_kernel_cost cost;
            pw_error error = {0};
            must(pw_gpu_kernel_cost(b.gpu, &b.job->kernels[i], NULL, &cost, &error), &error);
            total += counts[i] * cost.flops * 2; /* two tensor-parallel ranks run it */
        }
    }
    bench_close(&b);
    pw_train_result ran = run_plain(&desc, "DGX H100", 1, false);
    PW_EXPECT_NEAR(total / ran.totals.flops, 1, 1e-9);
}

static pw_interval interval_of(const char *server, pw_step_class step_class, double compute_share) {
    pw_model_desc model = preset("gpt3-5b");
    pw_train_desc desc = job(&model, "nemo-2024", 2048, 16);
    desc.precision = PW_PRECISION_FP16;
    bench b = bench_open(&desc, server, 1);
    pw_interval interval;
    pw_error error = {0};
    must(pw_step_interval(catalogue(), pw_cluster_device(b.cluster), b.job, 0, 1, step_class, 10, 10 * compute_share, arena(),
                          &interval, &error), &error);
    bench_close(&b);
    return interval;
}

PW_TEST(without_computation_the_interval_is_what_is_on_file) {
    const pw_table *table = pw_catalogue_table(catalogue(), PW_TABLE_INTERVALS);
    PW_EXPECT(table != NULL);
    int row = pw_table_find_row(table, "dense");
    PW_EXPECT(row >= 0);
    pw_interval interval = interval_of("DGX H100", PW_STEP_DENSE, 0);
    PW_EXPECT_NEAR(interval.low_s, 10 * pw_table_number_of(table, (size_t)row, "low"), 1e-9);
    PW_EXPECT_NEAR(interval.high_s, 10 * pw_table_number_of(table, (size_t)row, "high"), 1e-9);
    PW_EXPECT(interval.rows > 0 && interval.families >= 2);
}

PW_TEST(uncertain_parameters_widen_it) {
    pw_interval measured = interval_of("DGX H100", PW_STEP_DENSE, 1), borrowed = interval_of("DGX-2", PW_STEP_DENSE, 1);
    PW_EXPECT(borrowed.kernel_sd > 3 * measured.kernel_sd);
    PW_EXPECT(borrowed.low_s < measured.low_s && borrowed.high_s > measured.high_s);
}

PW_TEST(a_step_lies_near_its_interval) {
    pw_model_desc model = preset("llama3-8b");
    pw_train_desc desc = job(&model, NULL, 8192, 16);
    pw_train_result ran = run_plain(&desc, "DGX H100", 1, false);
    PW_EXPECT(ran.interval.low_s < 1.1 * ran.step_s && ran.interval.high_s > 0.9 * ran.step_s);
    PW_EXPECT_TEXT(ran.interval.step_class, "dense");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
