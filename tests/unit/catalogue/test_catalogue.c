/* The catalogue on its own data, and on broken copies of it. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/catalogue/catalogue.h"
#include "tests/harness/check.h"

#define DATA PW_SOURCE_DIR "/models/catalogue/data"

static pw_catalogue *load(void) {
    pw_catalogue *catalogue = NULL;
    pw_error error = {0};
    if (pw_catalogue_load(NULL, DATA, &catalogue, &error) != PW_OK)
        PW_FAILED("%s:%d: %s", error.file, error.line, error.what);
    return catalogue;
}

PW_TEST(every_accelerator_has_a_peak_a_memory_a_provenance_and_a_source) {
    pw_catalogue *catalogue = load();
    const pw_table *table = pw_catalogue_table(catalogue, "accelerators");
    PW_EXPECT(pw_table_rows(table) >= 36);
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        const pw_device *device = NULL;
        const char *name = pw_table_text_at(table, row, 0);
        PW_EXPECT(pw_catalogue_device(catalogue, name, &device, NULL) == PW_OK);
        PW_EXPECT_TEXT(device->name, name);
        bool any = false;
        for (int p = 0; p < PW_PRECISION_COUNT; p++) any = any || device->peak_flops[p] > 0;
        PW_EXPECT(any);
        PW_EXPECT(device->memory_bytes > 1e9 && device->memory_Bps > 1e9);
        PW_EXPECT(*device->provenance && *device->source);
    }
    pw_catalogue_destroy(catalogue);
}

PW_TEST(h100_figures_are_in_si_units) {
    pw_catalogue *catalogue = load();
    const pw_device *device = NULL;
    PW_EXPECT(pw_catalogue_device(catalogue, "H100", &device, NULL) == PW_OK);
    PW_EXPECT_TEXT(device->name, "H100-SXM5-80GB");
    PW_EXPECT_NEAR(device->peak_flops[PW_PRECISION_BF16], 989.4e12, 1e-15);
    PW_EXPECT_NEAR(device->memory_Bps, 3352e9, 1e-15);
    PW_EXPECT_NEAR(device->memory_bytes, 81559.0 * 1048576, 1e-15);
    PW_EXPECT_NEAR(device->scaleup_Bps, 450e9, 1e-15);
    PW_EXPECT_NEAR(device->boost_Hz, 1.98e9, 1e-15);
    PW_EXPECT_NEAR(device->l2_bytes, 50.0 * 1048576, 1e-15);
    PW_EXPECT(isnan(device->peak_flops[PW_PRECISION_FP4]));
    pw_catalogue_destroy(catalogue);
}

PW_TEST(reported_memory_never_exceeds_the_sheets_size_in_gibibytes) {
    pw_catalogue *catalogue = load();
    const pw_table *table = pw_catalogue_table(catalogue, "accelerators");
    int sheet = pw_table_find_column(table, "memory"), reported = pw_table_find_column(table, "memory_reported");
    int compared = 0;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double gigabytes = pw_table_number_at(table, row, (size_t)sheet) / 1e9;
        double bytes = pw_table_number_at(table, row, (size_t)reported);
        if (isnan(bytes)) continue;
        compared++;
        if (!(bytes <= gigabytes * 1.02 * 1073741824 && bytes >= 0.95 * gigabytes * 1e9))
            PW_FAILED("%s: %g bytes against %g GB", pw_table_text_at(table, row, 0), bytes, gigabytes);
    }
    PW_EXPECT(compared >= 15);
    pw_catalogue_destroy(catalogue);
}

PW_TEST(per_direction_rates_are_half_of_the_bidirectional_ones) {
    pw_catalogue *catalogue = load();
    const pw_table *table = pw_catalogue_table(catalogue, "accelerators");
    size_t both = (size_t)pw_table_find_column(table, "scaleup_bidirectional");
    size_t one = (size_t)pw_table_find_column(table, "scaleup_per_direction");
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double value = pw_table_number_at(table, row, both);
        if (!isnan(value)) PW_EXPECT_NEAR(pw_table_number_at(table, row, one), value / 2, 1e-3);
    }
    pw_catalogue_destroy(catalogue);
}

PW_TEST(efficiency_is_achieved_over_line_rate_and_below_one) {
    pw_catalogue *catalogue = load();
    const pw_table *table = pw_catalogue_table(catalogue, "protocol-efficiency");
    size_t line = (size_t)pw_table_find_column(table, "line_rate"), got = (size_t)pw_table_find_column(table, "achieved");
    size_t ratio = (size_t)pw_table_find_column(table, "efficiency");
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double efficiency = pw_table_number_at(table, row, ratio);
        PW_EXPECT(efficiency > 0.5 && efficiency < 1);
        PW_EXPECT_NEAR(pw_table_number_at(table, row, got) / pw_table_number_at(table, row, line), efficiency, 1e-3);
    }
    pw_catalogue_destroy(catalogue);
}

PW_TEST(names_used_in_measurements_resolve) {
    static const char *const names[] = {
        "A100-80", "A100-40", "V100-32", "V100-16", "H100", "H200", "B200", "B300", "GB200", "GB300", "A100-SXM-80",
        "H100-SXM", "H200-SXM", "B200-SXM", "RTX-PRO-6000-server", "L40S", "H100-96", "H100 80GB SXM5", "A100 80GB PCIe",
        "RTX 6000 Ada", "MI300X", "MI355X", "T4", "TPUv5p", "H800", "Gaudi2", "h100-NVL", "mlu100", "fsd", "xavier", NULL};
    pw_catalogue *catalogue = load();
    for (const char *const *name = names; *name; name++) {
        const pw_device *device = NULL;
        pw_error error = {0};
        if (pw_catalogue_device(catalogue, *name, &device, &error) != PW_OK) PW_FAILED("%s: %s", *name, error.what);
    }
    pw_catalogue_destroy(catalogue);
}

PW_TEST(an_unknown_accelerator_names_the_nearest) {
    pw_catalogue *catalogue = load();
    const pw_device *device = NULL;
    pw_error error = {0};
    PW_EXPECT(pw_catalogue_device(catalogue, "H100-SMX5-80GB", &device, &error) == PW_NOT_FOUND);
    PW_EXPECT(device == NULL);
    PW_EXPECT_CONTAINS(error.hint, "H100-SXM5-80GB");
    PW_EXPECT(pw_catalogue_device(catalogue, NULL, &device, &error) == PW_NOT_FOUND);
    PW_EXPECT(pw_catalogue_device(catalogue, "dgx-h100", &device, &error) == PW_NOT_FOUND); /* a server */
    pw_catalogue_destroy(catalogue);
}

PW_TEST(explain_shows_value_unit_si_provenance_source_and_place) {
    pw_catalogue *catalogue = load();
    pw_arena *arena = pw_arena_create(NULL);
    const char *text = NULL;
    PW_EXPECT(pw_catalogue_explain(catalogue, "h100.memory_bandwidth", arena, &text, NULL) == PW_OK);
    PW_EXPECT_CONTAINS(text, "3352 GB/s");
    PW_EXPECT_CONTAINS(text, "3352000000000 B/s");
    PW_EXPECT_CONTAINS(text, "READ+MEM");
    PW_EXPECT_CONTAINS(text, "nvidia-smi");
    PW_EXPECT_CONTAINS(text, "accelerators.csv:");
    PW_EXPECT(pw_catalogue_explain(catalogue, "h100.memory_reported", arena, &text, NULL) == PW_OK);
    PW_EXPECT_CONTAINS(text, "81559 MiB");
    PW_EXPECT_CONTAINS(text, "published nvidia-smi listings of this part"); /* the field's own source */
    PW_EXPECT(pw_catalogue_explain(catalogue, "network cable.value", arena, &text, NULL) == PW_OK);
    PW_EXPECT_CONTAINS(text, "1e-07 s");
    PW_EXPECT(pw_catalogue_explain(catalogue, "h100.fp4_dense", arena, &text, NULL) == PW_OK);
    PW_EXPECT_CONTAINS(text, "unknown");
    PW_EXPECT(pw_catalogue_explain(catalogue, "DGX H100", arena, &text, NULL) == PW_OK); /* in two tables */
    PW_EXPECT_CONTAINS(text, "10200 W");
    PW_EXPECT_CONTAINS(text, "nic_attach");
    PW_EXPECT(pw_catalogue_explain(catalogue, "PCIe 5.0 x16.port_per_direction", arena, &text, NULL) == PW_OK);
    PW_EXPECT_CONTAINS(text, "63.0 GB/s");
    pw_error error = {0};
    PW_EXPECT(pw_catalogue_explain(catalogue, "h100.memory_bandwith", arena, &text, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "h100.memory_bandwidth");
    PW_EXPECT(pw_catalogue_explain(catalogue, "h10O", arena, &text, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.hint, "did you mean");
    PW_EXPECT(pw_catalogue_explain(catalogue, "", arena, &text, &error) == PW_NOT_FOUND);
    PW_EXPECT(pw_catalogue_explain(catalogue, ".", arena, &text, &error) == PW_NOT_FOUND);
    pw_arena_destroy(arena);
    pw_catalogue_destroy(catalogue);
}

PW_TEST(every_row_of_every_table_with_a_source_column_has_a_provenance) {
    pw_catalogue *catalogue = load();
    for (size_t i = 0; i < pw_catalogue_table_count(catalogue); i++) {
        const pw_table *table = pw_catalogue_table_at(catalogue, i);
        int provenance = pw_table_find_column(table, "provenance");
        for (size_t row = 0; provenance >= 0 && row < pw_table_rows(table); row++)
            if (!*pw_table_text_at(table, row, (size_t)provenance))
                PW_FAILED("%s:%d has no provenance", pw_table_file(table), pw_table_line(table, row));
    }
    pw_catalogue_destroy(catalogue);
}

/* --- Broken data --------------------------------------------------------------------------------------------- */

static const char *const copied[] = {"accelerators.csv", "aliases.csv", "links.csv", "servers.csv", "nodes.csv", NULL};

static const char *write_folder(const char *file, const char *text) {
    static char folder[64];
    static int number;
    snprintf(folder, sizeof folder, "catalogue-test-%ld-%d", (long)getpid(), ++number);
    mkdir(folder, 0777);
    char path[256];
    for (const char *const *name = copied; *name; name++) {
        snprintf(path, sizeof path, DATA "/%s", *name);
        FILE *from = fopen(path, "rb");
        snprintf(path, sizeof path, "%s/%s", folder, *name);
        FILE *to = fopen(path, "wb");
        for (int c; (c = fgetc(from)) != EOF;) fputc(c, to);
        fclose(from), fclose(to);
    }
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *out = fopen(path, "wb");
    fputs(text, out);
    fclose(out);
    return folder;
}

static void remove_folder(const char *folder, const char *file) {
    char path[256];
    for (const char *const *name = copied; *name; name++) {
        snprintf(path, sizeof path, "%s/%s", folder, *name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/%s", folder, file);
    unlink(path);
    rmdir(folder);
}

static void expect_refused(const char *file, const char *text, int line, const char *part) {
    const char *folder = write_folder(file, text);
    pw_catalogue *catalogue = NULL;
    pw_error error = {0};
    PW_EXPECT(pw_catalogue_load(NULL, folder, &catalogue, &error) == PW_BAD_INPUT);
    PW_EXPECT(catalogue == NULL);
    PW_EXPECT_CONTAINS(error.what, part);
    PW_EXPECT_CONTAINS(error.file, file);
    PW_EXPECT_INT(error.line, line);
    pw_catalogue_destroy(catalogue);
    remove_folder(folder, file);
}

PW_TEST(broken_data_are_refused_with_file_and_line) {
    expect_refused("x.csv", "name,rate [GB/s]\na,1\nb,fast\n", 3, "'fast' is not a number");
    expect_refused("x.csv", "name,rate [GB/s]\na,1\nb\n", 3, "");
    expect_refused("x.csv", "name,rate [GB/s]\na,1\nb,1,2\n", 3, "");
    expect_refused("x.csv", "name,rate [GB/s]\na,1\nb,2\nA,3\n", 4, "already in line 2");
    expect_refused("x.csv", "name,rate [furlong]\na,1\n", 1, "unknown unit 'furlong'");
    expect_refused("x.csv", "name,rate [GB/s\na,1\n", 1, "malformed");
    expect_refused("x.csv", "name,rate [GB/s]\n,1\n", 2, "no name");
    expect_refused("x.csv", "name,rate [GB/s],rate [MB/s]\na,1,2\n", 1, "'rate' appears twice");
    expect_refused("x.csv", "name,rate,Rate\na,1,2\n", 1, "'Rate' appears twice");
    expect_refused("x.csv", "name,\" [GB/s]\"\na,1\n", 1, "column 2 has no name");
    expect_refused("x.csv", "name,rate [GB/s]\na,1e308\n", 2, "'1e308' is too large");
    expect_refused("x.csv", "name,rate [GB/s]\na,-1e308\n", 2, "'-1e308' is too large");
    expect_refused("x.csv", "name,rate [GB/s]\na,0x10\n", 2, "'0x10' is not a number");
    expect_refused("x.csv", "name,rate [GB/s]\na,nan\n", 2, "'nan' is not a number");
    expect_refused("aliases.csv", "name,target\nq,nothing\n", 2, "which no table holds");
    expect_refused("aliases.csv", "name,target\nL40S,A30\n", 2, "is the name of a row");
    expect_refused("aliases.csv", "name,target\nq,L40S\nQ,A30\n", 3, "already in line 2");
    expect_refused("accelerators.csv", "name,vendor\nq,v\n", 1, "is missing");
}

/* Folders and pipes are not waited for; a table that would fill the memory is not read to its end. */
PW_TEST(what_is_no_table_of_fair_size_is_refused_at_once) {
    enum { FOLDER, PIPE, LARGE, KINDS };
    for (int kind = FOLDER; kind < KINDS; kind++) {
        const char *folder = write_folder("x.csv", "name\na\n");
        char path[256];
        snprintf(path, sizeof path, "%s/x.csv", folder);
        unlink(path);
        if (kind == FOLDER) PW_EXPECT_INT(mkdir(path, 0777), 0);
        if (kind == PIPE) PW_EXPECT_INT(mkfifo(path, 0666), 0);
        if (kind == LARGE) {
            FILE *out = fopen(path, "wb");
            static char remark[1 << 20];
            memset(remark, '#', sizeof remark);
            for (int i = 0; i < 65; i++) fwrite(remark, 1, sizeof remark, out);
            fclose(out);
        }
        pw_catalogue *catalogue = NULL;
        pw_error error = {0};
        alarm(20); /* a wait would end the test */
        PW_EXPECT_INT(pw_catalogue_load(NULL, folder, &catalogue, &error), kind == LARGE ? PW_LIMIT : PW_BAD_INPUT);
        alarm(0);
        PW_EXPECT_CONTAINS(error.file, "x.csv");
        PW_EXPECT_CONTAINS(error.what, kind == LARGE ? "longer than" : "not a regular file");
        PW_EXPECT(catalogue == NULL);
        if (kind == FOLDER) rmdir(path);
        remove_folder(folder, "x.csv");
    }
}

PW_TEST(an_unusable_value_of_an_accelerator_is_refused) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size), *in = fopen(DATA "/accelerators.csv", "rb");
    static char line[1 << 14];
    if (fgets(line, sizeof line, in)) fputs(line, out);
    /* the second row with a memory of -32 GB */
    if (fgets(line, sizeof line, in)) {
        char *place = strstr(line, ",HBM2,32,");
        PW_EXPECT(place != NULL);
        if (place) fprintf(out, "%.*s,HBM2,-32,%s", (int)(place - line), line, place + 9);
    }
    fclose(in), fclose(out);
    expect_refused("accelerators.csv", text, 2, "memory");
    free(text);
}

PW_TEST(a_missing_folder_is_named) {
    pw_catalogue *catalogue = NULL;
    pw_error error = {0};
    PW_EXPECT(pw_catalogue_load(NULL, "/nonexistent-folder", &catalogue, &error) == PW_IO);
    PW_EXPECT_CONTAINS(error.file, "/nonexistent-folder");
    setenv("PODWRIGHT_DATA", "/nonexistent-folder", 1);
    PW_EXPECT(pw_catalogue_load(NULL, NULL, &catalogue, &error) == PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.what, "PODWRIGHT_DATA");
    setenv("PODWRIGHT_DATA", DATA, 1);
    PW_EXPECT(pw_catalogue_load(NULL, NULL, &catalogue, &error) == PW_OK);
    PW_EXPECT_TEXT(pw_catalogue_folder(catalogue), DATA);
    pw_catalogue_destroy(catalogue);
    unsetenv("PODWRIGHT_DATA");
    PW_EXPECT(pw_catalogue_load(NULL, NULL, &catalogue, &error) == PW_OK);
    pw_catalogue_destroy(catalogue);
}

PW_TEST(loading_survives_every_failing_allocation) {
    const char *folder = write_folder("x.csv", "name,rate [GB/s]\na,1\n");
    pw_counting_allocator counting;
    unsigned long long n = 1;
    for (;; n++) {
        pw_counting_allocator_init(&counting);
        counting.fail_at = n;
        pw_catalogue *catalogue = NULL;
        pw_status status = pw_catalogue_load(&counting.allocator, folder, &catalogue, NULL);
        pw_catalogue_destroy(catalogue);
        PW_EXPECT_INT(counting.live_bytes, 0);
        if (status == PW_OK) break;
        PW_EXPECT_INT(status, PW_NO_MEMORY);
        PW_EXPECT(catalogue == NULL);
        if (pw_test_failures) break;
    }
    PW_EXPECT(n > 20);
    remove_folder(folder, "x.csv");
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
