#include "scenarios/validation/targets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/text.h"

typedef enum statistic { MAPE, ABSOLUTE, MEDIAN, P90, WORST, BIAS, RIGHT, WITHIN, BEATS, STATISTICS } statistic;
static const char *const statistic_names[STATISTICS + 1] = {"mape", "absolute", "median", "p90", "worst", "bias", "right", "within", "beats", NULL};

typedef struct runs { /* each suite, once */
    const pw_suite *suites[16];
    pw_validation validations[16];
    uint32_t count;
} runs;

static pw_status suite_of(const pw_measured *table, uint32_t row, const pw_suite **suite, pw_error *error) {
    const char *name = pw_measured_text(table, row, "suite");
    for (const pw_suite *const *each = pw_suite_table; *each; each++)
        if (strcmp((*each)->name, name) == 0) {
            *suite = *each;
            return PW_OK;
        }
    return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[row], NULL, "there is no suite '%s'", name);
}

static pw_status run_once(runs *r, const pw_suite *suite, const pw_catalogue *catalogue, const volatile int *interrupt,
                          pw_arena *arena, const pw_validation **validation, pw_error *error) {
    for (uint32_t i = 0; i < r->count; i++)
        if (r->suites[i] == suite) {
            *validation = &r->validations[i];
            return PW_OK;
        }
    const pw_validation *base = NULL;
    if (suite->from) PW_TRY(run_once(r, suite->from, catalogue, interrupt, arena, &base, error));
    PW_CHECK(r->count < sizeof r->suites / sizeof *r->suites);
    pw_validation *made = &r->validations[r->count];
    pw_validation_options options = {.interrupt = interrupt};
    *made = (pw_validation){.suite = suite};
    PW_TRY(base ? suite->derive(base, arena, made, error) : pw_validation_run(suite, catalogue, &options, arena, made, error));
    r->suites[r->count] = suite;
    *validation = &r->validations[r->count++];
    return PW_OK;
}

/* --- Which rows ---------------------------------------------------------------------------------------------------- */

static double number_in(const pw_measured *input, uint32_t row, const char *column) {
    double value = NAN;
    if (pw_measured_number(input, row, column, &value, NULL) != PW_OK) return NAN;
    return value;
}

static double quantity_of(const pw_measured *input, uint32_t row, const char *column) {
    if (strcmp(column, "flops") == 0 && pw_measured_find(input, "flops") < 0)
        return 2 * number_in(input, row, "m") * number_in(input, row, "n") * number_in(input, row, "k");
    return number_in(input, row, column);
}

/* One condition of "only"; its column and what it asks for. */
typedef struct condition {
    char column[64];
    const char *values; /* up to the next ";" */
    size_t length;
    bool at_least;
    double number;
} condition;

static bool is_among(const char *values, size_t length, const char *cell) {
    size_t size = strlen(cell);
    for (const char *at = values, *end = values + length; at <= end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t each = (size_t)((comma ? comma : end) - at);
        if (each == size && memcmp(at, cell, size) == 0) return true;
        at += each + 1;
    }
    return false;
}

static pw_status read_condition(const pw_measured *table, uint32_t row, const char **text, condition *to, pw_error *error) {
    size_t length = strcspn(*text, ";");
    const char *equals = memchr(*text, '=', length);
    if (!equals || equals == *text || (size_t)(equals - *text) >= sizeof to->column)
        return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[row], "write COLUMN=VALUE or COLUMN>=NUMBER",
                       "condition '%.*s'", (int)length, *text);
    to->at_least = equals > *text && equals[-1] == '>';
    snprintf(to->column, sizeof to->column, "%.*s", (int)(equals - *text - to->at_least), *text);
    to->values = equals + 1;
    to->length = length - (size_t)(equals + 1 - *text);
    const char *end;
    if (to->at_least && (!pw_text_number(to->values, &end, &to->number) || end != to->values + to->length))
        return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[row], NULL, "'%.*s' is no number", (int)to->length, to->values);
    *text += length + ((*text)[length] == ';');
    return PW_OK;
}

static bool holds(const pw_validation *v, uint32_t row, const condition *c) {
    if (c->at_least) return quantity_of(v->input, row, c->column) >= c->number;
    const pw_prediction *p = &v->predictions[row];
    const char *cell = pw_suite_text(v->suite, v->input, row, c->column);
    if (strcmp(c->column, "side") == 0) cell = p->side;
    else if (strcmp(c->column, "class") == 0 && v->suite->interval) cell = p->step_class ? p->step_class : "";
    return is_among(c->values, c->length, cell);
}

static pw_status choose_rows(const pw_measured *table, uint32_t target, const pw_validation *v, bool *chosen, pw_error *error) {
    for (uint32_t row = 0; row < v->input->rows; row++) chosen[row] = v->predictions[row].ran;
    for (const char *text = pw_measured_text(table, target, "only"); *text;) {
        condition c = {0};
        PW_TRY(read_condition(table, target, &text, &c, error));
        bool known = strcmp(c.column, "side") == 0 || pw_suite_has_label(v->suite, c.column) || (strcmp(c.column, "class") == 0 && v->suite->interval) ||
                     (strcmp(c.column, "flops") == 0 && c.at_least) || pw_measured_find(v->input, c.column) >= 0;
        if (!known)
            return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[target], NULL, "suite %s has no column '%s'",
                           v->suite->name, c.column);
        for (uint32_t row = 0; row < v->input->rows; row++) chosen[row] = chosen[row] && holds(v, row, &c);
    }
    return PW_OK;
}

/* --- What they show ------------------------------------------------------------------------------------------------- */

typedef struct scratch {
    bool *chosen;
    double *a, *b;
} scratch;

static double score_of(statistic which, const pw_score *score) {
    switch (which) {
        case MAPE:
        case ABSOLUTE: return score->mape_pct;
        case MEDIAN: return score->median_pct;
        case P90: return score->p90_pct;
        case WORST: return score->worst_pct;
        default: return fabs(score->bias_pct);
    }
}

static double value_of(const pw_prediction *p, pw_variant variant) {
    return variant == PW_VARIANT_STACK ? p->stack : variant == PW_VARIANT_BASELINE ? p->baseline : p->plain;
}

/* The median error over the baseline's, on the rows that have one, in %. */
static double beats(const pw_validation *v, const scratch *s, pw_variant variant, uint32_t *n) {
    *n = 0;
    for (uint32_t row = 0; row < v->input->rows; row++) {
        const pw_prediction *p = &v->predictions[row];
        if (!s->chosen[row] || isnan(p->baseline) || isnan(value_of(p, variant))) continue;
        s->a[*n] = (value_of(p, variant) - p->measured) / p->measured;
        s->b[(*n)++] = (p->baseline - p->measured) / p->measured;
    }
    return *n ? 100 * pw_validation_score(s->a, *n).median_pct / pw_validation_score(s->b, *n).median_pct : NAN;
}

static double reached_by(const pw_validation *v, const scratch *s, statistic which, pw_variant variant, uint32_t *n) {
    uint32_t count = 0, within = 0;
    for (uint32_t row = 0; row < v->input->rows; row++) {
        const pw_prediction *p = &v->predictions[row];
        double value = value_of(p, variant);
        if (!s->chosen[row] || isnan(value)) continue;
        if (which == WITHIN) {
            if (!(p->high > 0)) continue;
            within += p->measured >= p->low && p->measured <= p->high;
        }
        s->a[count] = which == RIGHT ? p->measured : (value - p->measured) / (which == ABSOLUTE ? 1 : p->measured);
        s->b[count++] = value;
    }
    *n = count;
    if (which == BEATS) return variant == PW_VARIANT_BASELINE ? NAN : beats(v, s, variant, n);
    if (which == WITHIN) return count && variant != PW_VARIANT_BASELINE ? 100.0 * within / count : NAN;
    if (which == RIGHT) return pw_validation_sign_pct(s->a, s->b, count, n);
    pw_score score = pw_validation_score(s->a, count);
    return count ? score_of(which, &score) : NAN;
}

static pw_status judge(const pw_measured *table, uint32_t row, const pw_validation *v, const scratch *s, pw_target *to,
                       pw_error *error) {
    const char *word = pw_measured_text(table, row, "statistic"), *variant = pw_measured_text(table, row, "variant");
    int which = 0;
    while (which < STATISTICS && strcmp(statistic_names[which], word) != 0) which++;
    if (which == STATISTICS) return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[row], NULL, "statistic '%s'", word);
    if (strcmp(variant, "plain") != 0 && strcmp(variant, "stack") != 0)
        return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[row], "plain or stack", "variant '%s'", variant);
    *to = (pw_target){.name = pw_measured_text(table, row, "name"), .statistic = word,
                       .missing = pw_measured_text(table, row, "missing")};
    PW_TRY(pw_measured_number(table, row, "limit", &to->limit, error));
    PW_TRY(pw_measured_number(table, row, "high", &to->high, error));
    if (isnan(to->limit) || (which == WITHIN && isnan(to->high)))
        return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[row], NULL, "the limit is missing");
    PW_TRY(choose_rows(table, row, v, s->chosen, error));
    uint32_t unused;
    to->baseline = reached_by(v, s, (statistic)which, PW_VARIANT_BASELINE, &unused);
    to->reached = reached_by(v, s, (statistic)which, strcmp(variant, "stack") == 0 ? PW_VARIANT_STACK : PW_VARIANT_PLAIN, &to->n);
    to->met = which == RIGHT    ? to->reached >= to->limit
              : which == WITHIN ? to->reached >= to->limit && to->reached <= to->high
                                : to->reached <= to->limit;
    return PW_OK;
}

pw_status pw_targets_run(const pw_catalogue *catalogue, const volatile int *interrupt, pw_arena *arena, const pw_target **targets,
                         uint32_t *count, pw_error *error) {
    char folder[4096], path[4608];
    pw_measured table;
    PW_TRY(pw_validation_find(catalogue, folder, sizeof folder, error));
    snprintf(path, sizeof path, "%s/targets.csv", folder);
    PW_TRY(pw_measured_read(path, arena, &table, error));
    pw_target *made = pw_arena_alloc(arena, (table.rows + 1u) * sizeof *made);
    runs *all = pw_arena_alloc(arena, sizeof *all);
    if (!made || !all) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    for (uint32_t row = 0; row < table.rows; row++) {
        const pw_suite *suite = NULL;
        const pw_validation *v = NULL;
        PW_TRY(suite_of(&table, row, &suite, error));
        PW_TRY(run_once(all, suite, catalogue, interrupt, arena, &v, error));
        size_t most = v->input->rows + 1u;
        scratch s = {pw_arena_alloc(arena, most * sizeof *s.chosen), pw_arena_alloc(arena, most * sizeof *s.a),
                     pw_arena_alloc(arena, most * sizeof *s.b)};
        if (!s.chosen || !s.a || !s.b) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
        PW_TRY(judge(&table, row, v, &s, &made[row], error));
    }
    *targets = made;
    *count = table.rows;
    return PW_OK;
}

static void print_number(pw_file *out, double value) {
    if (isnan(value)) pw_file_print(out, " %8s", "-");
    else pw_file_print(out, " %8.1f", value);
}

void pw_targets_write(const pw_target *targets, uint32_t count, pw_file *out) {
    uint32_t met = 0;
    for (uint32_t i = 0; i < count; i++) met += targets[i].met;
    pw_file_print(out, "targets: %u of %u met; figures in %%\n\n  %-44s %-7s %11s %8s %8s %6s\n", met, count, "", "", "target",
                  "reached", "baseline", "n");
    for (uint32_t i = 0; i < count; i++) {
        const pw_target *t = &targets[i];
        char limit[40];
        if (strcmp(t->statistic, "within") == 0) snprintf(limit, sizeof limit, "%g to %g", t->limit, t->high);
        else snprintf(limit, sizeof limit, "%s %g", strcmp(t->statistic, "right") == 0 ? ">=" : "<=", t->limit);
        pw_file_print(out, "  %-44.44s %-7s %11s", t->name, t->statistic, limit);
        print_number(out, t->reached);
        print_number(out, t->baseline);
        pw_file_print(out, " %6u  %s\n", t->n, t->met ? "met" : t->n ? "MISSED" : "no row ran");
    }
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        const pw_target *t = &targets[i];
        if (t->met || !*t->missing) continue;
        pw_file_print(out, "%s  %s (%s): %s\n", any ? "" : "\nwhat is missing where a target is missed\n", t->name, t->statistic, t->missing);
        any = true;
    }
}
