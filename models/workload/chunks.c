/* Chunks of a stage: which stretches of layers travel as one bucket of parameters and gradients, and the passes over them. */
#include "models/workload/lower.h"
#include "models/workload/trainable.h"

void gather_add(lowering *low, list *ops, const unit *bucket, int16_t wait, int16_t signal) {
    double bytes = bucket->parameters * low->plan->parameter_wire_bytes;
    int64_t pieces = bucket->kind == UNIT_LAYERS && low->plan->sharding == PW_SHARDING_ZERO3 ? low->plan->gather_pieces : 1;
    for (int64_t i = 0; i < pieces; i++) /* in order on the stream, so that the last one's signal speaks for all */
        collective_add(low, ops, PW_COLLECTIVE_ALL_GATHER, low->plan->replicas > 1 ? GROUP_SHARD : GROUP_DATA,
                       bytes / (double)pieces, CATEGORY_DATA, STREAM_DATA, wait, signal);
    if (bucket->experts > 0)
        collective_add(low, ops, PW_COLLECTIVE_ALL_GATHER, GROUP_EXPERT_DATA, bucket->experts * low->plan->parameter_wire_bytes,
                       CATEGORY_DATA, STREAM_DATA, wait, signal);
}

void reduce_add(lowering *low, list *ops, double parameters, double experts) {
    const pw_plan *plan = low->plan;
    bool scatters = plan->sharding != PW_SHARDING_NONE, apart = scatters && plan->replicas > 1;
    double bytes = parameters * plan->gradient_wire_bytes;
    collective_add(low, ops, scatters ? PW_COLLECTIVE_REDUCE_SCATTER : PW_COLLECTIVE_ALL_REDUCE,
                   apart ? GROUP_SHARD : GROUP_DATA, bytes, CATEGORY_DATA, STREAM_DATA, SLOT_COMPUTE,
                   apart ? SLOT_SHARD : SLOT_REDUCED);
    if (apart)
        collective_add(low, ops, PW_COLLECTIVE_ALL_REDUCE, GROUP_REPLICA, bytes / (double)plan->shards, CATEGORY_DATA,
                       STREAM_REPLICA, SLOT_SHARD, SLOT_REDUCED);
    if (experts > 0)
        collective_add(low, ops, scatters ? PW_COLLECTIVE_REDUCE_SCATTER : PW_COLLECTIVE_ALL_REDUCE, GROUP_EXPERT_DATA,
                       experts * plan->gradient_wire_bytes, CATEGORY_DATA, STREAM_DATA, SLOT_COMPUTE, SLOT_REDUCED);
    offload_gradients(low, ops, parameters, experts, SLOT_REDUCED);
}

static uint32_t layer_template(const layer_templates *of, pw_pass_kind pass) {
    switch (pass) {
        case PW_PASS_FORWARD: return of->forward;
        case PW_PASS_BACKWARD: return of->backward;
        case PW_PASS_INPUT: return of->input;
        default: return of->weights;
    }
}

/* Equal neighbours are one loop. */
void layers_add(lowering *low, list *ops, const unit *of, pw_pass_kind pass) {
    bool backward = pass != PW_PASS_FORWARD;
    int64_t length;
    for (int64_t done = 0; done < of->layers; done += length) {
        int64_t from = backward ? of->first + of->layers - 1 - done : of->first + done, step = backward ? -1 : 1;
        pw_layer_kind kind = pw_model_layer_kind(low->plan->model, from);
        for (length = 1; done + length < of->layers; length++)
            if (pw_model_layer_kind(low->plan->model, from + step * length) != kind ||
                (backward && !pw_plan_reaches(low->plan, from + step * length)))
                break;
        if (backward && !pw_plan_reaches(low->plan, from)) break; /* frozen, and so are those below */
        uint32_t template_index = layer_template(&low->layers[kind], pass);
        if (!low->plan->desc->offload_activations) call_add(low, ops, template_index, length);
        else
            for (int64_t i = 0; i < length; i++) offload_layer(low, ops, from + step * i, template_index, backward);
    }
}

void unit_add(lowering *low, list *ops, const unit *bucket, bool backward) {
    switch (bucket->kind) {
        case UNIT_EMBEDDING:
            if (backward && !pw_plan_trains_embedding(low->plan)) return;
            embedding_add(low, ops, backward);
            break;
        case UNIT_HEAD: head_add(low, ops, backward); break;
        case UNIT_PREDICTION: prediction_add(low, ops, backward); break;
        case UNIT_LAYERS: layers_add(low, ops, bucket, backward ? PW_PASS_BACKWARD : PW_PASS_FORWARD); return;
    }
    host_wait_add(low, ops, SLOT_COMPUTE);
}

static double stretch_parameters(const pw_plan *plan, int64_t first, int64_t layers) {
    return pw_plan_layers_trained(plan, first, layers) + pw_plan_layers_experts(plan, first, layers);
}

/* Layers share buckets while they fit into one, under zero3 each is one; the ends of the model have their own. */
static void split_units(lowering *low, chunk_templates *to) {
    const pw_plan *plan = low->plan;
    double limit = plan->sharding == PW_SHARDING_ZERO3 ? 0 : plan->bucket_bytes;
    list units = {0};
    if (to->embedding)
        *(unit *)list_add(low, &units, sizeof(unit)) = 
            (unit){UNIT_EMBEDDING, 0, 0, pw_plan_trains_embedding(plan) ? pw_plan_embedding_parameters(plan) : 0, 0};
    int64_t layers;
    for (int64_t done = 0; done < to->layers; done += layers) {
        for (layers = 1; done + layers < to->layers; layers++)
            if (stretch_parameters(plan, to->first + done, layers + 1) * plan->gradient_wire_bytes > limit) break;
        *(unit *)list_add(low, &units, sizeof(unit)) =
            (unit){UNIT_LAYERS, to->first + done, layers, pw_plan_layers_trained(plan, to->first + done, layers),
                   pw_plan_layers_experts(plan, to->first + done, layers)};
    }
    if (to->head) *(unit *)list_add(low, &units, sizeof(unit)) = 
            (unit){UNIT_HEAD, 0, 0, pw_plan_trains_head(plan) ? pw_plan_head_parameters(plan) : 0, 0};
    if (to->head && plan->model->prediction_layers)
        *(unit *)list_add(low, &units, sizeof(unit)) =
            (unit){UNIT_PREDICTION, 0, 0, pw_plan_prediction_parameters(plan),
                   (double)plan->model->prediction_layers * pw_plan_layers_experts(plan, plan->shape.layers - 1, 1)};
    to->units = units.items;
    to->unit_count = units.count;
    for (uint32_t i = 0; i < units.count; i++) {
        to->parameters += to->units[i].parameters;
        to->experts += to->units[i].experts;
    }
}

void wait_add(lowering *low, list *ops, int16_t slot, uint32_t category) {
    op_add(low, ops, PW_OP_DELAY, STREAM_COMPUTE, category)->waits[0] = slot;
}

static uint32_t forward_first(lowering *low, const chunk_templates *of) {
    list ops = {0};
    for (uint32_t i = 0; i < of->unit_count; i++) {
        if (i + 1 < of->unit_count)
            gather_add(low, &ops, &of->units[i + 1], PW_NO_SLOT, i % 2 ? SLOT_PARAMETERS_EVEN : SLOT_PARAMETERS_ODD);
        wait_add(low, &ops, i == 0 ? SLOT_PARAMETERS : i % 2 ? SLOT_PARAMETERS_ODD : SLOT_PARAMETERS_EVEN, CATEGORY_DATA);
        unit_add(low, &ops, &of->units[i], false);
    }
    return template_add(low, "first forward pass", &ops);
}

/* reduces: gradients leave, behind the pass or after it. */
static void backward_add(lowering *low, list *ops, const chunk_templates *of, bool reduces) {
    uint32_t accumulate = accumulate_segment(low, of->parameters + of->experts);
    bool behind = reduces && low->reduces_behind;
    for (uint32_t i = of->unit_count; i-- > 0;) {
        unit_add(low, ops, &of->units[i], true);
        if (behind && i > 0) reduce_add(low, ops, of->units[i].parameters, of->units[i].experts);
    }
    compute_add(low, ops, accumulate, SLOT_SCATTER, CATEGORY_COMPUTE);
    if (behind && of->unit_count) reduce_add(low, ops, of->units[0].parameters, of->units[0].experts);
    if (reduces && !behind) {
        reduce_add(low, ops, of->parameters, of->experts);
        wait_add(low, ops, SLOT_REDUCED, CATEGORY_DATA);
    }
}

static bool same_kinds(const pw_model_desc *model, int64_t a, int64_t b, int64_t layers) {
    for (int64_t i = 0; i < layers; i++)
        if (pw_model_layer_kind(model, a + i) != pw_model_layer_kind(model, b + i)) return false;
    return true;
}

const chunk_templates *lower_chunk(lowering *low, int64_t stage, int64_t chunk) {
    int64_t layers = pw_plan_layers(low->plan, stage, chunk), first = pw_plan_first_layer(low->plan, stage, chunk);
    bool embedding = pw_plan_has_embedding(low->plan, stage, chunk), head = pw_plan_has_head(low->plan, stage, chunk);
    const chunk_templates *known = low->chunks.items;
    for (uint32_t i = 0; i < low->chunks.count; i++)
        if (known[i].layers == layers && known[i].embedding == embedding && known[i].head == head &&
            same_kinds(low->plan->model, known[i].first, first, layers))
            return &known[i];
    chunk_templates made = {.first = first, .layers = layers, .embedding = embedding, .head = head};
    split_units(low, &made);
    if (low->plan->sharding == PW_SHARDING_ZERO3) {
        sharded_passes(low, &made);
        chunk_templates *kept = list_add(low, &low->chunks, sizeof made);
        *kept = made;
        return kept;
    }
    bool each = !low->reduces_once && pw_plan_shares_data(low->plan);
    list forward = {0}, backward = {0};
    for (uint32_t i = 0; i < made.unit_count; i++) unit_add(low, &forward, &made.units[i], false);
    backward_add(low, &backward, &made, each);
    made.forward = made.forward_first = template_add(low, "forward pass", &forward);
    made.backward = made.backward_last = template_add(low, "backward pass", &backward);
    if (low->gathers_parameters) made.forward_first = forward_first(low, &made);
    if (low->reduces_behind && !each) {
        list last = {0};
        backward_add(low, &last, &made, true);
        made.backward_last = template_add(low, "last backward pass", &last);
    }
    if (low->plan->order->splits) lower_split_chunk(low, &made, each);
    chunk_templates *place = list_add(low, &low->chunks, sizeof made);
    *place = made;
    return place;
}
