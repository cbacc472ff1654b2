/* Lines of a log: what launchers add is taken away, the rest is cut at blanks. */
#include <math.h>
#include <string.h>

#include "calibrate/import/log_internal.h"
#include "sim/text.h"

enum { LONGEST_TAG = 200 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_blank(char c) { return c == ' ' || c == '\t'; }
static bool is_name(char c) { return is_digit(c) || is_letter(c) || c == '-' || c == '.' || c == '_'; }

static char *skip_blanks(char *at) {
    while (is_blank(*at)) at++;
    return at;
}

static char *skip_digits(char *at) {
    while (is_digit(*at)) at++;
    return at;
}

/* Behind "[...]", "<stdout>" and ":" where they are there; NULL: there is no bracket. */
static char *behind_bracket(char *at, bool only_numbers) {
    if (*at != '[') return NULL;
    char *end = ++at;
    while (*end && *end != ']' && *end != '[' && end - at < LONGEST_TAG && (!only_numbers || is_digit(*end) || *end == ',')) end++;
    if (*end != ']' || end == at) return NULL;
    end++;
    if (strncmp(end, "<std", 4) == 0) {
        char *close = strchr(end, '>');
        if (close && close - end < 12) end = close + 1;
    }
    return *end == ':' ? end + 1 : end;
}

/* Behind "2026-07-14 09:11:02", "2026-07-14T09:11:02.123Z" and the like. */
static char *behind_date(char *at) {
    static const char shape[] = "0000-00-00 00:00:00";
    size_t i = 0;
    for (; shape[i]; i++)
        if (shape[i] == '0' ? !is_digit(at[i]) : shape[i] == ' ' ? at[i] != ' ' && at[i] != 'T' : at[i] != shape[i]) return NULL;
    while (at[i] && !is_blank(at[i])) i++;
    return at + i;
}

static bool begins_row(char *at) { /* "1048576  262144  float" */
    for (int i = 0; i < 2; i++) {
        char *end = skip_digits(at);
        if (end == at || !is_blank(*end)) return false;
        at = skip_blanks(end);
    }
    return is_letter(*at);
}

/* Behind "node-1: " and "node-1 | " where a comment or a row of a test follows. */
static char *behind_name(char *at) {
    char *end = at;
    while (is_name(*end) && end - at < LONGEST_TAG) end++;
    if (end == at) return NULL;
    char *sign = skip_blanks(end);
    if (*sign != '|' && (*sign != ':' || sign != end)) return NULL;
    char *rest = skip_blanks(sign + 1);
    return rest > sign + 1 && (*rest == '#' || begins_row(rest)) ? rest : NULL;
}

char *log_behind_tags(char *line) {
    for (;;) {
        char *at = skip_blanks(line), *end = behind_bracket(at, false);
        if (!end) end = behind_date(at);
        if (!end) {
            char *number = skip_digits(at);
            if (number > at && *number == ':' && (number[1] == '\0' || number[1] == '#' || is_blank(number[1]))) end = number + 1;
        }
        if (!end) end = behind_name(at);
        if (!end) return line;
        line = end;
    }
}

void log_blank_tags(char *row) {
    for (char *at = row; (at = strchr(at, '['));) {
        char *end = behind_bracket(at, true);
        if (!end) at++;
        else
            while (at < end) *at++ = ' ';
    }
}

int log_cut(char *line, log_token tokens[LOG_TOKENS]) {
    int count = 0;
    for (char *at = line; count < LOG_TOKENS;) {
        char *from = skip_blanks(at);
        if (!*from) break;
        char *end = from;
        while (*end && !is_blank(*end)) end++;
        tokens[count++] = (log_token){from, (int)(from - at) + (at > line)}; /* the first blank became a 0 */
        if (!*end) break;
        *end = '\0';
        at = end + 1;
    }
    return count;
}

bool log_value(const char *text, double *value, bool *whole) {
    static const char *const words[] = {"N/A", "-nan", "nan", "inf", NULL};
    const char *end;
    for (int i = 0; words[i]; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(text, words[i], length) != 0) continue;
        *value = NAN;
        *whole = text[length] == '\0';
        return true;
    }
    if (!pw_text_number(text, &end, value)) return false;
    if (*end == '*') end++; /* rccl-tests marks errors so */
    *whole = *end == '\0';
    return true;
}

bool log_whole(const char *text, int64_t *value, bool *whole) {
    const char *end;
    if (!pw_text_integer(text, &end, value)) return false;
    *whole = *end == '\0';
    return true;
}
