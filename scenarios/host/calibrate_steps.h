/* What `podwright calibrate steps FILE` does. */
#ifndef PW_HOST_CALIBRATE_STEPS_H
#define PW_HOST_CALIBRATE_STEPS_H

#include "scenarios/host/commands.h"

/* Reads steps (columns scenario, measured_s, set), fits the factor of each stack among them and prints it with the steps; output: where
 * the catalogue's table stack-factors with the fitted rows goes, or NULL. */
pw_status pw_calibrate_steps(pw_host *host, const pw_catalogue *catalogue, const char *path, const char *output, pw_arena *arena,
                             pw_error *error);

#endif
