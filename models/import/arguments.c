/* A job from settings: what one argument means by itself is its row of import-arguments; what several mean together is in
 * megatron.c and torchtitan.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/import/import_internal.h"
#include "sim/text.h"

enum { LONGEST = 400 };

const pw_setting *importer_find(const importer *in, const char *name) {
    for (size_t i = in->settings.count; i-- > 0;)
        if (strcmp(in->settings.items[i].name, name) == 0) return &in->settings.items[i];
    return NULL;
}

bool importer_is(const importer *in, const char *name, const char *value) {
    const pw_setting *setting = importer_find(in, name);
    return setting && setting->value && strcmp(setting->value, value) == 0;
}

pw_status importer_fail(const importer *in, const pw_setting *at, pw_status status, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pw_fail_v(in->error, status, at ? at->file : in->request->path, at ? at->line : 0, hint, format, arguments);
    va_end(arguments);
    return status;
}

static pw_status known(const importer *in, const pw_setting *setting) {
    if (!setting->is_unknown) return PW_OK;
    return importer_fail(in, setting, PW_BAD_INPUT, "write the number itself", "the file does not tell the value of %s: %s",
                         setting->name, setting->value ? setting->value : "");
}

pw_status importer_whole(const importer *in, const char *name, int64_t fallback, int64_t *value) {
    const pw_setting *setting = importer_find(in, name);
    const char *end;
    *value = fallback;
    if (!setting) return PW_OK;
    PW_TRY(known(in, setting));
    if (!setting->value || !pw_text_integer(setting->value, &end, value) || *end)
        return importer_fail(in, setting, PW_BAD_INPUT, NULL, "%s takes a whole number, not '%s'", name,
                             setting->value ? setting->value : "");
    return PW_OK;
}

pw_status importer_set(const importer *in, const char *path, const char *text, const pw_setting *at) {
    bool is_model = strncmp(path, "model.", 6) == 0;
    const pw_kind *kind = is_model ? &pw_model_kind : &pw_train_kind;
    const pw_field *field = pw_kind_field(kind, path + 6);
    PW_CHECK(field);
    return pw_field_parse(kind, field, is_model ? (void *)&in->job->model : (void *)&in->job->train, text, in->arena,
                          at ? at->file : in->request->path, at ? at->line : 0, in->error);
}

pw_status importer_set_whole(const importer *in, const char *field, int64_t value, const pw_setting *at) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return importer_set(in, field, text, at);
}

/* ---- Rows ---- */

static const char *cell(const importer *in, size_t row, const char *column) { return pw_table_text_of(in->table, row, column); }

static bool is_for(const importer *in, size_t row) {
    const char *program = cell(in, row, "program");
    return strcmp(program, in->request->program) == 0 || strcmp(program, "torchrun") == 0;
}

/* The row of the name, else the longest one that ends with "*" and begins alike; -1: none. */
static int find_row(const importer *in, const char *name) {
    int best = -1;
    size_t longest = 0;
    for (size_t row = 0; row < pw_table_rows(in->table); row++) {
        const char *known_name = pw_table_text_at(in->table, row, 0);
        size_t length = strlen(known_name);
        if (!is_for(in, row)) continue;
        if (strcmp(known_name, name) == 0) return (int)row;
        if (known_name[length - 1] == '*' && length > longest && strncmp(known_name, name, length - 1) == 0)
            best = (int)row, longest = length;
    }
    return best;
}

/* Whether the cell's words hold the value: "1", "false", "0". */
static bool is_idle(const char *words, const char *value) {
    size_t length = value ? strlen(value) : 0;
    for (const char *at = words; length && (at = strstr(at, value)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) return true;
    return false;
}

/* What the field gets: the argument's own value, a constant, or what the cell's "a=b c=d" makes of it. */
static pw_status translate(const importer *in, const pw_setting *setting, const char *cell_text, char *text) {
    if (strcmp(cell_text, "$") == 0) {
        snprintf(text, LONGEST, "%s", setting->value);
        return PW_OK;
    }
    if (!strchr(cell_text, '=')) {
        snprintf(text, LONGEST, "%s", cell_text);
        return PW_OK;
    }
    size_t length = setting->value ? strlen(setting->value) : 0;
    for (const char *at = cell_text; *at;) {
        size_t word = strcspn(at, " ");
        if (length && strncmp(at, setting->value, length) == 0 && at[length] == '=') {
            snprintf(text, LONGEST, "%.*s", (int)(word - length - 1), at + length + 1);
            return PW_OK;
        }
        at += word + strspn(at + word, " ");
    }
    return importer_fail(in, setting, PW_UNSUPPORTED, cell_text, "%s '%s' is not modelled", setting->name, setting->value);
}

static pw_status check_values(const importer *in, const pw_setting *setting, size_t row) {
    const char *wanted = cell(in, row, "values");
    if (strcmp(wanted, "0") == 0 && setting->values)
        return importer_fail(in, setting, PW_BAD_INPUT, NULL, "%s takes no value, not '%s'", setting->name, setting->value);
    if (strcmp(wanted, "1") == 0 && setting->values != 1)
        return importer_fail(in, setting, PW_BAD_INPUT, NULL, "%s takes one value, not %d", setting->name, setting->values);
    return PW_OK;
}

static pw_status unknown(const importer *in, const pw_setting *setting) {
    const char *names[1024], *near;
    size_t count = 0;
    for (size_t row = 0; row < pw_table_rows(in->table) && count < 1023; row++)
        if (is_for(in, row)) names[count++] = pw_table_text_at(in->table, row, 0);
    names[count] = NULL;
    char hint[300] = "if it changes no speed, take it out of the list";
    near = pw_nearest(names, setting->name);
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'? If it is another one that changes no speed, take it out of the list", near);
    return importer_fail(in, setting, PW_BAD_INPUT, hint, "podwright does not know '%s' of %s", setting->name,
                         in->request->program);
}

static pw_status apply(const importer *in, const pw_setting *setting) {
    char text[LONGEST];
    int found = find_row(in, setting->name);
    if (found < 0) return unknown(in, setting);
    size_t row = (size_t)found;
    const char *effect = cell(in, row, "effect");
    PW_TRY(check_values(in, setting, row));
    if (strcmp(effect, "set") == 0) {
        PW_TRY(known(in, setting));
        PW_TRY(translate(in, setting, cell(in, row, "value"), text));
        return importer_set(in, cell(in, row, "field"), text, setting);
    }
    if (strcmp(effect, "refuse") != 0 && strcmp(effect, "note") != 0) return PW_OK;
    if (is_idle(cell(in, row, "idle"), setting->value)) return PW_OK;
    if (strcmp(effect, "refuse") == 0)
        return importer_fail(in, setting, PW_UNSUPPORTED, "take the argument out to see the job without it", "%s: %s",
                             setting->name, cell(in, row, "text"));
    return pw_import_note(in->notes, in->arena, in->error, "%s: %s", setting->name, cell(in, row, "text"));
}

/* What the program does when an argument is not given. */
static pw_status apply_absent(const importer *in) {
    for (size_t row = 0; row < pw_table_rows(in->table); row++) {
        const char *absent = cell(in, row, "absent");
        if (*absent && is_for(in, row) && !importer_find(in, pw_table_text_at(in->table, row, 0)))
            PW_TRY(importer_set(in, cell(in, row, "field"), absent, NULL));
    }
    return PW_OK;
}

/* ---- By hand ---- */

static pw_status set_by_hand(const importer *in, const char *text) {
    char path[LONGEST], place[LONGEST];
    const char *sign = strchr(text, '='), *from = text;
    snprintf(place, sizeof place, "--set %.300s", text);
    if (strncmp(text, "job.", 4) == 0) from += 4;
    if (!sign || sign <= from)
        return pw_fail(in->error, PW_BAD_INPUT, place, 0, "write --set job.model.vocabulary=128256", "a field is PATH=VALUE");
    snprintf(path, sizeof path, "%.*s", (int)(sign - from), from);
    pw_status status = pw_description_set_path(&pw_train_kind, &in->job->train, path, sign + 1, in->arena, in->error);
    if (status != PW_OK && in->error && !in->error->file[0]) snprintf(in->error->file, sizeof in->error->file, "%.250s", place);
    return status;
}

static pw_status read_settings(importer *in) {
    const char *path = in->request->path;
    size_t length = strlen(path);
    bool is_toml = length > 5 && strcmp(path + length - 5, ".toml") == 0;
    if (is_toml) PW_TRY(pw_settings_toml(&in->settings, path, in->error));
    else PW_TRY(pw_settings_shell(&in->settings, path, in->error));
    size_t from = in->settings.count;
    PW_TRY(pw_settings_words(&in->settings, in->request->words, in->request->word_count, "the command line", in->error));
    if (strcmp(in->request->program, "torchtitan") == 0) from = 0;
    for (size_t i = from; i < in->settings.count; i++) { /* --training.seq_len is training.seq_len */
        pw_setting *setting = &in->settings.items[i];
        if (strncmp(setting->name, "--", 2) == 0 && strchr(setting->name, '.')) setting->name += 2;
    }
    return PW_OK;
}

pw_status pw_import_arguments(const pw_catalogue *catalogue, const pw_import_request *request, pw_import_job *job,
                              pw_arena *arena, pw_import_notes *notes, pw_error *error) {
    importer in = {.catalogue = catalogue, .request = request, .settings = {.arena = arena}, .job = job, .arena = arena,
                   .notes = notes, .error = error};
    *job = (pw_import_job){0};
    PW_TRY(pw_catalogue_need(catalogue, "import-arguments", &in.table, error));
    PW_TRY(read_settings(&in));
    PW_TRY(pw_description_defaults(&pw_train_kind, &job->train, arena, error));
    PW_TRY(pw_description_defaults(&pw_model_kind, &job->model, arena, error));
    job->train.model = &job->model;
    PW_TRY(importer_whole(&in, "--nnodes", 0, &job->nodes));
    PW_TRY(importer_whole(&in, "--nproc-per-node", 0, &job->gpus_per_node));
    PW_TRY(apply_absent(&in));
    for (size_t i = 0; i < in.settings.count; i++) PW_TRY(apply(&in, &in.settings.items[i]));
    PW_TRY(strcmp(request->program, "megatron") == 0 ? importer_megatron(&in) : importer_torchtitan(&in));
    for (size_t i = 0; i < request->field_count; i++) PW_TRY(set_by_hand(&in, request->fields[i]));
    if (job->train.model != &job->model) { /* changed by hand: a copy */
        job->model = *job->train.model;
        job->train.model = &job->model;
        job->preset = NULL;
    }
    PW_TRY(pw_description_check(&pw_model_kind, &job->model, request->path, 0, error));
    return pw_description_check(&pw_train_kind, &job->train, request->path, 0, error);
}
