/* Forms without a public sample: short synthetic logs, by what the sources of nccl-tests and rccl-tests print. */
#include "calibrate/import/log.h"
#include "tests/harness/check.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static pw_arena *arena;
static pw_error error;

static pw_log read_text(const char *text) {
    char path[64];
    pw_log log = {0};
    int file = memfd_create("log", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    error = (pw_error){0};
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) PW_FAILED("no file");
    pw_status status = pw_log_read(path, arena, &log, &error);
    PW_EXPECT_INT(status, error.status);
    close(file);
    return log;
}

#define START "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n# Using devices\n"
#define DEVICES                                                                     \
    "#  Rank  0 Group  0 Pid     10 on     node-a device  0 [0x1b] NVIDIA B200\n"    \
    "#  Rank  1 Group  0 Pid     11 on     node-a device  1 [0x29] NVIDIA B200\n"    \
    "#  Rank  2 Group  0 Pid     12 on     node-a device  2 [0x45] NVIDIA B200\n"    \
    "#  Rank  3 Group  0 Pid     13 on     node-a device  3 [0x4e] NVIDIA B200\n"
#define COLUMNS                                                                                                        \
    "#                                                              out-of-place                       in-place\n"     \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n" \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
#define ROW "     1048576        262144     float     sum      -1    50.00   20.97   31.46      0    40.00   26.21   39.32      0\n"
#define END "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 35.39 \n#\n"

static void check_row(const pw_log_row *row) {
    PW_EXPECT_INT(row->size_bytes, 1048576);
    PW_EXPECT_INT(row->count, 262144);
    PW_EXPECT_NEAR(row->out_of_place.time_us, 50, 0);
    PW_EXPECT_NEAR(row->out_of_place.busbw_GBps, 31.46, 0);
    PW_EXPECT_NEAR(row->in_place.time_us, 40, 0);
    PW_EXPECT_NEAR(row->in_place.algbw_GBps, 26.21, 0);
    PW_EXPECT_NEAR(row->in_place.wrong, 0, 0);
}

PW_TEST(tags_of_launchers_do_not_matter) {
    static const char *const tags[] = {"", "[1,0]<stdout>:", " 0: ", "[0] ", "[0]", "[prterun-host-7@1,0]<stdout>:", "2026-07-14T09:11:02.5Z ",
                                       "2026-07-14 09:11:02 ", "worker-0: ", "node-1  | ", "[pod/launcher-x/worker] ", "[1,12]<stdout>: [0] "};
    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++) {
        char text[8192];
        int at = 0;
        for (const char *line = START DEVICES COLUMNS ROW END; *line;) {
            int length = (int)strcspn(line, "\n");
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%.*s\n", tags[t], length, line);
            line += length + 1;
        }
        pw_log log = read_text(text);
        PW_EXPECT_INT(log.count, 1);
        if (log.count != 1) continue;
        PW_EXPECT_INT(log.tables[0].ranks, 4);
        PW_EXPECT_INT(log.tables[0].kind, PW_LOG_ALL_REDUCE); /* by the factor 1.5 */
        PW_EXPECT_INT(log.tables[0].row_count, 1);
        if (log.tables[0].row_count == 1) check_row(&log.tables[0].rows[0]);
        PW_EXPECT(!log.tables[0].truncated);
        PW_EXPECT_NEAR(log.tables[0].average_busbw_GBps, 35.39, 0);
    }
}

PW_TEST(a_tag_within_a_row_does_not_matter) {
    pw_log log = read_text(START DEVICES COLUMNS
                           "[0]     1048576        262144     float     sum      -1[0]    50.00   20.97   31.46      0[0]    40.00   26.21   39.32      0\n"
                           "[1,0]<stdout>:     2097152        524288     float     sum      -1[1,0]<stdout>:    80.00   26.21   39.32    N/A[1,0]<stdout>:    80.00   26.21   39.32    N/A\n" END);
    PW_EXPECT_INT(log.count, 1);
    PW_EXPECT_INT(log.tables[0].row_count, 2);
    check_row(&log.tables[0].rows[0]);
    PW_EXPECT_NEAR(log.tables[0].rows[1].out_of_place.time_us, 80, 0);
    PW_EXPECT(isnan(log.tables[0].rows[1].in_place.wrong));
}

PW_TEST(messages_may_break_a_row) {
    pw_log log = read_text(START DEVICES COLUMNS
                           "     1048576        262144     float     sum      -1node-a:10:20 [0] NCCL INFO Channel 00/16 : 0 1 2 3\n"
                           "node-a:11:21 [1] NCCL INFO comm 0x55 rank 1 nranks 4\n"
                           "    50.00   20.97   31.46      0\n"
                           "    40.00   26.21   39.32      0\n"
                           "     2097152        524288     float     sum      -1\n"
                           "    80.00   26.21   39.32      0    80.00   26.21   39.32      0\n" END);
    PW_EXPECT_INT(log.count, 1);
    PW_EXPECT_INT(log.tables[0].row_count, 2);
    check_row(&log.tables[0].rows[0]);
    PW_EXPECT_NEAR(log.tables[0].rows[1].in_place.busbw_GBps, 39.32, 0);
}

PW_TEST(columns_of_single_iterations_and_timestamps_are_passed_over) {
    pw_log log = read_text(
        "# nccl-tests version 2.19.6 nccl-headers=23004 nccl-library=22907\n# Collective test starting: reduce_scatter_perf\n" START DEVICES
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv% timestamp\n"
        "     1048576        262144     float     sum      -1    50.00   20.97   15.73       0    48.00    60.00    59.00     4.10    40.00   26.21   19.66       0    39.00    41.00    41.00     1.00  2026-07-14 09:11:02\n"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 17.7 \n# GPU memory usage     : NCCL 1.2 GB | Total  2.1 GB\n# Collective test concluded: reduce_scatter_perf\n");
    PW_EXPECT_INT(log.count, 1);
    const pw_log_table *table = &log.tables[0];
    PW_EXPECT_INT(table->kind, PW_LOG_REDUCE_SCATTER);
    PW_EXPECT_TEXT(table->tests_version, "2.19.6");
    PW_EXPECT_TEXT(table->library_version, "2.29.7");
    PW_EXPECT_INT(table->row_count, 1);
    PW_EXPECT_NEAR(table->rows[0].in_place.time_us, 40, 0);
    PW_EXPECT_NEAR(table->rows[0].in_place.busbw_GBps, 19.66, 0);
}

PW_TEST(a_blank_first_half_leaves_the_second) {
    pw_log log = read_text(START DEVICES COLUMNS
                           "     1048576        262144     float     sum      -1                                    40.00   26.21   39.32      0\n" END);
    PW_EXPECT_INT(log.count, 1);
    PW_EXPECT(isnan(log.tables[0].rows[0].out_of_place.time_us));
    PW_EXPECT_NEAR(log.tables[0].rows[0].in_place.time_us, 40, 0);
}

PW_TEST(rccl_tests_may_print_one_half_and_cycles) {
    pw_log log = read_text("# Collective test starting: all_reduce_perf\n" START "rccl-tests: Version develop:ae3e635\n"
                           "#   Rank  0 Pid     10 on     node-a device  0 [0000:05:00.0] AMD Instinct MI300X\n"
                           "#   Rank  1 Pid     10 on     node-a device  1 [0000:26:00.0] AMD Instinct MI300X\n"
                           "#   Rank  2 Pid     10 on     node-a device  2 [0000:46:00.0] AMD Instinct MI300X\n"
                           "#   Rank  3 Pid     10 on     node-a device  3 [0000:65:00.0] AMD Instinct MI300X\n"
                           "RCCL version : 2.27.7-develop:29e1567\nHIP version  : 7.0.51831\n"
                           "#                                                              in-place\n"
                           "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
                           "# Testing 1 cycle.\n"
                           "     1048576        262144     float     sum      -1    40.00   26.21   39.32      0\n"
                           "# Testing 2 cycle.\n"
                           "     1048576        262144     float     sum      -1    41.00   25.58   38.36     3*\n"
                           "# Errors with asterisks indicate errors that have exceeded the maximum threshold.\n"
                           "# Out of bounds values : 1 FAILED\n# Avg bus bandwidth    : 38.84 OK\n");
    PW_EXPECT_INT(log.count, 1);
    const pw_log_table *table = &log.tables[0];
    PW_EXPECT_TEXT(table->library, "rccl");
    PW_EXPECT_TEXT(table->library_version, "2.27.7-develop:29e1567");
    PW_EXPECT_TEXT(table->gpu, "AMD Instinct MI300X");
    PW_EXPECT_INT(table->row_count, 2);
    PW_EXPECT_INT(table->rows[1].cycle, 2);
    PW_EXPECT_NEAR(table->rows[1].in_place.wrong, 3, 0);
    PW_EXPECT(isnan(table->rows[1].out_of_place.time_us));
    PW_EXPECT(table->out_of_bounds_failed);
    PW_EXPECT_NEAR(table->average_busbw_GBps, 38.84, 0);
}

PW_TEST(old_headers_have_other_beginnings) {
    pw_log all_gather = read_text("$ ./build/all_gather_perf -b 8 -e 8\n" START DEVICES
                                  "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
                                  "     1048576         65536   float    50.00   20.97   15.73  0e+00    40.00   26.21   19.66  0e+00\n");
    pw_log broadcast = read_text(START DEVICES "#       size         count    type    root     time   algbw   busbw  error     time   algbw   busbw  error\n"
                                 "     1048576        262144   float       0    50.00   20.97   20.97    N/A    40.00   26.21   26.21    N/A\n");
    pw_log reduce = read_text(START DEVICES "#       size         count    type   redop    root     time   algbw   busbw  error     time   algbw   busbw  error\n"
                              "     1048576        262144   float     sum       0    50.00   20.97   20.97  2e-07    40.00   26.21   26.21  2e-07\n");
    PW_EXPECT_INT(all_gather.count, 1);
    PW_EXPECT_INT(all_gather.tables[0].kind, PW_LOG_ALL_GATHER);
    PW_EXPECT(all_gather.tables[0].rows[0].redop == NULL);
    PW_EXPECT_INT(all_gather.tables[0].rows[0].root, PW_LOG_NO_ROOT);
    PW_EXPECT(all_gather.tables[0].truncated);
    PW_EXPECT_INT(broadcast.tables[0].kind, PW_LOG_BROADCAST);
    PW_EXPECT_INT(broadcast.tables[0].rows[0].root, 0);
    PW_EXPECT_INT(reduce.tables[0].kind, PW_LOG_REDUCE);
    PW_EXPECT(isnan(reduce.tables[0].rows[0].in_place.wrong)); /* an error, no count */
}

PW_TEST(several_tests_in_one_file_are_several_tables) {
    pw_log log = read_text("# Collective test starting: all_gather_perf\n" START DEVICES COLUMNS
                           "     1048576         65536     float    none      -1    50.00   20.97   15.73      0    40.00   26.21   19.66      0\n" END
                           "# Collective test starting: sendrecv_perf\n# nThread 1 nGpus 2 minBytes 1\n"
                           "#  Rank  0 Group  0 Pid     10 on     node-a device  0 [0x1b] NVIDIA H200\n"
                           "#  Rank  1 Group  0 Pid     10 on     node-b device  0 [0x29] NVIDIA H200\n" COLUMNS
                           "     1048576        262144     float    none      -1    50.00   20.97   20.97      0    40.00   26.21   26.21    N/A\n" END);
    PW_EXPECT_INT(log.count, 2);
    PW_EXPECT_INT(log.tables[0].kind, PW_LOG_ALL_GATHER);
    PW_EXPECT_INT(log.tables[1].kind, PW_LOG_SENDRECV);
    PW_EXPECT_INT(log.tables[1].ranks, 2);
    PW_EXPECT_INT(log.tables[1].hosts, 2);
    PW_EXPECT_TEXT(log.tables[1].gpu, "NVIDIA H200");
}

PW_TEST(groups_that_ran_at_once_are_told_apart) {
    pw_log log = read_text(START "#  Rank  0 Group  0 Pid     10 on     node-a device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
                           "#  Rank  1 Group  0 Pid     10 on     node-b device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
                           "#  Rank  0 Group  1 Pid     10 on     node-a device  1 [0x29] NVIDIA H100 80GB HBM3\n"
                           "#  Rank  1 Group  1 Pid     10 on     node-b device  1 [0x29] NVIDIA H100 80GB HBM3\n" COLUMNS ROW);
    PW_EXPECT_INT(log.tables[0].ranks, 4);
    PW_EXPECT_INT(log.tables[0].groups, 2);
    PW_EXPECT_INT(log.tables[0].group_ranks, 2);
    PW_EXPECT_INT(log.tables[0].group_hosts, 2);
    PW_EXPECT(!log.tables[0].alone);
}

PW_TEST(processes_without_mpi_are_noticed) {
    pw_log log = read_text(START START "#  Rank  0 Group  0 Pid     10 on     node-a device  0 [0x1b] NVIDIA H200\n"
                           "#  Rank  0 Group  0 Pid     11 on     node-a device  0 [0x1b] NVIDIA H200\n" COLUMNS COLUMNS
                           "     1048576        262144     float     sum      -1    50.00   20.97    0.00      0    40.00   26.21    0.00      0\n" END);
    PW_EXPECT_INT(log.count, 1);
    PW_EXPECT(log.tables[0].alone);
}

PW_TEST(rows_that_contradict_themselves_are_found) {
    char text[300];
    pw_log log = read_text("# Collective test starting: all_reduce_perf\n" START DEVICES COLUMNS ROW
                           "     1048576        262144     float     sum      -1  4478.80  239.74  359.61      0  4478.80  239.74  359.61      0\n"
                           "     1048576        262144     float     sum      -1    50.00   20.97   36.70      0    50.00   20.97   36.70      0\n" END);
    const pw_log_table *table = &log.tables[0];
    PW_EXPECT(!pw_log_contradicts(table, &table->rows[0], &table->rows[0].out_of_place, text, sizeof text));
    PW_EXPECT(pw_log_contradicts(table, &table->rows[1], &table->rows[1].out_of_place, text, sizeof text));
    PW_EXPECT_CONTAINS(text, "1048576 bytes in 4478.8 us are 0.2341 GB/s");
    PW_EXPECT(pw_log_contradicts(table, &table->rows[2], &table->rows[2].out_of_place, text, sizeof text));
    PW_EXPECT_CONTAINS(text, "all_reduce of 4 ranks has the factor 1.5");
}

PW_TEST(cpu_times_are_told_apart) {
    char text[300];
    pw_log log = read_text("# Collective test starting: all_reduce_perf\n" START DEVICES
                           "#       size         count      type   redop    root  cputime   algbw   busbw  #wrong  cputime   algbw   busbw  #wrong\n"
                           "     1048576        262144     float     sum      -1     9.00   20.97   31.46      0     8.00   26.21   39.32      0\n" END);
    const pw_log_table *table = &log.tables[0];
    PW_EXPECT(table->cpu_time);
    PW_EXPECT(!pw_log_contradicts(table, &table->rows[0], &table->rows[0].out_of_place, text, sizeof text));
}

/* ---- JSON ---- */

#define JSON_HEAD                                                                                                              \
    "{\"version\":3,\"start_time\":\"2026-07-14 09:11:02\",\"args\":[\"/opt/alltoall_perf\",\"-g\",\"2\"],\"env\":[\"TOKEN=a{[}\"]," \
    "\"nccl_version\":2804,\"config\":{\"nthreads\":1,\"ngpus\":2,\"devices\":[{\"rank\":0,\"group\":0,\"hostname\":\"h\",\"device_info\":\"NVIDIA H200\"}]},"
#define JSON_ROW                                                                                                          \
    "{\"size\":1048576,\"count\":262144,\"type\":\"float\",\"redop\":\"none\",\"root\":\"    -1\",\"out_of_place\":{\"cpu_time\":50.0," \
    "\"alg_bw\":20.97,\"bus_bw\":10.48,\"nwrong\":0.0}"

PW_TEST(a_report_that_breaks_off_gives_what_is_whole) {
    static const char text[] = JSON_HEAD "\"results\":[" JSON_ROW ",\"in_place\":null,\"actual_iterations\":20}," JSON_ROW ",\"in_pl";
    pw_log log = read_text(text);
    PW_EXPECT_INT(log.count, 1);
    const pw_log_table *table = &log.tables[0];
    PW_EXPECT_INT(table->kind, PW_LOG_ALLTOALL);
    PW_EXPECT_INT(table->ranks, 2); /* one process without MPI lists its first GPU only */
    PW_EXPECT_TEXT(table->library_version, "2.8.4");
    PW_EXPECT(table->truncated && table->cpu_time);
    PW_EXPECT_INT(table->row_count, 2);
    PW_EXPECT_NEAR(table->rows[1].out_of_place.algbw_GBps, 20.97, 0);
    PW_EXPECT(isnan(table->rows[1].in_place.time_us));
    for (size_t end = 1; end < sizeof text; end++) { /* wherever it breaks off: rows or an error, never more rows */
        char part[sizeof text];
        snprintf(part, sizeof part, "%.*s", (int)end, text);
        log = read_text(part);
        PW_EXPECT(log.count ? log.tables[0].row_count <= 2 : error.what[0] != 0);
    }
}

PW_TEST(other_files_are_refused) {
    PW_EXPECT_INT(read_text("").count, 0);
    PW_EXPECT_CONTAINS(error.what, "no table of a collective test found");
    PW_EXPECT_INT(read_text("{\"results\": 3}").count, 0);
    PW_EXPECT_CONTAINS(error.what, "no report of nccl-tests");
    PW_EXPECT_INT(read_text("{\"results\": [}").count, 0);
    PW_EXPECT_CONTAINS(error.what, "no JSON");
    PW_EXPECT_INT(read_text("     1048576 262144 float sum -1 50.00 20.97 31.46 0\n").count, 0);
}

int main(int argc, char **argv) {
    arena = pw_arena_create(NULL);
    if (!arena) return 1;
    int status = pw_run_tests(argc, argv);
    pw_arena_destroy(arena);
    return status;
}
