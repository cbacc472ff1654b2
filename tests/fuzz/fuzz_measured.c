/* Any rows below the header of the training measurements are a file or an error with a line; every row of a file is a job
 * that can be described, or is skipped with a reason, or has an error with its place. */
#include <string.h>

#include "scenarios/validation/training.h"
#include "tests/fuzz/input.h"

static pw_validation_context context;
static pw_measured shipped, split;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    static char folder[4096];
    char path[4200];
    pw_error error = {0};
    pw_catalogue *catalogue;
    need(pw_catalogue_load(NULL, NULL, &catalogue, &error), &error);
    need(pw_validation_find(catalogue, folder, sizeof folder, &error), &error);
    context = (pw_validation_context){.catalogue = catalogue, .folder = folder, .shipped = &shipped, .split = &split,
                                      .arena = pw_arena_create(NULL)};
    if (!context.arena) exit(1);
    snprintf(path, sizeof path, "%s/data/%s", folder, pw_suite_training.file);
    need(pw_measured_read(path, context.arena, &shipped, &error), &error);
    snprintf(path, sizeof path, "%s/%s", folder, pw_suite_training.split);
    need(pw_measured_read(path, context.arena, &split, &error), &error);
    context.input = &shipped;
    need(pw_suite_training.prepare(&context, &error), &error);
    return 0;
}

static void describe_row(uint32_t row, pw_arena *arena) {
    pw_training_row described = {0};
    pw_prediction prediction = {0};
    pw_error error = {0};
    bool runs = true;
    prediction.side = pw_validation_side(context.split, context.input, row);
    pw_status status = pw_training_describe(&context, row, arena, &described, &prediction, &runs, &error);
    check_error(status, &error);
    if (status == PW_OK && !runs && !prediction.why[0]) abort();
    if (status != PW_OK || !runs) return;
    if (!described.device || !(described.measured > 0) || described.gpus < 1) abort();
    if (described.convnet || described.recommender) return;
    if (!described.job.model) abort();
    status = pw_description_check(&pw_train_kind, &described.job, "input", 1, &error);
    check_error(status, &error);
    pw_memory_account account;
    status = pw_train_memory(context.catalogue, described.device, &described.job, 0, &account, &error);
    check_error(status, &error);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char path[INPUT_PATH];
    int lines = 2, file = input_open(path);
    for (uint32_t c = 0; c < shipped.columns; c++) {
        if (c) input_write(file, ",", 1);
        input_write(file, shipped.names[c], strlen(shipped.names[c]));
    }
    input_write(file, "\n", 1);
    input_write(file, data, size);
    for (size_t i = 0; i < size; i++) lines += data[i] == '\n' || data[i] == '\r';
    pw_arena *arena = pw_arena_create(NULL);
    if (!arena) abort();
    pw_measured input;
    pw_error error = {0};
    pw_status status = pw_measured_read(path, arena, &input, &error);
    check_error(status, &error);
    if (error.line > lines) abort();
    context.input = &input;
    for (uint32_t row = 0; status == PW_OK && row < input.rows && row < 16; row++) {
        if (input.lines[row] < 2 || input.lines[row] > lines) abort();
        describe_row(row, arena);
    }
    context.input = NULL;
    pw_arena_destroy(arena);
    close(file);
    return 0;
}
