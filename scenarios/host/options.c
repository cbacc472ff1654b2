/* Options in the GNU manner: --name value, --name=value, -n value, -nvalue, "--" ends them; operands may stand between. */
#include <stdio.h>
#include <string.h>

#include "scenarios/host/command.h"
#include "sim/registry.h"

bool pw_arguments_has(const pw_arguments *arguments, const char *option) {
    for (int i = 0; i < arguments->option_count; i++)
        if (strcmp(arguments->options[i].option->name, option) == 0) return true;
    return false;
}

const char *pw_arguments_value(const pw_arguments *arguments, const char *option, const char *fallback) {
    for (int i = arguments->option_count - 1; i >= 0; i--)
        if (strcmp(arguments->options[i].option->name, option) == 0) return arguments->options[i].value;
    return fallback;
}

const char *pw_arguments_each(const pw_arguments *arguments, const char *option, int index) {
    for (int i = 0; i < arguments->option_count; i++)
        if (strcmp(arguments->options[i].option->name, option) == 0 && index-- == 0) return arguments->options[i].value;
    return NULL;
}

static pw_status unknown_option(const pw_command *command, const char *written, const char *name, pw_error *error) {
    const char *names[64];
    char hint[128];
    size_t count = 0;
    for (const pw_option *option = command->options; option->name && count < 63; option++) names[count++] = option->name;
    names[count] = NULL;
    const char *near = *name ? pw_nearest(names, name) : NULL;
    if (near) snprintf(hint, sizeof hint, "did you mean '--%s'?", near);
    else snprintf(hint, sizeof hint, "`podwright %s --help` lists the options", command->name);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "%s has no option '%.200s'", command->name, written);
}

static const pw_option *find_long(const pw_command *command, const char *name, size_t length) {
    for (const pw_option *option = command->options; option->name; option++)
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) return option;
    return NULL;
}

static const pw_option *find_letter(const pw_command *command, char letter) {
    for (const pw_option *option = command->options; option->name; option++)
        if (option->letter && option->letter == letter) return option;
    return NULL;
}

pw_status pw_arguments_parse(const pw_command *command, int count, char **argv, pw_arena *arena, pw_arguments *arguments,
                             pw_error *error) {
    pw_given_option *given = pw_arena_alloc(arena, ((size_t)count + 1) * sizeof *given);
    const char **operands = pw_arena_alloc(arena, ((size_t)count + 1) * sizeof *operands);
    if (!given || !operands) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    *arguments = (pw_arguments){command, operands, 0, given, 0};
    bool options_ended = false;
    for (int i = 0; i < count; i++) {
        const char *written = argv[i], *value = NULL;
        const pw_option *option;
        if (options_ended || written[0] != '-' || !written[1]) {
            operands[arguments->operand_count++] = written;
            continue;
        }
        if (strcmp(written, "--") == 0) {
            options_ended = true;
            continue;
        }
        if (written[1] == '-') {
            size_t length = strcspn(written + 2, "=");
            option = find_long(command, written + 2, length);
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), written + 2);
            if (!option) return unknown_option(command, written, name, error);
            if (written[2 + length] == '=') value = written + 3 + length;
        } else {
            option = find_letter(command, written[1]);
            if (!option) return unknown_option(command, written, "", error);
            if (written[2]) value = written + 2;
        }
        char hint[256];
        if (option->argument) snprintf(hint, sizeof hint, "write --%s %s: %s", option->name, option->argument, option->text);
        if (!option->argument && value)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "--%s takes no value", option->name);
        if (option->argument && !value) {
            if (i + 1 == count) return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "--%s needs a value", option->name);
            value = argv[++i];
        }
        given[arguments->option_count++] = (pw_given_option){option, value};
    }
    if (pw_arguments_has(arguments, "help")) return PW_OK;
    char hint[256];
    snprintf(hint, sizeof hint, "usage: podwright %s%s%s [OPTION]...", command->name, *command->operands ? " " : "",
             command->operands);
    if (arguments->operand_count < command->least)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "%s needs %s", command->name, command->operands);
    if (arguments->operand_count > command->most)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "%s does not take '%.200s'", command->name,
                       operands[command->most]);
    return PW_OK;
}
