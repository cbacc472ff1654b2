/* podwright calibrate: parameters that only whole training steps show, fitted on the fit rows that ship. */
#include <string.h>

#include "scenarios/host/commands.h"
#include "scenarios/validation/refit.h"

static pw_status write_groups(pw_file *file, const pw_refit_group *groups, uint32_t count) {
    pw_file_text(file, "name,value,low,high,rows,families\n");
    for (uint32_t i = 0; i < count; i++) {
        pw_file_csv_text(file, groups[i].name);
        pw_file_print(file, ",%.3f,%.3f,%.3f,%u,%u\n", groups[i].value, groups[i].low, groups[i].high, groups[i].rows,
                      groups[i].families);
    }
    return PW_OK;
}

static pw_status calibrate(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                           pw_error *error) {
    const char *what = arguments->operands[0];
    pw_refit_kind kind = PW_REFIT_CLOCKS;
    if (strcmp(what, "stacks") == 0) kind = PW_REFIT_STACKS;
    else if (strcmp(what, "clocks") != 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "it is clocks or stacks", "unknown parameter '%s'", what);
    const pw_refit_group *groups = NULL;
    uint32_t count = 0;
    pw_file *file = NULL;
    PW_TRY(pw_refit_run(kind, catalogue, host->interrupt, arena, &groups, &count, error));
    PW_TRY(pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error));
    return pw_host_close(file, write_groups(file, groups, count), error);
}

static int run(pw_host *host, const pw_arguments *arguments) {
    return pw_command_with_catalogue(host, arguments, calibrate);
}

static const pw_option options[] = {{'o', "output", "FILE", false, "write the table to FILE"}, PW_HELP_OPTION, {0}};
const pw_command pw_command_calibrate = {
    "calibrate", "WHAT", "fit parameters that only whole training steps show",
    "WHAT is clocks (the clock that a GPU sustains, per GPU and precision) or stacks (the factor of a software stack on\n"
    "kernel and host time). Only fit rows of the shipped measurements take part; each row gives the value at which its\n"
    "prediction meets the measurement, and the table holds the median and quartiles with equal weight for whole families.\n"
    "The results are copied by hand into training-clocks.csv and stack-factors.csv, with their row counts.",
    options, 1, 1, run};
