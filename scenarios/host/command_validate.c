/* podwright validate: published measurements against the simulator. */
#include <stdio.h>
#include <string.h>

#include "scenarios/host/command.h"
#include "scenarios/validation/validation.h"

static const pw_suite *find_suite(const char *name) {
    for (const pw_suite *const *suite = pw_suite_table; *suite; suite++)
        if (strcmp((*suite)->name, name) == 0) return *suite;
    return NULL;
}

static pw_status unknown_suite(const char *name, pw_error *error) {
    const char *names[16] = {0};
    char hint[256] = "suites:";
    for (int i = 0; pw_suite_table[i] && i < 15; i++) {
        names[i] = pw_suite_table[i]->name;
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, " %s", names[i]);
    }
    const char *near = pw_nearest(names, name);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, near ? "unknown suite '%s' (did you mean '%s'?)" : "unknown suite '%s'",
                   name, near);
}

static pw_status write_results(pw_host *host, const pw_arguments *arguments, const pw_validation *validation,
                               pw_arena *arena, pw_error *error) {
    const char *csv = pw_arguments_value(arguments, "csv", NULL);
    pw_file *file = NULL;
    if (csv) {
        PW_TRY(pw_host_open(host, csv, &file, error));
        PW_TRY(pw_host_close(file, pw_validation_write_csv(validation, file, error), error));
        if (strcmp(csv, "-") == 0) return PW_OK;
    }
    PW_TRY(pw_host_open(host, NULL, &file, error));
    pw_status status = pw_arguments_has(arguments, "json") ? pw_validation_write_json(validation, file, arena, error)
                                                           : pw_validation_write_text(validation, file, arena, error);
    return pw_host_close(file, status, error);
}

static int run(pw_host *host, const pw_arguments *arguments) {
    pw_error error = {0};
    const pw_suite *suite = find_suite(arguments->operands[0]);
    if (!suite) {
        unknown_suite(arguments->operands[0], &error);
        return pw_host_fail(host, &error);
    }
    pw_arena *arena = pw_arena_create(host->allocator);
    pw_catalogue *catalogue = NULL;
    pw_status status = arena ? PW_OK : pw_fail(&error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    if (status == PW_OK) status = pw_catalogue_load(host->allocator, NULL, &catalogue, &error);
    const char *by[32];
    pw_validation_options options = {.data = pw_arguments_value(arguments, "data", NULL), .interrupt = host->interrupt};
    for (const char *value; options.by_count < 32 && (value = pw_arguments_each(arguments, "by", (int)options.by_count));)
        by[options.by_count++] = value;
    if (options.by_count) options.by = by;
    pw_validation validation;
    if (status == PW_OK) status = pw_validation_run(suite, catalogue, &options, arena, &validation, &error);
    if (status == PW_OK) status = write_results(host, arguments, &validation, arena, &error);
    int code = status == PW_OK ? PW_EXIT_OK : pw_host_fail(host, &error);
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
    return code;
}

static const pw_option options[] = {
    {0, "data", "FILE", false, "measurements to replay, with the columns of the shipped file (default: what ships)"},
    {0, "by", "COLUMN", true, "score by the values of a column; 'side' is the split into fit and check rows"},
    {0, "csv", "OUT", false, "write one line per input row: row,id,status,measured,predicted,predicted_stack"},
    {0, "json", NULL, false, "print podwright.validation/1 instead of text"},
    {0}};
extern const pw_command pw_command_validate;
const pw_command pw_command_validate = {
    "validate", "SUITE", "how far to trust a kind of answer: published measurements, predicted against measured",
    "SUITE is training, memory, gemm or attention. Every table prints a trivial baseline on the same rows.",
    options, 1, 1, run};
