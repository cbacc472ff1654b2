/* A command of the podwright program: what it is called, which options it takes, what it does.
 *
 * The table of commands lies in main.c. One row drives parsing, --help, the man page and shell completion. A command gets
 * its arguments parsed and checked (unknown options, missing values and a wrong number of operands never reach it), does its
 * work, and returns an exit code. Data goes to stdout or a file through pw_host_open; talk goes to stderr.
 *
 *   static const pw_option options[] = {{'o', "output", "FILE", false, "write the results to FILE"}, {0}};
 *   static int run(pw_host *host, const pw_arguments *arguments) { ... return pw_host_fail(host, &error); }
 *   const pw_command pw_command_example = {"example", "FILE", "does this", NULL, options, 1, 1, run};
 */
#ifndef PW_HOST_COMMAND_H
#define PW_HOST_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/file.h"
#include "sim/memory.h"
#include "sim/status.h"

enum {
    PW_EXIT_OK = 0,
    PW_EXIT_FAILED = 1,       /* the run failed */
    PW_EXIT_USAGE = 2,        /* wrong usage or bad input */
    PW_EXIT_CLAIM = 3,        /* a validation or a claim failed */
    PW_EXIT_INTERRUPTED = 130 /* Ctrl-C */
};

/* Tables of options end with a NULL name. */
typedef struct pw_option {
    char letter;          /* 0: none */
    const char *name;     /* "output" for --output */
    const char *argument; /* "FILE"; NULL: a flag */
    bool repeats;         /* may be given more than once; else the last one counts */
    const char *text;
} pw_option;

typedef struct pw_command pw_command;
typedef struct pw_host pw_host;

typedef struct pw_given_option {
    const pw_option *option;
    const char *value; /* NULL for a flag */
} pw_given_option;

typedef struct pw_arguments {
    const pw_command *command;
    const char *const *operands;
    int operand_count;
    const pw_given_option *options; /* in the order given */
    int option_count;
} pw_arguments;

struct pw_command {
    const char *name;
    const char *operands;     /* "FILE", "[KIND]" */
    const char *text;         /* one line */
    const char *more;         /* paragraphs for --help; NULL: none */
    const pw_option *options;
    int least, most;          /* number of operands */
    int (*run)(pw_host *host, const pw_arguments *arguments);
};

struct pw_host {
    const pw_allocator *allocator;
    const volatile int *interrupt; /* not 0 after Ctrl-C; give it to what runs long */
    bool talk;                     /* stderr is a terminal: progress may be shown */
    bool colour;                   /* and may be coloured */
    const pw_command *const *commands; /* ends with NULL */
};

bool pw_arguments_has(const pw_arguments *arguments, const char *option);
/* Last value given for an option, or fallback. */
const char *pw_arguments_value(const pw_arguments *arguments, const char *option, const char *fallback);
/* The index-th (0, 1, ...) value of a repeating option, or NULL. */
const char *pw_arguments_each(const pw_arguments *arguments, const char *option, int index);

/* Parses argv[0..count) (after the command's name). Arrays live in arena. The error has the hint. */
pw_status pw_arguments_parse(const pw_command *command, int count, char **argv, pw_arena *arena, pw_arguments *arguments,
                             pw_error *error);

/* Prints an error on stderr ("file:line: what", "hint: ...") and returns its exit code. */
int pw_host_fail(const pw_host *host, const pw_error *error);
/* Exit code of a status. */
int pw_exit_code(pw_status status);
/* Opens the output: a file written whole or not at all (path), or stdout (NULL or "-"). */
pw_status pw_host_open(const pw_host *host, const char *path, pw_file **file, pw_error *error);
/* Closes it: commits when status is PW_OK, else discards it and returns status. Every failed write is found here, a full
 * disk too. */
pw_status pw_host_close(pw_file *file, pw_status status, pw_error *error);
/* One line on stderr when it is a terminal. */
void pw_host_talk(const pw_host *host, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The program: finds the command and runs it. Returns the exit code. */
int pw_host_main(const pw_command *const *commands, int argc, char **argv);

#endif
