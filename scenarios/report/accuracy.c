#include <math.h>
#include <string.h>

#include "scenarios/report/report.h"
#include "sim/text.h"

static int find_row(const pw_table *table, const char *suite, const char *group) {
    int suite_column = pw_table_find_column(table, "suite"), group_column = pw_table_find_column(table, "group");
    if (suite_column < 0 || group_column < 0) return -1;
    for (size_t row = 0; row < pw_table_rows(table); row++)
        if (strcmp(pw_table_text_at(table, row, (size_t)suite_column), suite) == 0 &&
            strcmp(pw_table_text_at(table, row, (size_t)group_column), group) == 0)
            return (int)row;
    return -1;
}

static double number_at(const pw_table *table, int row, const char *column) {
    int found = pw_table_find_column(table, column);
    double value;
    if (found < 0 || !pw_text_number(pw_table_text_at(table, (size_t)row, (size_t)found), NULL, &value)) return NAN;
    return value;
}

pw_accuracy pw_accuracy_find(const pw_catalogue *catalogue, const char *suite, const char *const *groups) {
    pw_accuracy none = {"", NULL, 0, NAN, NAN, NAN};
    const pw_table *table = pw_catalogue_table(catalogue, "accuracy");
    if (!table) return none;
    int row = -1;
    for (; row < 0 && *groups; groups++) row = find_row(table, suite, *groups);
    if (row < 0) row = find_row(table, suite, "all");
    if (row < 0) return none;
    int group = pw_table_find_column(table, "group"), source = pw_table_find_column(table, "source");
    double n = number_at(table, row, "n");
    pw_accuracy found = {pw_table_text_at(table, (size_t)row, (size_t)group),
                         source < 0 ? "" : pw_table_text_at(table, (size_t)row, (size_t)source),
                         n >= 0 && n < 1e9 ? (int64_t)n : 0, number_at(table, row, "bias_pct"),
                         number_at(table, row, "median_pct"), number_at(table, row, "p90_pct")};
    return found;
}
