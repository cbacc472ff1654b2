/* podwright: the table of commands. */
#include <gsl/gsl_errno.h>

#include "scenarios/host/commands.h"

int main(int argc, char **argv) {
    static const pw_command *const commands[] = {&pw_command_run,     &pw_command_collective, &pw_command_describe, &pw_command_catalogue,
                                                 &pw_command_explain, &pw_command_validate, &pw_command_calibrate, &pw_command_import,
                                                 &pw_command_version, &pw_command_help,     NULL};
    gsl_set_error_handler_off(); /* by default it ends the process */
    return pw_host_main(commands, argc, argv);
}
