/* Scores and the three writers. */
#include <math.h>
#include <string.h>

#include "scenarios/validation/validation.h"
#include "sim/json.h"
#include "sim/stats.h"

static const char *const variant_names[PW_VARIANT_COUNT] = {"plain", "stack", "baseline"};

pw_score pw_validation_score(const double *relative_errors, uint32_t count) {
    pw_error_summary summary;
    if (pw_errors_summarise(relative_errors, count, NULL, &summary) != PW_OK)
        return (pw_score){count, NAN, NAN, NAN, NAN, NAN};
    return (pw_score){count, 100 * summary.bias, 100 * summary.mean, 100 * summary.median, 100 * summary.p90,
                      100 * fabs(summary.worst)};
}

static double value_of(const pw_prediction *prediction, pw_variant variant) {
    return variant == PW_VARIANT_PLAIN ? prediction->plain
           : variant == PW_VARIANT_STACK ? prediction->stack
                                         : prediction->baseline;
}

static const char *group_value(const pw_validation *v, uint32_t row, const char *column) {
    if (strcmp(column, "side") == 0) return v->predictions[row].side;
    return pw_measured_text(v->input, row, column);
}

/* Score of the rows of a group (column NULL: all). */
static pw_score score_group(const pw_validation *v, pw_variant variant, const char *column, const char *value,
                            pw_arena *arena) {
    double *errors = pw_arena_alloc(arena, (v->input->rows + 1u) * sizeof *errors);
    uint32_t count = 0;
    for (uint32_t row = 0; errors && row < v->input->rows; row++) {
        const pw_prediction *p = &v->predictions[row];
        if (!p->ran || isnan(value_of(p, variant))) continue;
        if (column && strcmp(group_value(v, row, column), value) != 0) continue;
        errors[count++] = (value_of(p, variant) - p->measured) / p->measured;
    }
    return pw_validation_score(errors, count);
}

/* Distinct values of a column among the rows that ran, in order of the text. */
static uint32_t distinct(const pw_validation *v, const char *column, const char **values) {
    uint32_t count = 0;
    for (uint32_t row = 0; row < v->input->rows; row++) {
        if (!v->predictions[row].ran) continue;
        const char *value = group_value(v, row, column);
        uint32_t at = 0;
        while (at < count && strcmp(values[at], value) < 0) at++;
        if (at < count && strcmp(values[at], value) == 0) continue;
        memmove(values + at + 1, values + at, (count - at) * sizeof *values);
        values[at] = value;
        count++;
    }
    return count;
}

pw_status pw_validation_claim(const pw_validation *v, double mape_pct, double ratio, pw_arena *arena, pw_error *error) {
    if (!(mape_pct > 0) && !(ratio > 0)) return PW_OK;
    pw_score plain = score_group(v, PW_VARIANT_PLAIN, NULL, NULL, arena);
    pw_score baseline = score_group(v, PW_VARIANT_BASELINE, NULL, NULL, arena);
    if (plain.n == 0) return pw_fail(error, PW_CLAIM, NULL, 0, NULL, "no row ran, so nothing was shown");
    if (mape_pct > 0 && !(plain.mape_pct <= mape_pct))
        return pw_fail(error, PW_CLAIM, NULL, 0, NULL, "MAPE is %.2f %%, not at most %g %%", plain.mape_pct, mape_pct);
    if (ratio > 0 && !(plain.median_pct <= ratio * baseline.median_pct && plain.p90_pct <= ratio * baseline.p90_pct))
        return pw_fail(error, PW_CLAIM, NULL, 0, NULL,
                       "median %.2f %% and p90 %.2f %% are not at most %g of the baseline's %.2f %% and %.2f %%",
                       plain.median_pct, plain.p90_pct, ratio, baseline.median_pct, baseline.p90_pct);
    return PW_OK;
}

static void print_score(pw_file *out, const char *name, const pw_score *plain, const pw_score *stack,
                        const pw_score *baseline) {
    pw_file_print(out, "  %-34.34s %5u %+7.1f %7.1f %7.1f %7.1f %7.1f", name, plain->n, plain->bias_pct, plain->mape_pct,
            plain->median_pct, plain->p90_pct, plain->worst_pct);
    if (stack->n) pw_file_print(out, "  %5u %6.1f %6.1f", stack->n, stack->median_pct, stack->p90_pct);
    else pw_file_print(out, "  %5s %6s %6s", "-", "-", "-");
    pw_file_print(out, "  %7.1f %6.1f %6.1f\n", baseline->mape_pct, baseline->median_pct, baseline->p90_pct);
}

static void print_line(const pw_validation *v, pw_file *out, const char *column, const char *value, const char *title,
                       pw_arena *arena) {
    pw_score scores[PW_VARIANT_COUNT];
    for (int variant = 0; variant < PW_VARIANT_COUNT; variant++)
        scores[variant] = score_group(v, (pw_variant)variant, column, value, arena);
    if (scores[PW_VARIANT_PLAIN].n)
        print_score(out, title, &scores[PW_VARIANT_PLAIN], &scores[PW_VARIANT_STACK], &scores[PW_VARIANT_BASELINE]);
}

pw_status pw_validation_write_text(const pw_validation *v, pw_file *out, pw_arena *arena, pw_error *error) {
    uint32_t ran = 0;
    for (uint32_t row = 0; row < v->input->rows; row++) ran += v->predictions[row].ran;
    pw_file_print(out, "validation: %s\n%u of %u rows ran, %s\nbaseline: %s\n\n", v->suite->text, ran, v->input->rows,
            "errors in % of the measured value", v->suite->baseline);
    pw_file_print(out, "  %-34s %5s %7s %7s %7s %7s %7s  %5s %6s %6s  %7s %6s %6s\n", "", "n", "bias", "MAPE", "median", "p90", "worst",
            "stack", "median", "p90", "base:M", "median", "p90");
    print_line(v, out, NULL, NULL, "all rows", arena);
    const char **values = pw_arena_alloc(arena, (v->input->rows + 2u) * sizeof *values);
    if (!values) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    for (uint32_t b = 0; b < v->by_count; b++) {
        if (strcmp(v->by[b], "side") != 0 && pw_measured_find(v->input, v->by[b]) < 0) continue;
        pw_file_print(out, "\nby %s\n", v->by[b]);
        uint32_t count = distinct(v, v->by[b], values);
        for (uint32_t i = 0; i < count; i++)
            print_line(v, out, v->by[b], values[i], *values[i] ? values[i] : "(none)", arena);
    }
    /* Skipped rows, by reason, most frequent first (equal counts in order of appearance). */
    uint32_t reasons = 0;
    uint32_t *counts = pw_arena_alloc(arena, (v->input->rows + 1u) * sizeof *counts);
    if (!counts) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    for (uint32_t row = 0; row < v->input->rows; row++) {
        if (v->predictions[row].ran) continue;
        uint32_t i = 0;
        while (i < reasons && strcmp(values[i], v->predictions[row].why) != 0) i++;
        if (i == reasons) {
            values[reasons] = v->predictions[row].why;
            counts[reasons++] = 0;
        }
        counts[i]++;
    }
    if (reasons) pw_file_print(out, "\nskipped %u rows\n", v->input->rows - ran);
    for (uint32_t printed = 0; printed < reasons; printed++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < reasons; i++)
            if (counts[i] > counts[best]) best = i;
        pw_file_print(out, "  %5u  %s\n", counts[best], values[best]);
        counts[best] = 0;
    }
    return PW_OK;
}

static void json_score(pw_json *json, const pw_score *score) {
    pw_json_integer(json, "n", score->n);
    pw_json_number(json, "bias_pct", score->bias_pct);
    pw_json_number(json, "mape_pct", score->mape_pct);
    pw_json_number(json, "median_pct", score->median_pct);
    pw_json_number(json, "p90_pct", score->p90_pct);
    pw_json_number(json, "worst_pct", score->worst_pct);
}

pw_status pw_validation_write_json(const pw_validation *v, pw_file *out, pw_arena *arena, pw_error *error) {
    const char **values = pw_arena_alloc(arena, (v->input->rows + 2u) * sizeof *values);
    if (!values) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    pw_json json;
    pw_json_begin(&json, out);
    pw_json_object(&json, NULL);
    pw_json_text(&json, "schema", "podwright.validation/1");
    pw_json_text(&json, "suite", v->suite->name);
    pw_json_integer(&json, "rows", v->input->rows);
    pw_json_text(&json, "unit", v->suite->unit);
    pw_json_text(&json, "baseline", v->suite->baseline);
    pw_json_array(&json, "variants");
    for (int variant = 0; variant < PW_VARIANT_COUNT; variant++) {
        pw_json_object(&json, NULL);
        pw_json_text(&json, "name", variant_names[variant]);
        pw_json_object(&json, "all");
        pw_score score = score_group(v, (pw_variant)variant, NULL, NULL, arena);
        json_score(&json, &score);
        pw_json_end(&json);
        pw_json_array(&json, "groups");
        for (uint32_t b = 0; b < v->by_count; b++) {
            uint32_t count = distinct(v, v->by[b], values);
            for (uint32_t i = 0; i < count; i++) {
                score = score_group(v, (pw_variant)variant, v->by[b], values[i], arena);
                pw_json_object(&json, NULL);
                pw_json_text(&json, "column", v->by[b]);
                pw_json_text(&json, "value", values[i]);
                json_score(&json, &score);
                pw_json_end(&json);
            }
        }
        pw_json_end(&json);
        pw_json_end(&json);
    }
    pw_json_end(&json);
    pw_json_array(&json, "skipped");
    for (uint32_t row = 0; row < v->input->rows; row++) {
        if (v->predictions[row].ran) continue;
        pw_json_object(&json, NULL);
        pw_json_integer(&json, "row", row + 1);
        pw_json_text(&json, "why", v->predictions[row].why);
        pw_json_end(&json);
    }
    pw_json_end(&json);
    pw_json_end(&json);
    return PW_OK;
}

pw_status pw_validation_write_csv(const pw_validation *v, pw_file *out, pw_error *error) {
    (void)error;
    pw_file_text(out, "row,id,status,measured,predicted,predicted_stack\n");
    for (uint32_t row = 0; row < v->input->rows; row++) {
        const pw_prediction *p = &v->predictions[row];
        char status[192] = "ok";
        if (!p->ran) snprintf(status, sizeof status, "skipped: %s", p->why);
        pw_file_csv_integer(out, row + 1);
        pw_file_csv_text(out, pw_measured_text(v->input, row, "id"));
        pw_file_csv_text(out, status);
        pw_file_csv_number(out, p->ran ? p->measured : NAN);
        pw_file_csv_number(out, p->ran ? p->plain : NAN);
        pw_file_csv_number(out, p->ran ? p->stack : NAN);
        pw_file_csv_end(out);
    }
    return PW_OK;
}
