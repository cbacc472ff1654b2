/* Laws of targets: conditions choose rows, figures are those of the suite, limits decide, bad tables are named by line. */
#include "tests/unit/validation/scratch.h"

#include <math.h>

#include "scenarios/validation/targets.h"

static const char gemm[] = "gpu,stack,dtype,m,n,k,latency_us\n"
                           "H100-SXM,trtllm 1.3.0rc10,bf16,8192,8192,8192,1600\n"
                           "H100-SXM,trtllm 1.3.0rc10,bf16,16,8192,8192,60\n"
                           "A100-SXM-80,trtllm 1.0.0,bf16,8192,8192,8192,4500\n";

static pw_status run(scratch *s, const char *table, const pw_target **targets, uint32_t *count) {
    scratch_file(s, "data/kernel-gemm.csv", gemm);
    scratch_file(s, "split-gemm.csv", "n,k,side\n8192,8192,check\n");
    scratch_file(s, "kernel-loops.csv", "stack,gpu,gemm_before,gemm_timed,attention_before,attention_timed,source\n");
    scratch_file(s, "targets.csv", table);
    return pw_targets_run(s->catalogue, NULL, s->arena, targets, count, &s->error);
}

#define HEAD "name,suite,only,variant,statistic,limit,high\n"

PW_TEST(conditions_choose_rows_and_limits_decide) {
    scratch s;
    scratch_begin(&s);
    const pw_target *t;
    uint32_t count;
    PW_EXPECT(run(&s, HEAD "all,gemm,side=check,plain,mape,1000,\n"
                           "large,gemm,side=check;gpu=H100-SXM;flops>=1e12,plain,worst,1000,\n"
                           "none,gemm,side=fit,plain,median,1000,\n"
                           "two,gemm,\"gpu=A100-SXM-80,H100-SXM\",stack,p90,0,\n", &t, &count) == PW_OK);
    PW_EXPECT_INT(count, 4);
    PW_EXPECT_INT(t[0].n, 3);
    PW_EXPECT(t[0].met && t[0].reached > 0 && t[0].baseline > 0);
    PW_EXPECT_INT(t[1].n, 1);
    PW_EXPECT(t[2].n == 0 && isnan(t[2].reached) && !t[2].met);
    PW_EXPECT(t[3].n == 3 && !t[3].met);
    scratch_end(&s);
}

PW_TEST(a_bad_table_is_named_by_line) {
    const struct { const char *table, *what; } bad[] = {
        {HEAD "a,gem,,plain,mape,1,\n", "no suite 'gem'"},         {HEAD "a,gemm,,plain,mean,1,\n", "statistic 'mean'"},
        {HEAD "a,gemm,,fast,mape,1,\n", "variant 'fast'"},         {HEAD "a,gemm,,plain,mape,,\n", "limit is missing"},
        {HEAD "a,gemm,side,plain,mape,1,\n", "condition 'side'"},  {HEAD "a,gemm,m>=x,plain,mape,1,\n", "'x' is no number"},
        {HEAD "a,gemm,gpus=1,plain,mape,1,\n", "no column 'gpus'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scratch s;
        scratch_begin(&s);
        const pw_target *t;
        uint32_t count;
        PW_EXPECT(run(&s, bad[i].table, &t, &count) == PW_BAD_INPUT);
        PW_EXPECT_CONTAINS(s.error.what, bad[i].what);
        PW_EXPECT_INT(s.error.line, 2);
        scratch_end(&s);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
