/* The power-nodes suite: watts of whole nodes at the wall, from their parts. "plain" is predicted by figures fitted without any row of the
 * node's type, "stack" by those on file, which fit rows of all types shaped. What GPUs draw is the cap in force times a share that is fitted
 * too; of idle nodes, the idle power of their GPUs. */
#include <gsl/gsl_fit.h>
#include <math.h>
#include <string.h>

#include "models/power/node_fit.h"
#include "scenarios/validation/validation.h"

typedef struct line {
    double base_W, slope;
} line;

typedef struct answer {
    bool known;
    double plain, stack, baseline, second;
} answer;

typedef struct node_state {
    answer *answers; /* by row of the input */
} node_state;

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory"); }

/* wall = base + slope x caps of all GPUs, over the fit rows under load of one type; -1: of all. */
static bool fit_line(const pw_node_rows *rows, int type, pw_arena *arena, line *fitted) {
    double *x = pw_arena_alloc(arena, (rows->count + 1) * sizeof *x), *y = pw_arena_alloc(arena, (rows->count + 1) * sizeof *y);
    double c00, c01, c11, squares;
    size_t count = 0;
    if (!x || !y) return false;
    for (size_t i = 0; i < rows->count; i++) {
        const pw_node_row *row = &rows->rows[i];
        if (row->check || row->task < 0 || !row->shapes || (type >= 0 && row->type != type)) continue;
        x[count] = row->gpu_W;
        y[count++] = row->measured_W;
    }
    if (count < 3) return false;
    gsl_fit_linear(x, 1, y, 1, count, &fitted->base_W, &fitted->slope, &c00, &c01, &c11, &squares);
    return true;
}

/* Rated power of GPUs and CPUs: what a data sheet gives at once. */
static pw_status rated_sum(const pw_catalogue *catalogue, const pw_node_power *model, double *watts, pw_error *error) {
    const pw_device *gpu;
    int count;
    PW_TRY(pw_catalogue_device(catalogue, pw_node_power_gpu(model), &gpu, error));
    const pw_node_part *parts = pw_node_power_parts(model, &count);
    *watts = pw_node_power_gpus(model) * gpu->tdp_W;
    for (int i = 0; i < count; i++)
        if (parts[i].kind == PW_NODE_PART_CPU) *watts += parts[i].count * parts[i].active_W;
    return PW_OK;
}

/* Values that were fitted on `of`, for the tasks of `rows`. */
static pw_node_values for_tasks(const pw_node_values *values, const pw_node_rows *of, const pw_node_rows *rows) {
    pw_node_values moved = *values;
    for (int task = 0; task < rows->tasks; task++) {
        moved.draw[task] = 1;
        for (int other = 0; other < of->tasks; other++)
            if (!strcmp(of->task[other], rows->task[task])) moved.draw[task] = values->draw[other];
    }
    return moved;
}

static pw_status answer_type(const pw_validation_context *context, const pw_node_rows *shipped, const pw_node_rows *rows, int type,
                             const pw_node_values *on_file, node_state *state, pw_error *error) {
    pw_node_values fitted;
    line own = {0};
    PW_TRY(pw_node_values_fit(context->catalogue, shipped, type, &fitted, error));
    pw_node_values without = for_tasks(&fitted, shipped, rows);
    if (!fit_line(shipped, type, context->arena, &own) && !fit_line(shipped, -1, context->arena, &own)) return no_memory(error);
    uint32_t at = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const pw_node_row *row = &rows->rows[i];
        if (row->type != type) continue;
        while (at < context->input->rows && context->input->lines[at] != row->line) at++;
        if (at == context->input->rows) return pw_fail(error, PW_BAD_INPUT, context->input->file, row->line, NULL, "the file changed while it was read");
        answer *to = &state->answers[at];
        *to = (answer){.known = true, .plain = pw_node_row_predict(row, &without), .stack = pw_node_row_predict(row, on_file),
                       .baseline = own.base_W + own.slope * row->gpu_W};
        PW_TRY(rated_sum(context->catalogue, row->model, &to->second, error));
    }
    return PW_OK;
}

static pw_status answer_all(const pw_validation_context *context, const pw_node_rows *shipped, const pw_node_rows *rows, node_state *state,
                            pw_error *error) {
    pw_node_values on_file;
    PW_TRY(pw_node_values_read(context->catalogue, rows, &on_file, error));
    for (int type = 0; type < rows->types; type++) PW_TRY(answer_type(context, shipped, rows, type, &on_file, state, error));
    return PW_OK;
}

static pw_status prepare(pw_validation_context *context, pw_error *error) {
    node_state *state = pw_arena_alloc(context->arena, sizeof *state);
    pw_node_rows shipped, rows;
    if (!state || !(state->answers = pw_arena_alloc(context->arena, (context->input->rows + 1u) * sizeof *state->answers))) return no_memory(error);
    context->state = state;
    PW_TRY(pw_node_rows_read(context->catalogue, context->shipped->file, context->folder, &shipped, error));
    pw_status status = pw_node_rows_read(context->catalogue, context->input->file, context->folder, &rows, error);
    if (status == PW_OK) {
        status = answer_all(context, &shipped, &rows, state, error);
        pw_node_rows_free(&rows);
    }
    pw_node_rows_free(&shipped);
    return status;
}

static pw_status skip(pw_prediction *prediction, const char *why) {
    prediction->ran = false;
    snprintf(prediction->why, sizeof prediction->why, "%s", why);
    return PW_OK;
}

static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error) {
    const node_state *state = context->state;
    const answer *known = &state->answers[row];
    const char *metric = pw_measured_text(context->input, row, "metric");
    prediction->side = pw_validation_side(context->split, context->input, row);
    if (strcmp(metric, "mean_node_power") != 0 && strcmp(metric, "idle_node_power") != 0) return skip(prediction, "no mean or idle power of a node");
    if (strcmp(pw_measured_text(context->input, row, "scope"), "node_ac") != 0) return skip(prediction, "not measured at the wall");
    double cap_W;
    PW_TRY(pw_measured_number(context->input, row, "value", &prediction->measured, error));
    if (!(prediction->measured > 0)) return skip(prediction, "no watts");
    PW_TRY(pw_measured_number(context->input, row, "gpu_power_cap_w", &cap_W, error));
    if (!known->known) return skip(prediction, "what its GPUs draw is not known; or its system is not in power-systems.csv");
    prediction->ran = true;
    prediction->plain = known->plain;
    prediction->stack = known->stack;
    prediction->baseline = known->baseline;
    prediction->second = known->second;
    return PW_OK;
}

static const char *const required[] = {"family", "system", "task", "gpu_power_cap_w", "metric", "value", "scope", NULL};
static const char *const by[] = {"side", "category", "system", NULL};
const pw_suite pw_suite_power_nodes = {
    .name = "power-nodes",
    .text = "power of a node at the wall from its parts: fitted without any node of its type, and with fit rows of all types",
    .unit = "W",
    .file = "power-measured.csv",
    .split = "split-power.csv",
    .required = required,
    .by = by,
    .baseline = "a line per type of node over the caps of its GPUs, fitted on fit rows of that very type",
    .second = "rated power of GPUs and CPUs",
    .prepare = prepare,
    .predict = predict,
};
