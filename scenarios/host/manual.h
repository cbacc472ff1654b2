/* Pages made from the tables: help, man page and completion from the commands; API page and editor stubs from the
 * registry. What no table holds is not in them.
 */
#ifndef PW_HOST_MANUAL_H
#define PW_HOST_MANUAL_H

#include "scenarios/host/command.h"

void pw_manual_overview(pw_file *file, const pw_command *const *commands);
void pw_manual_command(pw_file *file, const pw_command *command);
void pw_manual_man(pw_file *file, const pw_command *const *commands);        /* roff */
void pw_manual_completion(pw_file *file, const pw_command *const *commands); /* bash */
void pw_manual_api(pw_file *file);   /* docs/scenario-api.md */
void pw_manual_stubs(pw_file *file); /* podwright.d.lua */

#endif
