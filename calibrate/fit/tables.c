#include "calibrate/fit/tables.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "sim/text.h"

pw_status pw_fit_open(const char *folder, const char *name, pw_fit_file *file, pw_error *error) {
    int length = snprintf(file->path, sizeof file->path, "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof file->path)
        return pw_fail(error, PW_BAD_INPUT, folder, 0, NULL, "the folder's name is too long");
    snprintf(file->temporary, sizeof file->temporary, "%s.new", file->path);
    file->stream = fopen(file->temporary, "w");
    if (!file->stream)
        return pw_fail(error, PW_IO, file->temporary, 0, "does the folder exist, and may you write there?",
                       "cannot write: %s", strerror(errno));
    return PW_OK;
}

pw_status pw_fit_close(pw_fit_file *file, pw_status status, pw_error *error) {
    bool written = !ferror(file->stream);
    written &= fclose(file->stream) == 0;
    if (status == PW_OK && !written)
        status = pw_fail(error, PW_IO, file->temporary, 0, "is the disk full?", "cannot write: %s", strerror(errno));
    if (status == PW_OK && rename(file->temporary, file->path))
        status = pw_fail(error, PW_IO, file->path, 0, NULL, "cannot rename into place: %s", strerror(errno));
    if (status != PW_OK) remove(file->temporary);
    return status;
}

static void number(FILE *stream, double value) {
    char text[PW_NUMBER_TEXT];
    fputs(pw_number_text(value, text, sizeof text), stream);
}

/* Percentages need no more than two decimals. */
static void percentage(FILE *stream, double value) { fprintf(stream, "%.2f", value); }

static void quoted(FILE *stream, const char *text) {
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"') fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void write_parameters(FILE *stream, const pw_fit_parameter *parameters, size_t count, const pw_fit_row *rows,
                             size_t row_count, const char *source) {
    fputs("name,device,precision,stack,reference_clock [MHz]", stream);
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, ",%s", parameters[i].name);
        if (parameters[i].unit[0]) fprintf(stream, " [%s]", parameters[i].unit);
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(stream, ",%s_error", parameters[i].name);
        if (parameters[i].unit[0]) fprintf(stream, " [%s]", parameters[i].unit);
    }
    fputs(",rows,fit_bias_pct,fit_mape_pct,fit_median_pct,fit_p90_pct,notes,provenance,source\n", stream);
    for (size_t r = 0; r < row_count; r++) {
        const pw_fit_row *row = &rows[r];
        const pw_device *device = row->group->device;
        fprintf(stream, "\"%s/%s\",\"%s\"", device->name, pw_precision_names[row->group->precision], device->name);
        fprintf(stream, ",%s,", pw_precision_names[row->group->precision]);
        quoted(stream, row->group->stack);
        fputc(',', stream);
        double clock = device->tensor_peak_Hz > 0 ? device->tensor_peak_Hz : device->boost_Hz;
        if (clock > 0) number(stream, clock / 1e6);
        for (size_t i = 0; i < count; i++) {
            fputc(',', stream);
            if (!row->absent[i]) number(stream, row->result.value[i] * parameters[i].scale);
        }
        for (size_t i = 0; i < count; i++) {
            fputc(',', stream);
            if (!row->absent[i] && row->result.fitted[i]) number(stream, row->result.error[i] * parameters[i].scale);
        }
        fprintf(stream, ",%zu,", row->fit.rows);
        percentage(stream, row->fit.bias);
        fputc(',', stream);
        percentage(stream, row->fit.mape);
        fputc(',', stream);
        percentage(stream, row->fit.median);
        fputc(',', stream);
        percentage(stream, row->fit.p90);
        fputc(',', stream);
        quoted(stream, row->notes);
        fputs(",DERIVED,", stream);
        quoted(stream, source);
        fputc('\n', stream);
    }
}

static void write_covariance(FILE *stream, const pw_fit_parameter *parameters, size_t count, const pw_fit_row *rows,
                             size_t row_count) {
    fputs("name,device,precision,parameter,with,covariance_of_logs,provenance,source\n", stream);
    for (size_t r = 0; r < row_count; r++)
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j <= i; j++) {
                const pw_fit_row *row = &rows[r];
                if (!row->result.fitted[i] || !row->result.fitted[j]) continue;
                const char *device = row->group->device->name, *precision = pw_precision_names[row->group->precision];
                fprintf(stream, "\"%s/%s/%s/%s\",\"%s\",%s,%s,%s,", device, precision, parameters[i].name,
                        parameters[j].name, device, precision, parameters[i].name, parameters[j].name);
                number(stream, row->result.covariance[i][j]);
                fputs(",DERIVED,the fit of the parameter table\n", stream);
            }
}

pw_status pw_fit_write_tables(const char *folder, const char *kind, const pw_fit_parameter *parameters, size_t count,
                              const pw_fit_row *rows, size_t row_count, const char *source, pw_error *error) {
    pw_fit_file file;
    char name[80];
    snprintf(name, sizeof name, "%s-parameters.csv", kind);
    PW_TRY(pw_fit_open(folder, name, &file, error));
    write_parameters(file.stream, parameters, count, rows, row_count, source);
    PW_TRY(pw_fit_close(&file, PW_OK, error));
    snprintf(name, sizeof name, "%s-covariance.csv", kind);
    PW_TRY(pw_fit_open(folder, name, &file, error));
    write_covariance(file.stream, parameters, count, rows, row_count);
    return pw_fit_close(&file, PW_OK, error);
}

void pw_fit_report_header(FILE *report) {
    fprintf(report, "%-10s %-28s %-5s %-18s %-6s %6s %7s %6s %7s %6s\n", "kernel", "device", "type", "stack", "side", "rows",
            "bias %", "MAPE %", "median %", "p90 %");
}

void pw_fit_report_line(FILE *report, const char *kernel, const pw_fit_group *group, const char *side,
                        const pw_error_summary *summary) {
    if (summary->rows == 0) return;
    fprintf(report, "%-10s %-28s %-5s %-18s %-6s %6zu %7.1f %6.1f %7.1f %7.1f\n", kernel, group->device->name,
            pw_precision_names[group->precision], group->stack, side, summary->rows, summary->bias, summary->mape,
            summary->median, summary->p90);
}
