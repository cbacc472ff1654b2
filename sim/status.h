/* Status codes and the one error channel.
 *
 * A function that can fail returns a pw_status and takes, as its last argument, a pw_error to fill (NULL: the caller
 * only wants the code). The error holds everything a person needs: where, what, and a hint. Functions add nothing to
 * an error that is already set by a callee; the first failure is the one reported.
 *
 * Assertions come in three strengths:
 *   PW_DEBUG_CHECK  internal consistency; compiled out when NDEBUG is defined
 *   PW_CHECK        programming errors that must never pass silently; kept in release, aborts with a message
 *   PW_LAW          physics (bytes, energy, cut bounds, causality): always on; ends the run with a report, not the
 *                   process (sim/event.h: pw_sim_break_law)
 */
#ifndef PW_SIM_STATUS_H
#define PW_SIM_STATUS_H

#include <stdarg.h>
#include <stddef.h>

#define PW_STATUS_MAP(X)                                                  \
    X(OK, "ok")                                                           \
    X(BAD_INPUT, "bad input")              /* the user can mend it */     \
    X(NOT_FOUND, "not found")                                             \
    X(DOES_NOT_FIT, "does not fit")        /* memory plan */              \
    X(UNSUPPORTED, "not supported")        /* known, but not modelled */  \
    X(NO_MEMORY, "out of memory")                                         \
    X(IO, "input/output error")                                           \
    X(STALE_HANDLE, "stale handle")        /* id of a finished entity */  \
    X(OUT_OF_RANGE, "out of range")        /* e.g. past the last tick */  \
    X(DEADLOCK, "deadlock")                /* operations wait for ever */ \
    X(LAW, "a law is broken")              /* the model contradicts physics */ \
    X(LIMIT, "limit reached")              /* time, memory, instructions */ \
    X(CLAIM, "a claim does not hold")      /* a validation or an expectation failed */ \
    X(INTERRUPTED, "interrupted")

typedef enum pw_status {
#define PW_STATUS_ENUM(name, text) PW_##name,
    PW_STATUS_MAP(PW_STATUS_ENUM)
#undef PW_STATUS_ENUM
    PW_STATUS_COUNT
} pw_status;

/* What a person reads: "file:line: what" and "hint: ...". line 0: no line; empty file: no place. */
typedef struct pw_error {
    pw_status status;
    int line;
    char file[256];
    char what[768];
    char hint[768];
} pw_error;

/* Text of a code, e.g. "bad input". Never NULL. */
const char *pw_status_text(pw_status status);

/* Fills *error (if not NULL) and returns status. file and hint may be NULL. Long texts are cut, never overflow. */
pw_status pw_fail(pw_error *error, pw_status status, const char *file, int line, const char *hint, const char *format,
                  ...) __attribute__((format(printf, 6, 7)));

/* The same with a va_list. */
pw_status pw_fail_v(pw_error *error, pw_status status, const char *file, int line, const char *hint,
                    const char *format, va_list arguments);

/* Writes "file:line: what\nhint: ..." (parts that are empty are left out) into text; returns text. */
const char *pw_error_text(const pw_error *error, char *text, size_t size);

/* Prints to stderr and aborts. Used by PW_CHECK. */
_Noreturn void pw_check_failed(const char *condition, const char *file, int line);

#define PW_CHECK(condition) ((condition) ? (void)0 : pw_check_failed(#condition, __FILE__, __LINE__))
#ifdef NDEBUG
#define PW_DEBUG_CHECK(condition) ((void)0)
#else
#define PW_DEBUG_CHECK(condition) PW_CHECK(condition)
#endif

/* Returns early with the callee's status. */
#define PW_TRY(call)                                 \
    do {                                             \
        pw_status pw_try_status = (call);            \
        if (pw_try_status != PW_OK) return pw_try_status; \
    } while (0)

#endif
