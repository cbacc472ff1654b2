/* Laws: the baselines of kernels and memory are what a hand computes; odd rows are skipped with their reason. */
#include "tests/unit/validation/scratch.h"

static void expect_reasons(const pw_validation *v, uint32_t first, const char *const *reasons) {
    for (uint32_t i = 0; reasons[i]; i++) {
        PW_EXPECT(!v->predictions[first + i].ran);
        PW_EXPECT_CONTAINS(v->predictions[first + i].why, reasons[i]);
    }
}

PW_TEST(the_baseline_of_a_matrix_multiply_is_the_roofline_of_the_data_sheet) {
    scratch s;
    pw_validation v;
    const pw_device *h100;
    scratch_begin(&s);
    scratch_file(&s, "split-gemm.csv", "n,k,side\n4096,4096,check\n");
    scratch_file(&s, "kernel-loops.csv", "stack,gpu,gemm_before,gemm_timed,attention_before,attention_timed,source\n");
    scratch_file(&s, "data/kernel-gemm.csv", "gpu,dtype,m,n,k,latency_us\n"
                                             "H100,bf16,4096,4096,4096,250\n"
                                             "H100,bf16,1,8192,4096,40\n"
                                             "H100,bf16,4096,4096,4096,\n"
                                             "nobody's,bf16,4096,4096,4096,1\n"
                                             "H100,int3,4096,4096,4096,1\n"
                                             "H100,bf16,0,4096,4096,1\n"
                                             "H100,bf16,1,4096,4096,fast\n");
    static const char *const reasons[] = {"no latency", "not in the catalogue", "'int3'", "column m", "'fast' is no number", NULL};
    PW_EXPECT(pw_validation_run(&pw_suite_gemm, s.catalogue, &(pw_validation_options){0}, s.arena, &v, &s.error) == PW_OK);
    PW_EXPECT(pw_catalogue_device(s.catalogue, "H100", &h100, NULL) == PW_OK);
    PW_EXPECT_TEXT(v.predictions[0].side, "check");
    PW_EXPECT_TEXT(v.predictions[1].side, "");
    PW_EXPECT_NEAR(v.predictions[0].measured, 250e-6, 1e-12);
    PW_EXPECT_NEAR(v.predictions[0].baseline, 137438953472.0 / h100->peak_flops[PW_PRECISION_BF16], 1e-12); /* 2 x 4096^3 */
    /* Weights 2 x 8192 x 4096, input 2 x 4096 and output 2 x 8192 bytes. */
    PW_EXPECT_NEAR(v.predictions[1].baseline, 67133440.0 / h100->memory_Bps, 1e-12);
    PW_EXPECT(v.predictions[0].plain > v.predictions[0].baseline && v.predictions[0].stack == v.predictions[0].plain);
    expect_reasons(&v, 2, reasons);
    scratch_end(&s);
}

PW_TEST(the_baseline_of_attention_halves_the_work_under_a_causal_mask) {
    scratch s;
    pw_validation v;
    const pw_device *h100;
    scratch_begin(&s);
    scratch_file(&s, "split-attention.csv", "heads,kv_heads,head_dim,side\n");
    scratch_file(&s, "kernel-loops.csv", "stack,gpu,gemm_before,gemm_timed,attention_before,attention_timed,source\n");
    scratch_file(&s, "data/kernel-attention.csv", "gpu,dtype,pass,batch,seq,heads,kv_heads,head_dim,latency_us\n"
                                                  "H100,bf16,forward causal,1,8192,16,16,128,1000\n"
                                                  "H100,bf16,forward,1,8192,16,16,128,1000\n"
                                                  "H100,bf16,backward,1,8192,16,16,128,1000\n"
                                                  "H100,bf16,sideways,1,8192,16,16,128,1000\n");
    static const char *const reasons[] = {"pass 'sideways'", NULL};
    PW_EXPECT(pw_validation_run(&pw_suite_attention, s.catalogue, &(pw_validation_options){0}, s.arena, &v, &s.error) == PW_OK);
    PW_EXPECT(pw_catalogue_device(s.catalogue, "H100", &h100, NULL) == PW_OK);
    double forward_s = 549755813888.0 / h100->peak_flops[PW_PRECISION_BF16]; /* 4 x 16 x 8192^2 x 128 */
    PW_EXPECT_NEAR(v.predictions[0].baseline, forward_s / 2, 1e-12);
    PW_EXPECT_NEAR(v.predictions[1].baseline, forward_s, 1e-12);
    PW_EXPECT_NEAR(v.predictions[2].baseline, forward_s * 2.5, 1e-12);
    expect_reasons(&v, 3, reasons);
    scratch_end(&s);
}

PW_TEST(the_baseline_of_memory_is_its_closed_form) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    scratch_file(&s, "split-memory.csv", "source,model,side\npaper,gpt-a,check\n");
    scratch_file(&s, "layouts.csv", "model,vocabulary,kv_heads,gated_mlp,tied,biases,learned_positions\ngpt,51200,,0,1,1,1\n,,,0,1,1,1\n");
    scratch_words(&s);
    scratch_file(&s, "memory-software.csv", "source,stack,layout,head,counts\n,megatron-2021,,,device\n");
    scratch_file(&s, "memory-plans.csv", "source,tp,pp,dp\n");
    scratch_file(&s, "data/training-memory.csv",
                 "id,source,kind,model,gpu,tp,pp,dp,mbs,seq_len,layers,hidden,heads,precision,recompute,sharding,value,unit\n"
                 "1,paper,activations,gpt-a,A100-80,8,1,1,1,2048,48,6144,64,fp16,none,none,3,GiB\n"
                 "2,paper,params+optimizer,gpt-a,A100-80,8,1,1,1,2048,48,6144,64,fp16,none,none,48,GB\n"
                 "3,paper,params+optimizer,gpt-a,A100-80,8,1,4,1,2048,48,6144,64,fp16,none,ZeRO1,48,GB\n"
                 "4,paper,peak-device,gpt-a,A100-80,8,1,1,1,2048,48,6144,64,fp16,none,none,48000,MB\n"
                 "5,paper,activations,gpt-a,A100-80,8,1,1,1,2048,48,6144,64,fp16,none,none,,GiB\n"
                 "6,paper,activations,gpt-a,A100-80,8,1,1,1,2048,48,6144,64,fp16,none,none,-3,GiB\n"
                 "7,paper,activations,gpt-a,A100-80,8,1,1,1,2048,48,6144,64,fp16,none,none,3,sequences\n"
                 "8,paper,max-batch,gpt-a,A100-80,8,1,1,1,2048,48,6144,64,fp16,none,none,3,GB\n"
                 "10,paper,activations,bert,A100-80,8,1,1,1,2048,48,6144,64,fp16,none,none,3,GB\n"
                 "11,paper,activations,gpt-a,A100-80,,1,1,1,2048,48,6144,64,fp16,none,none,3,GB\n"
                 "12,paper,activations,gpt-a,A100-80,8,1,1,1,2048,48,6144,64,fp16,none,by some means,3,GB\n"
                 "13,paper,activations,gpt-a,A100-80,8,1,1,1,2048,48,6144,64,fp64,none,none,3,GB\n"
                 "14,paper,activations,gpt-a,nobody's,8,1,1,1,2048,48,6144,64,fp16,none,none,3,GB\n"
                 "15,paper,activations,gpt-a,A100-80,8,1,1,1,2048,many,6144,64,fp16,none,none,3,GB\n");
    static const char *const reasons[] = {"no value", "not positive", "unit 'sequences'", "not in 'GB'", "known family",
                                          "leaves out the plan", "sharding", "precision", "not in the catalogue", "'many' is no number", NULL};
    PW_EXPECT(pw_validation_run(&pw_suite_memory, s.catalogue, &(pw_validation_options){0}, s.arena, &v, &s.error) == PW_OK);
    for (int i = 0; i < 4; i++) PW_EXPECT_TEXT(v.predictions[i].why, "");
    PW_EXPECT_TEXT(v.predictions[0].side, "check");
    PW_EXPECT_NEAR(v.predictions[0].measured, 3221225472.0, 0);
    PW_EXPECT_NEAR(v.predictions[3].measured, 48000.0 * 1048576, 0);
    /* 34 x 2048 x 6144 / 8 x 48 layers, one micro-batch in flight */
    PW_EXPECT_NEAR(v.predictions[0].baseline, 2566914048.0, 1e-12);
    /* Parameters of the GPU by hand: 12 h^2 and 13 h a layer, the embedding, the last norm, over 8 GPUs. */
    double h = 6144, per_gpu = (48 * (12 * h * h + 13 * h) + 51200 * h + 2 * h) / 8;
    PW_EXPECT_NEAR(v.predictions[1].baseline, 18 * per_gpu, 1e-4);
    PW_EXPECT_NEAR(v.predictions[2].baseline, 9 * per_gpu, 1e-4); /* 6 + 12 / 4 */
    PW_EXPECT_NEAR(v.predictions[3].baseline, v.predictions[0].baseline + v.predictions[1].baseline, 1e-12);
    PW_EXPECT(v.predictions[3].plain > v.predictions[1].plain + v.predictions[0].plain);
    expect_reasons(&v, 4, reasons);
    scratch_end(&s);
}

/* A small encoder on a GPU of so much memory: the largest batch and the next one lie on the two sides of what fits. */
PW_TEST(every_largest_batch_is_asked_twice) {
    scratch s;
    pw_validation v, sides = {.suite = &pw_suite_batches};
    scratch_begin(&s);
    scratch_file(&s, "split-memory.csv", "source,model,side\npaper,gpt-a,check\n");
    scratch_file(&s, "layouts.csv", "model,vocabulary,kv_heads,gated_mlp,tied,biases,learned_positions\ngpt,51200,,0,1,1,1\n");
    scratch_words(&s);
    scratch_file(&s, "memory-software.csv", "source,stack,layout,head,counts\n,megatron-2021,,,device\n");
    scratch_file(&s, "memory-plans.csv", "source,tp,pp,dp,mbs\n,1,1,1,1\n");
    scratch_file(&s, "data/training-memory.csv",
                 "id,source,kind,model,gpu,gpu_mem_gib,n_gpus,seq_len,layers,hidden,heads,precision,recompute,sharding,value,unit\n"
                 "1,paper,max-batch,gpt-a,A100-80,16,1,512,12,768,12,fp16,none,none,0,sequences\n"
                 "2,paper,max-batch,gpt-a,A100-80,1,1,512,12,768,12,fp16,none,none,0,sequences\n"
                 "3,paper,max-batch,gpt-a,A100-80,16,1,512,12,768,12,fp16,none,none,-1,sequences\n");
    PW_EXPECT(pw_validation_run(&pw_suite_memory, s.catalogue, &(pw_validation_options){0}, s.arena, &v, &s.error) == PW_OK);
    PW_EXPECT_NEAR(v.predictions[0].measured, 0.5, 0);
    PW_EXPECT(v.predictions[0].plain > 4 && v.predictions[0].plain < 200);
    PW_EXPECT_NEAR(v.predictions[1].plain, 0.5, 0); /* 18 bytes of 124 million weights alone are more */
    PW_EXPECT_CONTAINS(v.predictions[2].why, "negative");
    PW_EXPECT(pw_suite_batches.derive(&v, s.arena, &sides, &s.error) == PW_OK);
    PW_EXPECT(sides.input->rows == 4);
    PW_EXPECT_TEXT(pw_measured_text(sides.input, 1, "batch"), "1");
    PW_EXPECT(sides.predictions[1].measured > 1 && sides.predictions[1].plain < 1); /* one fits in 16 GB: a wrong side */
    PW_EXPECT(sides.predictions[2].plain < 1 && sides.predictions[3].plain > 1);
    PW_EXPECT_TEXT(sides.predictions[0].side, "check");
    scratch_end(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
