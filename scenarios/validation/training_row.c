/* A row becomes a cluster and a job. What the software of a row means (which stack), which server a GPU sits in and what
 * the name of a model says are data: software.csv, systems.csv and layouts.csv beside the splits.
 */
#include <math.h>
#include <string.h>

#include "scenarios/validation/training_row.h"

pw_status skip(pw_prediction *prediction, const char *format, const char *value) {
    prediction->ran = false;
    snprintf(prediction->why, sizeof prediction->why, format, value);
    return PW_OK;
}

static const char *text_of(const description *d, const char *column) { return pw_measured_text(d->input, d->row, column); }

typedef struct whole_number {
    const char *column;
    int64_t fallback, *target;
} whole_number;
static pw_status read_numbers(const description *d, const whole_number *numbers, size_t count, pw_error *error) {
    for (size_t i = 0; i < count; i++)
        PW_TRY(pw_measured_integer(d->input, d->row, numbers[i].column, numbers[i].fallback, numbers[i].target, error));
    return PW_OK;
}

/* What was measured, and whether it is a kind of run that is modelled. */
static pw_status describe_kind(description *d, pw_error *error) {
    int64_t complete;
    const whole_number numbers[] = {{"complete", 1, &complete}};
    PW_TRY(pw_measured_number(d->input, d->row, "step_time_s", &d->out->measured, error));
    PW_TRY(read_numbers(d, numbers, sizeof numbers / sizeof *numbers, error));
    d->prediction->measured = d->out->measured;
    if (isnan(d->out->measured)) return skip(d->prediction, "no step time%s", "");
    if (d->out->measured <= 0) return skip(d->prediction, "the step time is not positive%s", "");
    if (complete != 1) return skip(d->prediction, "the source leaves out shape, batch or parallel sizes%s", "");
    return PW_OK;
}

/* The layout of a model with experts, and what else the sources say of how they ran: experts.csv names a preset. */
static pw_status describe_experts(description *d, pw_model_desc *model, pw_error *error) {
    pw_train_desc *job = &d->out->job;
    const pw_measured *table = &d->state->experts;
    int64_t found = pw_layout_match(table, "preset", d->input, d->row);
    if (found < 0) return skip(d->prediction, "the experts of model '%s' are not on file", text_of(d, "model"));
    PW_TRY(pw_measured_integer(d->input, d->row, "seq_len", 0, &job->sequence, error));
    PW_TRY(pw_measured_integer(table, (uint32_t)found, "expert_tensor", 1, &job->expert_tensor_parallel, error));
    PW_TRY(pw_measured_number(table, (uint32_t)found, "capacity", &job->expert_capacity, error));
    if (isnan(job->expert_capacity)) job->expert_capacity = 0;
    job->recompute_modules = pw_measured_text(table, (uint32_t)found, "modules");
    return pw_model_preset(d->catalogue, pw_measured_text(table, (uint32_t)found, "preset"), model, d->arena, error);
}

static pw_status describe_model(description *d, pw_error *error) {
    pw_train_desc *job = &d->out->job;
    PW_TRY(pw_description_defaults(&pw_train_kind, job, d->arena, error));
    pw_model_desc *model = pw_arena_alloc(d->arena, sizeof *model);
    if (!model) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    PW_TRY(pw_description_defaults(&pw_model_kind, model, d->arena, error));
    job->model = model;
    job->name = text_of(d, "id");
    if (strcmp(text_of(d, "arch"), "moe") == 0) {
        PW_TRY(describe_experts(d, model, error));
        return *d->prediction->why ? PW_OK : describe_task(d, error);
    }
    model->name = text_of(d, "model");
    bool learned_positions;
    const whole_number numbers[] = {{"layers", 0, &model->layers}, {"hidden", 0, &model->hidden}, {"heads", 0, &model->heads},
                                    {"head_dim", 0, &model->head_dim}, {"ffn", 0, &model->ffn}, {"seq_len", 0, &job->sequence}};
    PW_TRY(read_numbers(d, numbers, sizeof numbers / sizeof *numbers, error));
    PW_TRY(pw_layout_complete(&d->state->layouts, d->input, d->row, model, &learned_positions, error));
    model->positions = learned_positions ? job->sequence : 0;
    return describe_task(d, error);
}

/* Batch and parallel sizes, and the number of GPUs that they must make. */
static pw_status describe_plan(description *d, pw_error *error) {
    pw_train_desc *job = &d->out->job;
    const whole_number numbers[] = {
        {"gbs", 0, &job->global_batch},      {"mbs", 0, &job->micro_batch},      {"tp", 1, &job->tensor_parallel},
        {"pp", 1, &job->pipeline_parallel},  {"cp", 1, &job->context_parallel},  {"vp", 1, &job->virtual_stages},
        {"dp", 1, &job->data_parallel},      {"ep", 1, &job->expert_parallel},        {"n_gpus", 0, &d->out->gpus},
        {"gpus_per_node", 8, &d->out->gpus_per_node}};
    PW_TRY(read_numbers(d, numbers, sizeof numbers / sizeof *numbers, error));
    if (job->virtual_stages < 1 || job->pipeline_parallel == 1) job->virtual_stages = 1;
    if (job->context_parallel < 1) job->context_parallel = 1;
    if (d->out->gpus < 1 || d->out->gpus_per_node < 1) return skip(d->prediction, "number of GPUs is not given%s", "");
    if (job->expert_parallel < 1) job->expert_parallel = 1;
    if ((double)job->tensor_parallel * (double)job->pipeline_parallel * (double)job->context_parallel *
            (double)job->data_parallel != (double)d->out->gpus)
        return skip(d->prediction, "tp x pp x cp x dp is not the number of GPUs printed%s", "");
    return PW_OK;
}

/* What sharding means is data: sharding.csv. */
static pw_status describe_sharding(description *d, pw_error *error) {
    pw_train_desc *job = &d->out->job;
    const pw_measured *table = &d->state->sharding;
    const char *sharding = text_of(d, "sharding");
    bool known;
    PW_TRY(pw_layout_sharding(table, d->input, d->row, d->out->gpus_per_node, d->arena, job, &known, error));
    return known ? PW_OK : skip(d->prediction, "sharding '%s' is not modelled", sharding);
}

/* Precision, recompute, sharding and software, which the sources write as words. */
static pw_status describe_method(description *d, pw_error *error) {
    pw_train_desc *job = &d->out->job;
    const char *recompute = text_of(d, "recompute");
    PW_TRY(describe_format(d, error));
    if (*d->prediction->why) return PW_OK;

    /* What the times show that ran, where the row's word is of a configuration. */
    int64_t known = pw_layout_match(&d->state->software, "stack", d->input, d->row);
    const char *ran = known < 0 ? "" : pw_measured_text(&d->state->software, (uint32_t)known, "ran_recompute");
    if (*ran) recompute = ran;
    if (!*recompute || strcmp(recompute, "none") == 0) job->recompute = PW_RECOMPUTE_NONE;
    else if (strcmp(recompute, "selective") == 0) job->recompute = PW_RECOMPUTE_SELECTIVE;
    else if (strncmp(recompute, "full", 4) == 0) job->recompute = PW_RECOMPUTE_FULL;
    else if (strcmp(recompute, "selective(op)") == 0) {
        job->recompute = PW_RECOMPUTE_SELECTIVE;
        job->recompute_modules = "op";
    }
    else return skip(d->prediction, "recompute '%s' is not modelled", recompute);

    PW_TRY(describe_sharding(d, error));
    if (*d->prediction->why) return PW_OK;

    d->out->stack = pw_layout_look_up(&d->state->software, "stack", d->input, d->row);
    if (!d->out->stack || !*d->out->stack)
        return skip(d->prediction, "software '%s' has no stack on file", text_of(d, "software"));
    job->stack = d->out->stack;
    return PW_OK;
}

static pw_status describe_machine(description *d, pw_error *error) {
    pw_cluster_desc *cluster = &d->out->cluster;
    int64_t gpus = d->out->gpus, per_node = d->out->gpus_per_node;
    const char *gpu = text_of(d, "gpu"), *server = pw_layout_look_up(&d->state->systems, "server", d->input, d->row);
    PW_TRY(pw_description_defaults(&pw_cluster_kind, cluster, d->arena, error));
    PW_TRY(pw_description_defaults(&pw_network_kind, &cluster->network, d->arena, error));
    if (!server) return skip(d->prediction, "GPU '%s' has no server on file", gpu);
    if (pw_catalogue_device(d->catalogue, gpu, &d->out->device, NULL) != PW_OK)
        return skip(d->prediction, "GPU '%s' is not in the catalogue", gpu);
    double network_Gbps;
    PW_TRY(pw_measured_number(d->input, d->row, "inter_node_gbps_per_gpu", &network_Gbps, error));
    if (gpus > per_node && gpus % per_node) return skip(d->prediction, "GPUs do not fill whole nodes%s", "");
    pw_node_desc *node = &cluster->node;
    node->server = server;
    node->gpu = gpu;
    node->gpus = gpus < per_node ? gpus : per_node;
    if (!isnan(network_Gbps)) {
        node->nics = node->gpus;
        node->nic_Bps = network_Gbps * 1e9 / 8;
    }
    cluster->name = d->out->job.name;
    cluster->nodes = gpus / node->gpus;
    cluster->network.topology = pw_topology_find("rail_optimized");
    return PW_OK;
}

/* "As needed", as some sources say: what the account says does not fit goes to the host, activations first. */
static pw_status describe_offload(description *d, pw_error *error) {
    (void)error;
    pw_train_desc *job = &d->out->job;
    if (!strstr(text_of(d, "recompute"), "offload")) return PW_OK;
    for (int step = 0; step < 3; step++) {
        pw_memory_account account;
        job->offload_activations = step >= 1;
        job->offload_optimizer = step >= 2;
        if (pw_train_memory(d->catalogue, d->out->device, job, 0, &account, NULL) != PW_OK) return PW_OK; /* the run says why */
        if (account.total <= account.capacity) break;
    }
    return PW_OK;
}

static pw_status check_sizes(description *d, pw_error *error) {
    (void)error;
    const pw_train_desc *job = &d->out->job;
    const pw_model_desc *model = job->model;
    if (model->layers < 1 || model->hidden < 1 || model->heads < 1 || model->vocabulary < 1 || job->sequence < 1 ||
        job->global_batch < 1 || job->micro_batch < 1)
        return skip(d->prediction, "model shape or batch is not given%s", "");
    d->out->flops_per_gpu = pw_model_flops_per_token(model, job->sequence, true) * (double)job->sequence *
                            (double)job->global_batch / (double)d->out->gpus;
    return PW_OK;
}

pw_status describe(const pw_validation_context *context, const pw_measured *input, uint32_t row, pw_arena *arena,
                   pw_training_row *out, pw_prediction *prediction, bool *runs, pw_error *error) {
    static pw_status (*const steps[])(description *d, pw_error *error) = {describe_kind,   describe_model,   describe_plan,
                                                                          describe_method, describe_machine, check_sizes,
                                                                          describe_offload};
    static pw_status (*const of_images[])(description *d, pw_error *error) = {describe_kind, describe_convnet, describe_machine};
    static pw_status (*const of_samples[])(description *d, pw_error *error) = {describe_kind, describe_recommender, describe_machine};
    enum { OTHERS = sizeof of_images / sizeof *of_images };
    const char *task = pw_measured_text(input, row, "task");
    bool images = strcmp(task, "cnn-train") == 0, samples = strcmp(task, "recsys-train") == 0;
    description d = {context->state, context->catalogue, input, row, arena, out, prediction};
    *runs = false;
    prediction->why[0] = '\0';
    for (size_t i = 0; i < (images || samples ? OTHERS : sizeof steps / sizeof *steps); i++) {
        PW_TRY((images ? of_images : samples ? of_samples : steps)[i](&d, error));
        if (*prediction->why) return PW_OK;
    }
    *runs = true;
    return PW_OK;
}
