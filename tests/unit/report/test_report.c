/* Laws: a report says what the result holds, in every format, and reads back. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scenarios/report/layout.h"
#include "scenarios/report/report.h"
#include "sim/csv.h"
#include "tests/harness/check.h"

static char text[65536];
static int memory = -1;

static pw_file *open_text(void) {
    pw_file *file = NULL;
    memory = memfd_create("report", 0);
    if (memory < 0 || pw_file_attach(memory, NULL, &file, NULL) != PW_OK) abort();
    return file;
}
static const char *close_text(pw_file *file) {
    if (pw_file_commit(file, NULL) != PW_OK) abort();
    ssize_t length = pread(memory, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    close(memory);
    return text;
}

/* A kind of job that only this test knows. */
typedef struct job_desc {
    double bytes;
    int precision;
    int64_t sequence;
    pw_list layers;
} job_desc;
static const pw_field layer_field = {"layer", PW_FIELD_INTEGER, .text = "A layer."};
static const pw_field job_fields[] = {
    {"bytes", PW_FIELD_NUMBER, PW_UNIT_BYTES, offsetof(job_desc, bytes), 0, 0, "", .text = "Bytes."},
    {"precision", PW_FIELD_CHOICE, PW_UNIT_NONE, offsetof(job_desc, precision), 0, 0, "bf16", pw_precision_names, .text = "Numbers."},
    {"sequence", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(job_desc, sequence), 0, 0, "1", .text = "Length."},
    {"layers", PW_FIELD_LIST, PW_UNIT_NONE, offsetof(job_desc, layers), 0, 0, "", .item = &layer_field, .text = "Layers."},
    {NULL}};
static const pw_kind job_kind = {"work", "Work.", sizeof(job_desc), job_fields, NULL};
static const int64_t layers[] = {3, 5};
static job_desc job = {NAN, PW_PRECISION_BF16, 1024, {layers, 2}};
static pw_cluster_desc cluster = {.name = "pod", .nodes = 1234, .node = {.server = "a server", .nic_Bps = NAN, .nvlink_Bps = NAN},
                                  .network = {.oversubscription = 2, .port_Bps = NAN, .efficiency = NAN}};
static pw_device device = {.name = "a gpu", .arch = "arch"};
static const pw_blame_part parts[] = {{"gemm", 0.75, 0.75}, {"tp communication", 0.25, 0.25}};
static pw_arena *arena;
static pw_run_result result;

static pw_run_report make(void) {
    pw_error error = {0};
    result = (pw_run_result){.arena = arena, .parts = parts, .part_count = 2, .home = "stage 3", .device = &device, .gpus = 9872,
                             .hash = 0xABCDEF};
    pw_result_line(&result, "job", "%s, %d parts", "a job", 7);
    pw_result_answer(&result, "step", "%s, %s images/s", "1.000 s", "2,048");
    pw_result_figure(&result, "step_s", 1, "s");
    pw_result_figure(&result, "images_per_s", 2048, "images/s");
    pw_result_word(&result, "convention", "a \"convention\"");
    pw_result_row *rows = pw_result_rows(&result, "stage", 12);
    for (uint32_t i = 0; i < 12; i++) {
        rows[i].ranks = 2;
        rows[i].compute_s = 0.5;
        rows[i].communication_s = rows[i].idle_s = 0.25;
        rows[i].memory_total = (i == 5 ? 70 : 50) * 1e9;
        rows[i].memory_capacity = 80e9;
        pw_row_figure(&result, &rows[i], "layers", 4, "");
        pw_row_memory(&result, &rows[i], "weights", 30e9);
        pw_row_memory(&result, &rows[i], "rest", rows[i].memory_total - 30e9);
    }
    pw_result_note(&result, "A note with \"quotes\" that is so long that it does not fit on one line of a terminal, since it goes "
                            "on and on to the very last %s: end.", "word");
    PW_EXPECT_INT(pw_result_finish(&result, &error), PW_OK);
    return (pw_run_report){.title = "A title", .version = "9.8.7", .seed = 42, .cluster = &cluster, .job = {&job_kind, &job},
                           .server = "a server", .nodes = 1234, .result = &result, .suite = "training", .answers = "step times",
                           .accuracy = {.group = "all", .source = "somewhere", .n = 41, .bias_pct = 1, .median_pct = 7, .p90_pct = 18}};
}

PW_TEST(the_readable_report_holds_the_answer_on_one_screen) {
    pw_run_report report = make();
    pw_file *file = open_text();
    pw_report_run_text(&report, file);
    close_text(file);
    static const char *const expected[] = {"A title", "1,234 nodes of a server", "9,872 GPUs a gpu", "job      a job, 7 parts",
                                           "step     1.000 s, 2,048 images/s", "70.0 of 80.0 GB", "stage 5, the fullest",
                                           "weights 30.0, rest 40.0", "as stage 3 saw it", "stage  layers  GB/GPU",
                                           "gemm", "75.0 %", "tp communication", "25.0 %", "... 4 more", "... 5 more",
                                           "median error 7.0 %", "18.0 %", "41 published runs", "seed 42", "9.8.7",
                                           "0000000000abcdef", "oversubscribed"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) PW_EXPECT_CONTAINS(text, expected[i]);
    int lines = 0, longest = 0, column = 0;
    for (const char *c = text; *c; c++) {
        column = *c == '\n' ? 0 : column + 1;
        lines += *c == '\n';
        if (column > longest) longest = column;
    }
    PW_EXPECT(lines <= 45);
    PW_EXPECT(longest <= 100);
    PW_EXPECT(strstr(text, "last word") == NULL);
    report.long_notes = true;
    file = open_text();
    pw_report_run_text(&report, file);
    PW_EXPECT_CONTAINS(close_text(file), "last word");
}
PW_TEST(without_validation_the_report_says_so) {
    pw_run_report report = make();
    report.accuracy.source = NULL;
    pw_file *file = open_text();
    pw_report_run_text(&report, file);
    PW_EXPECT_CONTAINS(close_text(file), "unknown: no published run of this kind has judged it");
    result.answer_class = "experts";
    file = open_text();
    pw_report_run_text(&report, file);
    PW_EXPECT_CONTAINS(close_text(file), "no published run of this kind (experts) has judged it");
}
PW_TEST(programs_with_names_show_them) {
    pw_run_report report = make();
    pw_result_row *rows = pw_result_rows(&result, "program", 2);
    rows[0] = (pw_result_row){.name = "worker", .ranks = 8, .compute_s = 1};
    rows[1] = (pw_result_row){.name = "server", .ranks = 2, .communication_s = 2};
    pw_file *file = open_text();
    pw_report_run_text(&report, file);
    close_text(file);
    PW_EXPECT_CONTAINS(text, "    program");
    PW_EXPECT_CONTAINS(text, "    worker       1.000 s");
    PW_EXPECT(!strstr(text, "GB/GPU") && !strstr(text, "\n  memory"));
    file = open_text();
    pw_report_run_json(&report, file);
    close_text(file);
    PW_EXPECT_CONTAINS(text, "\"programs\": [");
    PW_EXPECT_CONTAINS(text, "\"program\": \"server\"");
    file = open_text();
    pw_report_run_csv(&report, file);
    PW_EXPECT_CONTAINS(close_text(file), "program.server.communication,2,s");
}
PW_TEST(a_result_that_ran_out_of_memory_says_so) {
    for (unsigned long long fail_at = 1; fail_at <= 3; fail_at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        pw_arena *small = pw_arena_create(&counting.allocator);
        counting.fail_at = counting.calls + fail_at;
        pw_run_result it = {.arena = small};
        for (int i = 0; i < 5000; i++) pw_result_note(&it, "note %d of many, each with some length", i);
        pw_result_figure(&it, "x", 1, "s");
        pw_result_row *rows = pw_result_rows(&it, "stage", 3);
        PW_EXPECT(!rows == it.is_out_of_memory);
        pw_error error = {0};
        PW_EXPECT_INT(pw_result_finish(&it, &error), PW_NO_MEMORY);
        pw_arena_destroy(small);
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
}
PW_TEST(json_names_its_schema_and_escapes) {
    pw_run_report report = make();
    pw_file *file = open_text();
    pw_report_run_json(&report, file);
    close_text(file);
    PW_EXPECT_CONTAINS(text, "\"schema\": \"podwright.run/1\"");
    PW_EXPECT_CONTAINS(text, "\"step_s\": 1,");
    PW_EXPECT_CONTAINS(text, "\\\"quotes\\\"");
    PW_EXPECT_CONTAINS(text, "\"bytes\": null");
    PW_EXPECT_CONTAINS(text, "\"precision\": \"bf16\"");
    PW_EXPECT_CONTAINS(text, "\"kind\": \"work\"");
    PW_EXPECT_CONTAINS(text, "\"layers\": [");
    PW_EXPECT_CONTAINS(text, "\"convention\": \"a \\\"convention\\\"\"");
    PW_EXPECT_CONTAINS(text, "\"weights\": 30000000000");
    PW_EXPECT_CONTAINS(text, "\"capacity\": 80000000000");
    PW_EXPECT(strstr(text, "\"kind\"") < strstr(text, "\"result\""));
    int depth = 0;
    for (const char *c = text; *c; c++) depth += *c == '{' || *c == '[' ? 1 : *c == '}' || *c == ']' ? -1 : 0;
    PW_EXPECT_INT(depth, 0);
}
PW_TEST(csv_reads_back) {
    pw_run_report report = make();
    pw_file *file = open_text();
    pw_report_run_csv(&report, file);
    close_text(file);
    pw_csv *csv;
    pw_error error;
    bool row = true, found = false, has_stage = false;
    double value;
    PW_EXPECT_INT(pw_csv_open_text(text, strlen(text), "report", NULL, NULL, &csv, &error), PW_OK);
    PW_EXPECT_INT(pw_csv_columns(csv), 3);
    while (pw_csv_next(csv, &row, &error) == PW_OK && row) {
        if (strcmp(pw_csv_text(csv, 0), "blame.gemm") == 0) {
            found = true;
            PW_EXPECT_INT(pw_csv_number(csv, 1, &value, &error), PW_OK);
            PW_EXPECT_NEAR(value, 0.75, 0);
            PW_EXPECT_TEXT(pw_csv_text(csv, 2), "s");
        }
        has_stage = has_stage || strcmp(pw_csv_text(csv, 0), "stage.11.memory") == 0;
    }
    pw_csv_close(csv);
    PW_EXPECT(found && has_stage && !row);
}
PW_TEST(values_are_words) {
    char value[64];
    const pw_field *field = pw_kind_field(&job_kind, "bytes");
    PW_EXPECT_TEXT(pw_report_value(field, &job, value, sizeof value), "-");
    job.bytes = 40e6;
    PW_EXPECT_TEXT(pw_report_value(field, &job, value, sizeof value), "40 MB");
    job.bytes = NAN;
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&job_kind, "precision"), &job, value, sizeof value), "bf16");
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&job_kind, "sequence"), &job, value, sizeof value), "1024");
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&job_kind, "layers"), &job, value, sizeof value), "3, 5");
}
PW_TEST(text_wraps_at_words) {
    pw_file *file = open_text();
    pw_layout_wrap(file, 4, 12, "one two three \xC3\xA4\xC3\xA4\xC3\xA4 averylongword x");
    PW_EXPECT_TEXT(close_text(file), "one two\n    three\n    \xC3\xA4\xC3\xA4\xC3\xA4\n    averylongword\n    x\n");
}
PW_TEST(counts_have_separators) {
    char count[32];
    PW_EXPECT_TEXT(pw_layout_count(0, count, sizeof count), "0");
    PW_EXPECT_TEXT(pw_layout_count(999, count, sizeof count), "999");
    PW_EXPECT_TEXT(pw_layout_count(16384, count, sizeof count), "16,384");
    PW_EXPECT_TEXT(pw_layout_count(-1234567, count, sizeof count), "-1,234,567");
}

int main(int argc, char **argv) {
    arena = pw_arena_create(NULL);
    int code = pw_run_tests(argc, argv);
    pw_arena_destroy(arena);
    return code;
}
