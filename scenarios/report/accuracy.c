#include <math.h>
#include <string.h>

#include "scenarios/report/report.h"

static int find_row(const pw_table *table, const char *suite, const char *group) {
    for (size_t row = 0; row < pw_table_rows(table); row++)
        if (strcmp(pw_table_text_of(table, row, "suite"), suite) == 0 && strcmp(pw_table_text_of(table, row, "group"), group) == 0)
            return (int)row;
    return -1;
}

pw_accuracy pw_accuracy_find(const pw_catalogue *catalogue, const char *suite, const char *const *groups) {
    pw_accuracy none = {"", NULL, 0, NAN, NAN, NAN};
    const pw_table *table = pw_catalogue_table(catalogue, "accuracy");
    if (!table) return none;
    int row = -1;
    for (; row < 0 && *groups; groups++) row = find_row(table, suite, *groups);
    if (row < 0) row = find_row(table, suite, "all");
    if (row < 0) return none;
    size_t at = (size_t)row;
    double n = pw_table_number_of(table, at, "n");
    pw_accuracy found = {pw_table_text_of(table, at, "group"), pw_table_text_of(table, at, "source"),
                         n >= 0 && n < 1e9 ? (int64_t)n : 0, pw_table_number_of(table, at, "bias_pct"),
                         pw_table_number_of(table, at, "median_pct"), pw_table_number_of(table, at, "p90_pct")};
    return found;
}
