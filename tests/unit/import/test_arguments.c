/* Jobs from arguments: what each means, what several mean together, what is refused. */
#include <stdlib.h>
#include <unistd.h>

#include "models/import/import.h"
#include "tests/harness/check.h"
#include "tests/unit/workload/jobs.h"

#define FOLDER PW_SOURCE_DIR "/tests/unit/import/"
enum { MOST_WORDS = 40 };

static pw_status load(const char *program, const char *path, const char *more, int64_t gpus, pw_import_job *imported,
                      pw_import_notes *notes, pw_error *error) {
    static char copy[2000];
    const char *words[MOST_WORDS];
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", more ? more : "");
    for (char *word = strtok(copy, " "); word && count < MOST_WORDS; word = strtok(NULL, " ")) words[count++] = word;
    pw_import_request request = {.program = program, .path = path, .words = words, .word_count = count, .gpus = gpus};
    *notes = (pw_import_notes){0};
    *error = (pw_error){0};
    return pw_import_arguments(catalogue(), &request, imported, arena(), notes, error);
}

/* The text as a file of arguments. */
static pw_status load_text(const char *program, const char *text, const char *suffix, int64_t gpus, pw_import_job *imported,
                           pw_import_notes *notes, pw_error *error) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/podwright-arguments-XXXXXX%s", suffix);
    int descriptor = mkstemps(path, (int)strlen(suffix));
    PW_EXPECT(descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text));
    close(descriptor);
    pw_status status = load(program, path, NULL, gpus, imported, notes, error);
    unlink(path);
    return status;
}

#define SMALL "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --vocab-size 50257 "

static pw_import_job megatron(const char *more, pw_import_notes *notes) {
    char text[2000];
    pw_import_job imported;
    pw_error error;
    snprintf(text, sizeof text, SMALL "--micro-batch-size 2 %s\n", more);
    must(load_text("megatron", text, ".txt", 0, &imported, notes, &error), &error);
    return imported;
}

static bool has_note(const pw_import_notes *notes, const char *part) {
    for (size_t i = 0; i < notes->count; i++)
        if (strstr(notes->items[i], part)) return true;
    return false;
}

PW_TEST(a_megatron_script_gives_its_job) {
    pw_import_job imported;
    pw_import_notes notes;
    pw_error error;
    must(load("megatron", FOLDER "megatron-llama3-70b.sh", NULL, 0, &imported, &notes, &error), &error);
    const pw_train_desc *train = &imported.train;
    PW_EXPECT_NEAR(pw_model_parameters(train->model), 70553706496, 0);
    PW_EXPECT_INT(train->sequence, 8192);
    PW_EXPECT_INT(train->global_batch, 128);
    PW_EXPECT_INT(train->tensor_parallel, 8);
    PW_EXPECT_INT(train->pipeline_parallel, 4);
    PW_EXPECT_INT(train->virtual_stages, 4); /* 80 layers / 4 stages / 5 */
    PW_EXPECT_INT(train->sharding, PW_SHARDING_ZERO1);
    PW_EXPECT_INT(train->recompute, PW_RECOMPUTE_SELECTIVE);
    PW_EXPECT_INT(train->overlap_gradients, 1);
    PW_EXPECT_INT(imported.nodes, 8);
    PW_EXPECT_INT(imported.gpus_per_node, 8);
    PW_EXPECT(has_note(&notes, "--tp-comm-overlap"));
    PW_EXPECT_INT(notes.count, 1);
}

PW_TEST(what_is_not_given_is_megatrons_default) {
    pw_import_notes notes;
    pw_import_job imported = megatron("--global-batch-size 64 --bf16", &notes);
    PW_EXPECT_INT(imported.train.sharding, PW_SHARDING_NONE);
    PW_EXPECT_INT(imported.train.overlap_gradients, 0);
    PW_EXPECT_INT(imported.train.sequence_parallel, 0);
    PW_EXPECT(imported.model.tied && imported.model.biases && !imported.model.gated);
    PW_EXPECT_INT(imported.model.positions, 2048);
    PW_EXPECT_INT(imported.model.kv_heads, 0);
    PW_EXPECT_INT(imported.train.precision, PW_PRECISION_BF16);
    pw_model_desc known = preset("gpt3-1.3b");
    PW_EXPECT_NEAR(pw_model_parameters(&imported.model), pw_model_parameters(&known), 0);
}

PW_TEST(arguments_that_mean_something_together) {
    pw_import_notes notes;
    pw_import_job imported = megatron("--global-batch-size 64 --bf16 --fp8-format hybrid --swiglu", &notes);
    PW_EXPECT_INT(imported.train.precision, PW_PRECISION_FP8);
    PW_EXPECT_INT(imported.model.ffn, 5440); /* 2/3 x 4 x 2048 = 5461, down to a multiple of 64 */
    imported = megatron("--global-batch-size 64 --num-query-groups 4", &notes);
    PW_EXPECT_INT(imported.model.kv_heads, 0);
    PW_EXPECT_INT(imported.train.precision, PW_PRECISION_FP32);
    PW_EXPECT(has_note(&notes, "--num-query-groups counts only with"));
    imported = megatron("--global-batch-size 64 --fp16 --ddp-bucket-size 1000000 --data-parallel-sharding-strategy optim_grads", &notes);
    PW_EXPECT_NEAR(imported.train.bucket_bytes, 2e6, 0);
    PW_EXPECT_INT(imported.train.sharding, PW_SHARDING_ZERO2);
    imported = megatron("--global-batch-size 64 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1", &notes);
    PW_EXPECT_INT(imported.train.recompute, PW_RECOMPUTE_FULL);
    PW_EXPECT_INT(notes.count, 0);
}

PW_TEST(experts_and_latent_attention_of_megatron) {
    pw_import_notes notes;
    pw_import_job imported = megatron("--global-batch-size 64 --bf16 --tensor-model-parallel-size 2 --num-experts 8 --moe-ffn-hidden-size 1024 "
                                      "--expert-model-parallel-size 4 --moe-layer-freq '([0]*1+[1]*23)' --swiglu --disable-bias-linear",
                                      &notes);
    PW_EXPECT_INT(imported.model.experts, 8);
    PW_EXPECT_INT(imported.model.experts_per_token, 2);
    PW_EXPECT_INT(imported.model.expert_ffn, 1024);
    PW_EXPECT_INT(imported.model.dense_layers, 1);
    PW_EXPECT_INT(imported.train.expert_parallel, 4);
    PW_EXPECT_INT(imported.train.expert_tensor_parallel, 2); /* as tensor parallel, unless it is given */
    imported = megatron("--global-batch-size 64 --multi-latent-attention --kv-lora-rank 256 --qk-layernorm", &notes);
    PW_EXPECT_INT(imported.model.latent_rank, 256);
    PW_EXPECT_INT(imported.model.query_rank, 512);
    PW_EXPECT_INT(imported.model.rotary_dim, 64);
    PW_EXPECT(imported.model.query_norm);
}

PW_TEST(stages_and_exchanges_of_megatron) {
    pw_import_notes notes;
    pw_import_job imported = megatron("--global-batch-size 64 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 3 "
                                      "--context-parallel-size 2 --cp-comm-type a2a", &notes);
    PW_EXPECT_INT(imported.train.first_stage_layers, 3);
    PW_EXPECT_INT(imported.train.ends_in_split, PW_ENDS_NONE);
    PW_EXPECT_INT(imported.train.context_exchange, 1);
    imported = megatron("--global-batch-size 64 --pipeline-model-parallel-size 2 --account-for-embedding-in-pipeline-split "
                        "--account-for-loss-in-pipeline-split", &notes);
    PW_EXPECT_INT(imported.train.ends_in_split, PW_ENDS_BOTH);
    PW_EXPECT_INT(notes.count, 0);
}

PW_TEST(without_a_batch_it_is_one_micro_batch_a_replica) {
    pw_import_job imported;
    pw_import_notes notes;
    pw_error error;
    const char *text = SMALL "--micro-batch-size 2 --tensor-model-parallel-size 2 --bf16\n";
    must(load_text("megatron", text, "", 16, &imported, &notes, &error), &error);
    PW_EXPECT_INT(imported.train.global_batch, 16);
    PW_EXPECT_INT(load_text("megatron", text, "", 0, &imported, &notes, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.hint, "--global-batch-size");
}

PW_TEST(words_of_an_array_part_at_blanks_unless_quoted) {
    pw_import_job imported;
    pw_import_notes notes;
    pw_error error;
    const char *text = "A=(\n  \"--num-layers 24\" --hidden-size 2048 # two\n  --num-attention-heads 16\n)\nB=()\nB+=(\"--seq-length 2048\")\n"
                       "python -u pretrain_gpt.py ${A[@]} ${B[@]} --vocab-size 100 --micro-batch-size 1 --global-batch-size 8\n";
    must(load_text("megatron", text, ".sh", 0, &imported, &notes, &error), &error);
    PW_EXPECT_INT(imported.model.layers, 24);
    PW_EXPECT_INT(imported.train.sequence, 2048);
    const char *quoted = "A=(\"--num-layers 24\")\npython pretrain_gpt.py \"${A[@]}\"\n";
    PW_EXPECT_INT(load_text("megatron", quoted, ".sh", 0, &imported, &notes, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "does not know '--num-layers 24'");
}

PW_TEST(later_arguments_win) {
    pw_import_job imported;
    pw_import_notes notes;
    pw_error error;
    must(load("megatron", FOLDER "megatron-llama3-70b.sh", "--seq-length 4096", 0, &imported, &notes, &error), &error);
    PW_EXPECT_INT(imported.train.sequence, 4096);
}

PW_TEST(torchtitan_settings_give_their_job) {
    pw_import_job imported;
    pw_import_notes notes;
    pw_error error;
    const char *path = FOLDER "torchtitan-llama3-8b.toml";
    must(load("torchtitan", path, NULL, 8, &imported, &notes, &error), &error);
    PW_EXPECT_TEXT(imported.preset, "llama3-8b");
    PW_EXPECT_INT(imported.train.sequence, 8192);
    PW_EXPECT_INT(imported.train.global_batch, 8);
    PW_EXPECT_INT(imported.train.sharding, PW_SHARDING_ZERO3);
    PW_EXPECT_INT(imported.train.shard_group, 0);
    PW_EXPECT_INT(imported.train.precision, PW_PRECISION_BF16);
    PW_EXPECT_INT(imported.train.recompute, PW_RECOMPUTE_SELECTIVE);
    PW_EXPECT_TEXT(imported.train.recompute_modules, "op");
    PW_EXPECT_TEXT(imported.train.stack, "torchtitan-2024-eager");
    PW_EXPECT_INT(notes.count, 0);
    must(load("torchtitan", path, "--compile.enable true --activation_checkpoint.selective_ac_option 2", 8, &imported, &notes, &error), &error);
    PW_EXPECT_TEXT(imported.train.stack, "torchtitan-2024");
    PW_EXPECT(has_note(&notes, "activation_checkpoint.mode selective"));
    const char *more = "--training.local_batch_size 4 --parallelism.data_parallel_replicate_degree=2 --activation_checkpoint.mode none "
                       "--parallelism.tensor_parallel_degree 2";
    must(load("torchtitan", path, more, 16, &imported, &notes, &error), &error);
    PW_EXPECT_INT(imported.train.global_batch, 32); /* 4 x (16 / 2) */
    PW_EXPECT_INT(imported.train.shard_group, 4);   /* 16 / 2 / 2 copies */
    PW_EXPECT_INT(imported.train.recompute, PW_RECOMPUTE_NONE);
    PW_EXPECT_INT(notes.count, 0);
}

PW_TEST(what_is_not_modelled_is_refused_at_its_line) {
    const struct { const char *text, *part; int line; } cases[] = {
        {SMALL "--micro-batch-size 1\n--global-batch-size 8 --num-experts 8 --moe-layer-freq [0]\n", "is not read", 2},
        {SMALL "--micro-batch-size 1 --global-batch-size 8\n--kv-lora-rank 512\n", "counts only with --multi-latent-attention", 2},
        {SMALL "--micro-batch-size 1 --global-batch-size 8\n--rampup-batch-size 8 8 100\n", "the batch grows", 2},
        {SMALL "--micro-batch-size 1\n\n--no-such-thing --global-batch-size 8\n", "does not know '--no-such-thing'", 3},
        {SMALL "--micro-batch-size two --global-batch-size 8\n", "is not a number", 1},
        {SMALL "--micro-batch-size --global-batch-size 8\n", "takes one value, not 0", 1},
        {SMALL "--micro-batch-size 1 --global-batch-size 8\n--bf16 yes\n", "takes no value", 2},
        {SMALL "--micro-batch-size $MBS --global-batch-size 8\n", "does not tell the value of --micro-batch-size", 1},
        {SMALL "--micro-batch-size $((2*2)) --global-batch-size 8\n", "does not tell the value of --micro-batch-size", 1},
        {SMALL "--micro-batch-size 1 --global-batch-size 8\n--cp-comm-type mail\n", "'mail' is not modelled", 2},
        {SMALL "--micro-batch-size 1 --global-batch-size 8 --data-parallel-sharding-strategy half\n", "'half' is not modelled", 1},
        {"for i in 1 2\n", "'for' is not read", 1},
        {"ARGS=(--num-layers 2\n", "array ARGS has no end", 2},
        {"--num-layers 2 \"--hidden-size\n", "quote has no end", 1},
        {"python a.py --num-layers 2\npython b.py --num-layers 2\n", "second command", 2},
        {"echo hello\n", "no command with arguments", 0},
        {"main() {\n", "functions", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_import_job imported;
        pw_import_notes notes;
        pw_error error;
        pw_status status = load_text("megatron", cases[i].text, ".sh", 0, &imported, &notes, &error);
        PW_EXPECT(status == PW_BAD_INPUT || status == PW_UNSUPPORTED);
        PW_EXPECT_CONTAINS(error.what, cases[i].part);
        PW_EXPECT_INT(error.line, cases[i].line);
    }
}

PW_TEST(toml_that_is_not_read_is_refused_at_its_line) {
    const struct { const char *text, *part; int line; } cases[] = {
        {"[a]\nb = {c = 1}\n", "inline table", 2}, {"[[a]]\n", "array of tables", 1}, {"[a\nb = 1\n", "ends with ']'", 1},
        {"[a]\n\nb\n", "'=' is missing", 3},       {"[a]\nb = \"x\n", "no end", 2},    {"[a]\nb = 1 2\n", "nothing more", 2},
        {"[a]\nb = \"\"\"\n", "several lines", 2}, {"[a]\nb = [[1]]\n", "list in a list", 2}, {"[a]\nb =\n", "a value is missing", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_import_job imported;
        pw_import_notes notes;
        pw_error error;
        PW_EXPECT_INT(load_text("torchtitan", cases[i].text, ".toml", 0, &imported, &notes, &error), PW_BAD_INPUT);
        PW_EXPECT_CONTAINS(error.what, cases[i].part);
        PW_EXPECT_INT(error.line, cases[i].line);
    }
}

PW_TEST(every_row_of_the_table_has_a_known_effect_and_a_field_that_exists) {
    const pw_table *table = pw_catalogue_table(catalogue(), "import-arguments");
    PW_EXPECT(table && pw_table_rows(table) > 300);
    for (size_t row = 0; table && row < pw_table_rows(table); row++) {
        const char *effect = pw_table_text_of(table, row, "effect"), *field = pw_table_text_of(table, row, "field");
        bool is_set = strcmp(effect, "set") == 0;
        bool is_known = is_set || !strcmp(effect, "read") || !strcmp(effect, "note") || !strcmp(effect, "harmless") || !strcmp(effect, "refuse");
        const pw_kind *kind = strncmp(field, "model.", 6) == 0 ? &pw_model_kind : &pw_train_kind;
        if (!is_known || (is_set && !pw_kind_field(kind, field + 6)) || (!is_set && !*pw_table_text_of(table, row, "text")))
            PW_FAILED("row %s", pw_table_text_at(table, row, 0));
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
