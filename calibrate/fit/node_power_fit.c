/* The fit of what the power of all servers shares: its report and its table. models/power/node_fit.h solves it. */
#include <math.h>
#include <stdio.h>

#include "calibrate/fit/fit.h"
#include "models/power/node_fit.h"
#include "sim/file.h"

static void write_row(pw_file *file, const char *name, double value, double error, double prior, double spread, size_t rows,
                      const char *provenance, const char *source) {
    char text[PW_NODE_NAME];
    pw_file_csv_text(file, name);
    snprintf(text, sizeof text, "%.4g", value);
    pw_file_csv_text(file, text);
    snprintf(text, sizeof text, "%.2g", error);
    pw_file_csv_text(file, isnan(error) ? "" : text);
    pw_file_csv_number(file, prior);
    pw_file_csv_number(file, spread);
    snprintf(text, sizeof text, "%zu", rows);
    pw_file_csv_text(file, rows ? text : "");
    pw_file_csv_text(file, provenance);
    pw_file_csv_text(file, source);
    pw_file_csv_end(file);
}

/* Text of the present table: a prior's source stays. */
static const char *source_of(const pw_table *table, const char *name) {
    int row = pw_table_find_row(table, name);
    return row < 0 ? "" : pw_table_text_of(table, (size_t)row, "source");
}

static pw_status write_shared(const pw_catalogue *catalogue, const pw_table *table, const pw_node_values *values, pw_file *file, pw_error *error) {
    double prior, spread;
    for (int i = 0; i <= PW_NODE_SHARED; i++) {
        const char *name = pw_node_shared_name(i);
        PW_TRY(pw_node_prior(catalogue, i, &prior, &spread, error));
        if (i < PW_NODE_SHARED)
            write_row(file, name, pw_node_shared_value(values, i), values->error[i], prior, spread, values->fitted_rows, "FITTED", source_of(table, name));
        else write_row(file, name, 1, NAN, prior, spread, 0, "ASSUMED", source_of(table, name));
    }
    return PW_OK;
}

static pw_status write_draws(const pw_catalogue *catalogue, const pw_node_rows *rows, const pw_node_values *values, pw_file *file, pw_error *error) {
    char name[PW_NODE_NAME + 16];
    double prior, spread;
    PW_TRY(pw_node_prior(catalogue, PW_NODE_SHARED, &prior, &spread, error));
    for (int task = 0; task < rows->tasks; task++) {
        size_t of_task = 0;
        for (size_t i = 0; i < rows->count; i++) of_task += rows->rows[i].task == task && rows->rows[i].shapes && !rows->rows[i].check;
        if (!of_task) continue;
        write_row(file, pw_node_draw_name(rows->task[task], name), values->draw[task], values->error[PW_NODE_SHARED + task], prior, spread, of_task,
                  "FITTED", "MLPerf Inference nodes of power-measured.csv, fit families");
    }
    return PW_OK;
}

static pw_status write_table(const pw_catalogue *catalogue, const char *folder, const pw_node_rows *rows, const pw_node_values *values,
                             pw_error *error) {
    const pw_table *table;
    char path[1024];
    pw_file *file;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_NODE_PARAMETERS, &table, error));
    snprintf(path, sizeof path, "%s/node-power-parameters.csv", folder);
    PW_TRY(pw_file_create(path, NULL, &file, error));
    pw_file_text(file, "# What the power of all servers shares; podwright-fit node-power writes this file. prior: what was held likely before any\n"
                       "# measurement was looked at, and how far it may be off; the source says why. fan constant: kW at full speed of a box of 1 kW in one\n"
                       "# rack unit. draw of TASK: factor of cap draw for one benchmark.\n");
    pw_file_text(file, "name,value [ratio],error [ratio],prior [ratio],prior_spread [ratio],fitted_rows [count],provenance,source\n");
    pw_status status = write_shared(catalogue, table, values, file, error);
    if (status == PW_OK) status = write_draws(catalogue, rows, values, file, error);
    if (status == PW_OK) return pw_file_commit(file, error);
    pw_file_discard(file);
    return status;
}

static void report_side(FILE *report, const char *what, const double *errors, size_t count) {
    double sum = 0, bias = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        sum += fabs(errors[i]);
        bias += errors[i];
        worst = fmax(worst, fabs(errors[i]));
    }
    if (count)
        fprintf(report, "%-40s n %3zu  bias %+6.2f %%  mean %5.2f %%  worst %6.2f %%\n", what, count, 100 * bias / (double)count,
                100 * sum / (double)count, 100 * worst);
}

/* Of one type and side, loads or idle. */
static pw_status report_type(FILE *report, const pw_node_rows *rows, const pw_node_values *values, int type, int side, bool idle,
                             pw_error *error) {
    double *errors = pw_alloc(rows->allocator, (rows->count + 1) * sizeof *errors);
    size_t count = 0;
    char what[PW_NODE_NAME + 32];
    if (!errors) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the report");
    for (size_t i = 0; i < rows->count; i++) {
        const pw_node_row *row = &rows->rows[i];
        if ((type < 0 ? !row->shapes : row->type != type) || (side >= 0 && row->check != side) || (row->task < 0) != idle) continue;
        errors[count++] = pw_node_row_predict(row, values) / row->measured_W - 1;
    }
    snprintf(what, sizeof what, "%s%s, %s", type < 0 ? "all that may shape" : rows->type[type], idle ? " idle" : "",
             side < 0 ? "left out" : side ? "check" : "fit");
    report_side(report, what, errors, count);
    pw_free(rows->allocator, errors, (rows->count + 1) * sizeof *errors);
    return PW_OK;
}

static pw_status fit_and_report(const pw_catalogue *catalogue, const pw_fit_paths *paths, const pw_node_rows *rows, FILE *report,
                                pw_error *error) {
    pw_node_values values, without;
    PW_TRY(pw_node_values_fit(catalogue, rows, -1, &values, error));
    for (int idle = 0; idle < 2; idle++)
        for (int type = 0; type < rows->types; type++) {
            for (int side = 0; side < 2; side++) PW_TRY(report_type(report, rows, &values, type, side, idle, error));
            PW_TRY(pw_node_values_fit(catalogue, rows, type, &without, error));
            PW_TRY(report_type(report, rows, &without, type, -1, idle, error));
        }
    for (int side = 0; side < 2; side++) PW_TRY(report_type(report, rows, &values, -1, side, false, error));
    return write_table(catalogue, paths->folder, rows, &values, error);
}

pw_status pw_fit_node_power(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error) {
    char path[1024];
    pw_node_rows rows;
    snprintf(path, sizeof path, "%s/power-measured.csv", paths->data);
    PW_TRY(pw_node_rows_read(catalogue, path, paths->split, &rows, error));
    pw_status status = fit_and_report(catalogue, paths, &rows, report, error);
    pw_node_rows_free(&rows);
    return status;
}
