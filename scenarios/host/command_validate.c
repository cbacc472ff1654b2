/* `podwright validate`. */
#include <stdio.h>
#include <string.h>

#include "scenarios/host/accuracy_file.h"
#include "scenarios/host/commands.h"
#include "scenarios/validation/targets.h"
#include "scenarios/validation/validation.h"
#include "sim/text.h"

static const pw_option options[] = {
    {0, "data", "FILE", false, "measurements to replay (CSV with the suite's columns); left out: those that ship with podwright"},
    {0, "by", "COLUMN", true, "group the errors by a column, or by \"side\" (fit or check)"},
    {0, "only", "COLUMN=VALUE", true, "only rows whose column has that value (VALUE,VALUE: one of them); side=check works too"},
    {0, "csv", "OUT", false, "write one line per input row to OUT (-: to stdout; the report then needs --output)"},
    {0, "claim-mape", "PERCENT", false, "exit with 3 unless the mean absolute error is at most PERCENT"},
    {0, "claim-beats", "RATIO", false, "exit with 3 unless median and p90 are at most RATIO times the baseline's"},
    {0, "accuracy", "FILE", false, "replace the suite's rows in FILE; `run` quotes accuracy.csv of the catalogue's data"},
    {0, "json", NULL, false, "as JSON, schema podwright.validation/1"},
    {'o', "output", "FILE", false, "write the report to FILE"},
    PW_HELP_OPTION,
    {0}};

static pw_status find_suite(const char *name, const pw_suite **suite, pw_error *error) {
    const char *names[32];
    char hint[256];
    size_t count = 0;
    *suite = NULL;
    for (const pw_suite *const *each = pw_suite_table; *each && count < 31; each++) {
        if (strcmp((*each)->name, name) == 0) *suite = *each;
        names[count++] = (*each)->name;
    }
    names[count] = NULL;
    if (*suite) return PW_OK;
    const char *near = pw_nearest(names, name);
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    else {
        size_t used = (size_t)snprintf(hint, sizeof hint, "the suites are");
        for (size_t i = 0; i < count && used < sizeof hint; i++)
            used += (size_t)snprintf(hint + used, sizeof hint - used, "%s %s", i ? "," : "", names[i]);
    }
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "there is no suite '%.200s'", name);
}

static pw_status number(const pw_arguments *arguments, const char *option, double *value, pw_error *error) {
    const char *text = pw_arguments_value(arguments, option, NULL);
    *value = 0;
    const char *end;
    if (!text || (pw_text_number(text, &end, value) && !*end && *value > 0)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give a number above 0", "--%s '%.100s'", option, text);
}

/* `validate targets`: every target beside what is reached. */
static pw_status targets(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena, pw_error *error) {
    static const char *const others[] = {"data", "by", "only", "csv", "claim-mape", "claim-beats", "accuracy", "json"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (pw_arguments_has(arguments, others[i]))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "the table of targets says which rows and figures count",
                           "--%s does not go with targets", others[i]);
    const pw_target *list;
    uint32_t count;
    pw_file *file = NULL;
    pw_host_talk(host, "Running every suite ...");
    PW_TRY(pw_targets_run(catalogue, host->interrupt, arena, &list, &count, error));
    PW_TRY(pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error));
    pw_targets_write(list, count, file);
    return pw_host_close(file, PW_OK, error);
}

static pw_status validate(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                          pw_error *error) {
    if (strcmp(arguments->operands[0], "targets") == 0) return targets(host, arguments, catalogue, arena, error);
    const pw_suite *suite;
    PW_TRY(find_suite(arguments->operands[0], &suite, error));
    const char **by = pw_arena_alloc(arena, ((size_t)arguments->option_count + 1) * sizeof *by);
    if (!by) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    pw_validation_options how = {.data = pw_arguments_value(arguments, "data", NULL), .interrupt = host->interrupt};
    for (const char *column; (column = pw_arguments_each(arguments, "by", (int)how.by_count));) by[how.by_count++] = column;
    if (how.by_count) how.by = by;
    const char **only = pw_arena_alloc(arena, ((size_t)arguments->option_count + 1) * sizeof *only);
    if (!only) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    for (const char *each; (each = pw_arguments_each(arguments, "only", (int)how.only_count));) only[how.only_count++] = each;
    how.only = only;
    double mape_pct, ratio;
    PW_TRY(number(arguments, "claim-mape", &mape_pct, error));
    PW_TRY(number(arguments, "claim-beats", &ratio, error));
    /* Opened before the work, so that a folder that cannot be written is known at once. */
    const char *rows = pw_arguments_value(arguments, "csv", NULL);
    const char *output = pw_arguments_value(arguments, "output", NULL);
    pw_file *file = NULL;
    if (rows && output && strcmp(rows, output) == 0 && strcmp(rows, "-") != 0)
        return pw_fail(error, PW_BAD_INPUT, output, 0, NULL, "--csv and --output would write the same file");
    bool has_report = output || !rows || strcmp(rows, "-") != 0;
    if (!has_report && pw_arguments_has(arguments, "json"))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give the report a file with --output", "--csv - and --json would both write to stdout");
    if (rows) PW_TRY(pw_host_open(host, rows, &file, error));
    pw_host_talk(host, "Validating %s ...", suite->name);
    pw_validation validation;
    pw_status status = pw_validation_run(suite, catalogue, &how, arena, &validation, error);
    if (status == PW_OK && rows) status = pw_validation_write_csv(&validation, file, error);
    if (rows) status = pw_host_close(file, status, error);
    PW_TRY(status);
    const char *accuracy = pw_arguments_value(arguments, "accuracy", NULL);
    if (accuracy) PW_TRY(pw_accuracy_record(accuracy, &validation, catalogue, arena, error));
    if (!has_report) return pw_validation_claim(&validation, mape_pct, ratio, arena, error);
    PW_TRY(pw_host_open(host, output, &file, error));
    status = pw_arguments_has(arguments, "json") ? pw_validation_write_json(&validation, file, arena, error)
                                                 : pw_validation_write_text(&validation, file, arena, error);
    PW_TRY(pw_host_close(file, status, error));
    return pw_validation_claim(&validation, mape_pct, ratio, arena, error);
}

static int run(pw_host *host, const pw_arguments *arguments) {
    return pw_command_with_catalogue(host, arguments, validate);
}

const pw_command pw_command_validate = {
    "validate", "SUITE", "replays published measurements: predicted against measured, beside a trivial baseline",
    "Suites: training, knobs, memory, batches, gemm, attention, collectives,\npower, power-nodes, training-power. Rows that cannot be simulated are listed with the reason.\n"
    "SUITE may be targets: what the check rows should show (targets.csv), reached or missed.\n", options, 1, 1, run};
