/* The memory account: closed forms per pipeline stage.
 *
 * Activations follow Korthikanti et al. 2022 ("Reducing Activation Recomputation in Large Transformer Models", section 4)
 * tensor by tensor, so that grouped-query attention, gated MLPs, flash attention and models without dropout fit in.
 * With s, b, h, a, t as there, a plain layer with dropout keeps s b h (10 + 24/t + 5 a s/(h t)) bytes, with sequence
 * parallel all of it is divided by t, and selective recompute or flash attention drop the last term. See
 * docs/models/memory.md.
 */
#include <math.h>

#include "models/workload/trainable.h"
#include "models/workload/plan.h"

/* Bytes of one token that attention keeps: split over tensor-parallel ranks, and whole on each. */
static double latent_bytes(const pw_plan *plan, double input) { /* of the compressed queries, keys and values, before and after */
    return plan->shape.latent ? (plan->format.element_bytes + input) * (double)(plan->model->query_rank + plan->shape.latent) : 0;
}
/* Fused attention keeps its output for its own backward pass, and the next matrix's narrower copy comes on top of it. */
static double attention_bytes(const pw_plan *plan, double input) {
    double q = (double)plan->shape.query_width, o = (double)plan->shape.output_width, element = plan->format.element_bytes;
    double heads = element * (q + (double)(plan->shape.key_width + plan->shape.value_width));
    double copy = plan->desc->trainable == PW_TRAIN_LORA ? 0 : input; /* a frozen matrix needs no input */
    double output = !plan->stack.flash_attention ? copy : copy < element ? element + copy : element;
    return (pw_plan_recomputes(plan, PW_MODULE_LATENT) ? 0 : heads) + output * o;
}

/* Of the adapters: their dropped-out inputs and the masks. */
static double adapter_bytes(const pw_plan *plan, double *split) {
    const pw_model_shape *s = &plan->shape;
    double kept = plan->adapter.kept_input;
    *split = kept * ((double)(pw_plan_targets(plan, PW_TARGET_PROJ) * s->output_width) +
                     (double)(pw_plan_targets(plan, PW_TARGET_FC2) * s->ffn));
    return kept * (double)s->hidden * (pw_plan_targets(plan, PW_TARGET_QKV) + pw_plan_targets(plan, PW_TARGET_FC1));
}

/* Inner activations and the second matrix's input. */
static double mlp_bytes(const pw_plan *plan, double input, int64_t ffn, bool inner, bool activation) {
    double kept = plan->desc->fp8_activations && pw_plan_casts(plan) ? 1 : plan->format.element_bytes;
    return (inner ? kept * (double)(plan->shape.fc1 * ffn) : 0) + (activation ? input * (double)ffn : 0);
}

/* Of the experts on a rank: their tokens, inner activations; the router's scores and their gradient. */
static double expert_bytes(const pw_plan *plan, double input) {
    const pw_expert_plan *x = &plan->experts;
    bool kept = !pw_plan_recomputes(plan, PW_MODULE_EXPERT_ACTIVATION);
    double copy = input * (double)plan->shape.hidden + mlp_bytes(plan, input, plan->shape.expert_ffn / x->tensor, true, kept);
    return x->arrived * copy + 2 * 4 * (double)plan->tokens / (double)plan->t * (double)plan->model->experts;
}

/* Bytes kept of one layer and one micro-batch. full: nothing is computed again. */
double pw_plan_layer_activations(const pw_plan *plan, pw_layer_kind kind, int recompute) {
    const pw_model_shape *shape = &plan->shape;
    double tokens = (double)plan->tokens, h = (double)shape->hidden, t = (double)plan->t;
    double divisor = plan->sequence_parallel ? t : 1, element = plan->format.element_bytes, wide = plan->format.wide_bytes;
    if (recompute == PW_RECOMPUTE_FULL) return wide * tokens * h / divisor; /* the layer's input alone */
    if (pw_plan_recomputes(plan, PW_MODULE_OPERATORS)) { /* input; query, value, attention, first inner and last multiply */
        double split = 2 * (double)shape->query_width + (double)shape->key_width + (double)shape->ffn;
        return tokens * ((wide + element) * h / divisor + element * split / t);
    }
    double input = pw_plan_casts(plan) ? plan->stack.saved_input_fp8 : element; /* of a linear layer */
    bool experts = kind & PW_LAYER_EXPERTS, mlp = experts || !pw_plan_recomputes(plan, PW_MODULE_MLP);
    /* Inputs of two norms, of the query-key-value and the first MLP matrix; two dropout masks of a byte. */
    bool lora = plan->desc->trainable == PW_TRAIN_LORA; /* a frozen matrix needs no input; its adapter does */
    double adapters = 0, normed = pw_plan_recomputes(plan, PW_MODULE_NORM) ? 0 : lora ? adapter_bytes(plan, &adapters) : 2 * input * h;
    bool second = mlp && !lora;
    double whole = 2 * wide * h + normed + (plan->stack.dropout ? 2 * h : 0) + latent_bytes(plan, input);
    double split = adapters + attention_bytes(plan, input) + mlp_bytes(plan, input, experts ? plan->model->shared_ffn : shape->ffn, mlp, second);
    double bytes = tokens * (whole / divisor + split / t) + (experts ? expert_bytes(plan, input) : 0);
    if (!plan->stack.flash_attention && recompute == PW_RECOMPUTE_NONE && !pw_plan_recomputes(plan, PW_MODULE_CORE_ATTENTION)) {
        /* Softmax output, dropout output and its mask; without dropout the output, and its cast where that is narrower. */
        double per_score = wide + (plan->stack.dropout ? element + 1 : wide != element ? element : 0);
        bytes += per_score * (double)shape->heads * (double)plan->sequence * tokens / t;
    }
    return bytes;
}

/* Of a stretch of layers. */
static double layers_activations(const pw_plan *plan, int64_t first, int64_t layers, int recompute) {
    int64_t counts[PW_LAYER_KINDS] = {0};
    double bytes = 0;
    for (int64_t i = first; i < first + layers; i++) counts[pw_model_layer_kind(plan->model, i)]++;
    for (pw_layer_kind kind = 0; kind < PW_LAYER_KINDS; kind++)
        if (counts[kind]) bytes += (double)counts[kind] * pw_plan_layer_activations(plan, kind, recompute);
    return bytes;
}

static double largest_layer(const pw_plan *plan, int recompute) {
    double most = 0;
    for (int64_t i = 0; i < plan->shape.layers; i++)
        most = fmax(most, pw_plan_layer_activations(plan, pw_model_layer_kind(plan->model, i), recompute));
    return most;
}

/* While the backward pass is in a layer, beside what the forward pass left: the gradient of its output and the most of what
 * its parts hold: gradients of the activation and of the inner matrices' outputs, or of the scores. */
static double layer_gradients(const pw_plan *plan, pw_layer_kind kind) {
    const pw_model_shape *s = &plan->shape;
    double tokens = (double)plan->tokens, t = (double)plan->t, element = plan->format.element_bytes, wide = plan->format.wide_bytes;
    double inner = 1 + (double)s->fc1 * plan->stack.inner_gradients;
    double mlp = element * inner * (double)(kind & PW_LAYER_EXPERTS ? plan->model->shared_ffn : s->ffn) * tokens / t;
    if (kind & PW_LAYER_EXPERTS) mlp += element * inner * plan->experts.arrived * (double)s->expert_ffn / (double)plan->experts.tensor;
    double scores = plan->stack.flash_attention ? 0 : (element + wide) * (double)s->heads * (double)plan->sequence * tokens / t;
    double heads = element * (double)(s->query_width + s->key_width + s->value_width + s->output_width) * tokens / t;
    return wide * tokens * (double)s->hidden / (plan->sequence_parallel ? t : 1) + fmax(mlp, scores + heads);
}

/* The most that a layer holds while its backward pass runs, beside what the stage keeps of it; with full recompute all that
 * it has just computed again. */
static double working_set(const pw_plan *plan) {
    double most = 0;
    for (int64_t i = 0; i < plan->shape.layers; i++) {
        pw_layer_kind kind = pw_model_layer_kind(plan->model, i);
        bool again = plan->desc->recompute == PW_RECOMPUTE_FULL;
        most = fmax(most, layer_gradients(plan, kind) + (again ? pw_plan_layer_activations(plan, kind, PW_RECOMPUTE_NONE) : 0));
    }
    return most;
}

/* What offload moves to the host. Gradients that leave as they are scattered are on the device only as buffers. */
static void offload_states(const pw_plan *plan, bool gradients_leave, pw_memory_account *account) {
    if (!plan->desc->offload_optimizer) return;
    account->host += account->optimizer + account->gradients;
    account->optimizer = 0;
    if (gradients_leave) account->gradients = 0;
    if (!plan->desc->offload_parameters) return;
    account->host += account->weights;
    account->weights = 0;
}

/* Of all matrices of a stage. */
static double rows_and_columns(const pw_plan *plan, int64_t stage) {
    const pw_model_shape *s = &plan->shape;
    double t = (double)plan->t, h = (double)s->hidden, q = (double)s->query_width / t, k = (double)s->key_width / t;
    double f = (double)s->ffn / t, columns = (double)plan->vocabulary / t;
    double layer = (h + q + 2 * k) + (q + h) + (double)s->fc1 * (h + f) + (f + h);
    double ends = stage == 0 || stage == plan->p - 1 ? columns + h : 0; /* position and segment tables are small */
    return layer * (double)pw_plan_stage_layers(plan, stage) + ends;
}

/* Weights of the layers of a stage on one rank: norms and biases among them are few. */
static double stage_matrices(const pw_plan *plan, int64_t stage) {
    double parameters = 0;
    for (int64_t chunk = 0; chunk < plan->v; chunk++)
        parameters += pw_plan_layers_parameters(plan, pw_plan_first_layer(plan, stage, chunk), pw_plan_layers(plan, stage, chunk));
    return parameters;
}

/* Parameters, gradients and optimizer. Sharded parameters are the fp32 copy in the optimizer's account; what is gathered for
 * use, one unit and those ahead, counts as buffer, or as weights where the whole model stays gathered through a step. */
static void state_bytes(const pw_plan *plan, int64_t stage, double parameters, pw_memory_account *account) {
    double trained = pw_plan_stage_trained(plan, stage);
    double matrices = stage_matrices(plan, stage), experts = pw_plan_stage_experts(plan, stage);
    double shards = (double)plan->shards, unit = pw_plan_largest_unit(plan, stage);
    bool zero3 = plan->sharding == PW_SHARDING_ZERO3, whole = !zero3 || !plan->reshard;
    double in_use = plan->format.weight_bytes + plan->format.copy_bytes;
    account->weights = (whole ? in_use * parameters + (plan->matrix_bytes - in_use) * (matrices + experts) : 0) + (zero3 ? plan->sharded_parameter_bytes * parameters / shards : 0);
    if (zero3 && !whole) {
        int64_t ahead = plan->ahead_forward > plan->ahead_backward ? plan->ahead_forward : plan->ahead_backward;
        double live = fmin(plan->live_parameters, parameters + experts);
        account->buffers += in_use * fmax(unit * (double)(1 + ahead), live);
    }
    if (plan->desc->trainable == PW_TRAIN_LORA) account->weights += in_use * trained;
    bool shares = plan->sharding >= PW_SHARDING_ZERO2 && !plan->hold_gradients;
    account->gradients = plan->gradient_bytes * trained / (shares ? shards : 1);
    if (shares) account->buffers += (zero3 ? unit * plan->gradient_wire_bytes : plan->bucket_bytes) * 2; /* one leaves */
    if (plan->sharding == PW_SHARDING_ZERO1 && shards > 1)
        account->buffers += plan->stack.gradient_bucket * plan->gradient_wire_bytes;
    account->optimizer = plan->optimizer_bytes * trained / shards;
    if (plan->optimizer.factored) account->optimizer += 4 * rows_and_columns(plan, stage);
    if (experts > 0) { /* whole on each rank, or their optimizer's state over those that hold the same experts */
        double over = plan->sharding == PW_SHARDING_NONE ? 1 : (double)plan->experts.data;
        account->weights += (whole ? in_use : 0) * experts + (zero3 ? plan->sharded_parameter_bytes * experts / over : 0);
        account->gradients += plan->gradient_bytes * experts / (shares ? over : 1);
        account->optimizer += plan->optimizer_bytes * experts / over;
    }
    offload_states(plan, shares, account);
}

/* Inputs of the final norm and of the head's multiplies; at the loss with the logits and what comes of them. */
static double head_activations(const pw_plan *plan, bool at_loss) {
    double h = (double)plan->shape.hidden, element = plan->format.element_bytes, wide = plan->format.wide_bytes;
    double divisor = plan->sequence_parallel ? (double)plan->t : 1, reached = (double)plan->head_tokens;
    double last = (plan->model->post_norm ? 0 : wide) + element; /* norm and gathered input */
    double bytes = last * (double)plan->tokens * h / divisor;
    if (!at_loss) return bytes;
    if (plan->model->head == PW_HEAD_SPAN) return bytes + plan->stack.logits * 2 * reached;
    if (plan->model->head == PW_HEAD_MASKED_LM) bytes += (3 * element + wide) * reached * h; /* transform, GELU, norm, output */
    double each = plan->t > 1 && !isnan(plan->stack.split_logits) ? plan->stack.split_logits : plan->stack.logits;
    return bytes + each * reached * (double)plan->vocabulary / (double)plan->t;
}

/* Bytes kept of one layer and one micro-batch from B to W: inputs of linear layers and the gradients of their outputs (those
 * of row-parallel ones gathered over all tokens). Qi et al. 2023, table 1: 32 s b h of a plain layer. */
static double layer_weight_inputs(const pw_plan *plan, pw_layer_kind kind) {
    const pw_model_shape *shape = &plan->shape;
    double tokens = (double)plan->tokens, h = (double)shape->hidden, t = (double)plan->t, element = plan->format.element_bytes;
    double divisor = plan->sequence_parallel ? t : 1, fc1 = (double)shape->fc1;
    double input = pw_plan_casts(plan) ? plan->stack.saved_input_fp8 : element;
    double f = (double)(kind & PW_LAYER_EXPERTS ? plan->model->shared_ffn : shape->ffn);
    double heads = (double)(shape->query_width + shape->key_width + shape->value_width);
    double bytes = tokens * (input * (h + (f > 0 ? h : 0)) / divisor + input * ((double)shape->output_width + f) / t +
                             element * (h + (f > 0 ? h : 0) + (heads + fc1 * f) / t));
    if (shape->latent) bytes += tokens * (input + element) * (double)(plan->model->query_rank + shape->latent) / divisor;
    if (!(kind & PW_LAYER_EXPERTS)) return bytes;
    double inner = (double)(shape->expert_ffn / plan->experts.tensor);
    return bytes + plan->experts.arrived * (input * (h + inner) + element * (h + fc1 * inner));
}

/* What layers of a chunk hold of a micro-batch; the ends of the model likewise. */
static double layers_held(const void *object, int64_t stage, int64_t chunk, bool kept) {
    const pw_plan *plan = object;
    int64_t first = pw_plan_first_layer(plan, stage, chunk), layers = pw_plan_layers(plan, stage, chunk);
    int64_t frozen = plan->frozen > first ? plan->frozen - first : 0; /* they keep nothing */
    if (frozen > layers) frozen = layers;
    if (!kept) return layers_activations(plan, first + frozen, layers - frozen, plan->desc->recompute);
    double bytes = 0;
    for (int64_t i = first; i < first + layers; i++) bytes += layer_weight_inputs(plan, pw_model_layer_kind(plan->model, i));
    return bytes;
}
static double embedding_held(const void *object, int64_t stage, int64_t chunk, bool kept) {
    return !kept && pw_plan_has_embedding(object, stage, chunk) ? 1 : 0;
}
static double head_held(const void *object, int64_t stage, int64_t chunk, bool kept) {
    return !kept && pw_plan_has_head(object, stage, chunk) ? 1 : 0;
}

pw_memory_account pw_plan_memory(const pw_plan *plan, const pw_device *device, int64_t stage) {
    pw_memory_account account = {0};
    double parameters = pw_plan_stage_parameters(plan, stage);
    state_bytes(plan, stage, parameters, &account);

    double tokens = (double)plan->tokens, h = (double)plan->shape.hidden, t = (double)plan->t;
    double element = plan->format.element_bytes;
    double divisor = plan->sequence_parallel ? t : 1;
    account.activations = pw_plan_peak(plan, stage, layers_held, plan);
    if (plan->desc->offload_activations) { /* two layers leave or arrive, one is at work */
        double here = fmin(account.activations, 3 * largest_layer(plan, plan->desc->recompute));
        account.host += account.activations - here;
        account.activations = here;
    }
    /* Token numbers and the mask of the embedding's dropout; what the head keeps. */
    account.logits = pw_plan_peak(plan, stage, embedding_held, plan) *
                     (8 * tokens + (plan->stack.dropout ? tokens * h / divisor : 0));
    double heads = pw_plan_peak(plan, stage, head_held, plan), embedding = account.logits;
    /* The fullest moment: at the loss, or in the backward pass of a layer, when the logits are gone. */
    double kept = heads * head_activations(plan, false), loss = heads * head_activations(plan, true), working = working_set(plan);
    account.logits = embedding + fmax(kept, loss > kept + working ? loss : 0);
    if (!(loss > kept + working)) account.buffers += working;
    if (heads > 0 && plan->model->prediction_layers) /* a layer, two states joined; the head's peak is one at a time */
        account.activations += (double)plan->model->prediction_layers *
                               (layers_activations(plan, plan->shape.layers - 1, 1, plan->desc->recompute) +
                                4 * element * tokens * h / divisor) * heads;
    if (plan->model->experts) account.buffers += 2 * element * plan->experts.arrived * h; /* tokens and results on their way */

    if (plan->sequence_parallel) account.buffers += 2 * element * tokens * h; /* gathered input and its gradient */
    if (plan->p > 1) /* a message each way, each direction; of both chunks where they go opposite ways */
        account.buffers += (plan->order->splits ? 4 * (double)plan->v : 4) * element * tokens * h / divisor;
    if (plan->c > 1) account.buffers += pw_plan_context_buffers(plan);

    double used = account.weights + account.gradients + account.optimizer + account.activations + account.logits +
                  account.buffers;
    double changing = account.activations + account.logits + account.buffers;
    account.fragmentation = plan->stack.fragmentation * changing;
    account.reserve = plan->stack.reserve_bytes + account.fragmentation;
    account.total = used + account.reserve;
    account.capacity = device->memory_bytes;
    return account;
}

pw_status pw_train_memory(const pw_catalogue *catalogue, const pw_device *device, const pw_train_desc *desc,
                          int64_t stage, pw_memory_account *account, pw_error *error) {
    pw_train_desc longest = *desc; /* memory must hold a micro-batch without padding */
    pw_plan plan;
    longest.padding = 0;
    PW_TRY(pw_plan_make(catalogue, device, 0, &longest, &plan, NULL, 0, error));
    if (stage < 0 || stage >= plan.p)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "stages count from 0", "there is no stage %lld of %lld",
                       (long long)stage, (long long)plan.p);
    *account = pw_plan_memory(&plan, device, stage);
    return PW_OK;
}
