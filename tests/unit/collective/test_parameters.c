/* The table of measured parameters: errors name file and line, and no row beats the links of a cluster. */
#include <dirent.h>
#include <sys/stat.h>

#include "tests/unit/collective/groups.h"

static const char folder[] = PW_BINARY_DIR "/collective-parameters-data";
static const char table_name[] = "collective-parameters.csv";

static void copy_file(const char *name, const char *append, bool only_header) {
    char from[512], to[512], line[4096];
    snprintf(from, sizeof from, PW_SOURCE_DIR "/models/catalogue/data/%s", name);
    snprintf(to, sizeof to, "%s/%s", folder, name);
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    PW_EXPECT(in && out);
    if (!in || !out) exit(1);
    for (int number = 1; fgets(line, sizeof line, in); number++)
        if (!only_header || number == 1) fputs(line, out);
    if (append) fputs(append, out);
    fclose(in);
    fclose(out);
}

/* The catalogue with only the given rows of parameters; NULL: without the table. */
static pw_catalogue *catalogue_with(const char *rows) {
    mkdir(folder, 0755);
    DIR *data = opendir(PW_SOURCE_DIR "/models/catalogue/data");
    for (struct dirent *entry; data && (entry = readdir(data));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".csv")) continue;
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        remove(path);
        bool mine = !strcmp(entry->d_name, table_name);
        if (mine && !rows) continue;
        copy_file(entry->d_name, mine ? rows : NULL, mine);
    }
    if (data) closedir(data);
    pw_catalogue *catalogue = NULL;
    pw_error error = {0};
    if (pw_catalogue_load(NULL, folder, &catalogue, &error) != PW_OK) PW_FAILED("%s:%d: %s", error.file, error.line, error.what);
    return catalogue;
}

static pw_status open_with(const char *rows, pw_catalogue **catalogue, test_bench *bench, pw_error *error) {
    *catalogue = catalogue_with(rows);
    pw_cluster_desc desc = test_describe("DGX H100", 1, SINGLE_SWITCH);
    *bench = (test_bench){0};
    PW_EXPECT(pw_cluster_create(NULL, *catalogue, &desc, &bench->cluster, NULL) == PW_OK);
    return pw_collectives_create(NULL, *catalogue, bench->cluster, true, &bench->collectives, error);
}

#define ROW(name, algorithm, a, bandwidth) \
    name ",Hopper,nccl,,one_domain,all_reduce," algorithm ",x,,,,," a ",0,hop,,hop,,," bandwidth ",load,396,,,,16,32,,,,TEST,made up\n"

PW_TEST(no_row_makes_a_cluster_faster_than_its_links) {
    pw_catalogue *catalogue;
    test_bench bench;
    PW_EXPECT(open_with(ROW("one", "ring", "1", "4000"), &catalogue, &bench, NULL) == PW_OK);
    uint32_t gpus[8];
    pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
    pw_collective_cost cost = test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, RING, &shape, 1e9);
    PW_EXPECT_NEAR(cost.total_s, 1e-6 + 1.75 * 1e9 / shape.scaleup_Bps, 1e-12);
    test_close(&bench);
    pw_catalogue_destroy(catalogue);
}

PW_TEST(the_fastest_row_counts) {
    pw_catalogue *catalogue;
    test_bench bench;
    PW_EXPECT(open_with(ROW("one", "ring", "1", "10") ROW("two", "ring", "100", "100"), &catalogue, &bench, NULL) == PW_OK);
    uint32_t gpus[8];
    pw_group_shape shape = test_group(&bench, 0, 1, 8, gpus);
    double scale = 396e9 / shape.scaleup_Bps;
    PW_EXPECT_NEAR(test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, RING, &shape, 1e4).total_s, 1e-6 + 1.75e4 / 10e9 * scale, 1e-9);
    PW_EXPECT_NEAR(test_cost(&bench, PW_COLLECTIVE_ALL_REDUCE, RING, &shape, 1e8).total_s, 1e-4 + 1.75e8 / 100e9 * scale, 1e-9);
    /* no row for any algorithm of these: those of any generation */
    PW_EXPECT(test_cost(&bench, PW_COLLECTIVE_ALL_GATHER, RING, &shape, 1e8).total_s > 0);
    test_close(&bench);
    pw_catalogue_destroy(catalogue);
}

PW_TEST(a_bad_row_is_named) {
    pw_catalogue *catalogue;
    test_bench bench;
    pw_error error = {0};
    PW_EXPECT(open_with(ROW("one", "ring", "1", "10") ROW("two", "snake", "1", "10"), &catalogue, &bench, &error) ==
              PW_BAD_INPUT);
    PW_EXPECT_INT(error.line, 3);
    PW_EXPECT_CONTAINS(error.file, table_name);
    PW_EXPECT_CONTAINS(error.what, "'algorithm' cannot be 'snake'");
    PW_EXPECT(bench.collectives == NULL);
    test_close(&bench);
    pw_catalogue_destroy(catalogue);
    PW_EXPECT(open_with(ROW("one", "ring", "1", ""), &catalogue, &bench, &error) == PW_BAD_INPUT);
    test_close(&bench);
    pw_catalogue_destroy(catalogue);
    PW_EXPECT(open_with(NULL, &catalogue, &bench, &error) == PW_NOT_FOUND);
    test_close(&bench);
    pw_catalogue_destroy(catalogue);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
