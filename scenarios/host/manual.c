#include "scenarios/host/manual.h"

#include <stdio.h>
#include <string.h>

#include "scenarios/host/api.h"
#include "scenarios/report/layout.h"

enum { WIDTH = 100 };

static const char summary[] = "podwright simulates clusters of GPUs for AI: how long a job takes, where the time goes, whether it fits.";
static const char *const exit_codes[][2] = {{"0", "all is well"},
                                            {"1", "the run failed"},
                                            {"2", "wrong usage or bad input"},
                                            {"3", "a validation or a claim failed"},
                                            {"130", "interrupted (Ctrl-C)"}};
enum { EXIT_CODES = sizeof exit_codes / sizeof *exit_codes };

static void put_usage(pw_file *file, const pw_command *command) {
    pw_file_print(file, "podwright %s%s%s", command->name, *command->operands ? " " : "", command->operands);
    if (command->options->name) pw_file_text(file, " [OPTION]...");
}

void pw_manual_overview(pw_file *file, const pw_command *const *commands) {
    pw_layout_wrap(file, 0, WIDTH, summary);
    pw_file_text(file, "\nusage: podwright COMMAND [OPTION]...\n\n");
    for (; *commands; commands++) {
        char head[64];
        snprintf(head, sizeof head, "%s%s%s", (*commands)->name, *(*commands)->operands ? " " : "", (*commands)->operands);
        pw_file_print(file, "  %-26s", head);
        pw_layout_wrap(file, 28, WIDTH, (*commands)->text);
    }
    pw_file_text(file, "\n`podwright COMMAND --help` says more. Exit codes:\n");
    for (int i = 0; i < EXIT_CODES; i++) pw_file_print(file, "  %-4s %s\n", exit_codes[i][0], exit_codes[i][1]);
}

static void option_head(const pw_option *option, char *text, size_t size) {
    char letter[8] = "    ";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(text, size, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
}

void pw_manual_command(pw_file *file, const pw_command *command) {
    pw_file_text(file, "usage: ");
    put_usage(file, command);
    pw_file_text(file, "\n\n");
    pw_layout_wrap(file, 0, WIDTH, command->text);
    if (command->options->name) pw_file_text(file, "\n");
    for (const pw_option *option = command->options; option->name; option++) {
        char head[80];
        option_head(option, head, sizeof head);
        pw_file_print(file, "  %-30s", head);
        pw_layout_wrap(file, 32, WIDTH, option->text);
    }
    if (!command->more) return;
    pw_file_text(file, "\n");
    pw_file_text(file, command->more);
}

/* ---- man page ---- */

static void put_roff(pw_file *file, const char *text) {
    bool at_start = true;
    for (; *text; text++) {
        if (at_start && (*text == '.' || *text == '\'')) pw_file_text(file, "\\&");
        if (*text == '-') pw_file_text(file, "\\-");
        else if (*text == '\\') pw_file_text(file, "\\e");
        else pw_file_write(file, text, 1);
        at_start = *text == '\n';
    }
}

void pw_manual_man(pw_file *file, const pw_command *const *commands) {
    pw_file_print(file, ".TH PODWRIGHT 1 \"\" \"podwright %s\"\n.SH NAME\npodwright \\- simulator of GPU clusters for AI\n",
                  PODWRIGHT_VERSION);
    pw_file_text(file, ".SH SYNOPSIS\n.B podwright\nCOMMAND [OPTION]...\n.SH DESCRIPTION\n");
    put_roff(file, summary);
    pw_file_text(file, "\n.SH COMMANDS\n");
    for (; *commands; commands++) {
        pw_file_text(file, ".SS ");
        put_usage(file, *commands);
        pw_file_text(file, "\n");
        put_roff(file, (*commands)->text);
        pw_file_text(file, "\n");
        for (const pw_option *option = (*commands)->options; option->name; option++) {
            char head[80];
            option_head(option, head, sizeof head);
            pw_file_text(file, ".TP\n.B ");
            put_roff(file, head + strspn(head, " "));
            pw_file_text(file, "\n");
            put_roff(file, option->text);
            pw_file_text(file, "\n");
        }
        if (!(*commands)->more) continue;
        pw_file_text(file, ".PP\n.nf\n");
        put_roff(file, (*commands)->more);
        pw_file_text(file, ".fi\n");
    }
    pw_file_text(file, ".SH EXIT STATUS\n");
    for (int i = 0; i < EXIT_CODES; i++) pw_file_print(file, ".TP\n.B %s\n%s\n", exit_codes[i][0], exit_codes[i][1]);
    pw_file_text(file, ".SH ENVIRONMENT\n.TP\n.B PODWRIGHT_DATA\nfolder of the catalogue's data\n"
                       ".TP\n.B NO_COLOR\nno colours on the terminal\n");
}

/* ---- completion ---- */

void pw_manual_completion(pw_file *file, const pw_command *const *commands) {
    pw_file_text(file, "# bash completion of podwright; load it with: source <(podwright help --completion)\n"
                       "_podwright() {\n"
                       "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                       "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"");
    for (const pw_command *const *each = commands; *each; each++)
        pw_file_print(file, "%s%s", each == commands ? "" : " ", (*each)->name);
    pw_file_text(file, "\"\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (const pw_command *const *each = commands; *each; each++) {
        pw_file_print(file, "        %s) words=\"", (*each)->name);
        for (const pw_option *option = (*each)->options; option->name; option++)
            pw_file_print(file, "%s--%s", option == (*each)->options ? "" : " ", option->name);
        pw_file_text(file, "\" ;;\n");
    }
    pw_file_text(file, "        esac\n    fi\n"
                       "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                       "    case $word in -*) ;; *) [ \"$COMP_CWORD\" -gt 1 ] && COMPREPLY+=($(compgen -f -- \"$word\")) ;; esac\n"
                       "}\ncomplete -F _podwright podwright\n");
}

/* ---- API page ---- */

static void put_kind(pw_file *file, const pw_kind *kind) {
    char type[600], preset[160], range[200];
    pw_file_print(file, "\n## o.%s\n\n%s\n\n| field | takes | default | what it is |\n|---|---|---|---|\n", kind->name,
                  kind->text);
    for (const pw_field *field = kind->fields; field->name; field++) {
        pw_api_type_text(field, type, sizeof type);
        pw_field_range_text(field, range, sizeof range);
        pw_file_print(file, "| `%s` | %s%s%s | %s | ", field->name, type, *range ? ", " : "", range,
                      pw_api_preset_text(field, preset, sizeof preset));
        pw_file_text(file, field->text);
        pw_file_text(file, " |\n");
    }
}

void pw_manual_api(pw_file *file) {
    pw_file_text(file,
        "# The scenario API\n\n"
        "After this page you can write a scenario. It lists every field there is; `podwright help --api-markdown` prints it,\n"
        "and `podwright explain train.tensor_parallel` explains one field.\n\n"
        "A scenario is a Lua 5.4 file that returns one `o.scenario`. A constructor takes a table of fields, or a name and then\n"
        "the table; what it gives does nothing and cannot be changed.\n\n"
        "```lua\n"
        "local o, u = require \"podwright\", require \"podwright.units\"\n\n"
        "return o.scenario \"a title\" {\n"
        "  cluster = o.cluster { node = o.node { server = \"DGX H100\" }, nodes = 4 },\n"
        "  job = o.train { model = o.model \"llama2-7b\", sequence = 4096, global_batch = 128, tensor_parallel = 2 },\n"
        "}\n"
        "```\n\n"
        "* A field with a unit refuses a bare number: write `400 * u.Gbps`. `+ - * /` and comparisons keep units straight.\n"
        "* An unknown field, a wrong type, a value out of range is an error with file, line and a hint.\n"
        "* `o.model \"NAME\"` is a preset of the catalogue (`podwright catalogue models`); `o.model \"NAME\" { layers = 40 }`\n"
        "  changes some of its fields; `o.model { name = ..., layers = ..., ... }` is a model of your own.\n"
        "* `o.model \"config.json\"`: a name that ends with `.json` is a `config.json` of HuggingFace Transformers in the folder of\n"
        "  the scenario or below; `o.model \"config.json\" { layers = 40 }` changes some of its fields.\n"
        "* On the command line `--set PATH=VALUE` changes any field: `--set job.tensor_parallel=4`,\n"
        "  `--set cluster.network.port_rate=\"200 Gbps\"`, `--set job.model=gpt3-175b`,\n"
        "  `--set job.model=path/config.json`. Lists are written with commas\n"
        "  (`PATH=12,14,14,12`), and `PATH[3]=12`, `PATH[3].FIELD=VALUE` change the third item.\n"
        "* A list is a table without names: `{ 12, 14, 14, 12 }`, `{ o.NAME { ... }, o.NAME { ... } }`.\n"
        "* A file may return a cluster alone; `podwright describe` shows it.\n\n"
        "## What a script can use\n\n"
        "The libraries `table`, `string`, `math`, `utf8` and the base functions, without files, clock, `load` and `coroutine`.\n"
        "`require \"parts.network\"` loads `parts/network.lua` in the folder of the scenario or below. Globals are strict: declare\n"
        "variables with `local`. `pairs` walks in the order of the keys, `table.sort` is stable and `math.random` follows\n"
        "`--seed`, so that a script gives the same answer in every run. `print` writes to stderr. `math` has no trigonometry,\n"
        "whose last digits differ between machines; so may those of `x ^ y` with a fractional `y`: write `math.pow(x, y)`.\n\n"
        "A script may use 512 MB of memory (`--script-memory`), 500 million instructions (`--script-instructions`) and 30 seconds\n"
        "(`--script-seconds`).\n");
    const pw_kind *kinds[PW_API_MOST];
    pw_api_kinds(&pw_scenario_kind, kinds);
    for (const pw_kind **kind = kinds; *kind; kind++) put_kind(file, *kind);
    pw_file_text(file, "\n## Units\n\n| of | units |\n|---|---|\n");
    for (int unit = PW_UNIT_NONE + 1; unit < PW_UNIT_COUNT; unit++) {
        pw_file_print(file, "| %s | ", pw_unit_text((pw_unit)unit));
        bool is_first = true;
        for (const pw_unit_name *name = pw_unit_names(); name->name; name++) {
            if (name->unit != (pw_unit)unit) continue;
            pw_file_print(file, "%s`u.%s`", is_first ? "" : ", ", name->name);
            is_first = false;
        }
        pw_file_text(file, " |\n");
    }
}

/* ---- editor stubs ---- */

static const char *stub_type(const pw_field *field, char *text, size_t size) {
    size_t used = 0;
    const pw_kind *kind;
    switch (field->type) {
    case PW_FIELD_NUMBER: return field->unit == PW_UNIT_NONE ? "number" : "podwright.quantity";
    case PW_FIELD_INTEGER: return field->unit == PW_UNIT_NONE ? "integer" : "podwright.quantity";
    case PW_FIELD_BOOL: return "boolean";
    case PW_FIELD_TEXT: return "string";
    case PW_FIELD_CHOICE:
        for (int i = 0; field->choices[i] && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", i ? "|" : "", field->choices[i]);
        return text;
    case PW_FIELD_LIST: {
        char inner[500];
        const char *item = stub_type(field->item, inner, sizeof inner);
        snprintf(text, size, strchr(item, '|') ? "(%s)[]" : "%s[]", item);
        return text;
    }
    case PW_FIELD_HOOKS: return "table<string, function>";
    default:
        for (size_t i = 0; (kind = pw_field_kind(field, i)) && used < size; i++)
            used += (size_t)snprintf(text + used, size - used, "%spodwright.%s", i ? "|" : "", kind->name);
        return text;
    }
}

void pw_manual_stubs(pw_file *file) {
    char type[600];
    const pw_kind *kinds[PW_API_MOST];
    pw_api_kinds(&pw_scenario_kind, kinds);
    pw_file_text(file, "---@meta podwright\n-- Definitions for lua-language-server; `podwright help --lua-stubs` prints this file.\n\n"
                        "---@class podwright.quantity\n---@operator add(podwright.quantity): podwright.quantity\n"
                        "---@operator mul(number): podwright.quantity\n---@operator div(number): podwright.quantity\n\n");
    for (const pw_kind **kind = kinds; *kind; kind++) {
        pw_file_print(file, "---@class podwright.%s %s\n", (*kind)->name, (*kind)->text);
        for (const pw_field *field = (*kind)->fields; field->name; field++) {
            bool is_optional = field->preset || field->type == PW_FIELD_RECORD || strcmp(field->name, "name") == 0;
            pw_file_print(file, "---@field %s%s %s %s\n", field->name, is_optional ? "?" : "",
                          stub_type(field, type, sizeof type), field->text);
        }
        pw_file_print(file, "---@overload fun(fields: table): podwright.%s\n\n", (*kind)->name);
    }
    pw_file_text(file, "---@class podwright\nlocal o = {}\n");
    for (const pw_kind **kind = kinds; *kind; kind++)
        pw_file_print(file, "---%s\n---@param fields podwright.%s|string a table of fields, or a name\n"
                            "---@return podwright.%s\nfunction o.%s(fields) end\n", (*kind)->text, (*kind)->name,
                      (*kind)->name, (*kind)->name);
    pw_file_text(file, "\n---@class podwright.units\nlocal u = {}\n");
    for (const pw_unit_name *name = pw_unit_names(); name->name; name++)
        pw_file_print(file, "---@type podwright.quantity %s\nu.%s = nil\n", name->text, name->name);
    pw_file_text(file, "\nreturn o\n");
}
