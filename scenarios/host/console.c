/* What the program says and writes, and how it ends. The one place with process-wide state: the signal handler's flag. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scenarios/host/command.h"
#include "scenarios/host/manual.h"
#include "sim/registry.h"
#include "sim/text.h"

int pw_exit_code(pw_status status) {
    switch (status) {
    case PW_OK: return PW_EXIT_OK;
    case PW_BAD_INPUT:
    case PW_NOT_FOUND:
    case PW_UNSUPPORTED: return PW_EXIT_USAGE;
    case PW_CLAIM: return PW_EXIT_CLAIM;
    case PW_INTERRUPTED: return PW_EXIT_INTERRUPTED;
    default: return PW_EXIT_FAILED;
    }
}

/* Control characters, and bytes of a quoted file that are no text, must not reach the terminal. */
static void print_line(const char *before, const char *text, const char *after) {
    fputs(before, stderr);
    while (*text) {
        size_t bytes = pw_text_character(text);
        if (bytes > 1) fwrite(text, 1, bytes, stderr);
        else if (!bytes) fputc('?', stderr);
        else fputc(((unsigned char)*text < 0x20 && *text != '\n') || *text == 0x7F ? ' ' : *text, stderr);
        text += bytes ? bytes : 1;
    }
    fputs(after, stderr);
}

int pw_host_fail(const pw_host *host, const pw_error *error) {
    char where[sizeof error->file + 32];
    if (!error->file[0]) snprintf(where, sizeof where, "podwright");
    else if (error->line > 0) snprintf(where, sizeof where, "%s:%d", error->file, error->line);
    else snprintf(where, sizeof where, "%s", error->file);
    print_line(host->colour ? "\033[1;31m" : "", where, host->colour ? ":\033[0m " : ": ");
    print_line("", error->what[0] ? error->what : pw_status_text(error->status), "\n");
    if (error->hint[0]) print_line("hint: ", error->hint, "\n");
    return pw_exit_code(error->status);
}

void pw_host_talk(const pw_host *host, const char *format, ...) {
    if (!host->talk) return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

pw_status pw_host_open(const pw_host *host, const char *path, pw_file **file, pw_error *error) {
    if (path && strcmp(path, "-") != 0) return pw_file_create(path, host->allocator, file, error);
    return pw_file_attach(STDOUT_FILENO, host->allocator, file, error);
}

pw_status pw_host_close(pw_file *file, pw_status status, pw_error *error) {
    if (status == PW_OK) return pw_file_commit(file, error);
    pw_file_discard(file);
    return status;
}

/* ---- The program ---- */

/* Written by the signal handler alone. */
static volatile int interrupted;
static volatile double interrupted_at_s;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The end of an orderly end that does not come: while a job is lowered or folded nobody looks at the wish. */
static void on_alarm(int signal_number) {
    (void)signal_number;
    static const char text[] = "podwright: interrupted\n";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(PW_EXIT_INTERRUPTED);
    _exit(PW_EXIT_INTERRUPTED);
}

/* The first signal asks for an orderly end, and has it within five seconds. A later one ends the process; one that comes at once
 * is the same wish, told to the process and to its group. */
static void on_interrupt(int signal_number) {
    double now_s = seconds_now();
    if (!interrupted) {
        interrupted_at_s = now_s;
        interrupted = 1;
        signal(SIGALRM, on_alarm);
        alarm(5);
    } else if (now_s - interrupted_at_s > 0.3) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
}

static void watch_signals(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        sigaction(signals[i], NULL, &before);
        if (signals[i] != SIGHUP || before.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL); /* nohup holds */
    }
}

static const pw_command *find_command(const pw_command *const *commands, const char *name) {
    for (; *commands; commands++)
        if (strcmp((*commands)->name, name) == 0) return *commands;
    return NULL;
}

static pw_status unknown_command(const pw_host *host, const char *name, pw_error *error) {
    const char *names[32], *hint = "`podwright help` lists the commands";
    char text[256];
    size_t count = 0;
    for (const pw_command *const *each = host->commands; *each && count < 31; each++) names[count++] = (*each)->name;
    names[count] = NULL;
    const char *near = pw_nearest(names, name);
    size_t length = strlen(name);
    bool is_file = length > 4 && strcmp(name + length - 4, ".lua") == 0;
    if (near) hint = text, snprintf(text, sizeof text, "did you mean '%s'?", near);
    else if (is_file) hint = text, snprintf(text, sizeof text, "did you mean 'podwright run %.180s'?", name);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "there is no command '%.200s'", name);
}

static int write_help(pw_host *host, const pw_command *command, pw_error *error) {
    pw_file *file;
    if (pw_host_open(host, NULL, &file, error) != PW_OK) return pw_host_fail(host, error);
    if (command) pw_manual_command(file, command);
    else pw_manual_overview(file, host->commands);
    return pw_host_close(file, PW_OK, error) == PW_OK ? PW_EXIT_OK : pw_host_fail(host, error);
}

static int show_usage(void) {
    fputs("usage: podwright COMMAND [OPTION]...\nhint: `podwright help` lists the commands; "
          "`podwright run FILE.lua` runs a scenario\n", stderr);
    return PW_EXIT_USAGE;
}

static int run_command(pw_host *host, int argc, char **argv, pw_arena *arena) {
    pw_error error = {0};
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return write_help(host, NULL, &error);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
    const pw_command *command = find_command(host->commands, name);
    if (!command && name[0] == '-') {
        pw_fail(&error, PW_BAD_INPUT, NULL, 0, "options follow the command: podwright COMMAND [OPTION]...",
                "there is no option '%.200s' before a command", name);
        return pw_host_fail(host, &error);
    }
    if (!command) {
        unknown_command(host, name, &error);
        return pw_host_fail(host, &error);
    }
    pw_arguments arguments;
    if (pw_arguments_parse(command, argc - 2, argv + 2, arena, &arguments, &error) != PW_OK)
        return pw_host_fail(host, &error);
    if (pw_arguments_has(&arguments, "help")) return write_help(host, command, &error);
    return command->run(host, &arguments);
}

int pw_host_main(const pw_command *const *commands, int argc, char **argv) {
    watch_signals();
    if (argc < 2) return show_usage();
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    pw_host host = {NULL, &interrupted, isatty(STDERR_FILENO) == 1, false, commands};
    host.colour = host.talk && !(no_color && *no_color) && terminal && strcmp(terminal, "dumb") != 0;
    pw_arena *arena = pw_arena_create(host.allocator);
    if (!arena) {
        fputs("podwright: out of memory\n", stderr);
        return PW_EXIT_FAILED;
    }
    int code = run_command(&host, argc, argv, arena);
    pw_arena_destroy(arena);
    return code;
}
