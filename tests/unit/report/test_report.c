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

static pw_model_desc model = {.name = "tiny", .layers = 12, .hidden = 64, .heads = 4, .vocabulary = 100};
static pw_train_desc job = {.name = "job", .model = &model, .sequence = 1024, .global_batch = 2048, .micro_batch = 1,
                            .tensor_parallel = 2, .pipeline_parallel = 12, .context_parallel = 1, .virtual_stages = 1,
                            .precision = PW_PRECISION_BF16, .bucket_bytes = NAN};
static pw_cluster_desc cluster = {.name = "pod", .nodes = 1234, .node = {.server = "a server", .nic_Bps = NAN, .nvlink_Bps = NAN},
                                  .network = {.oversubscription = 2, .port_Bps = NAN, .efficiency = NAN}};
static pw_device device = {.name = "a gpu", .arch = "arch"};
static const pw_blame_part parts[] = {{"gemm", 0.75, 0.75}, {"tp communication", 0.25, 0.25}};
static pw_stage_result stages[12];
static const char *const notes[] = {"A note with \"quotes\" that is so long that it does not fit on one line of a terminal, "
                                    "since it goes on and on to the very last word: end."};
static pw_train_result result = {.step_s = 1.0, .tokens_per_s = 2097152, .tokens_per_s_per_gpu = 212.4,
                                 .flops_per_gpu = 4.56e14, .mfu = 0.461, .mfu_full = 0.5, .mfu_convention = "a convention",
                                 .parameters = 4.059e11, .gpus = 9872, .data_parallel = 8, .micro_batches = 256,
                                 .parts = parts, .part_count = 2, .stages = stages, .stage_count = 12,
                                 .notes = notes, .note_count = 1, .hash = 0xABCDEF};

static pw_run_report make(void) {
    for (uint32_t i = 0; i < 12; i++)
        stages[i] = (pw_stage_result){.stage = i, .layers = 1, .ranks = 2, .compute_s = 0.5, .communication_s = 0.25,
                                      .idle_s = 0.25, .memory = {.total = (i == 5 ? 70 : 50) * 1e9, .capacity = 80e9}};
    return (pw_run_report){.title = "A title", .version = "9.8.7", .seed = 42, .cluster = &cluster, .job = &job, .device = &device,
                           .server = "a server", .nodes = 1234, .result = &result, .accuracy = {"all", "somewhere", 41, 1, 7, 18}};
}

PW_TEST(the_readable_report_holds_the_answer_on_one_screen) {
    pw_run_report report = make();
    pw_file *file = open_text();
    pw_report_run_text(&report, file);
    close_text(file);
    static const char *const expected[] = {"A title", "1,234 nodes of a server", "9,872 GPUs a gpu", "406 billion", "2,048",
                                           "step     1.000 s", "46.1 %", "a convention", "70.0 of 80.0 GB", "stage 5",
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
    PW_EXPECT_CONTAINS(close_text(file), "no validation is on file");
}
PW_TEST(json_names_its_schema_and_escapes) {
    pw_run_report report = make();
    pw_file *file = open_text();
    pw_report_run_json(&report, file);
    close_text(file);
    PW_EXPECT_CONTAINS(text, "\"schema\": \"podwright.run/1\"");
    PW_EXPECT_CONTAINS(text, "\"step_s\": 1,");
    PW_EXPECT_CONTAINS(text, "\\\"quotes\\\"");
    PW_EXPECT_CONTAINS(text, "\"bucket_bytes\": null");
    PW_EXPECT_CONTAINS(text, "\"precision\": \"bf16\"");
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
    const pw_field *field = pw_kind_field(&pw_train_kind, "bucket_bytes");
    PW_EXPECT_TEXT(pw_report_value(field, &job, value, sizeof value), "-");
    job.bucket_bytes = 40e6;
    PW_EXPECT_TEXT(pw_report_value(field, &job, value, sizeof value), "40 MB");
    job.bucket_bytes = NAN;
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&pw_train_kind, "precision"), &job, value, sizeof value), "bf16");
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&pw_train_kind, "sequence"), &job, value, sizeof value), "1024");
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

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
