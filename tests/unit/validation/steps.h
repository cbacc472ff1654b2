/* Small files of training rows: one model on nodes of eight GPUs. */
#ifndef PW_TESTS_VALIDATION_STEPS_H
#define PW_TESTS_VALIDATION_STEPS_H

#include "tests/unit/validation/scratch.h"

static const char step_columns[] =
    "id,source,model,quality,layers,hidden,heads,vocab,seq_len,gpu,n_gpus,tp,pp,dp,mbs,gbs,precision,software,step_time_s,sharding\n";

typedef struct step_row {
    const char *id, *source, *gpu, *precision, *software, *quality;
    int global_batch;
    double step_s;
    const char *sharding; /* NULL: none */
} step_row;

/* The source is the family: the split knows sources "fit..." and "check". */
static inline void step_files(scratch *s, const step_row *rows, int count) {
    char *text = pw_arena_alloc(s->arena, 65536);
    scratch_must(s, text != NULL);
    size_t used = (size_t)snprintf(text, 65536, "%s", step_columns);
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, 65536 - used, "%s,%s,gpt,%s,24,2048,16,51200,2048,%s,8,1,1,8,1,%d,%s,%s,%.17g,%s\n", rows[i].id,
                                 rows[i].source, rows[i].quality ? rows[i].quality : "read", rows[i].gpu, rows[i].global_batch,
                                 rows[i].precision, rows[i].software, rows[i].step_s, rows[i].sharding ? rows[i].sharding : "");
    scratch_file(s, "data/training-measured.csv", text);
    scratch_file(s, "split-training.csv", "source,side\nfit-a,fit\nfit-b,fit\nfit-c,fit\nfit-judge,fit\ncheck,check\n");
    scratch_words(s);
    scratch_file(s, "judges.csv", "source,reason\n");
    scratch_file(s, "software.csv", "software,stack\nDeepSpeed,deepspeed-2021\nMegatron,megatron-2023\nNeMo,nemo-2024\n");
    scratch_file(s, "convnet-software.csv", "software,stack,channels_last\nNGC,pytorch-2021,\nNCHW,pytorch-2021,off\n");
    scratch_file(s, "systems.csv", "gpu,server\nH100,DGX H100\nA100,DGX A100 640GB\n");
    scratch_file(s, "experts.csv", "model,preset,expert_tensor,capacity,modules\ndeepseek-v3,deepseek-v3,1,,\n");
    scratch_file(s, "layouts.csv", "model,vocabulary,kv_heads,gated_mlp,tied,biases,learned_positions\ngpt,51200,,0,1,1,1\n");
}

#endif
