/* Samples of every form that logs of nccl-tests take, against what they hold. */
#include <jansson.h>

#include "calibrate/import/log.h"
#include "sim/csv.h"
#include "sim/json_read.h"
#include "tests/harness/check.h"

static const char folder[] = PW_SOURCE_DIR "/tests/unit/logs/samples";

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool has_value(const pw_log_half *half) { return !isnan(half->time_us) || !isnan(half->algbw_GBps); }

static void check_half(const char *name, int line, const pw_csv *csv, const pw_log_half *half, const char *lead) {
    static const char *const columns[] = {"time_us", "algbw", "busbw", "wrong"};
    const double values[] = {half->time_us, half->algbw_GBps, half->busbw_GBps, half->wrong};
    for (int i = 0; i < 4; i++) {
        char column[32];
        double expected = NAN;
        snprintf(column, sizeof column, "%s_%s", lead, columns[i]);
        PW_EXPECT_INT(pw_csv_number_or(csv, pw_csv_find(csv, column), NAN, &expected, NULL), PW_OK);
        if (!same(values[i], expected)) PW_FAILED("%s, line %d, %s: %.17g, expected %.17g", name, line, column, values[i], expected);
    }
}

static void check_rows(const char *name, const pw_log *log) {
    char path[600];
    pw_csv *csv;
    pw_error error = {0};
    snprintf(path, sizeof path, "%s/%s.expected.csv", folder, name);
    if (pw_csv_open(path, NULL, NULL, &csv, &error) != PW_OK) {
        PW_FAILED("%s", error.what);
        return;
    }
    uint32_t table = 0, row = 0;
    for (bool more = true; pw_csv_next(csv, &more, &error) == PW_OK && more;) {
        int64_t number;
        PW_EXPECT_INT(pw_csv_integer(csv, pw_csv_find(csv, "table"), &number, NULL), PW_OK);
        if ((uint32_t)number != table) {
            PW_EXPECT_INT(log->tables[table].row_count, row);
            table = (uint32_t)number, row = 0;
        }
        if (table >= log->count || row >= log->tables[table].row_count) {
            PW_FAILED("%s: table %u has no row %u", name, table, row);
            break;
        }
        const pw_log_row *read = &log->tables[table].rows[row++];
        PW_EXPECT_INT(pw_csv_integer(csv, pw_csv_find(csv, "size_bytes"), &number, NULL), PW_OK);
        PW_EXPECT_INT(read->size_bytes, number);
        PW_EXPECT_INT(pw_csv_integer(csv, pw_csv_find(csv, "count"), &number, NULL), PW_OK);
        PW_EXPECT_INT(read->count, number);
        PW_EXPECT_TEXT(read->type, pw_csv_text(csv, pw_csv_find(csv, "type")));
        PW_EXPECT_TEXT(read->redop ? read->redop : "", pw_csv_text(csv, pw_csv_find(csv, "redop")));
        PW_EXPECT_INT(pw_csv_integer_or(csv, pw_csv_find(csv, "root"), PW_LOG_NO_ROOT, &number, NULL), PW_OK);
        PW_EXPECT_INT(read->root, number);
        check_half(name, pw_csv_line(csv), csv, &read->out_of_place, "oop");
        check_half(name, pw_csv_line(csv), csv, &read->in_place, "ip");
    }
    PW_EXPECT_INT(log->count, table + 1);
    PW_EXPECT_INT(log->tables[table].row_count, row);
    pw_csv_close(csv);
}

/* A member of the expected file: a list has one item per table. */
static const json_t *of_table(const json_t *root, const char *key, uint32_t table) {
    const json_t *value = json_object_get(root, key);
    return json_is_array(value) ? json_array_get(value, table) : value;
}

static void check_footers(const char *name, const pw_log *log) {
    char path[600];
    json_t *root;
    pw_error error = {0};
    snprintf(path, sizeof path, "%s/%s.expected.json", folder, name);
    if (pw_json_load(path, 1 << 20, NULL, &root, &error) != PW_OK) {
        PW_FAILED("%s", error.what);
        return;
    }
    PW_EXPECT_INT(json_integer_value(json_object_get(root, "tables")), log->count);
    for (uint32_t t = 0; t < log->count; t++) {
        const pw_log_table *table = &log->tables[t];
        const json_t *value;
        PW_EXPECT_INT(table->ranks, json_integer_value(of_table(root, "ranks", t)));
        PW_EXPECT_INT(table->hosts, json_integer_value(of_table(root, "hosts", t)));
        if ((value = of_table(root, "gpus_per_process", t))) PW_EXPECT_INT(table->gpus_per_process, json_integer_value(value));
        value = of_table(root, "oob", t);
        PW_EXPECT_INT(table->out_of_bounds, json_is_null(value) ? -1 : json_integer_value(value));
        value = of_table(root, "oob_status", t);
        if (json_is_string(value)) PW_EXPECT_TEXT(table->out_of_bounds_failed ? "FAILED" : "OK", json_string_value(value));
        value = of_table(root, "avg_busbw", t);
        if (json_is_null(value)) PW_EXPECT(isnan(table->average_busbw_GBps));
        else PW_EXPECT_NEAR(table->average_busbw_GBps, json_number_value(value), 1e-6); /* printed with six digits */
        PW_EXPECT_INT(table->truncated, json_is_true(of_table(root, "truncated", t)));
    }
    json_decref(root);
}

static void check_sample(const char *name, const char *ending, pw_log_kind kind) {
    char path[600], text[300];
    pw_arena *arena = pw_arena_create(NULL);
    pw_log log;
    pw_error error = {0};
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    if (pw_log_read(path, arena, &log, &error) != PW_OK) {
        PW_FAILED("%s: %s", name, error.what);
        pw_arena_destroy(arena);
        return;
    }
    check_rows(name, &log);
    check_footers(name, &log);
    for (uint32_t t = 0; t < log.count; t++) {
        PW_EXPECT_INT(log.tables[t].kind, kind);
        for (uint32_t r = 0; r < log.tables[t].row_count; r++) {
            const pw_log_row *row = &log.tables[t].rows[r];
            if (pw_log_contradicts(&log.tables[t], row, &row->out_of_place, text, sizeof text) ||
                (has_value(&row->in_place) && pw_log_contradicts(&log.tables[t], row, &row->in_place, text, sizeof text)))
                PW_FAILED("%s:%d: %s", name, row->line, text);
        }
    }
    pw_arena_destroy(arena);
}

PW_TEST(old_rows_have_an_error_column_and_no_root) { check_sample("open-01-legacy-error-column", "log", PW_LOG_ALL_REDUCE); }
PW_TEST(tags_and_messages_between_rows_are_passed_over) { check_sample("open-02-mpi-tagged-nccl-info", "log", PW_LOG_ALL_REDUCE); }
PW_TEST(unchecked_halves_and_empty_sizes_are_read) { check_sample("open-03-alltoall-na-zero-rows", "log", PW_LOG_ALLTOALL); }
PW_TEST(a_crash_ends_a_table_within_a_row) { check_sample("open-04-oob-failed-then-crash", "log", PW_LOG_ALL_REDUCE); }
PW_TEST(a_json_report_gives_the_same_rows) { check_sample("open-05-report", "json", PW_LOG_ALL_REDUCE); }

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
