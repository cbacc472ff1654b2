#include "scenarios/report/layout.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void pw_layout_repeat(pw_file *file, char c, int count) {
    for (; count > 0; count--) pw_file_write(file, &c, 1);
}

static int word_width(const char *text, int length) {
    int width = 0;
    for (int i = 0; i < length; i++) width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

int pw_layout_width(const char *text) { return word_width(text, (int)strlen(text)); }

void pw_layout_wrap(pw_file *file, int indent, int width, const char *text) {
    int column = indent;
    bool is_first = true;
    while (*text) {
        text += strspn(text, " ");
        int length = (int)strcspn(text, " ");
        if (!length) break;
        int wide = word_width(text, length);
        if (!is_first && column + 1 + wide > width) {
            pw_file_text(file, "\n");
            pw_layout_repeat(file, ' ', indent);
            column = indent;
            is_first = true;
        }
        if (!is_first) {
            pw_file_text(file, " ");
            column++;
        }
        pw_file_write(file, text, (size_t)length);
        column += wide;
        text += length;
        is_first = false;
    }
    pw_file_text(file, "\n");
}

const char *pw_layout_count(int64_t value, char *text, size_t size) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRId64, value);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < size; i++) {
        text[used++] = digits[i];
        int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && digits[i] != '-') text[used++] = ',';
    }
    text[used] = '\0';
    return text;
}

const char *pw_layout_large(double value, char *text, size_t size) {
    static const struct {
        double factor;
        const char *word;
    } steps[] = {{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}};
    if (value < 1e6) return pw_layout_count((int64_t)value, text, size);
    size_t i = 0;
    while (i < 2 && value < steps[i].factor * 0.9995) i++;
    double shown = value / steps[i].factor;
    snprintf(text, size, "%.*f%s", shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0, shown, steps[i].word);
    return text;
}

const char *pw_layout_seconds(double value, char *text, size_t size) {
    const char *unit = value >= 1 ? "s" : value >= 1e-3 ? "ms" : "us";
    double shown = value >= 1 ? value : value >= 1e-3 ? value * 1e3 : value * 1e6;
    if (value == 0) snprintf(text, size, "0 s");
    else snprintf(text, size, "%.*f %s", shown < 10 ? 3 : shown < 100 ? 2 : 1, shown, unit);
    return text;
}

const char *pw_layout_rate(double value, char *text, size_t size) {
    if (value >= 1000) return pw_layout_large(value, text, size);
    snprintf(text, size, "%.4g", value);
    return text;
}
