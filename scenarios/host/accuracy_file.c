#include "scenarios/host/accuracy_file.h"

#include <string.h>
#include <unistd.h>

#include "sim/csv.h"
#include "sim/file.h"

static const char *const columns[] = {"suite", "group", "n", "bias_pct", "median_pct", "p90_pct", "source"};
enum { COLUMNS = sizeof columns / sizeof *columns, MOST_GROUPS = 64 };

static pw_status copy_other_suites(const char *path, const char *suite, pw_file *file, pw_error *error) {
    if (access(path, F_OK) != 0) return PW_OK;
    pw_csv *csv;
    int at[COLUMNS];
    PW_TRY(pw_csv_open(path, NULL, NULL, &csv, error));
    pw_status status = PW_OK;
    for (int i = 0; i < COLUMNS && status == PW_OK; i++) status = pw_csv_column(csv, columns[i], &at[i], error);
    for (bool row = true; status == PW_OK;) {
        status = pw_csv_next(csv, &row, error);
        if (status != PW_OK || !row) break;
        if (strcmp(pw_csv_text(csv, at[0]), suite) == 0) continue;
        for (int i = 0; i < COLUMNS; i++) pw_file_csv_text(file, pw_csv_text(csv, at[i]));
        pw_file_csv_end(file);
    }
    pw_csv_close(csv);
    return status;
}

static const char *generation(const pw_validation *validation, const pw_catalogue *catalogue, uint32_t row) {
    const pw_device *device;
    const char *gpu = pw_measured_text(validation->input, row, "gpu");
    if (!*gpu) gpu = pw_measured_text(validation->input, row, "device");
    return *gpu && pw_catalogue_device(catalogue, gpu, &device, NULL) == PW_OK ? device->arch : "";
}

/* group NULL: all. */
static void write_group(const pw_validation *validation, const char *const *groups, const char *group, double *errors,
                        pw_file *file) {
    uint32_t count = 0;
    for (uint32_t row = 0; row < validation->input->rows; row++) {
        const pw_prediction *p = &validation->predictions[row];
        if (!p->ran || strcmp(p->side, "check") != 0 || (group && strcmp(groups[row], group) != 0)) continue;
        errors[count++] = (p->stack - p->measured) / p->measured;
    }
    if (count == 0) return;
    pw_score score = pw_validation_score(errors, count);
    pw_file_csv_text(file, validation->suite->name);
    pw_file_csv_text(file, group ? group : "all");
    pw_file_csv_integer(file, score.n);
    pw_file_print(file, ",%.1f,%.1f,%.1f,", score.bias_pct, score.median_pct, score.p90_pct);
    pw_file_print(file, "podwright validate %s", validation->suite->name);
    pw_file_csv_end(file);
}

pw_status pw_accuracy_record(const char *path, const pw_validation *validation, const pw_catalogue *catalogue,
                             pw_arena *arena, pw_error *error) {
    uint32_t rows = validation->input->rows, count = 0;
    const char **groups = pw_arena_alloc(arena, (rows + 1) * sizeof *groups), *distinct[MOST_GROUPS];
    double *errors = pw_arena_alloc(arena, (rows + 1) * sizeof *errors);
    if (!groups || !errors) return pw_fail(error, PW_NO_MEMORY, path, 0, NULL, "no memory left");
    for (uint32_t row = 0; row < rows; row++) {
        groups[row] = generation(validation, catalogue, row);
        uint32_t i = 0;
        while (i < count && strcmp(distinct[i], groups[row]) != 0) i++;
        if (i == count && *groups[row] && count < MOST_GROUPS) distinct[count++] = groups[row];
    }
    pw_file *file;
    PW_TRY(pw_file_create(path, NULL, &file, error));
    pw_file_text(file, "suite,group,n,bias_pct,median_pct,p90_pct,source\n");
    pw_status status = copy_other_suites(path, validation->suite->name, file, error);
    if (status != PW_OK) {
        pw_file_discard(file);
        return status;
    }
    write_group(validation, groups, NULL, errors, file);
    for (uint32_t i = 0; i < count; i++) write_group(validation, groups, distinct[i], errors, file);
    return pw_file_commit(file, error);
}
