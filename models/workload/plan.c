/* Fields of a training job, and the checks that no single field can make. */
#include "models/workload/plan.h"

#include "models/workload/head.h"
#include "models/workload/trainable.h"
#include "models/workload/offload.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const recompute_names[] = {"none", "selective", "full", NULL};
static const char *const schedule_names[] = {"1f1b", "gpipe", "zb-h1", "zb-h2", "zb-v", "v-half", "v-min", "dualpipe",
                                              "dualpipev", NULL}; /* rows of pw_orders */
static const char *const end_names[] = {"none", "embedding", "output", "both", "auto", NULL};
static const pw_field layers_of_a_stage = {"layers of a stage", PW_FIELD_INTEGER, PW_UNIT_NONE, 0, 0, 1e4,
                                           .text = "Layers of a stage, or of a chunk."};
static const char *const check_names[] = {"global", "late", NULL};
static const char *const switch_names[] = {"off", "on", "stack", NULL};

#define AT(field) offsetof(pw_train_desc, field)
#define COUNT_FIELD(field, low, preset, text)                                                                  \
    {#field, PW_FIELD_INTEGER, PW_UNIT_NONE, AT(field), low, 1e9, preset, NULL, NULL, text}
#define SWITCH_FIELD(field, text)                                                                              \
    {#field, PW_FIELD_CHOICE, PW_UNIT_NONE, AT(field), 0, 0, "stack", switch_names, NULL, text}
static const pw_field train_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the job, for reports."},
    {"model", PW_FIELD_POINTER, PW_UNIT_NONE, AT(model), 0, 0, NULL, NULL, &pw_model_kind, "The model to train."},
    COUNT_FIELD(sequence, 1, NULL, "Tokens of a sequence."),
    {"padding", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(padding), 0, 0.99, "0", NULL, NULL,
     "Share of a sequence's positions that hold no token and that the software leaves out (bins of lengths); 0: it computes "
     "them, or packing fills them."},
    COUNT_FIELD(global_batch, 1, NULL, "Sequences of an optimizer step, over all GPUs."),
    COUNT_FIELD(micro_batch, 1, "1", "Sequences of one pass through the pipeline."),
    COUNT_FIELD(tensor_parallel, 1, "1", "GPUs that share every layer."),
    COUNT_FIELD(pipeline_parallel, 1, "1", "Stages of consecutive layers."),
    COUNT_FIELD(context_parallel, 1, "1", "GPUs that share every sequence."),
    {"context_exchange", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(context_exchange), 0, 0, "ring", pw_context_names, NULL,
     "How they meet in attention: keys and values in a ring, tokens for heads (all_to_all), all keys and values (all_gather), or "
     "all_to_all among neighbours and a ring of those.", NULL, NULL},
    COUNT_FIELD(context_inner, 0, "0", "With ring_of_all_to_all, GPUs of each all_to_all."),
    COUNT_FIELD(data_parallel, 0, "0", "Copies of the model; 0: what is left of the cluster."),
    COUNT_FIELD(virtual_stages, 1, "1", "Model chunks of a pipeline stage; above 1: the interleaved schedule."),
    {"precision", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(precision), 0, 0, "bf16", pw_format_names, NULL,
     "Number format: of the linear layers (fp32, tf32, fp16, bf16, fp8), with fp32 masters in the optimizer below 32 bits; or "
     "autocast of fp32 weights (fp16-amp, bf16-amp)."},
    {"recompute", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(recompute), 0, 0, "none", recompute_names, NULL,
     "Activations computed again in the backward pass: none, the attention core (selective), or whole layers (full)."},
    {"sharding", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(sharding), 0, 0, "zero1", pw_sharding_names, NULL,
     "What data-parallel ranks share out: the optimizer's state (zero1), gradients too (zero2), parameters too (zero3)."},
    {"schedule", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(schedule), 0, 0, "1f1b", schedule_names, NULL,
     "Order of passes in the pipeline: with whole backward passes (1f1b, gpipe), or with weight gradients apart."},
    {"stage_layers", PW_FIELD_LIST, PW_UNIT_NONE, AT(stage_layers), 1, 20000, "", .item = &layers_of_a_stage,
     .text = "Layers of each stage, or of each chunk in the order of the model; left out: as even as they go."},
    COUNT_FIELD(first_stage_layers, 0, "0", "Layers of the first stage; 0: as the others."),
    COUNT_FIELD(last_stage_layers, 0, "0", "Layers of the last stage; 0: as the others."),
    {"ends_in_split", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(ends_in_split), 0, 0, "auto", end_names, NULL,
     "Whether the embedding and the output layer count as a layer each when layers are spread over chunks; auto: when the layers "
     "alone do not divide.", NULL, NULL},
    {"optimizer_check", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(optimizer_check), 0, 0, "global", check_names, NULL,
     "global: every stage waits for the norm of all gradients before it steps; late: it steps, and undoes what fails later."},
    {"trainable", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(trainable), 0, 0, "all", pw_trainable_names, NULL,
     "What gets gradients: all weights, low-rank adapters beside frozen ones (lora), or what follows the last layer (head)."},
    COUNT_FIELD(frozen_layers, 0, "0", "Lowest layers that are not trained, nor the embedding: the backward pass ends above them."),
    COUNT_FIELD(lora_rank, 1, "16", "With lora, the inner width of an adapter."),
    {"lora_targets", PW_FIELD_TEXT, PW_UNIT_NONE, AT(lora_targets), 0, 0, "", NULL, NULL,
     "With lora, the matrices with an adapter, as words: qkv, proj, fc1, fc2; left out: all four."},
    {"optimizer", PW_FIELD_TEXT, PW_UNIT_NONE, AT(optimizer), 0, 0, "", NULL, NULL,
     "Rule of the update (a row of optimizers), adamw when left out: adamw-unfused, adamw-8bit, bertadam, lamb, adafactor, "
     "sgd-momentum, sgd."},
    {"stack", PW_FIELD_TEXT, PW_UNIT_NONE, AT(stack), 0, 0, "", NULL, NULL,
     "Software stack, a row of stacks (`podwright catalogue stacks`); left out: the newest for the GPU."},
    SWITCH_FIELD(sequence_parallel, "Norms and dropout on a share of the tokens of each tensor-parallel rank."),
    SWITCH_FIELD(flash_attention, "One fused attention kernel that keeps no scores."),
    SWITCH_FIELD(overlap_gradients, "Reduce gradient buckets behind the last backward pass."),
    SWITCH_FIELD(overlap_parameters, "Gather parameters behind computation (zero1, zero2: the first forward pass; zero3: the layers before)."),
    SWITCH_FIELD(overlap_pipeline, "Messages between stages do not hold up computation (as the stack does: of interleaved schedules alone)."),
    SWITCH_FIELD(cuda_graphs, "Launch kernels at no cost to the host."),
    {"bucket_bytes", PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(bucket_bytes), 1, 1e15, "", NULL, NULL,
     "Size of a gradient bucket on the wire; left out: the stack's."},
    {"stack_factor", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(stack_factor), 0.1, 10, "", NULL, NULL,
     "Factor on kernel and host time, as `podwright calibrate steps` finds it; left out: the stack's on file."},
    {"variability", PW_FIELD_POINTER, PW_UNIT_NONE, AT(variability), 0, 0, "", NULL, &pw_variability_kind,
     "How much ranks and steps differ from each other; left out: as on file."},
    COUNT_FIELD(shard_group, 0, "0",
                "Data (x context) parallel ranks that share what is sharded; groups of them repeat it (HSDP); 0: all ranks."),
    SWITCH_FIELD(reshard, "With zero3, drop parameters after the forward pass and gather them again for the backward pass."),
    SWITCH_FIELD(hold_gradients, "With zero2 and zero3, scatter gradients after the last micro-batch only, and keep them whole."),
    {"prefetch", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(prefetch), 0, 8, "", NULL, NULL,
     "With zero3, layers gathered ahead of their use; left out: as the stack does."},
    {"offload_optimizer", PW_FIELD_BOOL, PW_UNIT_NONE, AT(offload_optimizer), 0, 0, "false", NULL, NULL,
     "The optimizer's state is in host memory, and the CPUs update it."},
    {"offload_parameters", PW_FIELD_BOOL, PW_UNIT_NONE, AT(offload_parameters), 0, 0, "false", NULL, NULL,
     "With zero3 and offload_optimizer, parameters are in host memory and come over the host link before each use."},
    {"offload_activations", PW_FIELD_BOOL, PW_UNIT_NONE, AT(offload_activations), 0, 0, "false", NULL, NULL,
     "What the backward pass needs of a layer waits in host memory."},
    {"fp8_activations", PW_FIELD_BOOL, PW_UNIT_NONE, AT(fp8_activations), 0, 0, "false", NULL, NULL,
     "With fp8, the input of the MLP's activation is kept in 8 bits for the backward pass."},
    COUNT_FIELD(expert_parallel, 1, "1", "GPUs that share the experts of a layer; of those that share data, context and tensors."),
    COUNT_FIELD(expert_tensor_parallel, 1, "1", "GPUs that share every expert."),
    {"expert_imbalance", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(expert_imbalance), 1, 1e6, "1", NULL, NULL,
     "Tokens of the busiest expert-parallel rank over the mean; 1: balance is forced, as benchmarks do."},
    {"expert_capacity", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(expert_capacity), 0, 1000, "0", NULL, NULL,
     "Each expert gets exactly so many times the mean tokens, dropped or padded; 0: none is dropped."},
    {"recompute_modules", PW_FIELD_TEXT, PW_UNIT_NONE, AT(recompute_modules), 0, 0, "", NULL, NULL,
     "Parts of a layer computed again in the backward pass, as words: core_attn, layernorm, mlp, moe_act, mla_up_proj."},
    {NULL}};
#undef AT

/* Where the user wrote the job; every check fails through it. */
typedef struct checker {
    const char *file;
    int line;
    pw_error *error;
} checker;
#define REFUSE(at, hint, ...) return pw_fail((at)->error, PW_BAD_INPUT, (at)->file, (at)->line, hint, __VA_ARGS__)
#define LL(x) ((long long)(x))

static pw_status check_fields(const void *description, const char *file, int line, pw_error *error) {
    const pw_train_desc *desc = description;
    if ((double)desc->sequence * (double)desc->micro_batch > 1e9)
        return pw_fail(error, PW_BAD_INPUT, file, line,
                       "a micro-batch passes through a GPU at once; 10^9 tokens is beyond any",
                       "train.sequence %lld x train.micro_batch %lld are too many tokens", LL(desc->sequence),
                       LL(desc->micro_batch));
    return PW_OK;
}

const pw_kind pw_train_kind = {"train", "A training job: model, batch, and how they are split over the GPUs.",
                               sizeof(pw_train_desc), train_fields, check_fields};

static pw_status check_tensor(const checker *at, const pw_plan *plan) {
    const pw_model_shape *shape = &plan->shape;
    int64_t t = plan->t;
    if (t > shape->heads)
        REFUSE(at, "tensor parallel ranks share out whole heads; use pipeline or data parallel for the other GPUs",
               "train.tensor_parallel %lld is above the model's %lld heads", LL(t), LL(shape->heads));
    const struct { const char *name; int64_t size; } parts[] = {{"heads", shape->heads}, {"kv_heads", shape->kv_heads},
                                                                {"ffn", shape->ffn}, {"hidden", shape->hidden}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].size % t)
            REFUSE(at, "choose a tensor_parallel that divides heads, kv_heads, ffn and hidden",
                   "train.tensor_parallel %lld does not divide the model's %s %lld", LL(t), parts[i].name,
                   LL(parts[i].size));
    int64_t tokens = plan->sequence / plan->c * plan->micro_batch;
    if (plan->sequence_parallel && tokens % t)
        REFUSE(at, "with sequence parallel it must divide the tokens of a micro-batch; or sequence_parallel = \"off\"",
               "train.tensor_parallel %lld does not divide %lld tokens", LL(t), LL(tokens));
    return PW_OK;
}

static pw_status check_context(const checker *at, const pw_plan *plan) {
    bool windowed = plan->model->window && plan->model->window < plan->sequence;
    if (windowed && plan->c > 1 && plan->exchange != PW_CONTEXT_ALL_TO_ALL)
        REFUSE(at, "use context_exchange = \"all_to_all\", or tensor or pipeline parallel for the other GPUs",
               "a ring of context parallel is not modelled for attention within a window");
    if (windowed && !plan->stack.flash_attention)
        REFUSE(at, "use a stack with flash attention, or flash_attention = \"on\"",
               "stack %s computes the whole square of scores, so a window would change nothing", plan->stack.name);
    if (plan->c == 1) return PW_OK;
    if (plan->model->bidirectional || plan->model->head != PW_HEAD_LANGUAGE_MODEL)
        return pw_fail(at->error, PW_UNSUPPORTED, at->file, at->line, "leave context_parallel at 1",
                       "context parallel is modelled for decoders alone, whose ring is causal");
    if (plan->sequence % (2 * plan->c))
        REFUSE(at, "a causal ring gives each rank two equal slices of the sequence",
               "train.sequence %lld is not a multiple of 2 x context_parallel %lld", LL(plan->sequence), LL(plan->c));
    if (!plan->stack.flash_attention)
        return pw_fail(at->error, PW_UNSUPPORTED, at->file, at->line, "use flash_attention = \"on\" or a newer stack",
                       "context parallel needs flash attention, which stack %s does not have", plan->stack.name);
    return PW_OK;
}

/* Operations of a step on one rank of every stage, roughly: what bounds the time and memory of a run (about a minute and a
 * few GB at the most). A layer is one computation each way; tensor parallel cuts it at its collectives, and a ring of
 * context parallel has an exchange and a computation for every other rank. */
#define MOST_OPERATIONS 5e7
double pw_plan_operations(const pw_plan *plan) {
    double per_layer = 1 + (plan->t > 1 ? 7 : 0) + (plan->c > 1 ? 6 * (double)plan->c : 0) +
                       (plan->desc->sharding == PW_SHARDING_ZERO3 ? 5 : 0);
    double chunks = (double)plan->p * (double)plan->v / (double)plan->copies, passes = plan->order->splits ? 3 : 2;
    return passes * (double)plan->micro_batches * ((double)plan->shape.layers * per_layer + (chunks > 1 ? 4 * chunks : 1));
}

static pw_status check_sizes(const checker *at, int64_t gpus, pw_plan *plan) {
    const pw_train_desc *desc = plan->desc;
    double model_ranks = (double)plan->t * (double)plan->p * (double)plan->c;
    if (model_ranks > 1048576)
        REFUSE(at, "at most 1048576 GPUs", "tensor x pipeline x context parallel make %.0f GPUs", model_ranks);
    int64_t model_parallel = plan->t * plan->p * plan->c;
    if (gpus && model_parallel > gpus)
        REFUSE(at, "make tensor_parallel, pipeline_parallel or context_parallel smaller, or the cluster larger",
               "tensor %lld x pipeline %lld x context %lld parallel need %lld GPUs, the cluster has %lld", LL(plan->t),
               LL(plan->p), LL(plan->c), LL(model_parallel), LL(gpus));
    plan->d = desc->data_parallel;
    if (!plan->d) {
        if (!gpus) REFUSE(at, "set data_parallel", "train.data_parallel is needed where the cluster is not known");
        if (gpus % model_parallel)
            REFUSE(at, "tensor x pipeline x context parallel must divide the GPUs",
                   "%lld GPUs are not a multiple of %lld (tensor %lld x pipeline %lld x context %lld)", LL(gpus),
                   LL(model_parallel), LL(plan->t), LL(plan->p), LL(plan->c));
        plan->d = gpus / model_parallel;
    }
    double ranks = (double)model_parallel * (double)plan->d;
    if (ranks > 1048576) REFUSE(at, "at most 1048576 GPUs", "the job needs %.0f GPUs", ranks);
    plan->ranks = model_parallel * plan->d;
    if (gpus && plan->ranks != gpus)
        REFUSE(at, "leave data_parallel out to use every GPU",
               "data %lld x tensor %lld x pipeline %lld x context %lld parallel use %lld GPUs, the cluster has %lld",
               LL(plan->d), LL(plan->t), LL(plan->p), LL(plan->c), LL(plan->ranks), LL(gpus));
    int64_t pass = plan->d * plan->micro_batch, below = desc->global_batch / pass * pass;
    char fitting[96];
    if (below) snprintf(fitting, sizeof fitting, "take global_batch %lld or %lld", LL(below), LL(below + pass));
    else snprintf(fitting, sizeof fitting, "take global_batch %lld, or fewer GPUs", LL(pass));
    if (desc->global_batch % pass)
        REFUSE(at, fitting,
               "train.global_batch %lld is not a multiple of data_parallel %lld x micro_batch %lld",
               LL(desc->global_batch), LL(plan->d), LL(plan->micro_batch));
    plan->micro_batches = desc->global_batch / (plan->d * plan->micro_batch);
    double operations = pw_plan_operations(plan);
    if (operations > MOST_OPERATIONS)
        REFUSE(at, "use a larger micro_batch or more data parallel ranks",
               "%lld micro-batches through %lld layers in %.0f chunks take %.3g operations, too many to simulate",
               LL(plan->micro_batches), LL(plan->shape.layers), (double)plan->p * (double)plan->v, operations);
    return PW_OK;
}

static void apply_switch(bool *value, int given) {
    if (given == 0 || given == 1) *value = given;
}

/* The stack's behaviours, as the job switches them. */
static pw_status read_stack(const pw_catalogue *catalogue, const pw_device *device, const checker *at, pw_plan *plan) {
    const pw_train_desc *desc = plan->desc;
    const char *stack = desc->stack && *desc->stack ? desc->stack : NULL;
    PW_TRY(pw_stack_read(catalogue, stack, device, &plan->stack, at->file, at->line, at->error));
    if (desc->stack_factor > 0) plan->stack.kernel_time_factor = desc->stack_factor;
    apply_switch(&plan->stack.sequence_parallel, desc->sequence_parallel);
    apply_switch(&plan->stack.flash_attention, desc->flash_attention);
    apply_switch(&plan->stack.overlap_gradients, desc->overlap_gradients);
    apply_switch(&plan->stack.overlap_parameters, desc->overlap_parameters);
    apply_switch(&plan->stack.overlap_pipeline, desc->overlap_pipeline);
    apply_switch(&plan->stack.cuda_graphs, desc->cuda_graphs);
    PW_TRY(pw_format_read(catalogue, desc->precision, &plan->format, at->file, at->line, at->error));
    if (plan->format.element_bytes > 2 && desc->flash_attention != 1) plan->stack.flash_attention = false; /* 16 bits alone */
    return PW_OK;
}

static void set_sizes(pw_plan *plan) {
    const pw_train_desc *desc = plan->desc;
    plan->t = desc->tensor_parallel;
    plan->p = desc->pipeline_parallel;
    plan->c = desc->context_parallel;
    plan->order = &pw_orders[desc->schedule];
    plan->v = plan->order->chunks ? plan->order->chunks : desc->virtual_stages;
    plan->copies = plan->order->placement == PW_PLACE_BOTH_WAYS ? 2 : 1;
    plan->positions = plan->p * plan->v / plan->copies;
    /* Megatron-LM's arguments.py switches overlap_p2p_comm off where the schedule is not interleaved. */
    if (plan->v == 1 && desc->overlap_pipeline != 1) plan->stack.overlap_pipeline = false;
    plan->sends_anyway = plan->order->splits && !plan->stack.overlap_pipeline;
    if (plan->sends_anyway) plan->stack.overlap_pipeline = true;
    plan->micro_batch = desc->micro_batch;
    plan->sequence = (int64_t)ceil((double)desc->sequence * (1 - desc->padding));
    plan->sequence_parallel = plan->stack.sequence_parallel && plan->t > 1;
}

static void set_tokens(pw_plan *plan) {
    plan->precision = plan->format.matrix;
    plan->precision16 = plan->format.other;
    plan->tokens = plan->sequence / plan->c * plan->micro_batch;
    int64_t multiple = (int64_t)plan->stack.vocabulary_multiple * plan->t;
    if (multiple) plan->vocabulary = (plan->model->vocabulary + multiple - 1) / multiple * multiple;
    else plan->vocabulary = plan->model->vocabulary / plan->t * plan->t; /* as it is; what does not divide is left out */
    plan->head_tokens = pw_head_positions(plan->model, plan->sequence) * plan->micro_batch / plan->c;
}

/* *adam: what the stack's columns hold. */
static pw_status read_optimizer(const pw_catalogue *catalogue, const checker *at, pw_plan *plan, pw_optimizer *adam) {
    const pw_train_desc *desc = plan->desc;
    PW_TRY(pw_optimizer_read(catalogue, "adamw", adam, at->file, at->line, at->error));
    PW_TRY(pw_optimizer_read(catalogue, desc->optimizer && *desc->optimizer ? desc->optimizer : adam->name, &plan->optimizer,
                             at->file, at->line, at->error));
    if (!plan->optimizer.shards && desc->sharding != PW_SHARDING_NONE)
        return pw_fail(at->error, PW_UNSUPPORTED, at->file, at->line, "use sharding = \"none\", or an optimizer that works element by element",
                       "%s needs whole tensors, so its state cannot be shared out", plan->optimizer.name);
    if (desc->offload_optimizer && strcmp(plan->optimizer.name, adam->name) != 0)
        return pw_fail(at->error, PW_UNSUPPORTED, at->file, at->line, "use optimizer = \"adamw\", or leave the update on the GPU",
                       "the update on the host is that of AdamW, not of %s", plan->optimizer.name);
    if (desc->model->experts > 0 && (plan->optimizer.factored || plan->optimizer.tensor_kernels > 0))
        return pw_fail(at->error, PW_UNSUPPORTED, at->file, at->line, "use a fused optimizer",
                       "%s works tensor by tensor, which is not modelled for experts", plan->optimizer.name);
    return PW_OK;
}

/* Bytes kept, moved and sent per parameter. */
static void set_bytes(pw_plan *plan, const pw_optimizer *adam) {
    bool fp16 = plan->precision == PW_PRECISION_FP16, fp8 = plan->precision == PW_PRECISION_FP8;
    plan->gradient_wire_bytes = fp16 ? plan->stack.gradient_reduce_fp16 : plan->stack.gradient_reduce_bf16;
    if (!isnan(plan->format.wire_bytes)) plan->gradient_wire_bytes = plan->format.wire_bytes;
    plan->parameter_wire_bytes = fp8 && plan->stack.fp8_parameter_gather ? 1 : plan->format.weight_bytes;
    plan->bucket_bytes = plan->desc->bucket_bytes > 0 ? plan->desc->bucket_bytes
                                                : plan->stack.bucket_elements * plan->gradient_wire_bytes;
    plan->gradient_bytes = fp16 ? plan->stack.gradient_fp16 : plan->stack.gradient_bf16;
    plan->optimizer_bytes = fp16 ? plan->stack.optimizer_fp16 : plan->stack.optimizer_bf16;
    if (!isnan(plan->format.gradient_bytes)) { /* the weights are the masters: two moments are left */
        plan->gradient_bytes = plan->format.gradient_bytes;
        plan->optimizer_bytes = adam->state_bytes;
    }
    plan->optimizer_bytes += plan->optimizer.state_bytes - adam->state_bytes;
    plan->update_bytes = plan->optimizer.update_bytes - adam->update_bytes;
}

pw_status pw_plan_make(const pw_catalogue *catalogue, const pw_device *device, int64_t gpus, const pw_train_desc *desc,
                       pw_plan *plan, const char *file, int line, pw_error *error) {
    checker checks = {file, line, error}, *at = &checks;
    memset(plan, 0, sizeof *plan);
    PW_TRY(pw_description_check(&pw_train_kind, desc, file, line, error));
    plan->desc = desc;
    plan->model = desc->model;
    plan->shape = pw_model_shape_of(desc->model);
    PW_TRY(read_stack(catalogue, device, at, plan));
    set_sizes(plan);
    PW_TRY(pw_plan_context(plan, file, line, error));
    PW_TRY(check_context(at, plan));
    PW_TRY(check_tensor(at, plan));
    PW_TRY(check_sizes(at, gpus, plan));
    PW_TRY(pw_plan_layout(plan, file, line, error));
    if (device) PW_TRY(pw_format_check(&plan->format, device, file, line, error));
    set_tokens(plan);
    pw_optimizer adam;
    PW_TRY(read_optimizer(catalogue, at, plan, &adam));
    set_bytes(plan, &adam);
    PW_TRY(pw_attention_slowdown_read(catalogue, plan->stack.name, device, &plan->attention, error));
    PW_TRY(pw_plan_shard(catalogue, plan, file, line, error));
    PW_TRY(pw_plan_fp8_weights(catalogue, device, plan, file, line, error));
    if (desc->fp8_activations && !pw_plan_casts(plan))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave fp8_activations out, or use precision = \"fp8\"",
                       "train.fp8_activations keeps in 8 bits what %s computes", plan->format.name);
    PW_TRY(pw_plan_trainable(catalogue, plan, file, line, error));
    PW_TRY(pw_plan_offload(plan, file, line, error));
    PW_TRY(pw_plan_experts(catalogue, plan, file, line, error));
    return pw_plan_refuse_idle(plan, file, line, error);
}

double pw_plan_layers_parameters(const pw_plan *plan, int64_t first, int64_t layers) {
    int64_t counts[PW_LAYER_KINDS] = {0};
    double parameters = 0;
    for (int64_t i = first; i < first + layers; i++) counts[pw_model_layer_kind(plan->model, i)]++;
    for (pw_layer_kind kind = 0; kind < PW_LAYER_KINDS; kind++)
        if (counts[kind]) parameters += (double)counts[kind] * pw_layer_parameters(plan->model, kind, plan->t);
    return parameters;
}

double pw_plan_layers_experts(const pw_plan *plan, int64_t first, int64_t layers) {
    double parameters = 0;
    for (int64_t i = first; i < first + layers; i++)
        parameters += pw_layer_expert_parameters(plan->model, pw_model_layer_kind(plan->model, i));
    return parameters / (double)(plan->experts.parallel * plan->experts.tensor);
}

double pw_plan_prediction_parameters(const pw_plan *plan) {
    double count = (double)plan->model->prediction_layers;
    if (count == 0) return 0;
    double copy = plan->p > 1 ? pw_plan_embedding_parameters(plan) : 0; /* the first stage's, once more on the last */
    return count * pw_prediction_parameters(plan->model, plan->t) + copy;
}

double pw_plan_stage_tensors(const pw_plan *plan, int64_t stage) {
    const pw_model_desc *model = plan->model;
    double each = model->biases ? 2 : 1; /* a weight and its bias */
    double layer = each * (4 + (double)plan->shape.fc1 - 1 + 2), tensors = layer * (double)pw_plan_stage_layers(plan, stage);
    for (int64_t chunk = 0; chunk < plan->v; chunk++) {
        if (pw_plan_has_embedding(plan, stage, chunk))
            tensors += 1 + (model->positions > 0) + (model->token_types > 0) + (model->post_norm ? each : 0);
        if (pw_plan_has_head(plan, stage, chunk))
            tensors += (model->post_norm ? 0 : each) + !(model->tied && plan->p == 1) + pw_head_own_tensors(model);
    }
    return tensors;
}

double pw_plan_embedding_parameters(const pw_plan *plan) {
    double h = (double)plan->shape.hidden;
    double norm = plan->model->post_norm ? (plan->model->biases ? 2 * h : h) : 0;
    return (double)(plan->vocabulary / plan->t) * h + (double)(plan->model->positions + plan->model->token_types) * h + norm;
}

double pw_plan_head_parameters(const pw_plan *plan) {
    double h = (double)plan->shape.hidden, norm = plan->model->post_norm ? 0 : plan->model->biases ? 2 * h : h;
    double columns = (double)(plan->vocabulary / plan->t);
    bool together = plan->p == 1 || plan->order->placement != PW_PLACE_ROUND; /* with the embedding, on stage 0 */
    bool shares = (plan->model->tied && together) || plan->model->head == PW_HEAD_SPAN;
    return norm + pw_head_own_parameters(plan->model, columns) + (shares ? 0 : columns * h);
}

double pw_plan_stage_parameters(const pw_plan *plan, int64_t stage) {
    double parameters = 0;
    for (int64_t chunk = 0; chunk < plan->v; chunk++) {
        parameters += pw_plan_layers_parameters(plan, pw_plan_first_layer(plan, stage, chunk), pw_plan_layers(plan, stage, chunk));
        if (pw_plan_has_embedding(plan, stage, chunk)) parameters += pw_plan_embedding_parameters(plan);
        if (pw_plan_has_head(plan, stage, chunk)) parameters += pw_plan_head_parameters(plan) + pw_plan_prediction_parameters(plan);
    }
    return parameters;
}

double pw_plan_stage_experts(const pw_plan *plan, int64_t stage) {
    double parameters = 0;
    for (int64_t chunk = 0; chunk < plan->v; chunk++) {
        parameters += pw_plan_layers_experts(plan, pw_plan_first_layer(plan, stage, chunk), pw_plan_layers(plan, stage, chunk));
        if (pw_plan_has_head(plan, stage, chunk))
            parameters += (double)plan->model->prediction_layers * pw_plan_layers_experts(plan, plan->shape.layers - 1, 1);
    }
    return parameters;
}
