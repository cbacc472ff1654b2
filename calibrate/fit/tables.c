#include "calibrate/fit/tables.h"

#include <string.h>

#include "sim/file.h"

/* A share in percent; two decimals are enough. */
static void percentage(pw_file *file, double value) { pw_file_print(file, "%.2f", 100 * value); }

static void quoted(pw_file *file, const char *text) {
    pw_file_text(file, "\"");
    for (; *text; text++) {
        if (*text == '"') pw_file_text(file, "\"");
        pw_file_write(file, text, 1);
    }
    pw_file_text(file, "\"");
}

static void write_parameters(pw_file *file, const pw_fit_parameter *parameters, size_t count, const pw_fit_row *rows,
                             size_t row_count, const char *source) {
    pw_file_text(file, "name,device,precision,stack,reference_clock [MHz]");
    for (size_t i = 0; i < count; i++) {
        pw_file_print(file, ",%s", parameters[i].name);
        if (parameters[i].unit[0]) pw_file_print(file, " [%s]", parameters[i].unit);
    }
    for (size_t i = 0; i < count; i++) {
        pw_file_print(file, ",%s_error", parameters[i].name);
        if (parameters[i].unit[0]) pw_file_print(file, " [%s]", parameters[i].unit);
    }
    pw_file_text(file, ",rows,fit_bias_pct,fit_mape_pct,fit_median_pct,fit_p90_pct,notes,provenance,source\n");
    for (size_t r = 0; r < row_count; r++) {
        const pw_fit_row *row = &rows[r];
        const pw_device *device = row->group->device;
        pw_file_print(file, "\"%s/%s\",\"%s\"", device->name, pw_precision_names[row->group->precision], device->name);
        pw_file_print(file, ",%s,", pw_precision_names[row->group->precision]);
        quoted(file, row->group->stack);
        pw_file_text(file, ",");
        double clock = device->tensor_peak_Hz > 0 ? device->tensor_peak_Hz : device->boost_Hz;
        if (clock > 0) pw_file_number(file, clock / 1e6);
        for (size_t i = 0; i < count; i++) {
            pw_file_text(file, ",");
            if (!row->absent[i]) pw_file_number(file, row->result.value[i] * parameters[i].scale);
        }
        for (size_t i = 0; i < count; i++) {
            pw_file_text(file, ",");
            if (!row->absent[i] && row->result.fitted[i]) pw_file_number(file, row->result.error[i] * parameters[i].scale);
        }
        pw_file_print(file, ",%zu,", row->fit.count);
        percentage(file, row->fit.bias);
        pw_file_text(file, ",");
        percentage(file, row->fit.mean);
        pw_file_text(file, ",");
        percentage(file, row->fit.median);
        pw_file_text(file, ",");
        percentage(file, row->fit.p90);
        pw_file_text(file, ",");
        quoted(file, row->notes);
        pw_file_text(file, ",DERIVED,");
        quoted(file, source);
        pw_file_text(file, "\n");
    }
}

static void write_covariance(pw_file *file, const pw_fit_parameter *parameters, size_t count, const pw_fit_row *rows,
                             size_t row_count) {
    pw_file_text(file, "name,device,precision,parameter,with,covariance_of_logs,provenance,source\n");
    for (size_t r = 0; r < row_count; r++)
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j <= i; j++) {
                const pw_fit_row *row = &rows[r];
                if (!row->result.fitted[i] || !row->result.fitted[j]) continue;
                const char *device = row->group->device->name, *precision = pw_precision_names[row->group->precision];
                pw_file_print(file, "\"%s/%s/%s/%s\",\"%s\",%s,%s,%s,", device, precision, parameters[i].name,
                              parameters[j].name, device, precision, parameters[i].name, parameters[j].name);
                pw_file_number(file, row->result.covariance[i][j]);
                pw_file_text(file, ",DERIVED,the fit of the parameter table\n");
            }
}

pw_status pw_fit_write_tables(const char *folder, const char *kind, const pw_fit_parameter *parameters, size_t count,
                              const pw_fit_row *rows, size_t row_count, const char *source, pw_error *error) {
    pw_file *file;
    char path[1024];
    if (snprintf(path, sizeof path, "%s/%s-parameters.csv", folder, kind) >= (int)sizeof path)
        return pw_fail(error, PW_BAD_INPUT, folder, 0, NULL, "the folder's name is too long");
    PW_TRY(pw_file_create(path, NULL, &file, error));
    write_parameters(file, parameters, count, rows, row_count, source);
    PW_TRY(pw_file_commit(file, error));
    snprintf(path, sizeof path, "%s/%s-covariance.csv", folder, kind);
    PW_TRY(pw_file_create(path, NULL, &file, error));
    write_covariance(file, parameters, count, rows, row_count);
    return pw_file_commit(file, error);
}

void pw_fit_report_header(FILE *report) {
    fprintf(report, "%-10s %-28s %-5s %-18s %-6s %6s %7s %6s %7s %6s\n", "kernel", "device", "type", "stack", "side", "rows",
            "bias %", "MAPE %", "median %", "p90 %");
}

void pw_fit_report_line(FILE *report, const char *kernel, const pw_fit_group *group, const char *side,
                        const pw_error_summary *summary) {
    if (summary->count == 0) return;
    fprintf(report, "%-10s %-28s %-5s %-18s %-6s %6zu %7.1f %6.1f %7.1f %7.1f\n", kernel, group->device->name,
            pw_precision_names[group->precision], group->stack, side, summary->count, 100 * summary->bias,
            100 * summary->mean, 100 * summary->median, 100 * summary->p90);
}

pw_status pw_fit_rewrite(const pw_catalogue *catalogue, const char *kind, const char *folder, const pw_fit_cell *cells, size_t count,
                         pw_error *error) {
    const pw_table *table;
    char path[1024];
    pw_file *file;
    PW_TRY(pw_catalogue_need(catalogue, kind, &table, error));
    snprintf(path, sizeof path, "%s/%s.csv", folder, kind);
    PW_TRY(pw_file_create(path, NULL, &file, error));
    for (size_t c = 0; c < pw_table_columns(table); c++) {
        const char *unit = pw_table_column_unit(table, c);
        pw_file_print(file, "%s%s%s%s%s", c ? "," : "", pw_table_column_name(table, c), *unit ? " [" : "", unit, *unit ? "]" : "");
    }
    pw_file_text(file, "\n");
    for (size_t r = 0; r < pw_table_rows(table); r++)
        for (size_t c = 0; c < pw_table_columns(table); c++) {
            const pw_fit_cell *found = NULL;
            for (size_t i = 0; i < count; i++)
                if (!strcmp(cells[i].row, pw_table_text_at(table, r, 0)) && !strcmp(cells[i].column, pw_table_column_name(table, c))) found = &cells[i];
            const char *text = pw_table_text_at(table, r, c);
            if (c) pw_file_text(file, ",");
            if (found && found->text) pw_file_print(file, strpbrk(found->text, ",\"") ? "\"%s\"" : "%s", found->text);
            else if (found) pw_file_print(file, "%.4g", found->value);
            else pw_file_print(file, strpbrk(text, ",\"") ? "\"%s\"" : "%s", text);
            if (c + 1 == pw_table_columns(table)) pw_file_text(file, "\n");
        }
    return pw_file_commit(file, error);
}
