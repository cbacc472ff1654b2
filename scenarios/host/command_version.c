#include <gsl/gsl_version.h>
#include <lua.h>
#include <zlib.h>

#include "scenarios/host/commands.h"
#include "sim/json.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#elif __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZERS "address"
#elif defined(__SANITIZE_THREAD__)
#define SANITIZERS "thread"
#else
#define SANITIZERS "none"
#endif

static const struct {
    const char *name, *value;
} parts[] = {{"lua", LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE},
             {"gsl", GSL_VERSION},
             {"zlib", ZLIB_VERSION},
             {"compiler", COMPILER},
             {"fp_contract", "off"},
             {"sanitizers", SANITIZERS}};
enum { PARTS = sizeof parts / sizeof *parts };

static const pw_option options[] = {{0, "json", NULL, false, "as JSON, schema podwright.version/1"}, PW_HELP_OPTION, {0}};

static int run(pw_host *host, const pw_arguments *arguments) {
    pw_error error = {0};
    pw_file *file;
    if (pw_host_open(host, NULL, &file, &error) != PW_OK) return pw_host_fail(host, &error);
    if (pw_arguments_has(arguments, "json")) {
        pw_json json;
        pw_json_begin(&json, file);
        pw_json_object(&json, NULL);
        pw_json_text(&json, "schema", "podwright.version/1");
        pw_json_text(&json, "version", PODWRIGHT_VERSION);
        for (int i = 0; i < PARTS; i++) pw_json_text(&json, parts[i].name, parts[i].value);
        pw_json_end(&json);
    } else {
        pw_file_print(file, "podwright %s\n", PODWRIGHT_VERSION);
        for (int i = 0; i < PARTS; i++) pw_file_print(file, "  %-12s %s\n", parts[i].name, parts[i].value);
    }
    return pw_host_close(file, PW_OK, &error) == PW_OK ? PW_EXIT_OK : pw_host_fail(host, &error);
}

const pw_command pw_command_version = {"version", "", "shows the version and what it was built with", NULL, options, 0, 0, run};
