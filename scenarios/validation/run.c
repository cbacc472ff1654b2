/* Runs a suite: reads its files, predicts the rows on several threads, keeps results by row so that the order of the
 * threads shows nowhere. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenarios/validation/validation.h"

const pw_suite *const pw_suite_table[] = {&pw_suite_training, &pw_suite_knobs, &pw_suite_memory, &pw_suite_batches, &pw_suite_gemm, &pw_suite_attention, &pw_suite_collectives,
                                         &pw_suite_power, &pw_suite_power_nodes, &pw_suite_training_power, &pw_suite_training_governed, NULL};

bool pw_suite_has_label(const pw_suite *suite, const char *column) {
    for (const char *const *name = suite->labels; name && *name; name++)
        if (strcmp(*name, column) == 0) return true;
    return false;
}

const char *pw_suite_text(const pw_suite *suite, const pw_measured *input, uint32_t row, const char *column) {
    return pw_suite_has_label(suite, column) ? suite->label(input, row, column) : pw_measured_text(input, row, column);
}

pw_status pw_validation_find(const pw_catalogue *catalogue, char *path, size_t size, pw_error *error) {
    const char *said = getenv("PODWRIGHT_VALIDATION");
    const char *data = pw_catalogue_folder(catalogue);
    static const char *const beside[] = {"/../validation", "/../../../tests/validation"}; /* installed, source tree */
    struct stat info;
    path[0] = '\0';
    if (said && *said) {
        int length = snprintf(path, size, "%s", said);
        if (length < (int)size && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return PW_OK;
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, "it is what $PODWRIGHT_VALIDATION says", "no folder '%s'", said);
    }
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        int length = snprintf(path, size, "%s%s", data, beside[i]);
        if (length < (int)size && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return PW_OK;
    }
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, "set $PODWRIGHT_VALIDATION to the folder with the splits and data/",
                   "the validation data are not beside '%s'", data);
}

/* Whether a cell is among "VALUE[,VALUE...]". */
static bool is_among(const char *values, const char *cell) {
    for (size_t length = strlen(cell);; values++) {
        size_t size = strcspn(values, ",");
        if (size == length && strncmp(values, cell, size) == 0) return true;
        values += size;
        if (!*values) return false;
    }
}

/* True when a row's cell (or side) is among the values of "COLUMN=VALUE[,VALUE...]". */
static bool matches(const pw_suite *suite, const pw_validation_context *context, uint32_t row, const char *only) {
    const char *value = strchr(only, '=') + 1;
    char column[128];
    snprintf(column, sizeof column, "%.*s", (int)(value - 1 - only), only);
    const char *cell = strcmp(column, "side") == 0 ? pw_validation_side(context->split, context->input, row)
                                                   : pw_suite_text(suite, context->input, row, column);
    return is_among(value, cell);
}

static pw_status check_only(const pw_suite *suite, const pw_measured *input, const char *only, pw_error *error) {
    const char *equals = strchr(only, '=');
    if (!equals || equals == only)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write COLUMN=VALUE, e.g. --only side=check", "--only '%.200s'", only);
    char column[128];
    snprintf(column, sizeof column, "%.*s", (int)(equals - only), only);
    if (strcmp(column, "side") == 0 || pw_suite_has_label(suite, column) || pw_measured_find(input, column) >= 0) return PW_OK;
    const char *near = pw_nearest((const char *const *)input->names, column);
    char hint[256];
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    return pw_fail(error, PW_BAD_INPUT, input->file, 1, near ? hint : NULL, "--only: there is no column '%s'", column);
}

typedef struct work {
    const pw_validation_context *context;
    const pw_validation_options *options;
    const pw_suite *suite;
    pw_prediction *predictions;
    pw_error *errors; /* one per thread; the one of the lowest row is reported */
    uint32_t *error_rows;
    atomic_uint next;
} work;

typedef struct worker {
    work *work;
    uint32_t index;
} worker;

/* Whether a failure says something about the machine or the user's wish rather than about the row. */
static bool ends_the_run(pw_status status) {
    return status == PW_NO_MEMORY || status == PW_IO || status == PW_INTERRUPTED;
}

static void keep_reason(const pw_measured *input, uint32_t row, const pw_error *error, pw_prediction *prediction) {
    pw_error place = *error;
    if (!place.file[0]) {
        snprintf(place.file, sizeof place.file, "%s", input->file);
        place.line = input->lines[row];
    }
    place.hint[0] = '\0';
    prediction->ran = false;
    pw_error_text(&place, prediction->why, sizeof prediction->why);
}

/* One line, without control characters and without a piece of a UTF-8 character at its end. */
static void tidy(char *text, size_t size) {
    size_t length = strlen(text), start = length;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) text[i] = ' ';
    if (length + 1 < size) return;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) start--;
    if (start > 0 && (unsigned char)text[start - 1] >= 0xC0) text[start - 1] = '\0';
}

static void *predict_rows(void *argument) {
    worker *self = argument;
    work *w = self->work;
    for (;;) {
        uint32_t row = atomic_fetch_add(&w->next, 1);
        if (row >= w->context->input->rows) return NULL;
        pw_error error = {0};
        pw_status status = PW_OK;
        bool is_wanted = true;
        for (uint32_t i = 0; is_wanted && i < w->options->only_count; i++)
            is_wanted = matches(w->suite, w->context, row, w->options->only[i]);
        if (!is_wanted)
            snprintf(w->predictions[row].why, sizeof w->predictions[row].why, "left out by --only");
        else if (w->context->interrupt && *w->context->interrupt)
            status = pw_fail(&error, PW_INTERRUPTED, NULL, 0, NULL, "interrupted");
        else
            status = w->suite->predict(w->context, row, &w->predictions[row], &error);
        if (status != PW_OK && !ends_the_run(status)) {
            keep_reason(w->context->input, row, &error, &w->predictions[row]);
            status = PW_OK;
        }
        if (!w->predictions[row].ran) tidy(w->predictions[row].why, sizeof w->predictions[row].why);
        if (status != PW_OK) {
            w->errors[self->index] = error;
            w->error_rows[self->index] = row;
            atomic_store(&w->next, w->context->input->rows); /* the others end too */
            return NULL;
        }
    }
}

static pw_status run_rows(const pw_validation_context *context, const pw_suite *suite,
                          const pw_validation_options *options, pw_prediction *predictions, pw_error *error) {
    uint32_t threads = options->threads;
    if (threads == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        threads = processors > 0 ? (uint32_t)processors : 1;
    }
    if (threads > 64) threads = 64;
    pw_error errors[64];
    uint32_t error_rows[64];
    memset(errors, 0, sizeof errors);
    work w = {.context = context, .options = options, .suite = suite, .predictions = predictions, .errors = errors, .error_rows = error_rows};
    worker workers[64];
    pthread_t handles[64];
    uint32_t started = 0;
    for (uint32_t i = 0; i < threads; i++) workers[i] = (worker){&w, i};
    while (started + 1 < threads && pthread_create(&handles[started], NULL, predict_rows, &workers[started + 1]) == 0)
        started++;
    predict_rows(&workers[0]);
    for (uint32_t i = 0; i < started; i++) pthread_join(handles[i], NULL);
    const pw_error *first = NULL;
    uint32_t first_row = UINT32_MAX;
    for (uint32_t i = 0; i <= started; i++)
        if (errors[i].status != PW_OK && error_rows[i] < first_row) {
            first = &errors[i];
            first_row = error_rows[i];
        }
    if (!first) return PW_OK;
    if (first->status == PW_INTERRUPTED) return pw_fail(error, PW_INTERRUPTED, NULL, 0, NULL, "interrupted");
    if (error) *error = *first;
    return first->status;
}

static pw_status require_columns(const pw_suite *suite, const pw_measured *input, pw_error *error) {
    for (const char *const *name = suite->required; *name; name++) {
        if (pw_measured_find(input, *name) >= 0) continue;
        char hint[256];
        snprintf(hint, sizeof hint, "%s %s reads the columns of its own %s", "podwright validate", suite->name, suite->file);
        return pw_fail(error, PW_BAD_INPUT, input->file, 1, hint, "there is no column '%s'", *name);
    }
    return PW_OK;
}

/* The columns to group by: those asked for, which must exist, or those of the suite that exist. */
static pw_status choose_groups(const pw_suite *suite, const pw_measured *input, const pw_validation_options *options,
                               pw_arena *arena, const char *const **by, uint32_t *count, pw_error *error) {
    uint32_t wanted = options->by ? options->by_count : 0;
    if (!options->by)
        while (suite->by[wanted]) wanted++;
    const char **kept = pw_arena_alloc(arena, (wanted + 1u) * sizeof *kept);
    if (!kept) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    *by = kept;
    *count = 0;
    for (uint32_t b = 0; b < wanted; b++) {
        const char *column = options->by ? options->by[b] : suite->by[b];
        bool derived = strcmp(column, "side") == 0 || pw_suite_has_label(suite, column) || (suite->interval && strcmp(column, "class") == 0);
        if (derived || pw_measured_find(input, column) >= 0) {
            kept[(*count)++] = column;
        } else if (options->by) {
            const char *near = pw_nearest((const char *const *)input->names, column);
            char hint[256];
            if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
            return pw_fail(error, PW_BAD_INPUT, input->file, 1, near ? hint : NULL, "--by: there is no column '%s'", column);
        }
    }
    return PW_OK;
}

/* Leaves out the derived rows that --only does not want. */
static void leave_out(const pw_suite *suite, const pw_validation_context *context, const pw_validation_options *options, pw_prediction *predictions) {
    for (uint32_t row = 0; row < context->input->rows; row++)
        for (uint32_t i = 0; i < options->only_count && predictions[row].ran; i++) {
            const char *only = options->only[i];
            bool wanted = strncmp(only, "side=", 5) == 0 ? is_among(only + 5, predictions[row].side) : matches(suite, context, row, only);
            if (wanted) continue;
            predictions[row].ran = false;
            snprintf(predictions[row].why, sizeof predictions[row].why, "left out by --only");
        }
}

static pw_status run_derived(const pw_suite *suite, const pw_catalogue *catalogue, const pw_validation_options *options,
                             pw_arena *arena, pw_validation *validation, pw_error *error) {
    pw_validation base, derived = {.suite = suite};
    pw_validation_options of_base = {.data = options->data, .threads = options->threads, .interrupt = options->interrupt,
                                     .user = options->user};
    PW_TRY(pw_validation_run(suite->from, catalogue, &of_base, arena, &base, error));
    PW_TRY(suite->derive(&base, arena, &derived, error));
    const char *const *by = NULL;
    PW_TRY(choose_groups(suite, derived.input, options, arena, &by, &derived.by_count, error));
    derived.by = by;
    for (uint32_t i = 0; i < options->only_count; i++) PW_TRY(check_only(suite, derived.input, options->only[i], error));
    leave_out(suite, &(pw_validation_context){.input = derived.input}, options, (pw_prediction *)derived.predictions);
    *validation = derived;
    return PW_OK;
}

pw_status pw_validation_run(const pw_suite *suite, const pw_catalogue *catalogue, const pw_validation_options *options,
                            pw_arena *arena, pw_validation *validation, pw_error *error) {
    if (suite->from) return run_derived(suite, catalogue, options, arena, validation, error);
    char folder[4096], path[4608];
    PW_TRY(pw_validation_find(catalogue, folder, sizeof folder, error));
    pw_measured *shipped = pw_arena_alloc(arena, sizeof *shipped);
    pw_measured *split = pw_arena_alloc(arena, sizeof *split), *input = shipped;
    pw_validation_context context = {.catalogue = catalogue,
                                     .folder = pw_arena_text(arena, folder),
                                     .shipped = shipped,
                                     .split = split,
                                     .interrupt = options->interrupt,
                                     .user = options->user,
                                     .arena = arena};
    if (!shipped || !split || !context.folder) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    snprintf(path, sizeof path, "%s/data/%s", folder, suite->file);
    PW_TRY(pw_measured_read(path, arena, shipped, error));
    snprintf(path, sizeof path, "%s/%s", folder, suite->split);
    PW_TRY(pw_measured_read(path, arena, split, error));
    if (options->data) {
        input = pw_arena_alloc(arena, sizeof *input);
        if (!input) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
        PW_TRY(pw_measured_read(options->data, arena, input, error));
    }
    PW_TRY(require_columns(suite, input, error));
    context.input = input;
    const char *const *by = NULL;
    uint32_t by_count = 0;
    PW_TRY(choose_groups(suite, input, options, arena, &by, &by_count, error));
    for (uint32_t i = 0; i < options->only_count; i++) PW_TRY(check_only(suite, input, options->only[i], error));
    pw_prediction *predictions = pw_arena_alloc(arena, (input->rows + 1u) * sizeof *predictions);
    if (!predictions) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_status status = suite->prepare ? suite->prepare(&context, error) : PW_OK;
    if (status == PW_OK) status = run_rows(&context, suite, options, predictions, error);
    if (suite->finish) suite->finish(&context);
    PW_TRY(status);
    *validation = (pw_validation){suite, input, predictions, by, by_count};
    return PW_OK;
}
