/* podwright calibrate: parameters that only whole training steps show, fitted on the fit rows that ship; logs of benchmarks. */
#include <string.h>

#include "scenarios/host/calibrate_import.h"
#include "scenarios/host/calibrate_steps.h"
#include "scenarios/host/commands.h"
#include "scenarios/validation/intervals.h"
#include "scenarios/validation/refit.h"

static pw_status calibrate(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                           pw_error *error) {
    const char *what = arguments->operands[0];
    if (strcmp(what, "import") == 0) return pw_calibrate_import(host, arguments, catalogue, arena, error);
    PW_TRY(pw_calibrate_no_import_options(arguments, error));
    if (strcmp(what, "judge") == 0) return pw_calibrate_judge(host, arguments, catalogue, arena, error);
    if (strcmp(what, "steps") == 0) {
        if (arguments->operand_count < 2)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "podwright calibrate steps measured.csv", "steps needs a file of measured steps");
        if (arguments->operand_count > 2)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "steps reads one file, not also '%.200s'", arguments->operands[2]);
        return pw_calibrate_steps(host, catalogue, arguments->operands[1], pw_arguments_value(arguments, "output", NULL), arena, error);
    }
    if (arguments->operand_count > 1)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "only steps, import and judge read files", "calibrate %.100s does not take '%.200s'", what,
                       arguments->operands[1]);
    pw_refit_kind kind = PW_REFIT_CLOCKS;
    bool intervals = strcmp(what, "intervals") == 0;
    if (strcmp(what, "stacks") == 0) kind = PW_REFIT_STACKS;
    else if (strcmp(what, "pace") == 0) kind = PW_REFIT_PACE;
    else if (!intervals && strcmp(what, "clocks") != 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "it is clocks, pace, stacks, intervals, steps, import or judge", "unknown parameter '%.200s'", what);
    pw_file *file = NULL;
    PW_TRY(pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error));
    pw_status status = intervals ? pw_intervals_write(catalogue, host->interrupt, file, arena, error)
                                 : pw_refit_write(kind, catalogue, host->interrupt, file, arena, error);
    return pw_host_close(file, status, error);
}

static int run(pw_host *host, const pw_arguments *arguments) {
    return pw_command_with_catalogue(host, arguments, calibrate);
}

static const pw_option options[] = {
    {'o', "output", "FILE", false, "write the table to FILE"}, PW_CALIBRATE_IMPORT_OPTIONS, PW_HELP_OPTION, {0}};
const pw_command pw_command_calibrate = {
    "calibrate", "WHAT [FILE...]", "fit parameters that only whole training steps show; import logs of benchmarks",
    "WHAT is clocks (the clock that a GPU sustains, per architecture or GPU and width of operands), pace (the same\n"
    "beside the clock that power gives) or stacks (the factor\n"
    "of a software stack on kernel and host time) or intervals (how far published steps lie from predicted ones). Only fit rows of the shipped measurements take part; each row gives the\n"
    "value at which its prediction meets the measurement, and the table holds the median and quartiles, whole families\n"
    "weighing the same. Written over training-clocks.csv, stack-factors.csv or step-intervals.csv of the catalogue, they take effect.\n"
    "  podwright calibrate steps measured.csv\n"
    "fits the factor of a stack to steps of your own: a CSV with the columns scenario (a Lua file beside it), measured_s and, if\n"
    "wanted, set (job.micro_batch=2; cluster.nodes=4). It prints every step with its errors, the factor and what so many steps can\n"
    "say; -o FILE writes the table stack-factors with the fitted row.\n"
    "  podwright calibrate import LOG... -o measured.csv\n"
    "reads what nccl-tests (text or JSON) and rccl-tests print and writes one row per size, for `podwright validate collectives --data\n"
    "measured.csv`. What it leaves out, and rows that contradict themselves, are told on stderr. The environment is never copied.\n"
    "  podwright calibrate judge [measured.csv]\n"
    "compares every table of such a file with what podwright predicts for its hardware, and with itself, and says which look ill, and of\n"
    "what (NICs at half rate, NVLink not used, ...). import does the same with what it wrote.\n",
    options, 1, 1000, run};
