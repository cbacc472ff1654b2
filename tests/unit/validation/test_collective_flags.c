/* Laws: what is known to be ill is flagged, what is healthy is not, on families that shaped the limits and on others; a table that the
 * model made is healthy until it is slowed, bent or torn. */
#include "scenarios/validation/collective_flags.h"
#include "tests/unit/validation/scratch.h"

static pw_catalogue *catalogue;
static pw_arena *arena;

static void check_score(const pw_diagnosis *diagnoses, uint32_t count, const char *side, uint32_t least_ill, uint32_t least_healthy) {
    pw_flag_score score = pw_flag_score_of(diagnoses, count, side);
    PW_EXPECT(score.ill >= least_ill && score.healthy >= least_healthy);
    PW_EXPECT(score.found >= 0.8 * score.ill);
    PW_EXPECT(score.wrong < 0.05 * score.healthy);
}

PW_TEST(most_ill_tables_are_flagged_and_few_healthy_ones) {
    pw_diagnosis *diagnoses;
    uint32_t count;
    pw_error error = {0};
    PW_EXPECT_INT(pw_collective_diagnose(catalogue, NULL, arena, &diagnoses, &count, &error), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    check_score(diagnoses, count, NULL, 12, 298);
    check_score(diagnoses, count, "fit", 5, 100);
    check_score(diagnoses, count, "check", 5, 100);
}

/* ---- Tables made by the model ---- */

enum { SIZES = 16 };
typedef struct made {
    const char *gpu, *intra, *inter;
    int nodes, per_node;
    double factor[SIZES]; /* on the predicted times, 1 MiB doubled SIZES - 1 times */
} made;

static void write_table(char *text, size_t size, const made *of, const double *times) {
    int at = snprintf(text, size, "table_id,gpu,nodes,gpus_per_node,intra,inter,collective,size_bytes,time_us\n");
    for (int i = 0; i < SIZES; i++)
        at += snprintf(text + at, size - (size_t)at, "made,%s,%d,%d,%s,%s,all_reduce,%lld,%.9g\n", of->gpu, of->nodes, of->per_node, of->intra,
                       of->inter, (long long)1048576 << i, times[i] * of->factor[i]);
}

static const char *keep(const char *name, const char *text) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s-%d.csv", P_tmpdir, name, (int)getpid());
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) PW_FAILED("cannot write %s", path);
    return path;
}

/* The names of the flags, in a row. */
static const char *flags_of(const made *of) {
    static char names[200];
    char text[8192];
    double times[SIZES];
    pw_validation validation;
    pw_diagnosis *diagnoses;
    uint32_t count = 0;
    pw_error error = {0};
    for (int i = 0; i < SIZES; i++) times[i] = 1000;
    made plain = *of;
    for (int i = 0; i < SIZES; i++) plain.factor[i] = 1;
    write_table(text, sizeof text, &plain, times);
    const char *path = keep("made", text);
    pw_status status = pw_validation_run(&pw_suite_collectives, catalogue, &(pw_validation_options){.data = path}, arena, &validation, &error);
    for (int i = 0; status == PW_OK && i < SIZES; i++) {
        PW_EXPECT(validation.predictions[i].ran);
        times[i] = validation.predictions[i].plain * 1e6;
    }
    write_table(text, sizeof text, of, times);
    path = keep("made", text);
    if (status == PW_OK) status = pw_collective_diagnose(catalogue, path, arena, &diagnoses, &count, &error);
    remove(path);
    PW_EXPECT_TEXT(error.what, "");
    names[0] = '\0';
    if (status != PW_OK || count != 1) return "none";
    for (uint32_t f = 0, at = 0; f < diagnoses[0].flag_count; f++)
        at += (uint32_t)snprintf(names + at, sizeof names - at, "%s%s", f ? " " : "", diagnoses[0].flags[f].name);
    return names;
}

static made slowed(made of, double factor) {
    for (int i = 0; i < SIZES; i++) of.factor[i] = factor;
    return of;
}

PW_TEST(a_slow_table_is_flagged_by_how_slow_and_where) {
    const made node = {"H100", "NVLink4+NVSwitch", "", 1, 8, {0}}, pair = {"H100", "NVLink4+NVSwitch", "8x NDR400 IB", 2, 8, {0}};
    const made pcie = {"L40S", "PCIe4", "", 1, 8, {0}}, efa = {"A100", "NVLink3+NVSwitch", "4x100G EFA", 2, 8, {0}};
    made of = slowed(node, 1);
    PW_EXPECT_TEXT(flags_of(&of), "");
    of = slowed(pair, 1.2);
    PW_EXPECT_TEXT(flags_of(&of), "");
    of = slowed(pair, 1.5);
    PW_EXPECT_TEXT(flags_of(&of), "below-network");
    of = slowed(pair, 2);
    PW_EXPECT_TEXT(flags_of(&of), "half-rate");
    of = slowed(pair, 8);
    PW_EXPECT_TEXT(flags_of(&of), "no-rdma");
    of = slowed(efa, 3);
    PW_EXPECT_TEXT(flags_of(&of), "efa-without-plugin");
    of = slowed(node, 2);
    PW_EXPECT_TEXT(flags_of(&of), "nvlink-partly-used");
    of = slowed(node, 9);
    PW_EXPECT_TEXT(flags_of(&of), "nvlink-not-used");
    of = slowed(pcie, 1.6);
    PW_EXPECT_TEXT(flags_of(&of), "pcie-path");
    of = slowed(pcie, 6);
    PW_EXPECT_TEXT(flags_of(&of), "no-peer-access");
}

PW_TEST(a_bent_table_is_flagged_whatever_its_level) {
    made of = slowed((made){"H200", "NVLink4+NVSwitch", "8x NDR400 IB", 4, 8, {0}}, 1);
    of.factor[3] = 30;
    PW_EXPECT_TEXT(flags_of(&of), "time-falls");
    of.factor[3] = 1;
    of.factor[9] = of.factor[10] = 3; /* 512 MiB and 1 GiB */
    PW_EXPECT_CONTAINS(flags_of(&of), "uneven-large-sizes");
}

PW_TEST(a_file_without_a_column_is_refused) {
    pw_diagnosis *diagnoses;
    uint32_t count;
    pw_error error = {0};
    const char *path = keep("other", "table_id,gpu,nodes\nx,H100,1\n");
    PW_EXPECT_INT(pw_collective_diagnose(catalogue, path, arena, &diagnoses, &count, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "column 'gpus_per_node' is missing");
    remove(path);
}

int main(int argc, char **argv) {
    pw_error error = {0};
    arena = pw_arena_create(NULL);
    if (!arena || pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) return 1;
    int status = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
    return status;
}
