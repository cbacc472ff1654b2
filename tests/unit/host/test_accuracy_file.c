/* Law: the accuracy that an answer quotes is of its own class, and there of the narrowest group with enough check rows: GPU,
 * generation, all hardware. */
#include "scenarios/host/accuracy_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenarios/report/report.h"
#include "tests/harness/check.h"

enum { ROWS = 15 };

/* Rows of three GPUs, each with its own error in percent; the other side and a row that did not run must not count. */
static void make(pw_measured *input, const char **cells, pw_prediction *predictions) {
    static const char *const names[] = {"gpu"};
    static const struct { const char *gpu; int rows; double percent; const char *side; } kinds[] = {
        {"H100", PW_ACCURACY_LEAST, 2, "check"}, {"A100-80", PW_ACCURACY_LEAST - 1, 4, "check"}, {"A100-40", 1, 4, "check"}, {"nobody's", 1, 8, "check"},
        {"A100-80", 2, 50, "fit"},               {"H100", 1, 50, ""},                             {"A100-80", 1, 50, "check"}};
    int row = 0;
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (int i = 0; i < kinds[kind].rows; i++, row++) {
            cells[row] = kinds[kind].gpu;
            predictions[row] = (pw_prediction){.ran = row != ROWS - 1, .side = kinds[kind].side, .measured = 10,
                                               .stack = 10 * (1 + kinds[kind].percent / 100)};
        }
    PW_EXPECT_INT(row, ROWS);
    *input = (pw_measured){.file = "rows.csv", .rows = ROWS, .columns = 1, .names = (const char **)names, .cells = cells};
}

static void expect_group(const pw_catalogue *catalogue, const char *answer_class, const char *gpu, const char *arch,
                         const char *group, int n, double bias) {
    pw_accuracy found = pw_accuracy_find(catalogue, answer_class ? "classed" : "cells", answer_class, gpu, arch);
    PW_EXPECT_INT(found.is_elsewhere, !strcmp(gpu, "another GPU"));
    PW_EXPECT_TEXT(found.group, group);
    PW_EXPECT_INT(found.n, n);
    PW_EXPECT_NEAR(found.bias_pct, bias, 1e-9);
}

PW_TEST(an_answer_quotes_the_narrowest_group_with_enough_check_rows) {
    char folder[] = "/tmp/podwright-accuracy-XXXXXX", path[256], tables[512], devices[64], copy[2048];
    if (!mkdtemp(folder)) exit(1);
    snprintf(path, sizeof path, "%s/accuracy.csv", folder);
    pw_arena *arena = pw_arena_create(NULL);
    pw_catalogue *catalogue = NULL, *written = NULL;
    const pw_device *h100 = NULL, *a100 = NULL;
    PW_EXPECT(pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &catalogue, NULL) == PW_OK);
    PW_EXPECT(pw_catalogue_device(catalogue, "H100", &h100, NULL) == PW_OK && pw_catalogue_device(catalogue, "A100-80", &a100, NULL) == PW_OK);
    FILE *before = fopen(path, "w");
    if (!before) exit(1);
    fputs("suite,group,n,bias_pct,median_pct,p90_pct,source\ncells,all,99,99,99,99,old\nother,all,3,1,2,3,\"kept, whole\"\n", before);
    fclose(before);

    pw_suite suite = {.name = "cells"};
    pw_measured input;
    const char *cells[ROWS];
    pw_prediction predictions[ROWS];
    pw_error error = {0};
    make(&input, cells, predictions);
    pw_validation validation = {.suite = &suite, .input = &input, .predictions = predictions};
    PW_EXPECT(pw_accuracy_record(path, &validation, catalogue, arena, &error) == PW_OK);
    pw_suite classed = {.name = "classed"};
    for (int row = 0; row < ROWS; row++) /* the generation with few rows, and the GPU that nobody knows */
        predictions[row].step_class = predictions[row].stack > 10.3 && row < ROWS - 1 ? "hard" : "easy";
    validation.suite = &classed;
    PW_EXPECT(pw_accuracy_record(path, &validation, catalogue, arena, &error) == PW_OK);

    pw_measured table;
    PW_EXPECT(pw_measured_read(path, arena, &table, &error) == PW_OK);
    PW_EXPECT_INT(table.rows, 5 + 3 + 2); /* the other suite's, all, two generations, one GPU; easy: all, generation, GPU; hard */
    PW_EXPECT_TEXT(pw_measured_text(&table, 0, "source"), "kept, whole");
    PW_EXPECT_TEXT(pw_measured_text(&table, 1, "group"), "all");
    PW_EXPECT_TEXT(pw_measured_text(&table, 4, "group"), h100->name);

    /* A catalogue that holds the file answers with it. */
    snprintf(tables, sizeof tables, "cp %s/models/catalogue/data/*.csv %s.d/", PW_SOURCE_DIR, folder);
    snprintf(devices, sizeof devices, "%s.d", folder);
    snprintf(copy, sizeof copy, "mkdir %s && %s && mv %s %s/", devices, tables, path, devices);
    PW_EXPECT(system(copy) == 0);
    PW_EXPECT(pw_catalogue_load(NULL, devices, &written, &error) == PW_OK);
    if (written) {
        char group[200];
        expect_group(written, NULL, h100->name, h100->arch, h100->name, PW_ACCURACY_LEAST, 2);
        expect_group(written, NULL, a100->name, a100->arch, a100->arch, PW_ACCURACY_LEAST, 4);
        expect_group(written, NULL, "another GPU", "another generation", "all", 2 * PW_ACCURACY_LEAST + 1, 3.5); /* (5 x 2 + 5 x 4 + 8) / 11 */
        pw_accuracy_group("easy", h100->name, group, sizeof group);
        expect_group(written, "easy", h100->name, h100->arch, group, PW_ACCURACY_LEAST, 2);
        pw_accuracy_group("hard", a100->arch, group, sizeof group);
        expect_group(written, "hard", a100->name, a100->arch, group, PW_ACCURACY_LEAST, 4);
        expect_group(written, "hard", "another GPU", "another generation", "hard", PW_ACCURACY_LEAST + 1, 4.7); /* (5 x 4 + 8) / 6 */
        PW_EXPECT(pw_accuracy_find(written, "classed", "unheard of", h100->name, h100->arch).source == NULL);
        PW_EXPECT(pw_accuracy_find(written, "no such suite", NULL, h100->name, h100->arch).source == NULL);
    }
    snprintf(copy, sizeof copy, "rm -r %s %s", devices, folder);
    PW_EXPECT(system(copy) == 0);
    pw_catalogue_destroy(written);
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
}

PW_TEST(the_accuracy_on_file_answers_for_the_gpu_before_its_generation) {
    pw_catalogue *catalogue = NULL;
    PW_EXPECT(pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &catalogue, NULL) == PW_OK);
    static const char *const names[] = {"H100", "A100-40"};
    for (int i = 0; i < 2; i++) {
        const pw_device *device = NULL;
        PW_EXPECT(pw_catalogue_device(catalogue, names[i], &device, NULL) == PW_OK);
        char group[200];
        pw_accuracy found = pw_accuracy_find(catalogue, "training", "dense", device->name, device->arch);
        PW_EXPECT_TEXT(found.group, pw_accuracy_group("dense", i == 0 ? device->name : device->arch, group, sizeof group));
    }
    pw_catalogue_destroy(catalogue);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
