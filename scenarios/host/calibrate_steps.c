/* podwright calibrate steps: measured steps of one's own, each a scenario with the seconds of a step. Every scenario is run until its
 * prediction meets the measurement (the step is near linear in the factor), then at the fitted factor and at the one of the others.
 */
#include "scenarios/host/calibrate_steps.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/stack.h"
#include "models/workload/train.h"
#include "scenarios/report/layout.h"
#include "scenarios/validation/steps.h"
#include "sim/csv.h"

static const double least_factor = 0.2, most_factor = 5; /* beyond, something else than the stack is wrong */

typedef struct step {
    const char *text, *stack; /* text: the scenario and what is set in it */
    int line;
    pw_scenario scenario;
    double measured, on_file, factor; /* seconds; seconds at the factor on file; NaN: no factor meets it */
    double fitted, left_out;          /* seconds at the fitted factor, at that of the others */
    uint32_t group;
} step;

typedef struct run {
    pw_host *host;
    const pw_catalogue *catalogue;
    pw_arena *arena;
    const char *path;
    step *steps;
    uint32_t count;
    pw_error *error;
} run;

/* ---- Rows ---- */

/* "job.micro_batch=2; cluster.nodes=4" */
static pw_status split_overrides(const run *r, const char *text, const char **list, int *count, int most) {
    char *copy = pw_arena_text(r->arena, text);
    if (!copy) return pw_fail(r->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    *count = 0;
    for (char *at = strtok(copy, ";"); at && *count < most; at = strtok(NULL, ";")) {
        at += strspn(at, " ");
        for (size_t length = strlen(at); length && at[length - 1] == ' ';) at[--length] = '\0';
        if (*at) list[(*count)++] = at;
    }
    return PW_OK;
}

static pw_status load_scenario(const run *r, step *made, const char *name, const char *set) {
    char path[PATH_MAX];
    const char *slash = strrchr(r->path, '/'), *overrides[64];
    pw_scenario_options options = {.allocator = r->host->allocator, .catalogue = r->catalogue, .overrides = overrides,
                                   .seed = 1, .interrupt = r->host->interrupt};
    snprintf(path, sizeof path, "%.*s%s", slash && *name != '/' ? (int)(slash - r->path) + 1 : 0, r->path, name);
    PW_TRY(split_overrides(r, set, overrides, &options.override_count, 64));
    PW_TRY(pw_scenario_load(path, &options, r->arena, &made->scenario, r->error));
    if (!made->scenario.desc.job.record || made->scenario.desc.job.kind != &pw_train_kind)
        return pw_fail(r->error, PW_BAD_INPUT, r->path, made->line, "job = o.train { ... }",
                       "the job of %.200s is no training step", name);
    return PW_OK;
}

/* A change of column `set`, or a file that is not there, is a mistake of the row. */
static pw_status place_in_row(const run *r, int line, pw_status status) {
    pw_error *error = r->error;
    if (status == PW_OK || (error->file[0] && strncmp(error->file, "--set", 5) != 0)) return status;
    snprintf(error->file, sizeof error->file, "%s", r->path);
    error->line = line;
    return status;
}

static pw_status read_row(run *r, pw_csv *csv, int scenario, int set, int measured) {
    step *made = &r->steps[r->count];
    char text[400];
    const char *name = pw_arena_text(r->arena, pw_csv_text(csv, scenario));
    const char *changes = pw_arena_text(r->arena, set < 0 ? "" : pw_csv_text(csv, set));
    if (!name || !changes) return pw_fail(r->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    *made = (step){.line = pw_csv_line(csv), .factor = NAN, .fitted = NAN, .left_out = NAN};
    PW_TRY(pw_csv_number(csv, measured, &made->measured, r->error));
    if (!(made->measured >= 1e-9 && made->measured < 1e9))
        return pw_csv_fail(csv, measured, "the seconds of one optimizer step", r->error, "a step takes 1e-9 to 1e9 seconds");
    if (!*name) return pw_csv_fail(csv, scenario, "a Lua file beside this one", r->error, "the scenario is missing");
    snprintf(text, sizeof text, "%.180s%s%.180s", name, *changes ? " " : "", changes);
    made->text = pw_arena_text(r->arena, text);
    if (!made->text) return pw_fail(r->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    PW_TRY(place_in_row(r, made->line, load_scenario(r, made, name, changes)));
    r->count++;
    return PW_OK;
}

static pw_status read_rows(run *r, pw_csv *csv) {
    int scenario, measured, set = pw_csv_find(csv, "set");
    PW_TRY(pw_csv_column(csv, "scenario", &scenario, r->error));
    PW_TRY(pw_csv_column(csv, "measured_s", &measured, r->error));
    for (int column = 0; column < pw_csv_columns(csv); column++)
        if (column != scenario && column != measured && column != set)
            return pw_fail(r->error, PW_BAD_INPUT, r->path, 1, "the columns are scenario, measured_s and set",
                           "the column '%.100s' is not known", pw_csv_column_name(csv, column));
    for (bool row = true;;) {
        PW_TRY(pw_csv_next(csv, &row, r->error));
        if (!row) break;
        if (r->count == PW_STEPS_MOST)
            return pw_csv_fail(csv, -1, NULL, r->error, "there are more than %d steps", PW_STEPS_MOST);
        PW_TRY(read_row(r, csv, scenario, set, measured));
    }
    if (!r->count) return pw_fail(r->error, PW_BAD_INPUT, r->path, 0, NULL, "the file has no steps");
    return PW_OK;
}

/* ---- Runs ---- */

/* factor 0: the one on file. */
static pw_status predict(const run *r, const step *of, double factor, double *seconds) {
    const pw_scenario_desc *desc = &of->scenario.desc;
    const pw_run_options options = {.seed = 1, .ignore_memory = true, .kernel_time_factor = factor, .interrupt = r->host->interrupt};
    const pw_origin *place = pw_scenario_origin(&of->scenario, "job");
    pw_train_result result;
    pw_arena *arena = pw_arena_create(r->host->allocator);
    if (!arena) return pw_fail(r->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    pw_status status = pw_train_run(r->host->allocator, r->catalogue, desc->cluster, desc->job.record, &options,
                                    place ? place->file : of->scenario.file, place ? place->line : 0, arena, &result, r->error);
    if (status == PW_OK) *seconds = result.step_s;
    else pw_command_place(&of->scenario, r->error);
    pw_arena_destroy(arena);
    return place_in_row(r, of->line, status);
}

/* The factor at which the prediction meets the measurement, by the secant. */
static pw_status solve(const run *r, step *of) {
    double x0 = 1, x1 = 1.1, t0, t1;
    PW_TRY(predict(r, of, 0, &of->on_file));
    PW_TRY(predict(r, of, x0, &t0));
    PW_TRY(predict(r, of, x1, &t1));
    for (int i = 0; i < 4 && t1 != t0 && fabs(t1 / of->measured - 1) > 1e-4; i++) {
        double next = x1 + (of->measured - t1) * (x1 - x0) / (t1 - t0);
        next = fmin(fmax(next, least_factor), most_factor);
        if (next == x1) break;
        x0 = x1;
        t0 = t1;
        x1 = next;
        PW_TRY(predict(r, of, x1, &t1));
    }
    if (fabs(t1 / of->measured - 1) < 0.01) of->factor = x1;
    return PW_OK;
}

static pw_status find_stack(const run *r, step *of) {
    const pw_train_desc *job = of->scenario.desc.job.record;
    pw_cluster *cluster;
    pw_stack stack;
    PW_TRY(pw_cluster_create(r->host->allocator, r->catalogue, of->scenario.desc.cluster, &cluster, r->error));
    pw_status status = pw_stack_read(r->catalogue, job->stack && *job->stack ? job->stack : NULL, pw_cluster_device(cluster), &stack,
                                     of->scenario.file, 0, r->error);
    of->stack = status == PW_OK ? stack.name : NULL;
    pw_cluster_destroy(cluster);
    return status;
}

/* ---- Groups of one stack ---- */

typedef struct group {
    const char *stack;
    double factors[PW_STEPS_MOST];
    uint32_t members[PW_STEPS_MOST], count; /* steps with a factor */
    pw_steps_fit fit;
} group;

static pw_status fit_group(const run *r, group *of) {
    of->count = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        if (strcmp(r->steps[i].stack, of->stack) != 0 || isnan(r->steps[i].factor)) continue;
        of->members[of->count] = i;
        of->factors[of->count++] = r->steps[i].factor;
    }
    if (!of->count) return PW_OK;
    of->fit = pw_steps_fit_factors(of->factors, of->count);
    for (uint32_t m = 0; m < of->count; m++) {
        step *member = &r->steps[of->members[m]];
        double others = pw_steps_left_out(of->factors, of->count, m);
        PW_TRY(predict(r, member, of->fit.factor, &member->fitted));
        if (!isnan(others)) PW_TRY(predict(r, member, others, &member->left_out));
    }
    return PW_OK;
}

static double error_pct(double predicted, double measured) { return 100 * (predicted / measured - 1); }

static void put_pct(pw_file *file, double predicted, double measured) {
    if (isnan(predicted)) pw_file_print(file, "  %9s", "-");
    else pw_file_print(file, "  %+8.1f%%", error_pct(predicted, measured));
}

static void put_steps(const run *r, const char *stack, pw_file *file) {
    char a[64], b[64];
    pw_file_print(file, "  %-44s %11s %11s %9s %8s  %9s  %9s\n", "step", "measured", "on file", "error", "factor", "fitted", "left out");
    for (uint32_t i = 0; i < r->count; i++) {
        const step *s = &r->steps[i];
        if (strcmp(s->stack, stack) != 0) continue;
        pw_file_print(file, "  %-44.44s %11s %11s", s->text, pw_layout_seconds(s->measured, a, sizeof a),
                      pw_layout_seconds(s->on_file, b, sizeof b));
        pw_file_print(file, " %+8.1f%%", error_pct(s->on_file, s->measured));
        if (isnan(s->factor)) pw_file_print(file, " %8s", "none");
        else pw_file_print(file, " %8.3f", s->factor);
        put_pct(file, s->fitted, s->measured);
        put_pct(file, s->left_out, s->measured);
        pw_file_text(file, "\n");
    }
}

/* What so few steps can say. */
static void put_fit(const group *g, pw_file *file) {
    const pw_steps_fit *fit = &g->fit;
    pw_file_print(file, "\n  factor   %.3f", fit->factor);
    if (fit->count == 1) {
        pw_file_text(file, ", from one step: nothing can be said about its error, nor about how it holds for other jobs\n");
    } else {
        pw_file_print(file, ", median of %u steps; %.3f to %.3f holds the stack's median with %.1f %% confidence\n", fit->count, fit->low,
                      fit->high, floor(1000 * fit->coverage + 0.5 + 1e-6) / 10); /* halves up, whatever the last bit */
        if (fit->count == 2)
            pw_file_text(file, "           two steps cannot tell a bad one from a good one; five are the least for 90 %\n");
        else if (fit->coverage < 0.9)
            pw_file_text(file, "           five steps are the least for 90 %\n");
    }
    pw_file_print(file, "  use it   stack_factor = %.3f in o.train, or --set job.stack_factor=%.3f\n", fit->factor, fit->factor);
}

static void put_group(const run *r, const group *g, pw_file *file) {
    pw_file_print(file, "stack %s\n\n", g->stack);
    put_steps(r, g->stack, file);
    if (!g->count) {
        pw_file_print(file, "\n  no factor between %g and %g makes a prediction meet a measurement: the job or the cluster differs from what was "
                            "measured\n", least_factor, most_factor);
        return;
    }
    put_fit(g, file);
    uint32_t all = 0;
    for (uint32_t i = 0; i < r->count; i++) all += strcmp(r->steps[i].stack, g->stack) == 0;
    if (all > g->count)
        pw_file_print(file, "  left     %u of %u steps, which no factor between %g and %g makes the prediction meet\n", all - g->count, all,
                      least_factor, most_factor);
    double worst = 0, sum = 0;
    uint32_t known = 0;
    for (uint32_t m = 0; m < g->count; m++) {
        const step *s = &r->steps[g->members[m]];
        if (isnan(s->left_out)) continue;
        double size = fabs(error_pct(s->left_out, s->measured));
        sum += size;
        worst = fmax(worst, size);
        known++;
    }
    if (known) pw_file_print(file, "  error    each step by the factor of the others: mean %.1f %%, worst %.1f %%\n", sum / known, worst);
}

/* The catalogue's table with the fitted rows in it. */
static void put_table(const run *r, const group *groups, uint32_t count, pw_file *file) {
    const pw_table *table = pw_catalogue_table(r->catalogue, "stack-factors");
    pw_file_text(file, "name,factor [ratio],low [ratio],high [ratio],rows [count],families [count],provenance,source\n");
    for (uint32_t g = 0; g < count; g++) {
        if (!groups[g].count) continue;
        pw_file_csv_text(file, groups[g].stack);
        pw_file_csv_number(file, round(1000 * groups[g].fit.factor) / 1000);
        pw_file_csv_number(file, round(1000 * groups[g].fit.low) / 1000);
        pw_file_csv_number(file, round(1000 * groups[g].fit.high) / 1000);
        pw_file_csv_integer(file, groups[g].count);
        pw_file_csv_integer(file, 1);
        pw_file_csv_text(file, "OWN");
        pw_file_csv_text(file, "podwright calibrate steps");
        pw_file_csv_end(file);
    }
    for (size_t row = 0; table && row < pw_table_rows(table); row++) {
        bool is_fitted = false;
        for (uint32_t g = 0; g < count; g++)
            is_fitted = is_fitted || (groups[g].count && strcmp(groups[g].stack, pw_table_text_at(table, row, 0)) == 0);
        for (size_t c = 0; !is_fitted && c < pw_table_columns(table); c++) {
            const char *text = pw_table_text_at(table, row, c);
            if (*text) pw_file_csv_text(file, text);
            else pw_file_csv_number(file, NAN);
        }
        if (!is_fitted) pw_file_csv_end(file);
    }
}

static pw_status fit_all(run *r, group **groups, uint32_t *count) {
    for (uint32_t i = 0; i < r->count; i++) {
        PW_TRY(find_stack(r, &r->steps[i]));
        pw_host_talk(r->host, "%s ...", r->steps[i].text);
        pw_status status = solve(r, &r->steps[i]);
        if (status != PW_OK) return status;
    }
    *groups = pw_arena_alloc(r->arena, r->count * sizeof **groups);
    if (!*groups) return pw_fail(r->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t g = 0;
        while (g < *count && strcmp((*groups)[g].stack, r->steps[i].stack) != 0) g++;
        if (g == *count) (*groups)[(*count)++].stack = r->steps[i].stack;
    }
    for (uint32_t g = 0; g < *count; g++) PW_TRY(fit_group(r, &(*groups)[g]));
    return PW_OK;
}

pw_status pw_calibrate_steps(pw_host *host, const pw_catalogue *catalogue, const char *path, const char *output, pw_arena *arena,
                             pw_error *error) {
    run r = {.host = host, .catalogue = catalogue, .arena = arena, .path = path, .error = error};
    pw_csv *csv;
    pw_file *file;
    group *groups = NULL;
    uint32_t count = 0;
    r.steps = pw_arena_alloc(arena, PW_STEPS_MOST * sizeof *r.steps);
    if (!r.steps) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    PW_TRY(pw_csv_open(path, NULL, host->allocator, &csv, error));
    pw_status status = read_rows(&r, csv);
    pw_csv_close(csv);
    PW_TRY(status);
    PW_TRY(fit_all(&r, &groups, &count));
    if (output) {
        PW_TRY(pw_host_open(host, output, &file, error));
        put_table(&r, groups, count, file);
        PW_TRY(pw_host_close(file, PW_OK, error));
    }
    PW_TRY(pw_host_open(host, NULL, &file, error));
    for (uint32_t g = 0; g < count; g++) {
        if (g) pw_file_text(file, "\n");
        put_group(&r, &groups[g], file);
    }
    return pw_host_close(file, PW_OK, error);
}
