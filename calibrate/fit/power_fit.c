/* One fit per architecture of gpu-power-parameters: all its rows share what is fitted. Beside the measured rows there are a few
 * soft rows that say what is physically likely (gpu-power-likely), (value / likely)^weight against 1; they decide only what the data leave open
 * (static against active watts, say). Rows of capped throughput fix voltage, those of serving the energies. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/power_points.h"
#include "calibrate/fit/tables.h"
#include "models/power/gpu_parameters.h"
#include "sim/math.h"

static const double knee = 0.05;
static const char source[] = "podwright-fit power: fit rows of tests/validation/data/power-measured.csv";

/* Fitted values, and with them the rows of gpu-power-likely; static and active in shares of TDP, so that one guess serves all. */
enum { STATIC, ACTIVE, CHIP, ENERGY, EIGHT, HELD, SLOPE, FLOOR, OWN };
enum { WIDE = OWN, SHARE, TF32, FOUR, VECTOR, BELIEFS }; /* rows that are no fitted values of their own */
static const char *const belief_names[BELIEFS] = {"static", "active", "energy_chip", "energy", "energy_8", "held", "voltage_slope", "voltage_floor",
                                                  "energy of fp32", "tensor share", "energy_tf32", "energy_4", "energy_vector"};
enum { TASKS = 4, PARAMETERS = OWN + TASKS, MODELS = 16, MOST_WEIGHT = 8 };
typedef struct belief {
    double likely, deviation, least, most, first; /* NaN where empty */
} belief;

typedef struct study {
    const pw_device *base;
    pw_gpu_power_parameters start;      /* of the base row: what is not fitted */
    bool wide;                          /* the fitted energy is that of 32-bit flops */
    const belief *beliefs;              /* [BELIEFS] */
    const pw_fit_power_point **points;
    size_t count;                       /* measured rows in `points` */
    struct {
        const pw_device *device;
        pw_gpu_power *model;
    } models[MODELS];
    size_t model_count;
    const char *tasks[TASKS];           /* whose tensor share is fitted */
    size_t task_count;
} study;

static pw_gpu_power_parameters parameters_of(const study *s, const double *v) {
    pw_gpu_power_parameters p = s->start;
    const pw_device *d = s->base;
    double peak = d->peak_flops[s->wide ? PW_PRECISION_FP32 : PW_PRECISION_FP16], energy = v[ENERGY];
    p.static_W = v[STATIC] * d->tdp_W;
    p.active_W = v[ACTIVE] * d->tdp_W;
    p.chip_J = v[CHIP];
    p.held = v[HELD];
    p.voltage_slope = v[SLOPE];
    p.voltage_floor = v[FLOOR];
    double sixteen = s->wide ? energy * peak / d->peak_flops[PW_PRECISION_FP16] : energy;
    p.tensor_J[PW_PRECISION_FP16] = p.tensor_J[PW_PRECISION_BF16] = sixteen;
    p.tensor_J[PW_PRECISION_FP8] = v[EIGHT] * sixteen;
    p.tensor_J[PW_PRECISION_FP4] = s->beliefs[FOUR].likely * v[EIGHT] * sixteen;
    p.tensor_J[PW_PRECISION_TF32] = s->beliefs[TF32].likely * sixteen;
    p.vector_J = s->wide ? energy : s->beliefs[VECTOR].likely * energy * peak / d->vector_flops;
    p.tensor_J[PW_PRECISION_FP32] = p.vector_J;
    return p;
}

static pw_gpu_power *model_of(const study *s, const pw_device *device) {
    for (size_t i = 0; i < s->model_count; i++)
        if (s->models[i].device == device) return s->models[i].model;
    return NULL;
}

static void set_models(study *s, const double *values, bool smooth) {
    pw_gpu_power_parameters p = parameters_of(s, values);
    for (size_t i = 0; i < s->model_count; i++) {
        pw_gpu_power_parameters own = p;
        const pw_device *device = s->models[i].device;
        if (device != s->base) pw_gpu_power_parameters_scale(&own, device, s->base);
        own.idle_W = device->idle_W > 0 ? device->idle_W : s->start.idle_W * device->tdp_W / s->base->tdp_W;
        if (smooth) own.step_Hz /= 64; /* derivatives across steps */
        pw_gpu_power_set(s->models[i].model, &own);
    }
}

static double predict_one(const study *s, const pw_fit_power_point *p, const double *values) {
    if (p->gpu) return pw_fit_power_loop_s(model_of(s, p->point.device), p);
    pw_power_point point = p->point;
    for (size_t t = 0; t < s->task_count; t++)
        if (!strcmp(s->tasks[t], p->task)) point.activity.tensor = values[OWN + t];
    return pw_power_point_predict(model_of(s, point.device), &point);
}

/* What is likely, as rows beside the measured ones, which are 1. They number up to OWN. */
static size_t predict_likely(const study *s, const double *values, double *predicted) {
    size_t count = 0;
    for (int i = 0; i < OWN; i++)
        if (s->beliefs[i].deviation > 0) predicted[count++] = pw_pow(values[i] / s->beliefs[i].likely, knee / s->beliefs[i].deviation);
    return count;
}

static void predict(void *context, const double *values, double *predicted) {
    study *s = context;
    set_models(s, values, true);
    for (size_t i = 0; i < s->count; i++) predicted[i] = predict_one(s, s->points[i], values);
    predict_likely(s, values, predicted + s->count);
}

static bool fitted_task(const pw_catalogue *catalogue, const char *task) {
    const pw_table *table = pw_catalogue_table(catalogue, PW_TABLE_ACTIVITIES);
    int row = table ? pw_table_find_row(table, task) : -1;
    return row >= 0 && !strcmp(pw_table_text_of(table, (size_t)row, "provenance"), "FITTED");
}

enum { LOOP = PW_POWER_IDLE_W + 1, KINDS };
static int kind_of(const pw_fit_power_point *p) { return p->gpu ? LOOP : (int)p->point.quantity; }

/* How often a row counts: kinds of measurements weigh alike, however many rows they have, but no row more than MOST_WEIGHT times. */
static void weigh(const study *s, const pw_fit_power_points *all, int *weights) {
    size_t counts[KINDS] = {0}, most = 1;
    for (size_t i = 0; i < all->count; i++)
        if (!all->points[i].check && !strcmp(all->points[i].point.device->arch, s->base->arch)) counts[kind_of(&all->points[i])]++;
    for (int k = 0; k < KINDS; k++)
        if (k != PW_POWER_IDLE_W && counts[k] > most) most = counts[k];
    for (int k = 0; k < KINDS; k++) {
        size_t times = counts[k] ? (most + counts[k] / 2) / counts[k] : 1;
        weights[k] = times < MOST_WEIGHT ? (int)times : MOST_WEIGHT;
    }
}

/* The fit rows of the architecture, their models and the tasks whose share is open. Idle watts and clocks are inputs. */
static pw_status gather(study *s, const pw_catalogue *catalogue, const pw_fit_power_points *all, pw_error *error) {
    bool narrow = false;
    int weights[KINDS];
    weigh(s, all, weights);
    for (size_t i = 0; i < all->count; i++) {
        const pw_fit_power_point *p = &all->points[i];
        if (strcmp(p->point.device->arch, s->base->arch) != 0) continue;
        if (!model_of(s, p->point.device)) {
            if (s->model_count == MODELS) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "more than %d devices of %s", MODELS, s->base->arch);
            s->models[s->model_count].device = p->point.device;
            PW_TRY(pw_gpu_power_create(NULL, catalogue, p->point.device->name, &s->models[s->model_count].model, error));
            s->model_count++;
        }
        if (p->check) continue;
        if (kind_of(p) == PW_POWER_IDLE_W) continue;
        for (int times = 0; times < weights[kind_of(p)]; times++) s->points[s->count++] = p;
        if (p->gpu) {
            narrow = true;
            continue;
        }
        narrow = narrow || p->point.quantity == PW_POWER_SERVING_W || p->point.activity.precision != PW_PRECISION_FP32;
        bool open = p->point.quantity != PW_POWER_SERVING_W && fitted_task(catalogue, p->task);
        for (size_t t = 0; t < s->task_count; t++) open = open && strcmp(s->tasks[t], p->task) != 0;
        if (open && s->task_count < TASKS) s->tasks[s->task_count++] = p->task;
    }
    s->wide = !narrow;
    return PW_OK;
}

static void report_side(FILE *report, const study *s, const pw_fit_power_points *all, const double *values, bool check) {
    static const char *const names[] = {"cap ratio", "cap watts", "serving", "board W", "board Hz", "idle", "loop s"};
    for (int q = 0; q < (int)(sizeof names / sizeof *names); q++) {
        double *errors = malloc((all->count + 1) * sizeof *errors);
        size_t count = 0;
        if (!errors) return;
        for (size_t i = 0; i < all->count; i++) {
            const pw_fit_power_point *p = &all->points[i];
            if (kind_of(p) != q || p->check != check || strcmp(p->point.device->arch, s->base->arch) != 0) continue;
            errors[count++] = predict_one(s, p, values) / p->measured - 1;
        }
        pw_error_summary summary;
        pw_fit_group group = {.device = s->base, .precision = s->wide ? PW_PRECISION_FP32 : PW_PRECISION_BF16};
        snprintf(group.stack, sizeof group.stack, "%s", s->base->arch);
        if (pw_errors_summarise(errors, count, NULL, &summary) == PW_OK) pw_fit_report_line(report, names[q], &group, check ? "check" : "fit", &summary);
        free(errors);
    }
}

typedef struct cell_list {
    pw_fit_cell cells[256];
    char texts[32][160];
    size_t count, text_count;
} cell_list;

static void add(cell_list *list, const char *row, const char *column, double value, const char *text) {
    if (list->count < sizeof list->cells / sizeof *list->cells) list->cells[list->count++] = (pw_fit_cell){row, column, value, text};
}

static void write_row(cell_list *list, const char *row, const study *s, const double *v) {
    static const double pico = 1e12;
    pw_gpu_power_parameters p = parameters_of(s, v);
    add(list, row, "static", p.static_W, NULL);
    add(list, row, "active", p.active_W, NULL);
    add(list, row, "energy_fp32", p.tensor_J[PW_PRECISION_FP32] * pico, NULL);
    add(list, row, "energy_tf32", p.tensor_J[PW_PRECISION_TF32] * pico, NULL);
    add(list, row, "energy_16", p.tensor_J[PW_PRECISION_FP16] * pico, NULL);
    add(list, row, "energy_8", p.tensor_J[PW_PRECISION_FP8] * pico, NULL);
    add(list, row, "energy_4", p.tensor_J[PW_PRECISION_FP4] * pico, NULL);
    add(list, row, "energy_vector", p.vector_J * pico, NULL);
    add(list, row, "energy_chip", p.chip_J * pico, NULL);
    add(list, row, "voltage_floor", p.voltage_floor, NULL);
    add(list, row, "voltage_slope", p.voltage_slope, NULL);
    add(list, row, "held", p.held, NULL);
    add(list, row, "rows", (double)s->count, NULL);
    char *text = list->texts[list->text_count++ % 32];
    snprintf(text, sizeof list->texts[0], "%s of %s; what they leave open is as likely (docs/models/gpu-power.md)", source, s->base->arch);
    add(list, row, "provenance", 0, "FITTED");
    add(list, row, "source", 0, text);
}

static pw_status fit_arch(study *s, const pw_catalogue *catalogue, const pw_fit_power_points *all, FILE *report, pw_fit_result *result,
                          pw_error *error) {
    double lows[PARAMETERS], highs[PARAMETERS], guesses[PARAMETERS];
    bool held[PARAMETERS] = {false}, eight = false, loaded = false; /* a GPU that waits says nothing of the energy of a flop */
    PW_TRY(gather(s, catalogue, all, error));
    if (!s->count) return pw_fail(error, PW_BAD_INPUT, NULL, 0, "the split has a fit row of each", "no fit row of architecture %s", s->base->arch);
    double *measured = malloc((s->count + OWN) * sizeof *measured);
    if (!measured) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the fit of power");
    for (size_t i = 0; i < OWN; i++) {
        const belief *b = &s->beliefs[s->wide && i == ENERGY ? WIDE : i];
        lows[i] = b->least;
        highs[i] = b->most;
        guesses[i] = b->first;
    }
    for (size_t t = 0; t < s->task_count; t++) {
        lows[OWN + t] = s->beliefs[SHARE].least;
        highs[OWN + t] = s->beliefs[SHARE].most;
        guesses[OWN + t] = s->beliefs[SHARE].first;
    }
    for (size_t i = 0; i < s->count; i++) {
        measured[i] = s->points[i]->measured;
        loaded = loaded || s->points[i]->gpu || s->points[i]->point.quantity == PW_POWER_SERVING_W || s->points[i]->point.activity.tensor > 0.1;
        eight = eight || (s->points[i]->gpu && s->points[i]->kernel.precision == PW_PRECISION_FP8) || s->points[i]->point.load.work.tensor_flops[PW_PRECISION_FP8] > 0;
    }
    held[EIGHT] = !eight;
    held[ENERGY] = !loaded;
    size_t soft = predict_likely(s, guesses, measured + s->count);
    for (size_t i = 0; i < soft; i++) measured[s->count + i] = 1;
    pw_fit_problem problem = {.rows = s->count + soft, .parameters = OWN + s->task_count, .low = lows, .high = highs, .guess = guesses,
                              .held = held, .measured = measured, .predict = predict, .context = s, .knee = knee, .starts = 8};
    pw_status status = pw_fit_robust(&problem, result, error);
    free(measured);
    PW_TRY(status);
    set_models(s, result->value, false);
    report_side(report, s, all, result->value, false);
    report_side(report, s, all, result->value, true);
    return PW_OK;
}

static pw_status fit_table(const pw_catalogue *catalogue, const pw_fit_power_points *all, const pw_fit_paths *paths, FILE *report,
                           cell_list *power, cell_list *activities, study *s, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_GPU_POWER, &table, error));
    for (size_t r = 0; r < pw_table_rows(table); r++) {
        const pw_device *base, *other;
        PW_TRY(pw_catalogue_device(catalogue, pw_table_text_of(table, r, "device"), &base, error));
        bool first = true;
        for (size_t q = 0; q < r; q++) {
            PW_TRY(pw_catalogue_device(catalogue, pw_table_text_of(table, q, "device"), &other, error));
            first = first && strcmp(other->arch, base->arch) != 0;
        }
        if (!first) continue;
        *s = (study){.base = base, .beliefs = s->beliefs, .points = s->points};
        char text[200];
        pw_fit_result result;
        PW_TRY(pw_gpu_power_parameters_choose(catalogue, base, &s->start, text, sizeof text, error));
        pw_status status = fit_arch(s, catalogue, all, report, &result, error);
        for (size_t i = 0; i < s->model_count; i++) pw_gpu_power_destroy(s->models[i].model);
        PW_TRY(status);
        for (size_t q = r; q < pw_table_rows(table); q++) {
            PW_TRY(pw_catalogue_device(catalogue, pw_table_text_of(table, q, "device"), &other, error));
            if (!strcmp(other->arch, base->arch)) write_row(power, pw_table_text_at(table, q, 0), s, result.value);
        }
        for (size_t t = 0; t < s->task_count; t++) add(activities, s->tasks[t], "tensor", result.value[OWN + t], NULL);
    }
    PW_TRY(pw_fit_rewrite(catalogue, PW_TABLE_GPU_POWER, paths->folder, power->cells, power->count, error));
    return pw_fit_rewrite(catalogue, PW_TABLE_ACTIVITIES, paths->folder, activities->cells, activities->count, error);
}

static pw_status read_beliefs(const pw_catalogue *catalogue, belief *beliefs, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "gpu-power-likely", &table, error));
    for (int i = 0; i < BELIEFS; i++) {
        int found = pw_table_find_row(table, belief_names[i]);
        if (found < 0) return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), 0, NULL, "there is no row \"%s\"", belief_names[i]);
        size_t row = (size_t)found;
        beliefs[i] = (belief){pw_table_number_of(table, row, "likely"), pw_table_number_of(table, row, "deviation"), pw_table_number_of(table, row, "least"),
                              pw_table_number_of(table, row, "most"), pw_table_number_of(table, row, "first")};
        const belief *b = &beliefs[i];
        bool fitted = i <= SHARE, complete = fitted ? b->least > 0 && b->first >= b->least && b->most >= b->first : b->likely > 0;
        if (!complete || (b->deviation > 0 && !(b->likely > 0)))
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "0 < least <= first <= most; deviation needs likely",
                           "the row \"%s\" is incomplete", belief_names[i]);
    }
    return PW_OK;
}

pw_status pw_fit_power(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error) {
    pw_fit_power_points points;
    belief beliefs[BELIEFS];
    PW_TRY(read_beliefs(catalogue, beliefs, error));
    PW_TRY(pw_fit_power_points_read(catalogue, paths->data, paths->split, &points, error));
    pw_status loops = pw_fit_power_points_add_loops(catalogue, paths->data, paths->split, paths->stack, &points, error);
    if (loops != PW_OK) {
        pw_fit_power_points_free(&points);
        return loops;
    }
    cell_list *lists = calloc(2, sizeof *lists);
    study s = {.beliefs = beliefs, .points = malloc((MOST_WEIGHT * points.count + 1) * sizeof *s.points)};
    pw_status status = lists && s.points ? fit_table(catalogue, &points, paths, report, &lists[0], &lists[1], &s, error)
                                         : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the fit of power");
    free(s.points);
    free(lists);
    pw_fit_power_points_free(&points);
    return status;
}
