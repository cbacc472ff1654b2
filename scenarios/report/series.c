/* Rows over time as CSV. */
#include "scenarios/report/report.h"

void pw_report_series_csv(const pw_series *series, pw_file *file) {
    if (series->label_name) pw_file_csv_text(file, series->label_name);
    for (uint32_t c = 0; c < series->column_count; c++) pw_file_csv_text(file, series->columns[c]);
    pw_file_csv_end(file);
    for (uint64_t row = 0; row < series->row_count; row++) {
        if (series->label_name) pw_file_csv_text(file, series->labels[row / series->block_rows]);
        for (uint32_t c = 0; c < series->column_count; c++) pw_file_csv_number(file, series->values[row * series->column_count + c]);
        pw_file_csv_end(file);
    }
}
