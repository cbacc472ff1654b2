/* Any bytes are a table or an error with a line inside the file, never a crash; every field of a table that was read can
 * be asked for in every type; and no memory stays behind, whichever allocation fails. */
#include <stdlib.h>
#include <string.h>

#include "sim/csv.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int count_line_ends(const unsigned char *data, size_t size) {
    int count = 0;
    for (size_t i = 0; i < size; i++) count += data[i] == '\n' || data[i] == '\r';
    return count;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    if (size && data[0] < 32) { /* the first byte may choose an allocation that fails */
        counting.fail_at = data[0];
        data++, size--;
    }
    pw_csv_limits limits = {.columns = 64, .row_bytes = 4096};
    pw_csv *csv;
    pw_error error;
    int lines = count_line_ends(data, size) + 1, last = 0;
    bool row = true;
    pw_status status = pw_csv_open_text(data, size, "fuzz.csv", &limits, &counting.allocator, &csv, &error);
    while (status == PW_OK) {
        status = pw_csv_next(csv, &row, &error);
        if (status != PW_OK || !row) break;
        if (pw_csv_line(csv) <= last || pw_csv_line(csv) > lines) abort();
        last = pw_csv_line(csv);
        for (int i = 0; i < pw_csv_columns(csv); i++) {
            double number;
            int64_t whole;
            if (strlen(pw_csv_text(csv, i)) > limits.row_bytes) abort();
            if (pw_csv_number(csv, i, &number, &error) == PW_OK && number != number) abort();
            (void)pw_csv_integer_or(csv, i, 0, &whole, &error);
        }
    }
    if (status != PW_OK && (error.status != status || !error.what[0] || error.line < 0 || error.line > lines)) abort();
    pw_csv_close(csv);
    if (counting.live_bytes) abort();
    return 0;
}
