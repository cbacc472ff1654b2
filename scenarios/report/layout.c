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
