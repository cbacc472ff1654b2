/* The committed tables are what podwright-fit makes of the committed data; broken data are named by line. */
#include "calibrate/fit/fit.h"
#include "calibrate/fit/measurements.h"
#include "tests/harness/check.h"

#include <stdlib.h>
#include <unistd.h>

static pw_catalogue *catalogue;
static const pw_fit_paths committed = {.data = PW_SOURCE_DIR "/tests/validation/data",
                                       .split = PW_SOURCE_DIR "/tests/validation", .stack = "trtllm"};

static char *read_file(const char *folder, const char *name, size_t *length) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    *length = file && text ? fread(text, 1, 1 << 20, file) : 0;
    if (file) fclose(file);
    return text;
}

static void expect_same(const char *folder, const char *name) {
    size_t made, kept;
    char *a = read_file(folder, name, &made), *b = read_file(pw_catalogue_folder(catalogue), name, &kept), path[1024];
    PW_EXPECT(made > 100);
    PW_EXPECT_INT(made, kept);
    PW_EXPECT(made == kept && !memcmp(a, b, made));
    free(a);
    free(b);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

PW_TEST(the_committed_tables_come_out_byte_for_byte) {
    char folder[] = "/tmp/podwright-fit-XXXXXX";
    PW_EXPECT(mkdtemp(folder));
    pw_fit_paths paths = committed;
    pw_error error = {0};
    paths.folder = folder;
    FILE *report = fopen("/dev/null", "w");
    PW_EXPECT_INT(pw_fit_traffic(catalogue, &paths, report, &error), PW_OK);
    PW_EXPECT_INT(pw_fit_attention(catalogue, &paths, report, &error), PW_OK);
    fclose(report);
    expect_same(folder, "kernel-traffic-parameters.csv");
    expect_same(folder, "kernel-traffic-covariance.csv");
    expect_same(folder, "kernel-attention-parameters.csv");
    expect_same(folder, "kernel-attention-covariance.csv");
    rmdir(folder);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

static const char *loops_file(void) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/kernel-loops.csv", committed.split);
    return path;
}

static void expect_broken(const char *rows, const char *sides, int line, const char *what) {
    char data[] = "/tmp/podwright-rows-XXXXXX", split[] = "/tmp/podwright-sides-XXXXXX";
    int a = mkstemp(data), b = mkstemp(split);
    pw_measurements all;
    pw_error error = {0};
    write_file(data, rows);
    write_file(split, sides);
    pw_status status = pw_measurements_read_gemm(data, split, loops_file(), "", catalogue, &all, &error);
    PW_EXPECT(status != PW_OK);
    PW_EXPECT_INT(error.line, line);
    PW_EXPECT_CONTAINS(error.what, what);
    if (status == PW_OK) pw_measurements_free(&all);
    close(a);
    close(b);
    unlink(data);
    unlink(split);
}

PW_TEST(broken_measurements_are_named_by_line) {
    static const char header[] = "gpu,stack,dtype,m,n,k,latency_us\n", sides[] = "n,k,side\n2,3,fit\n";
    char rows[256];
    snprintf(rows, sizeof rows, "%sA100-SXM4-80GB,s,bf16,1,2,3,4\nA100-SXM4-80GB,s,bf16,1,2,3,0\n", header);
    expect_broken(rows, sides, 3, "0");
    snprintf(rows, sizeof rows, "%sA100-SXM4-80GB,s,bf15,1,2,3,4\n", header);
    expect_broken(rows, sides, 2, "bf15");
    snprintf(rows, sizeof rows, "%sA100-SXM4-80GB,s,bf16,1,9,3,4\n", header);
    expect_broken(rows, sides, 2, "no side");
    snprintf(rows, sizeof rows, "%sA100-SXM4-80GB,s,bf16,1,2,3,4\n", header);
    expect_broken(rows, "n,k,side\n2,3,both\n", 2, "both");
    snprintf(rows, sizeof rows, "%sB9000,s,bf16,1,2,3,4\n", header);
    expect_broken(rows, sides, 0, "no usable row");
}

PW_TEST(check_rows_shape_nothing_and_groups_keep_their_rows) {
    char data[1024], split[1024];
    pw_measurements all;
    pw_error error = {0};
    snprintf(data, sizeof data, "%s/kernel-gemm.csv", committed.data);
    snprintf(split, sizeof split, "%s/split-gemm.csv", committed.split);
    PW_EXPECT_INT(pw_measurements_read_gemm(data, split, loops_file(), "trtllm", catalogue, &all, &error), PW_OK);
    size_t rows = 0, check = 0;
    for (size_t g = 0; g < all.group_count; g++) {
        PW_EXPECT_INT(all.groups[g].first, rows);
        for (size_t i = 0; i < all.groups[g].rows; i++) {
            PW_EXPECT_INT(all.rows[rows + i].group, g);
            check += all.rows[rows + i].check;
        }
        rows += all.groups[g].rows;
    }
    PW_EXPECT_INT(rows, all.count);
    PW_EXPECT(all.count > 16000 && check > all.count / 4 && check < all.count / 2);
    pw_measurements_free(&all);
}

int main(int argc, char **argv) {
    pw_error error = {0};
    char text[2048];
    if (pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) {
        printf("# %s\n", pw_error_text(&error, text, sizeof text));
        return 1;
    }
    int failed = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    return failed;
}
