/* The training-power suite: watts of nodes while they trained, published with MLPerf Training. power-jobs.csv names, for a system, task and
 * number of nodes, the row of training-measured.csv that is the same job and the server of node-power.csv; the job runs with power in the
 * loop. Means and 95th percentiles of a node are predicted from the run; the energy of a run from its published length. */
#include <math.h>
#include <string.h>

#include "models/power/node_power.h"
#include "scenarios/validation/training_row.h"

typedef struct state {
    pw_measured jobs, training, training_split;
    pw_validation_context training_context; /* of the training suite, whose rows describe the jobs */
} state;

static pw_status prepare(pw_validation_context *context, pw_error *error) {
    char path[4608];
    state *s = pw_arena_alloc(context->arena, sizeof *s);
    if (!s) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    context->state = s;
    snprintf(path, sizeof path, "%s/power-jobs.csv", context->folder);
    PW_TRY(pw_measured_read(path, context->arena, &s->jobs, error));
    snprintf(path, sizeof path, "%s/data/%s", context->folder, pw_suite_training.file);
    PW_TRY(pw_measured_read(path, context->arena, &s->training, error));
    snprintf(path, sizeof path, "%s/%s", context->folder, pw_suite_training.split);
    PW_TRY(pw_measured_read(path, context->arena, &s->training_split, error));
    s->training_context = *context;
    s->training_context.input = s->training_context.shipped = &s->training;
    s->training_context.split = &s->training_split;
    s->training_context.state = NULL;
    return pw_suite_training.prepare(&s->training_context, error);
}

static void finish(pw_validation_context *context) {
    state *s = context->state;
    if (s && s->training_context.state && pw_suite_training.finish) pw_suite_training.finish(&s->training_context);
}

static pw_status left_out(pw_prediction *prediction, const char *why) {
    snprintf(prediction->why, sizeof prediction->why, "%s", why);
    return PW_OK;
}

/* Row of power-jobs.csv; UINT32_MAX: none. */
static uint32_t find_job(const state *s, const pw_measured *input, uint32_t row) {
    static const char *const keys[] = {"system", "task", "nodes"};
    for (uint32_t j = 0; j < s->jobs.rows; j++) {
        bool same = true;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            same = same && strcmp(pw_measured_text(&s->jobs, j, keys[k]), pw_measured_text(input, row, keys[k])) == 0;
        if (same) return j;
    }
    return UINT32_MAX;
}

static pw_status find_training(const state *s, const char *id, uint32_t *row, pw_error *error) {
    for (*row = 0; *row < s->training.rows; (*row)++)
        if (strcmp(pw_measured_text(&s->training, *row, "id"), id) == 0) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, s->jobs.file, 0, "name an id of training-measured.csv", "there is no training row '%s'", id);
}

/* Power of the job on the server, by the model; *power NULL with prediction->why when it does not run. */
static pw_status run_job(const pw_validation_context *context, uint32_t job, pw_arena *arena, pw_prediction *prediction,
                         const pw_power_result **power, pw_error *error) {
    const state *s = context->state;
    pw_training_row row = {0};
    pw_prediction described = {0};
    uint32_t at;
    bool runs;
    PW_TRY(find_training(s, pw_measured_text(&s->jobs, job, "training"), &at, error));
    PW_TRY(pw_training_describe(&s->training_context, at, arena, &row, &described, &runs, error));
    if (!runs) return left_out(prediction, described.why);
    pw_power_desc *desc = pw_arena_alloc(arena, sizeof *desc);
    if (!desc) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    PW_TRY(pw_description_defaults(&pw_power_kind, desc, arena, error));
    row.cluster.power = desc;
    row.cluster.node.server = pw_measured_text(&s->jobs, job, "server");
    row.cluster.node.gpu = NULL;
    row.cluster.node.gpus = 0;
    const pw_run_options options = {.ignore_memory = true, .interrupt = context->interrupt};
    if (row.convnet) {
        pw_convnet_result ran;
        PW_TRY(pw_convnet_run(NULL, context->catalogue, &row.cluster, row.convnet, &options, NULL, 0, arena, &ran, error));
        *power = ran.power;
    } else {
        pw_train_result ran;
        PW_TRY(pw_train_run(NULL, context->catalogue, &row.cluster, &row.job, &options, NULL, 0, arena, &ran, error));
        *power = ran.power;
    }
    return PW_OK;
}

/* Watts of a node as the row measures them; the baseline: the rated power of the server, which a planner reserves. */
static pw_status fill(const pw_validation_context *context, uint32_t row, uint32_t job, const pw_power_result *power, pw_prediction *prediction,
                      pw_error *error) {
    const state *s = context->state;
    const char *metric = pw_measured_text(context->input, row, "metric");
    bool dc = strcmp(pw_measured_text(context->input, row, "scope"), "node_dc") == 0;
    double part = dc ? power->node_dc_W / power->node_mean_W : 1, nodes, seconds, factor = 1;
    PW_TRY(pw_measured_number(context->input, row, "value", &prediction->measured, error));
    PW_TRY(pw_measured_number(context->input, row, "nodes", &nodes, error));
    PW_TRY(pw_measured_number(&s->jobs, job, "run_time_s", &seconds, error));
    if (strcmp(metric, "energy_per_run") == 0) factor = nodes * seconds / 3.6e6; /* kWh */
    prediction->plain = prediction->stack = factor * part * (strcmp(metric, "p95_node_power") == 0 ? power->node_p95_W : power->node_mean_W);
    pw_node_power *server;
    PW_TRY(pw_node_power_create(pw_allocator_default(), context->catalogue, power->node_server, &server, error));
    prediction->baseline = factor * pw_node_power_rated_W(server);
    pw_node_power_destroy(server);
    prediction->ran = true;
    return PW_OK;
}

static pw_status predict(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error) {
    static const char *const metrics[] = {"mean_node_power", "p95_node_power", "energy_per_run"};
    bool known = false;
    prediction->side = pw_validation_side(context->split, context->input, row);
    if (strcmp(pw_measured_text(context->input, row, "category"), "mlperf_training") != 0) return left_out(prediction, "no node that trains");
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) known = known || !strcmp(pw_measured_text(context->input, row, "metric"), metrics[m]);
    if (!known) return left_out(prediction, "a largest sample, or no power");
    uint32_t job = find_job(context->state, context->input, row);
    if (job == UINT32_MAX) return left_out(prediction, "the task is not modelled (ssd, unet3d, retinanet), or no job is described for it");
    pw_arena *arena = pw_arena_create(pw_allocator_default());
    if (!arena) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    const pw_power_result *power = NULL;
    pw_status status = run_job(context, job, arena, prediction, &power, error);
    if (status == PW_OK && power && !power->node_server) status = left_out(prediction, "the server's parts are not on file");
    else if (status == PW_OK && power) status = fill(context, row, job, power, prediction, error);
    pw_arena_destroy(arena);
    return status;
}

static const char *const required[] = {"id", "category", "system", "task", "nodes", "metric", "value", "scope", NULL};
static const char *const by[] = {"side", "metric", "task", NULL};
const pw_suite pw_suite_training_power = {
    .name = "training-power",
    .text = "watts of nodes that train, predicted against MLPerf's",
    .unit = "W, kWh",
    .file = "power-measured.csv",
    .split = "split-power.csv",
    .required = required,
    .by = by,
    .baseline = "the rated power of the server",
    .prepare = prepare,
    .predict = predict,
    .finish = finish,
};
