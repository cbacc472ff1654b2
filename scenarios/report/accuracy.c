#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/report.h"

static int find_row(const pw_table *table, const char *suite, const char *group) {
    for (size_t row = 0; row < pw_table_rows(table); row++)
        if (strcmp(pw_table_text_of(table, row, "suite"), suite) == 0 && strcmp(pw_table_text_of(table, row, "group"), group) == 0)
            return (int)row;
    return -1;
}

const char *pw_accuracy_group(const char *answer_class, const char *hardware, char *text, size_t size) {
    if (answer_class && hardware) snprintf(text, size, "%s, %s", answer_class, hardware);
    else snprintf(text, size, "%s", answer_class ? answer_class : hardware ? hardware : "all");
    return text;
}

pw_accuracy pw_accuracy_find(const pw_catalogue *catalogue, const char *suite, const char *answer_class, const char *gpu,
                             const char *generation) {
    pw_accuracy none = {.bias_pct = NAN, .median_pct = NAN, .p90_pct = NAN};
    const pw_table *table = pw_catalogue_table(catalogue, "accuracy");
    if (!table) return none;
    const char *const hardware[] = {gpu, generation, NULL};
    char group[200];
    int row = -1, at = 0;
    for (; at < 3 && row < 0; at++) row = find_row(table, suite, pw_accuracy_group(answer_class, hardware[at], group, sizeof group));
    if (row < 0) return none;
    size_t found = (size_t)row;
    double n = pw_table_number_of(table, found, "n");
    return (pw_accuracy){.group = pw_table_text_of(table, found, "group"),
                         .source = pw_table_text_of(table, found, "source"),
                         .is_elsewhere = at == 3,
                         .n = n >= 0 && n < 1e9 ? (int64_t)n : 0,
                         .bias_pct = pw_table_number_of(table, found, "bias_pct"),
                         .median_pct = pw_table_number_of(table, found, "median_pct"),
                         .p90_pct = pw_table_number_of(table, found, "p90_pct")};
}
