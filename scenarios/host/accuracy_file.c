#include "scenarios/host/accuracy_file.h"

#include <string.h>
#include <unistd.h>

#include "scenarios/report/report.h"
#include "sim/csv.h"
#include "sim/file.h"

static const char *const columns[] = {"suite", "group", "n", "bias_pct", "median_pct", "p90_pct", "source"};
enum { COLUMNS = sizeof columns / sizeof *columns };

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

/* The devices of the rows; NULL where the catalogue does not know the GPU. */
static pw_status find_devices(const pw_validation *validation, const pw_catalogue *catalogue, const pw_device ***devices,
                              pw_arena *arena, pw_error *error) {
    uint32_t rows = validation->input->rows;
    *devices = pw_arena_alloc(arena, (rows + 1) * sizeof **devices);
    if (!*devices) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    for (uint32_t row = 0; row < rows; row++) {
        const char *gpu = pw_measured_text(validation->input, row, "gpu");
        if (!*gpu) gpu = pw_measured_text(validation->input, row, "device");
        if (!*gpu || pw_catalogue_device(catalogue, gpu, &(*devices)[row], NULL) != PW_OK) (*devices)[row] = NULL;
    }
    return PW_OK;
}

static const char *generation_of(const pw_device *device) { return device->arch; }
static const char *name_of(const pw_device *device) { return device->name; }

typedef const char *group_of(const pw_device *device);

typedef struct scoring {
    const pw_validation *validation;
    const pw_device **devices;
    double *errors; /* scratch */
    pw_file *file;
} scoring;

/* Which rows a line is about: NULL, any. */
typedef struct chosen {
    const char *answer_class, *hardware;
    group_of *of;
} chosen;

static bool is_in(const scoring *s, uint32_t row, const chosen *which) {
    const pw_prediction *p = &s->validation->predictions[row];
    if (!p->ran || strcmp(p->side, "check") != 0) return false;
    if (which->answer_class && strcmp(p->step_class, which->answer_class) != 0) return false;
    return !which->of || (s->devices[row] && strcmp(which->of(s->devices[row]), which->hardware) == 0);
}

/* One line, unless there are fewer than `least` rows. */
static void write_group(const scoring *s, const chosen *which, uint32_t least) {
    char group[200];
    uint32_t count = 0;
    for (uint32_t row = 0; row < s->validation->input->rows; row++) {
        const pw_prediction *p = &s->validation->predictions[row];
        if (is_in(s, row, which)) s->errors[count++] = (p->stack - p->measured) / p->measured;
    }
    if (count < least) return;
    pw_score score = pw_validation_score(s->errors, count);
    pw_file_csv_text(s->file, s->validation->suite->name);
    pw_file_csv_text(s->file, pw_accuracy_group(which->answer_class, which->hardware, group, sizeof group));
    pw_file_csv_integer(s->file, score.n);
    pw_file_print(s->file, ",%.1f,%.1f,%.1f,", score.bias_pct, score.median_pct, score.p90_pct);
    pw_file_print(s->file, "podwright validate %s", s->validation->suite->name);
    pw_file_csv_end(s->file);
}

/* The GPUs or generations in order of appearance. */
static void write_hardware(const scoring *s, const char *answer_class, group_of *of, uint32_t least) {
    for (uint32_t row = 0; row < s->validation->input->rows; row++) {
        if (!s->devices[row]) continue;
        const chosen which = {answer_class, of(s->devices[row]), of};
        uint32_t first = 0;
        while (!s->devices[first] || strcmp(of(s->devices[first]), which.hardware) != 0) first++;
        if (first == row) write_group(s, &which, least);
    }
}

static void write_class(const scoring *s, const char *answer_class) {
    write_group(s, &(chosen){answer_class, NULL, NULL}, 1);
    write_hardware(s, answer_class, generation_of, PW_ACCURACY_LEAST);
    write_hardware(s, answer_class, name_of, PW_ACCURACY_LEAST);
}

/* The classes in order of appearance, which is that of the input; without classes, all rows are one. */
static void write_classes(const scoring *s) {
    const pw_prediction *predictions = s->validation->predictions;
    bool any = false;
    for (uint32_t row = 0; row < s->validation->input->rows; row++) {
        if (!predictions[row].ran || !predictions[row].step_class) continue;
        any = true;
        uint32_t first = 0;
        while (!predictions[first].ran || !predictions[first].step_class ||
               strcmp(predictions[first].step_class, predictions[row].step_class) != 0)
            first++;
        if (first == row) write_class(s, predictions[row].step_class);
    }
    if (!any) write_class(s, NULL);
}

pw_status pw_accuracy_record(const char *path, const pw_validation *validation, const pw_catalogue *catalogue,
                             pw_arena *arena, pw_error *error) {
    scoring s = {.validation = validation};
    s.errors = pw_arena_alloc(arena, (validation->input->rows + 1) * sizeof *s.errors);
    if (!s.errors) return pw_fail(error, PW_NO_MEMORY, path, 0, NULL, "no memory left");
    PW_TRY(find_devices(validation, catalogue, &s.devices, arena, error));
    PW_TRY(pw_file_create(path, NULL, &s.file, error));
    pw_file_text(s.file, "suite,group,n,bias_pct,median_pct,p90_pct,source\n");
    pw_status status = copy_other_suites(path, validation->suite->name, s.file, error);
    if (status != PW_OK) {
        pw_file_discard(s.file);
        return status;
    }
    write_classes(&s);
    return pw_file_commit(s.file, error);
}
