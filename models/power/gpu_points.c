#include "models/power/gpu_points.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/math.h"

static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static pw_status leave(bool *known, char *why, size_t size, const char *format, const char *value) {
    *known = false;
    snprintf(why, size, format, value);
    return PW_OK;
}

static pw_status make_serving(const pw_catalogue *catalogue, const pw_power_row *row, pw_power_point *point, bool *known, char *why,
                              size_t size, pw_error *error) {
    pw_served_model model;
    pw_decode_tiles tiles;
    pw_error failure = {0};
    pw_status status = pw_served_model_read(catalogue, row->task, &model, &failure);
    if (status == PW_NOT_FOUND) return leave(known, why, size, "%s is not in served-models", row->task);
    if (status != PW_OK) {
        if (error) *error = failure;
        return status;
    }
    PW_TRY(pw_decode_tiles_read(catalogue, point->device->arch, &tiles, error));
    if (!(row->throughput > 0 && row->batch > 0 && row->gpus >= 1)) return leave(known, why, size, "no throughput%s, batch or number of GPUs", "");
    double context, prompt, span_s = row->batch / row->throughput;
    PW_TRY(pw_served_request_read(catalogue, "chat", &context, &prompt, error));
    point->quantity = PW_POWER_SERVING_W;
    point->load = (pw_gpu_load){.span_s = span_s};
    point->load.work = pw_decode_work(&model, &tiles, row->batch, row->gpus, context, prompt, is(row->dtype, "fp8"));
    point->load.work.busy_s = span_s; /* steps are replayed as graphs; collectives and waits between them hold kernels too */
    return PW_OK;
}

static pw_status make_activity(const pw_catalogue *catalogue, const pw_power_row *row, pw_power_point *point, bool *known, char *why,
                               size_t size, pw_error *error) {
    pw_error failure = {0};
    pw_status status = pw_activity_read(catalogue, row->task, &point->activity, &failure);
    if (status == PW_NOT_FOUND) return leave(known, why, size, "task '%s' has no activity class", row->task);
    if (status != PW_OK) {
        if (error) *error = failure;
        return status;
    }
    pw_gpu_load load;
    status = pw_activity_load(&point->activity, point->device, 0, &load, &failure);
    if (status != PW_OK) return leave(known, why, size, "%s", failure.what);
    return PW_OK;
}

pw_status pw_power_point_make(const pw_catalogue *catalogue, const pw_power_row *row, pw_power_point *point, bool *known, char *why,
                              size_t size, pw_error *error) {
    *known = true;
    *point = (pw_power_point){.cap_W = row->cap_W, .default_cap_W = row->default_cap_W, .default_W = row->default_W};
    bool cap = is(row->category, "perf_vs_power_cap"), serving = is(row->category, "llm_serving_power"), board = is(row->category, "gpu_microbench");
    if (!cap && !serving && !board && !is(row->category, "gpu_idle")) return leave(known, why, size, "no GPU figure: category '%s'", row->category);
    pw_error failure = {0};
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(row->device, "("), row->device);
    for (size_t n = strlen(name); n && name[n - 1] == ' '; n--) name[n - 1] = 0;
    if (pw_catalogue_device(catalogue, name, &point->device, &failure) != PW_OK) {
        if (failure.status == PW_NO_MEMORY) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        return leave(known, why, size, "GPU '%s' is not in the catalogue", name);
    }
    if (serving && is(row->metric, "mean_gpu_power_per_gpu"))
        return make_serving(catalogue, row, point, known, why, size, error);
    if (is(row->metric, "idle_gpu_power")) {
        point->quantity = PW_POWER_IDLE_W;
        return PW_OK;
    }
    if (cap) {
        bool ratio = is(row->metric, "throughput_ratio_capped_over_default");
        point->quantity = ratio ? PW_POWER_RATIO : PW_POWER_CAPPED_W;
        if (!ratio && !is(row->metric, "mean_gpu_power")) return leave(known, why, size, "metric '%s' is not predicted", row->metric);
        if (!(row->cap_W > 0 && row->default_cap_W > 0)) return leave(known, why, size, "no cap%s in the row", "");
        if (row->cap_W == row->default_cap_W) return leave(known, why, size, "the run at the default cap is what the others start from%s", "");
        return make_activity(catalogue, row, point, known, why, size, error);
    }
    if (board && (is(row->metric, "sm_clock_p50") || is(row->metric, "gpu_power_p50"))) {
        point->quantity = is(row->metric, "sm_clock_p50") ? PW_POWER_BOARD_HZ : PW_POWER_BOARD_W;
        PW_TRY(make_activity(catalogue, row, point, known, why, size, error));
        point->gap = *known ? point->activity.gap : 0;
        return PW_OK;
    }
    return leave(known, why, size, "metric '%s' is not predicted", row->metric);
}

static pw_gpu_settled settle(const pw_gpu_power *model, const pw_power_point *point, double gap_s, double cap_W) {
    pw_gpu_load load;
    pw_gpu_limits limits = {.cap_W = cap_W};
    pw_status status = pw_activity_load(&point->activity, point->device, gap_s, &load, NULL);
    PW_CHECK(status == PW_OK); /* make has tried it */
    return pw_gpu_power_settle(model, &load, &limits, pw_gpu_power_figures_of(model)->reference_C, pw_gpu_die_nominal);
}

/* Seconds without kernels per second with, so that the run at the default cap draws its mean watts. */
static double gap_of(const pw_gpu_power *model, const pw_power_point *point) {
    enum { HALVINGS = 40 };
    static const double most = 64;
    if (!(point->default_W > 0) || settle(model, point, 0, point->default_cap_W).watts.total <= point->default_W) return 0;
    double low = 0, high = most;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (settle(model, point, middle, point->default_cap_W).watts.total > point->default_W)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double pw_power_point_predict(const pw_gpu_power *model, const pw_power_point *point) {
    const pw_gpu_power_figures *g = pw_gpu_power_figures_of(model);
    pw_gpu_limits none = {0};
    switch (point->quantity) {
    case PW_POWER_IDLE_W: return g->idle_W;
    case PW_POWER_SERVING_W:
        return pw_gpu_power_settle(model, &point->load, &none, g->reference_C, pw_gpu_die_nominal).watts.total;
    case PW_POWER_BOARD_W: return settle(model, point, point->gap, 0).watts.total;
    case PW_POWER_BOARD_HZ: return settle(model, point, point->gap, 0).clock_ratio * g->reference_Hz;
    case PW_POWER_RATIO:
    case PW_POWER_CAPPED_W: break;
    }
    double gap = gap_of(model, point);
    pw_gpu_settled capped = settle(model, point, gap, point->cap_W);
    if (point->quantity == PW_POWER_CAPPED_W) return capped.watts.total;
    return settle(model, point, gap, point->default_cap_W).span_s / capped.span_s;
}

double pw_power_point_baseline(const pw_power_point *point) {
    const pw_device *device = point->device;
    switch (point->quantity) {
    case PW_POWER_RATIO: return pw_pow(point->cap_W / point->default_cap_W, 1.0 / 3);
    case PW_POWER_CAPPED_W: return point->default_W < point->cap_W ? point->default_W : point->cap_W;
    case PW_POWER_IDLE_W: return device->tdp_W / 10;
    case PW_POWER_BOARD_HZ: return device->boost_Hz;
    case PW_POWER_SERVING_W:
    case PW_POWER_BOARD_W: break;
    }
    return device->tdp_W;
}
