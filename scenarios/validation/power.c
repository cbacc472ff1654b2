/* The power suite: what GPUs draw, their clocks, and what a cap costs. Other rows of the file (nodes, facilities) have their own
 * judges and are skipped with the reason.
 *
 * A cap's ratios are judged beside the cubic law, watts under a cap beside the smaller of cap and uncapped watts, serving and board
 * watts beside the TDP and the mean of the device's fit rows, clocks beside the boost clock. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/power/gpu_points.h"
#include "scenarios/validation/validation.h"

enum { MOST_DEVICES = 64 };

typedef struct known_model {
    const pw_device *device;
    pw_gpu_power *model;
    double sum; /* of serving watts of fit rows */
    uint32_t count;
} known_model;

typedef struct power_state {
    known_model models[MOST_DEVICES];
    uint32_t count;
} power_state;

static pw_status skip(pw_prediction *prediction, const char *why) {
    prediction->ran = false;
    snprintf(prediction->why, sizeof prediction->why, "%s", why);
    return PW_OK;
}

/* Value of the row of the same workload with another metric: of the same configuration, or at the default cap. NaN: none. */
static pw_status related(const pw_measured *input, uint32_t row, const char *metric, bool at_default, double *value, pw_error *error) {
    const char *family = pw_measured_text(input, row, "family"), *config = pw_measured_text(input, row, "config");
    *value = NAN;
    for (uint32_t r = 0; r < input->rows; r++) {
        if (strcmp(pw_measured_text(input, r, "metric"), metric) || strcmp(pw_measured_text(input, r, "family"), family) ||
            strcmp(pw_measured_text(input, r, "config"), config))
            continue;
        double cap, usual;
        PW_TRY(pw_measured_number(input, r, "gpu_power_cap_w", &cap, error));
        PW_TRY(pw_measured_number(input, r, "default_cap_w", &usual, error));
        if (!at_default || cap == usual) return pw_measured_number(input, r, "value", value, error);
    }
    return PW_OK;
}

static pw_status point_of(const pw_catalogue *catalogue, const pw_measured *input, uint32_t row, pw_power_point *point, bool *known,
                          char *why, size_t size, pw_error *error) {
    pw_power_row r = {.category = pw_measured_text(input, row, "category"), .device = pw_measured_text(input, row, "device"),
                      .task = pw_measured_text(input, row, "task"), .metric = pw_measured_text(input, row, "metric"),
                      .dtype = pw_measured_text(input, row, "dtype")};
    PW_TRY(pw_measured_number(input, row, "n_gpus", &r.gpus, error));
    PW_TRY(pw_measured_number(input, row, "batch", &r.batch, error));
    PW_TRY(pw_measured_number(input, row, "gpu_power_cap_w", &r.cap_W, error));
    PW_TRY(pw_measured_number(input, row, "default_cap_w", &r.default_cap_W, error));
    r.throughput = r.default_W = NAN;
    if (strcmp(r.category, "llm_serving_power") == 0 && strcmp(r.metric, "mean_gpu_power_per_gpu") == 0)
        PW_TRY(related(input, row, "output_throughput", false, &r.throughput, error));
    if (strcmp(r.category, "perf_vs_power_cap") == 0) PW_TRY(related(input, row, "mean_gpu_power", true, &r.default_W, error));
    return pw_power_point_make(catalogue, &r, point, known, why, size, error);
}

static known_model *model_of(power_state *state, const pw_device *device) {
    for (uint32_t i = 0; i < state->count; i++)
        if (state->models[i].device == device) return &state->models[i];
    return NULL;
}

/* A model of every device that a row names, and the constant of the second baseline from the fit rows that ship. */
static pw_status add_rows(const pw_validation_context *context, const pw_measured *rows, bool means, power_state *state, pw_error *error) {
    for (uint32_t row = 0; row < rows->rows; row++) {
        pw_power_point point;
        bool known;
        char why[256];
        pw_error failure = {0};
        pw_status status = point_of(context->catalogue, rows, row, &point, &known, why, sizeof why, &failure);
        if (status == PW_BAD_INPUT) continue; /* the row's own prediction will say so */
        if (status != PW_OK) {
            if (error) *error = failure;
            return status;
        }
        if (!known) continue;
        known_model *model = model_of(state, point.device);
        if (!model) {
            if (state->count == MOST_DEVICES) return pw_fail(error, PW_UNSUPPORTED, rows->file, 0, NULL, "more than %d devices", MOST_DEVICES);
            model = &state->models[state->count];
            model->device = point.device;
            PW_TRY(pw_gpu_power_create(NULL, context->catalogue, point.device->name, &model->model, error));
            state->count++;
        }
        double value;
        if (!means || point.quantity != PW_POWER_SERVING_W || strcmp(pw_validation_side(context->split, rows, row), "fit") != 0) continue;
        PW_TRY(pw_measured_number(rows, row, "value", &value, error));
        model->sum += value;
        model->count++;
    }
    return PW_OK;
}

static pw_status prepare(pw_validation_context *context, pw_error *error) {
    power_state *state = pw_arena_alloc(context->arena, sizeof *state);
    context->state = state;
    if (!state) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    *state = (power_state){0};
    PW_TRY(add_rows(context, context->shipped, true, state, error));
    return context->input == context->shipped ? PW_OK : add_rows(context, context->input, false, state, error);
}

static void finish(pw_validation_context *context) {
    power_state *state = context->state;
    for (uint32_t i = 0; state && i < state->count; i++) pw_gpu_power_destroy(state->models[i].model);
}

static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error) {
    static const double megahertz = 1e6; /* the unit of clocks in the file */
    pw_power_point point;
    bool known;
    char why[300];
    prediction->side = pw_validation_side(context->split, context->input, row);
    PW_TRY(point_of(context->catalogue, context->input, row, &point, &known, why, sizeof why, error));
    if (!known) return skip(prediction, why);
    double value;
    PW_TRY(pw_measured_number(context->input, row, "value", &value, error));
    if (!(value > 0)) return skip(prediction, "no value above 0");
    const known_model *model = model_of(context->state, point.device);
    double unit = point.quantity == PW_POWER_BOARD_HZ ? megahertz : 1;
    prediction->ran = true;
    prediction->measured = value;
    prediction->plain = prediction->stack = pw_power_point_predict(model->model, &point) / unit;
    prediction->baseline = pw_power_point_baseline(&point) / unit;
    prediction->second = point.quantity == PW_POWER_SERVING_W && model->count ? model->sum / model->count : NAN;
    return PW_OK;
}

/* What a row measures, and where. */
static const char *label(const pw_measured *input, uint32_t row, const char *column) {
    const char *category = pw_measured_text(input, row, "category"), *metric = pw_measured_text(input, row, "metric");
    bool mlperf = strncmp(pw_measured_text(input, row, "workload"), "MLPerf", 6) == 0;
    (void)column;
    if (strcmp(category, "perf_vs_power_cap") == 0 && strcmp(metric, "mean_gpu_power") == 0) return "watts under a cap";
    if (strcmp(category, "perf_vs_power_cap") == 0) return mlperf ? "MLPerf throughput under a cap" : "throughput under a cap";
    if (strcmp(category, "llm_serving_power") == 0) return "serving watts";
    if (strcmp(metric, "idle_gpu_power") == 0) return "idle watts";
    if (strcmp(metric, "sm_clock_p50") == 0) return "clock";
    return strcmp(category, "gpu_microbench") == 0 ? "board watts" : category;
}

static const char *const labels[] = {"quantity", NULL};
static const char *const required[] = {"family", "category", "device", "task", "config", "metric", "value", "n_gpus", "batch", "dtype",
                                       "gpu_power_cap_w", "default_cap_w", NULL};
static const char *const by[] = {"side", "quantity", "device", NULL};
const pw_suite pw_suite_power = {
    .name = "power",
    .text = "watts and clocks of GPUs, throughput under a power cap: predicted against measured",
    .unit = "W, MHz or 1",
    .file = "power-measured.csv",
    .split = "split-power.csv",
    .required = required,
    .by = by,
    .baseline = "cubic law for throughput under a cap, min(cap, uncapped watts), TDP for serving and boards, boost clock, a tenth of TDP for idle",
    .second = "mean watts of the device's fit rows, serving alone",
    .prepare = prepare,
    .predict = predict,
    .finish = finish,
    .labels = labels,
    .label = label,
};
