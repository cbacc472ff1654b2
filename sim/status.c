/* Messages are put together in a local copy first, so that a caller may pass pieces of the old error as arguments. */
#include "sim/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pw_status_text(pw_status status) {
    static const char *const texts[] = {
#define STATUS_TEXT(name, text) text,
        PW_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    };
    return (unsigned)status < PW_STATUS_COUNT ? texts[status] : "unknown status";
}

/* A cut text must not end inside a UTF-8 character. */
static void drop_partial_character(char *text) {
    size_t length = strlen(text), start = length;
    while (start > 0 && length - start < 3 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) start--;
    if (start == 0) return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (want > length - start + 1) text[start - 1] = '\0';
}

static void put(char *target, size_t size, const char *text) {
    target[0] = '\0';
    if (!text) return;
    int written = snprintf(target, size, "%s", text);
    if (written < 0 || (size_t)written >= size) drop_partial_character(target);
}

pw_status pw_fail_v(pw_error *error, pw_status status, const char *file, int line, const char *hint,
                    const char *format, va_list arguments) {
    if (!error) return status;
    pw_error made;
    memset(&made, 0, sizeof made);
    made.status = status;
    made.line = line;
    put(made.file, sizeof made.file, file);
    put(made.hint, sizeof made.hint, hint);
    int written = vsnprintf(made.what, sizeof made.what, format, arguments);
    if (written < 0 || (size_t)written >= sizeof made.what) drop_partial_character(made.what);
    *error = made;
    return status;
}

pw_status pw_fail(pw_error *error, pw_status status, const char *file, int line, const char *hint, const char *format,
                  ...) {
    va_list arguments;
    va_start(arguments, format);
    pw_fail_v(error, status, file, line, hint, format, arguments);
    va_end(arguments);
    return status;
}

const char *pw_error_text(const pw_error *error, char *text, size_t size) {
    if (size == 0) return text;
    char place[sizeof error->file + 16] = "";
    if (error->file[0] && error->line > 0) snprintf(place, sizeof place, "%s:%d: ", error->file, error->line);
    else if (error->file[0]) snprintf(place, sizeof place, "%s: ", error->file);
    const char *what = error->what[0] ? error->what : pw_status_text(error->status);
    int written = snprintf(text, size, "%s%s%s%s", place, what, error->hint[0] ? "\nhint: " : "", error->hint);
    if (written < 0 || (size_t)written >= size) drop_partial_character(text);
    return text;
}

_Noreturn void pw_check_failed(const char *condition, const char *file, int line) {
    fprintf(stderr, "podwright: internal error at %s:%d: %s does not hold\n", file, line, condition);
    abort();
}
