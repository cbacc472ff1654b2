#include <stdio.h>
#include <string.h>

#include "scenarios/host/commands.h"
#include "scenarios/host/manual.h"
#include "sim/registry.h"

static const pw_option options[] = {
    {0, "api-markdown", NULL, false, "print docs/scenario-api.md: every constructor, field and unit"},
    {0, "lua-stubs", NULL, false, "print podwright.d.lua, with which an editor completes fields"},
    {0, "man", NULL, false, "print the manual page (roff)"},
    {0, "completion", NULL, false, "print the completion of bash"},
    PW_HELP_OPTION,
    {0}};

static int run(pw_host *host, const pw_arguments *arguments) {
    pw_error error = {0};
    pw_file *file;
    const pw_command *topic = NULL;
    if (arguments->operand_count) {
        const char *names[32], *name = arguments->operands[0];
        size_t count = 0;
        for (const pw_command *const *each = host->commands; *each && count < 31; each++) {
            if (strcmp((*each)->name, name) == 0) topic = *each;
            names[count++] = (*each)->name;
        }
        names[count] = NULL;
        if (!topic) {
            char hint[128] = "`podwright help` lists the commands";
            const char *near = pw_nearest(names, name);
            if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
            pw_fail(&error, PW_BAD_INPUT, NULL, 0, hint, "there is no command '%.200s'", name);
            return pw_host_fail(host, &error);
        }
    }
    if (pw_host_open(host, NULL, &file, &error) != PW_OK) return pw_host_fail(host, &error);
    if (pw_arguments_has(arguments, "api-markdown")) pw_manual_api(file);
    else if (pw_arguments_has(arguments, "lua-stubs")) pw_manual_stubs(file);
    else if (pw_arguments_has(arguments, "man")) pw_manual_man(file, host->commands);
    else if (pw_arguments_has(arguments, "completion")) pw_manual_completion(file, host->commands);
    else if (topic) pw_manual_command(file, topic);
    else pw_manual_overview(file, host->commands);
    return pw_host_close(file, PW_OK, &error) == PW_OK ? PW_EXIT_OK : pw_host_fail(host, &error);
}

const pw_command pw_command_help = {"help", "[COMMAND]", "explains podwright or one command", NULL, options, 0, 1, run};
