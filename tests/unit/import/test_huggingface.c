/* Models from config.json: counts against published totals, notes, refusals. */
#include <stdlib.h>
#include <unistd.h>

#include "models/import/import.h"
#include "tests/harness/check.h"
#include "tests/unit/workload/jobs.h"

#define FOLDER PW_SOURCE_DIR "/tests/unit/import/huggingface/"

static pw_status load(const char *path, pw_model_desc *model, pw_import_notes *notes, pw_error *error) {
    *notes = (pw_import_notes){0};
    *error = (pw_error){0};
    return pw_import_huggingface(catalogue(), path, model, arena(), notes, error);
}

static pw_model_desc released(const char *name, pw_import_notes *notes) {
    char path[512];
    pw_model_desc model;
    pw_error error;
    snprintf(path, sizeof path, "%s%s.json", FOLDER, name);
    must(load(path, &model, notes, &error), &error);
    return model;
}

/* Writes text to a file of its own and loads it. */
static pw_status load_text(const char *text, pw_model_desc *model, pw_import_notes *notes, pw_error *error) {
    char path[] = "/tmp/podwright-config-XXXXXX";
    int descriptor = mkstemp(path);
    PW_EXPECT(descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text));
    close(descriptor);
    pw_status status = load(path, model, notes, error);
    unlink(path);
    return status;
}

static bool has_note(const pw_import_notes *notes, const char *part) {
    for (size_t i = 0; i < notes->count; i++)
        if (strstr(notes->items[i], part)) return true;
    return false;
}

PW_TEST(counts_of_imported_models_equal_the_published_totals) {
    /* Published: the number of weights on the model's page. Tolerance: exact where the description holds every weight,
     * else what the notes say is left out. */
    const struct { const char *name; double published, tolerance; } cases[] = {
        {"llama-3.1-8b", 8030261248, 0},       {"mistral-7b-v0.1", 7241732096, 0}, {"qwen2.5-0.5b", 494032768, 1e-3},
        {"qwen3-8b", 8190735360, 0},        {"gemma-7b", 8537680896, 0},        {"gemma-2-9b", 9241705984, 1e-4},
        {"gemma-3-1b", 999885952, 2e-4},       {"gpt2", 124439808, 0},             {"gpt-neox-20b", 20554567680, 0},
        {"opt-6.7b", 6658473984, 0},           {"bloom-176b", 176247271424, 1e-6}, {"falcon-7b", 6921720704, 1e-4},
        {"falcon-40b", 41303293952, 2e-4},     {"phi-2", 2779683840, 1e-4},        {"phi-3-mini", 3821079552, 0},
        {"mpt-7b", 6649286656, 0},             {"starcoder2-3b", 3030371328, 0},
        {"bert-base", 110106428, 0},           {"roberta-base", 124697433, 6e-3},
        {"mixtral-8x7b", 46702792704, 0},      {"qwen3-30b-a3b", 30532122624, 0},  {"qwen1.5-moe-a2.7b", 14315784192, 1e-4},
        {"deepseek-v3", 671026419200, 1e-5},   {"gpt-oss-20b", 20914757184, 1e-3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_import_notes notes;
        pw_model_desc model = released(cases[i].name, &notes);
        double count = pw_model_parameters(&model);
        if (!(fabs(count - cases[i].published) <= cases[i].tolerance * cases[i].published))
            PW_FAILED("%s has %.0f parameters, published %.0f", cases[i].name, count, cases[i].published);
        if (cases[i].tolerance > 1e-5 && !notes.count) PW_FAILED("%s leaves weights out without a note", cases[i].name);
    }
}

PW_TEST(an_imported_model_equals_the_preset_of_the_same_weights) {
    pw_import_notes notes;
    pw_model_desc imported = released("llama-3.1-8b", &notes), known = preset("llama3.1-8b");
    PW_EXPECT_INT(notes.count, 0);
    imported.name = known.name;
    for (const pw_field *field = pw_model_kind.fields; field->name; field++) {
        size_t size = field->type == PW_FIELD_BOOL ? sizeof(bool) : field->type == PW_FIELD_CHOICE ? sizeof(int) : 8;
        if (strcmp(field->name, "kv_heads") && strcmp(field->name, "head_dim") &&
            memcmp((char *)&imported + field->offset, (char *)&known + field->offset, size))
            PW_FAILED("field %s differs", field->name);
    }
    PW_EXPECT_NEAR(pw_model_flops_per_token(&imported, 8192, true), pw_model_flops_per_token(&known, 8192, true), 1e-15);
}

PW_TEST(what_is_left_out_is_named) {
    pw_import_notes notes;
    released("qwen2.5-0.5b", &notes);
    PW_EXPECT(has_note(&notes, "biases of the query, key and value"));
    PW_EXPECT(!has_note(&notes, "window"));
    released("gemma-2-9b", &notes);
    PW_EXPECT(has_note(&notes, "attn_logit_softcapping"));
    released("phi-3-mini", &notes);
    PW_EXPECT(pw_kind_field(&pw_model_kind, "window") || has_note(&notes, "sliding_window 2047"));
    released("falcon-7b", &notes);
    PW_EXPECT(has_note(&notes, "half the tensor-parallel collectives"));
}

PW_TEST(a_key_that_nobody_knows_is_named) {
    pw_model_desc model;
    pw_import_notes notes;
    pw_error error;
    const char *text = "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 64, \"n_head\": 4, \"n_positions\": 8,"
                       " \"vocab_size\": 100, \"hyper_loops\": 3, \"hyper_off\": false}";
    PW_EXPECT_INT(load_text(text, &model, &notes, &error), PW_OK);
    PW_EXPECT(has_note(&notes, "does not know: hyper_loops"));
    PW_EXPECT(!has_note(&notes, "hyper_off"));
}

PW_TEST(settings_of_the_text_model_lie_one_level_down) {
    pw_model_desc model;
    pw_import_notes notes;
    pw_error error;
    const char *text = "{\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\", \"hidden_size\": 2560,"
                       " \"intermediate_size\": 10240, \"num_hidden_layers\": 34, \"num_attention_heads\": 8,"
                       " \"num_key_value_heads\": 4, \"head_dim\": 256, \"vocab_size\": 262208}}";
    PW_EXPECT_INT(load_text(text, &model, &notes, &error), PW_OK);
    PW_EXPECT(has_note(&notes, "vision"));
    PW_EXPECT_NEAR(pw_model_parameters(&model), 3.88e9, 2e-3); /* Gemma 3 report: 675M embedding + 3,209M others */
}

PW_TEST(bad_files_are_refused_with_the_reason) {
    const struct { const char *text, *part; pw_status status; } cases[] = {
        {"{\"model_type\": \"gpt2\",", "this is no JSON", PW_BAD_INPUT},
        {"[1, 2]", "no object of settings", PW_BAD_INPUT},
        {"{\"hidden_size\": 64}", "no 'model_type'", PW_BAD_INPUT},
        {"{\"model_type\": \"llama\", \"model_type\": \"gpt2\"}", "duplicate", PW_BAD_INPUT},
        {"{\"model_type\": \"lama\"}", "does not know the architecture 'lama'", PW_UNSUPPORTED},
        {"{\"model_type\": \"mamba\"}", "recurrent state", PW_UNSUPPORTED},
        {"{\"model_type\": \"llama\", \"hidden_size\": 64}", "needs 'num_hidden_layers'", PW_BAD_INPUT},
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": 2.5}", "'num_hidden_layers' is not a whole number", PW_BAD_INPUT},
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": -2}", "model.layers", PW_BAD_INPUT},
        {"{\"model_type\": \"opt\", \"num_hidden_layers\": 2, \"hidden_size\": 1024, \"num_attention_heads\": 16, \"ffn_dim\": 4096,"
         " \"vocab_size\": 50272, \"max_position_embeddings\": 2048, \"word_embed_proj_dim\": 512}", "word_embed_proj_dim", PW_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_model_desc model;
        pw_import_notes notes;
        pw_error error;
        PW_EXPECT_INT(load_text(cases[i].text, &model, &notes, &error), cases[i].status);
        PW_EXPECT_CONTAINS(error.what, cases[i].part);
        PW_EXPECT(error.file[0]);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
