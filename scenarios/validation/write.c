/* Scores and the three writers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios/validation/validation.h"
#include "sim/json.h"
#include "sim/stats.h"

static const char *const variant_names[PW_VARIANT_COUNT] = {"plain", "stack", "baseline", "second"};

pw_score pw_validation_score(const double *relative_errors, uint32_t count) {
    pw_error_summary summary;
    if (pw_errors_summarise(relative_errors, count, NULL, &summary) != PW_OK)
        return (pw_score){count, NAN, NAN, NAN, NAN, NAN};
    return (pw_score){count, 100 * summary.bias, 100 * summary.mean, 100 * summary.median, 100 * summary.p90,
                      100 * fabs(summary.worst)};
}

double pw_validation_sign_pct(const double *measured, const double *predicted, uint32_t count, uint32_t *n) {
    uint32_t right = 0;
    *n = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!(fabs(measured[i] - 1) > PW_RATIO_NOISE)) continue;
        ++*n;
        right += predicted[i] != 1 && (predicted[i] > 1) == (measured[i] > 1);
    }
    return *n ? 100.0 * right / *n : NAN;
}

static double value_of(const pw_prediction *prediction, pw_variant variant) {
    return variant == PW_VARIANT_SECOND ? prediction->second : variant == PW_VARIANT_PLAIN ? prediction->plain
           : variant == PW_VARIANT_STACK ? prediction->stack
                                         : prediction->baseline;
}

static const char *group_value(const pw_validation *v, uint32_t row, const char *column) {
    if (strcmp(column, "side") == 0) return v->predictions[row].side;
    if (strcmp(column, "class") == 0 && v->suite->interval) {
        const char *name = v->predictions[row].step_class;
        return name ? name : "";
    }
    return pw_suite_text(v->suite, v->input, row, column);
}

/* --- Groups of rows ------------------------------------------------------------------------------------------------- */

typedef struct entry { /* a row under a text: a column's cell, or why it was skipped */
    const char *text;
    uint32_t row;
} entry;
typedef struct group { /* entries with one text, in order of row */
    const char *text;
    uint32_t first, count; /* of the entries */
    uint32_t row;          /* where the text appears first */
} group;
typedef struct grouping {
    const pw_validation *v;
    entry *entries;
    group *groups;
    double *errors, *others; /* scratch */
    uint32_t entry_count, group_count;
} grouping;

static int by_text(const void *a, const void *b) {
    const entry *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}
static int by_count(const void *a, const void *b) { /* equal counts in order of appearance */
    const group *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : (x->row > y->row) - (x->row < y->row);
}

static pw_status grouping_make(const pw_validation *v, pw_arena *arena, grouping *to, pw_error *error) {
    size_t most = v->input->rows + 1u;
    *to = (grouping){.v = v};
    to->entries = pw_arena_alloc(arena, most * sizeof *to->entries);
    to->groups = pw_arena_alloc(arena, most * sizeof *to->groups);
    to->errors = pw_arena_alloc(arena, most * sizeof *to->errors);
    to->others = pw_arena_alloc(arena, most * sizeof *to->others);
    return to->entries && to->groups && to->errors && to->others ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
}

/* The rows that ran by a column's text, in order of the text (column NULL: one group); or the skipped rows by reason. */
static void group_rows(grouping *g, const char *column, bool skipped) {
    g->entry_count = g->group_count = 0;
    for (uint32_t row = 0; row < g->v->input->rows; row++) {
        const pw_prediction *p = &g->v->predictions[row];
        if (p->ran == skipped) continue;
        g->entries[g->entry_count++] = (entry){skipped ? p->why : column ? group_value(g->v, row, column) : "", row};
    }
    if (g->entry_count) qsort(g->entries, g->entry_count, sizeof *g->entries, by_text);
    for (uint32_t i = 0; i < g->entry_count; i++) {
        const entry *at = &g->entries[i];
        if (i == 0 || strcmp(at->text, at[-1].text) != 0) g->groups[g->group_count++] = (group){at->text, i, 0, at->row};
        g->groups[g->group_count - 1].count++;
    }
}

static pw_score score_rows(const grouping *g, pw_variant variant, uint32_t first, uint32_t rows) {
    uint32_t count = 0;
    for (uint32_t i = first; i < first + rows; i++) {
        const pw_prediction *p = &g->v->predictions[g->entries[i].row];
        if (!isnan(value_of(p, variant))) g->errors[count++] = (value_of(p, variant) - p->measured) / p->measured;
    }
    return pw_validation_score(g->errors, count);
}

static double sign_of_rows(const grouping *g, pw_variant variant, uint32_t first, uint32_t rows, uint32_t *n) {
    uint32_t count = 0;
    for (uint32_t i = first; i < first + rows; i++) {
        const pw_prediction *p = &g->v->predictions[g->entries[i].row];
        if (isnan(value_of(p, variant))) continue;
        g->errors[count] = p->measured;
        g->others[count++] = value_of(p, variant);
    }
    return pw_validation_sign_pct(g->errors, g->others, count, n);
}

/* Share of measured values within the intervals; NaN when no row has one. */
static double cover_of_rows(const grouping *g, uint32_t first, uint32_t rows, uint32_t *n) {
    uint32_t within = 0;
    *n = 0;
    for (uint32_t i = first; i < first + rows; i++) {
        const pw_prediction *p = &g->v->predictions[g->entries[i].row];
        if (!(p->high > 0)) continue;
        ++*n;
        within += p->measured >= p->low && p->measured <= p->high;
    }
    return *n ? 100.0 * within / *n : NAN;
}

/* --- Claims, text --------------------------------------------------------------------------------------------------- */

pw_status pw_validation_claim(const pw_validation *v, double mape_pct, double ratio, pw_arena *arena, pw_error *error) {
    if (!(mape_pct > 0) && !(ratio > 0)) return PW_OK;
    grouping g;
    PW_TRY(grouping_make(v, arena, &g, error));
    group_rows(&g, NULL, false);
    pw_score plain = score_rows(&g, PW_VARIANT_PLAIN, 0, g.entry_count);
    pw_score baseline = score_rows(&g, PW_VARIANT_BASELINE, 0, g.entry_count);
    if (plain.n == 0) return pw_fail(error, PW_CLAIM, NULL, 0, NULL, "no row ran, so nothing was shown");
    if (mape_pct > 0 && !(plain.mape_pct <= mape_pct))
        return pw_fail(error, PW_CLAIM, NULL, 0, NULL, "MAPE is %.2f %%, not at most %g %%", plain.mape_pct, mape_pct);
    if (ratio > 0 && baseline.n == 0)
        return pw_fail(error, PW_CLAIM, NULL, 0, "take rows that it knows", "no row has a baseline, so nothing was beaten");
    if (ratio > 0 && !(plain.median_pct <= ratio * baseline.median_pct && plain.p90_pct <= ratio * baseline.p90_pct))
        return pw_fail(error, PW_CLAIM, NULL, 0, NULL,
                       "median %.2f %% and p90 %.2f %% are not at most %g of the baseline's %.2f %% and %.2f %%",
                       plain.median_pct, plain.p90_pct, ratio, baseline.median_pct, baseline.p90_pct);
    return PW_OK;
}

/* Of a baseline, which may have none of the rows. */
static void print_three(pw_file *out, const pw_score *score) {
    if (score->n) pw_file_print(out, "  %7.1f %6.1f %6.1f", score->mape_pct, score->median_pct, score->p90_pct);
    else pw_file_print(out, "  %7s %6s %6s", "-", "-", "-");
}

static void print_score(pw_file *out, const char *name, const pw_score *plain, const pw_score *stack,
                        const pw_score *baseline) {
    pw_file_print(out, "  %-34.34s %5u %+7.1f %7.1f %7.1f %7.1f %7.1f", name, plain->n, plain->bias_pct, plain->mape_pct,
            plain->median_pct, plain->p90_pct, plain->worst_pct);
    if (stack->n) pw_file_print(out, "  %5u %6.1f %6.1f", stack->n, stack->median_pct, stack->p90_pct);
    else pw_file_print(out, "  %5s %6s %6s", "-", "-", "-");
    print_three(out, baseline);
}

/* Text of a measured file without control characters, cut to `width` characters. */
static void make_printable(const char *text, size_t width, char *to, size_t size) {
    size_t used = 0;
    for (; *text && used + 1 < size; text++) {
        bool begins = ((unsigned char)*text & 0xC0) != 0x80;
        if (begins && width-- == 0) break;
        to[used++] = (unsigned char)*text < 0x20 || *text == 0x7F ? ' ' : *text;
    }
    to[used] = '\0';
}

static void print_rows(const grouping *g, pw_file *out, const char *title, uint32_t first, uint32_t count) {
    pw_score scores[PW_VARIANT_COUNT];
    char name[160];
    for (int variant = 0; variant < PW_VARIANT_COUNT; variant++)
        scores[variant] = score_rows(g, (pw_variant)variant, first, count);
    make_printable(title, 34, name, sizeof name);
    if (!scores[PW_VARIANT_PLAIN].n) return;
    print_score(out, name, &scores[PW_VARIANT_PLAIN], &scores[PW_VARIANT_STACK], &scores[PW_VARIANT_BASELINE]);
    if (g->v->suite->second) print_three(out, &scores[PW_VARIANT_SECOND]);
    if (g->v->suite->ratio) {
        uint32_t n;
        double plain = sign_of_rows(g, PW_VARIANT_PLAIN, first, count, &n);
        double baseline = sign_of_rows(g, PW_VARIANT_BASELINE, first, count, &n);
        if (n) pw_file_print(out, "  %5u %6.1f %6.1f", n, plain, baseline);
        else pw_file_print(out, "  %5u %6s %6s", n, "-", "-");
    }
    if (g->v->suite->interval) {
        uint32_t n;
        double cover = cover_of_rows(g, first, count, &n);
        if (n) pw_file_print(out, "  %6.1f", cover);
        else pw_file_print(out, "  %6s", "-");
    }
    pw_file_text(out, "\n");
}

/* Skipped rows by reason, most frequent first. */
static void print_reasons(grouping *g, pw_file *out) {
    enum { MOST = 100 };
    group_rows(g, NULL, true);
    if (g->entry_count == 0) return;
    pw_file_print(out, "\nskipped %u rows\n", g->entry_count);
    qsort(g->groups, g->group_count, sizeof *g->groups, by_count);
    uint32_t left = g->entry_count;
    for (uint32_t i = 0; i < g->group_count && i < MOST; i++) {
        pw_file_print(out, "  %5u  %s\n", g->groups[i].count, g->groups[i].text);
        left -= g->groups[i].count;
    }
    if (left) pw_file_print(out, "  %5u  for %u more reasons; --csv and --json list every row\n", left, g->group_count - MOST);
}

pw_status pw_validation_write_text(const pw_validation *v, pw_file *out, pw_arena *arena, pw_error *error) {
    grouping g;
    PW_TRY(grouping_make(v, arena, &g, error));
    group_rows(&g, NULL, false);
    pw_file_print(out, "validation: %s\n%u of %u rows ran, %s\nbaseline: %s\n", v->suite->text, g.entry_count,
                  v->input->rows, "errors in % of the measured value", v->suite->baseline);
    if (v->suite->second) pw_file_print(out, "second baseline: %s\n", v->suite->second);
    pw_file_text(out, "\n");
    pw_file_print(out, "  %-34s %5s %7s %7s %7s %7s %7s  %5s %6s %6s  %7s %6s %6s", "", "n", "bias", "MAPE", "median", "p90", "worst",
            "stack", "median", "p90", "base:M", "median", "p90");
    if (v->suite->second) pw_file_print(out, "  %7s %6s %6s", "second:M", "median", "p90");
    if (v->suite->ratio) pw_file_print(out, "  %5s %6s %6s", "sign:n", "right", "base");
    if (v->suite->interval) pw_file_print(out, "  %6s", "within");
    pw_file_text(out, "\n");
    print_rows(&g, out, "all rows", 0, g.entry_count);
    for (uint32_t b = 0; b < v->by_count; b++) {
        pw_file_print(out, "\nby %s\n", v->by[b]);
        group_rows(&g, v->by[b], false);
        for (uint32_t i = 0; i < g.group_count; i++)
            print_rows(&g, out, *g.groups[i].text ? g.groups[i].text : "(none)", g.groups[i].first, g.groups[i].count);
    }
    print_reasons(&g, out);
    return PW_OK;
}

/* --- JSON, CSV ------------------------------------------------------------------------------------------------------ */

static void json_cover(pw_json *json, const grouping *g, uint32_t first, uint32_t count) {
    if (!g->v->suite->interval) return;
    uint32_t n;
    double cover = cover_of_rows(g, first, count, &n);
    pw_json_integer(json, "interval_n", n);
    pw_json_number(json, "within_interval_pct", cover);
}

static void json_sign(pw_json *json, const grouping *g, pw_variant variant, uint32_t first, uint32_t count) {
    if (!g->v->suite->ratio) return;
    uint32_t n;
    double right = sign_of_rows(g, variant, first, count, &n);
    pw_json_integer(json, "sign_n", n);
    pw_json_number(json, "sign_right_pct", right);
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
    grouping g;
    PW_TRY(grouping_make(v, arena, &g, error));
    pw_json json;
    pw_json_begin(&json, out);
    pw_json_object(&json, NULL);
    pw_json_text(&json, "schema", "podwright.validation/1");
    pw_json_text(&json, "suite", v->suite->name);
    pw_json_integer(&json, "rows", v->input->rows);
    pw_json_text(&json, "unit", v->suite->unit);
    pw_json_text(&json, "baseline", v->suite->baseline);
    if (v->suite->second) pw_json_text(&json, "second", v->suite->second);
    pw_json_array(&json, "variants");
    for (int variant = 0; variant < PW_VARIANT_COUNT; variant++) {
        if (variant == PW_VARIANT_SECOND && !v->suite->second) continue;
        pw_json_object(&json, NULL);
        pw_json_text(&json, "name", variant_names[variant]);
        pw_json_object(&json, "all");
        group_rows(&g, NULL, false);
        pw_score score = score_rows(&g, (pw_variant)variant, 0, g.entry_count);
        json_score(&json, &score);
        json_sign(&json, &g, (pw_variant)variant, 0, g.entry_count);
        if (variant == PW_VARIANT_STACK) json_cover(&json, &g, 0, g.entry_count);
        pw_json_end(&json);
        pw_json_array(&json, "groups");
        for (uint32_t b = 0; b < v->by_count; b++) {
            group_rows(&g, v->by[b], false);
            for (uint32_t i = 0; i < g.group_count; i++) {
                score = score_rows(&g, (pw_variant)variant, g.groups[i].first, g.groups[i].count);
                pw_json_object(&json, NULL);
                pw_json_text(&json, "column", v->by[b]);
                pw_json_text(&json, "value", g.groups[i].text);
                json_score(&json, &score);
                json_sign(&json, &g, (pw_variant)variant, g.groups[i].first, g.groups[i].count);
                if (variant == PW_VARIANT_STACK) json_cover(&json, &g, g.groups[i].first, g.groups[i].count);
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
    bool interval = v->suite->interval;
    pw_file_print(out, "row,id,status,measured,predicted,predicted_stack%s\n", interval ? ",class,low,high" : "");
    for (uint32_t row = 0; row < v->input->rows; row++) {
        const pw_prediction *p = &v->predictions[row];
        char status[sizeof p->why + 16] = "ok";
        if (!p->ran) snprintf(status, sizeof status, "skipped: %s", p->why);
        pw_file_csv_integer(out, row + 1);
        pw_file_csv_text(out, pw_measured_text(v->input, row, "id"));
        pw_file_csv_text(out, status);
        pw_file_csv_number(out, p->ran ? p->measured : NAN);
        pw_file_csv_number(out, p->ran ? p->plain : NAN);
        pw_file_csv_number(out, p->ran ? p->stack : NAN);
        if (interval) {
            if (p->ran && p->step_class) pw_file_csv_text(out, p->step_class);
            else pw_file_csv_number(out, NAN);
            pw_file_csv_number(out, p->ran && p->high > 0 ? p->low : NAN);
            pw_file_csv_number(out, p->ran && p->high > 0 ? p->high : NAN);
        }
        pw_file_csv_end(out);
    }
    return PW_OK;
}
