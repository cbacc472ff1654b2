/* Templates: a layer's passes, the ends of the model, the chunks of a stage.
 *
 * A tensor-parallel collective is exposed in the share tp_exposed that the stack's row states: that share comes before the
 * multiply which it feeds (after the one which it drains), the rest runs beside the multiply, as pipelined (chunked)
 * overlap does. What the multiply cannot cover is exposed as well; that comes out of the execution. The tensor stream is
 * served in order, so the last part of a collective ends after all of it.
 */
#include <string.h>

#include "models/workload/lower.h"

void *list_add(lowering *low, list *to, size_t size) {
    if (to->count == to->capacity) {
        uint32_t capacity = to->capacity ? 2 * to->capacity : 16;
        void *items = capacity > to->capacity ? pw_arena_alloc(low->arena, capacity * size) : NULL;
        if (!items) {
            low->out_of_memory = true;
            if (to->capacity) return to->items; /* nothing is kept of such a job */
            return &low->spare;
        }
        if (to->count) memcpy(items, to->items, to->count * size);
        to->items = items;
        to->capacity = capacity;
    }
    void *item = (char *)to->items + to->count++ * size;
    memset(item, 0, size);
    return item;
}

pw_op *op_add(lowering *low, list *ops, pw_op_kind kind, uint16_t stream, uint32_t category) {
    pw_op *op = list_add(low, ops, sizeof *op);
    *op = (pw_op){.kind = kind, .stream = stream, .category = category, PW_OP_INIT};
    return op;
}

void compute_add(lowering *low, list *ops, uint32_t segment, int16_t wait, uint32_t category) {
    if (segment == PW_NONE) return;
    pw_op *op = op_add(low, ops, PW_OP_COMPUTE, STREAM_COMPUTE, category);
    op->compute.segment = segment;
    op->waits[0] = wait;
    op->signal = SLOT_COMPUTE;
}

void collective_add(lowering *low, list *ops, pw_collective_kind kind, enum group group, double bytes, uint32_t category,
                    uint16_t stream, int16_t wait, int16_t signal) {
    pw_op *op = op_add(low, ops, PW_OP_COLLECTIVE, stream, category);
    op->collective.kind = kind;
    op->collective.algorithm = PW_ALGORITHM_AUTO;
    op->collective.group_role = group;
    op->collective.bytes = bytes;
    op->waits[0] = wait;
    op->signal = signal;
}

uint32_t template_add(lowering *low, const char *name, const list *ops) {
    *(pw_template *)list_add(low, &low->templates, sizeof(pw_template)) =
        (pw_template){.name = name, .ops = ops->items, .count = ops->count};
    return low->templates.count - 1;
}

static void call_add(lowering *low, list *ops, uint32_t template_index, int64_t times) {
    if (times <= 0) return;
    if (times > 1) {
        pw_op *loop = op_add(low, ops, PW_OP_LOOP, 0, 0);
        loop->loop.count = (uint32_t)times;
        loop->loop.length = 1;
    }
    op_add(low, ops, PW_OP_CALL, 0, 0)->call.template_index = template_index;
}

/* --- A block: gather, multiply, scatter ------------------------------------------------------------------------- */

static void tensor_add(lowering *low, list *ops, pw_collective_kind kind, double bytes, int16_t wait, int16_t signal) {
    if (bytes > 0)
        collective_add(low, ops, kind, GROUP_TENSOR, bytes, CATEGORY_TENSOR, STREAM_TENSOR, wait, signal);
}

typedef struct block {
    uint32_t norm, multiply; /* segments; multiply PW_NONE: the ring below */
    const layer_segments *ring;
    double gather_bytes, scatter_bytes, ring_bytes;
    double regather_bytes; /* of the input, gathered again for the weights' gradient; 0: none */
    bool backward;
} block;

/* Own keys first; while they are worked on, the next ones come round. */
static void ring_add(lowering *low, list *ops, const block *b) {
    const pw_plan *plan = low->plan;
    for (int64_t step = 1; step <= plan->c; step++) {
        bool first = step == 1, last = step == plan->c;
        if (!first) compute_add(low, ops, b->ring->ring_next, SLOT_KEYS, CATEGORY_COMPUTE);
        if (!last) {
            pw_op *send = op_add(low, ops, PW_OP_SEND, STREAM_CONTEXT_SEND, CATEGORY_CONTEXT);
            send->message.peer_role = PEER_RING_NEXT;
            send->message.channel = CHANNEL_RING;
            send->message.tag = step;
            send->message.bytes = b->ring_bytes;
            send->waits[0] = first ? SLOT_COMPUTE : SLOT_KEYS;
            pw_op *recv = op_add(low, ops, PW_OP_RECV, STREAM_CONTEXT_RECV, CATEGORY_CONTEXT);
            *recv = *send;
            recv->kind = PW_OP_RECV;
            recv->stream = STREAM_CONTEXT_RECV;
            recv->message.peer_role = PEER_RING_PREVIOUS;
            recv->signal = SLOT_KEYS;
        }
        if (first) compute_add(low, ops, b->ring->ring_first, PW_NO_SLOT, CATEGORY_COMPUTE);
    }
}

static void multiply_add(lowering *low, list *ops, const block *b, int16_t wait) {
    if (!b->ring) {
        compute_add(low, ops, b->multiply, wait, CATEGORY_COMPUTE);
        return;
    }
    compute_add(low, ops, b->backward ? b->ring->attention_out : b->ring->attention_in, wait, CATEGORY_COMPUTE);
    ring_add(low, ops, b);
    compute_add(low, ops, b->backward ? b->ring->attention_in : b->ring->attention_out, PW_NO_SLOT, CATEGORY_COMPUTE);
}

static void block_add(lowering *low, list *ops, const block *b) {
    const pw_plan *plan = low->plan;
    double exposed = plan->stack.tp_exposed;
    if (plan->t == 1) {
        multiply_add(low, ops, b, PW_NO_SLOT);
    } else if (plan->sequence_parallel) {
        compute_add(low, ops, b->norm, SLOT_SCATTER, CATEGORY_COMPUTE);
        tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, exposed * b->gather_bytes, SLOT_COMPUTE, SLOT_GATHER);
        tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, (1 - exposed) * b->gather_bytes, SLOT_COMPUTE, PW_NO_SLOT);
        tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, b->regather_bytes, SLOT_COMPUTE, PW_NO_SLOT);
        tensor_add(low, ops, PW_COLLECTIVE_REDUCE_SCATTER, (1 - exposed) * b->scatter_bytes, SLOT_COMPUTE, SLOT_SCATTER);
        multiply_add(low, ops, b, SLOT_GATHER);
        tensor_add(low, ops, PW_COLLECTIVE_REDUCE_SCATTER, exposed * b->scatter_bytes, SLOT_COMPUTE, SLOT_SCATTER);
    } else {
        tensor_add(low, ops, PW_COLLECTIVE_ALL_REDUCE, (1 - exposed) * b->scatter_bytes, SLOT_COMPUTE, PW_NO_SLOT);
        multiply_add(low, ops, b, SLOT_SCATTER);
        tensor_add(low, ops, PW_COLLECTIVE_ALL_REDUCE, exposed * b->scatter_bytes, SLOT_COMPUTE, SLOT_SCATTER);
    }
}

/* --- Layers ------------------------------------------------------------------------------------------------------ */

static double hidden16(const pw_plan *plan) { return 2 * (double)plan->tokens * (double)plan->shape.hidden; }
static double ring_bytes(const pw_plan *plan) { /* keys and values of one rank */
    return 2 * 2 * (double)plan->tokens * (double)plan->shape.key_width / (double)plan->t;
}

static void layer_forward_add(lowering *low, list *ops) {
    const pw_plan *plan = low->plan;
    const layer_segments *s = &low->forward;
    double hidden = hidden16(plan);
    bool small = plan->precision == PW_PRECISION_FP8 && plan->stack.fp8_gather;
    block b = {.norm = s->attention_norm, .multiply = s->attention, .ring = plan->c > 1 ? s : NULL,
               .gather_bytes = small ? hidden / 2 : hidden, .scatter_bytes = hidden, .ring_bytes = ring_bytes(plan)};
    if (b.ring || b.multiply != PW_NONE) block_add(low, ops, &b);
    b.norm = s->mlp_norm;
    b.multiply = s->mlp;
    b.ring = NULL;
    block_add(low, ops, &b);
}

static void layer_backward_add(lowering *low, list *ops) {
    const pw_plan *plan = low->plan;
    const layer_segments *s = &low->backward;
    double hidden = hidden16(plan);
    bool small = plan->precision == PW_PRECISION_FP8 && plan->stack.fp8_gather;
    block b = {.norm = s->mlp_norm, .multiply = s->mlp, .backward = true, .gather_bytes = hidden, .scatter_bytes = hidden,
               .regather_bytes = plan->stack.tp_regather ? (small ? hidden / 2 : hidden) : 0,
               .ring_bytes = 2 * ring_bytes(plan)}; /* keys, values and their gradients */
    if (b.multiply != PW_NONE) block_add(low, ops, &b);
    b.norm = s->attention_norm;
    b.multiply = s->attention;
    b.ring = plan->c > 1 ? s : NULL;
    block_add(low, ops, &b);
}

void lower_layers(lowering *low) {
    list forward = {0}, backward = {0};
    layer_forward_add(low, &forward);
    low->layer_forward = template_add(low, "layer", &forward);
    if (low->plan->desc->recompute == PW_RECOMPUTE_FULL) call_add(low, &backward, low->layer_forward, 1);
    layer_backward_add(low, &backward);
    low->layer_backward = template_add(low, "layer backward", &backward);
}

/* --- The ends of the model --------------------------------------------------------------------------------------- */

static void embedding_add(lowering *low, list *ops, bool backward) {
    const pw_plan *plan = low->plan;
    double hidden = hidden16(plan);
    if (!backward) {
        compute_add(low, ops, low->embedding_forward, SLOT_SCATTER, CATEGORY_COMPUTE);
        if (plan->t > 1)
            tensor_add(low, ops, plan->sequence_parallel ? PW_COLLECTIVE_REDUCE_SCATTER : PW_COLLECTIVE_ALL_REDUCE, hidden,
                       SLOT_COMPUTE, SLOT_SCATTER);
        return;
    }
    if (plan->sequence_parallel) tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, hidden, SLOT_COMPUTE, SLOT_GATHER);
    compute_add(low, ops, low->embedding_backward, plan->sequence_parallel ? SLOT_GATHER : SLOT_SCATTER, CATEGORY_COMPUTE);
}

static void head_add(lowering *low, list *ops, bool backward) {
    const pw_plan *plan = low->plan;
    double hidden = hidden16(plan);
    if (!backward) {
        compute_add(low, ops, low->head_norm_forward, SLOT_SCATTER, CATEGORY_COMPUTE);
        if (plan->sequence_parallel) tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, hidden, SLOT_COMPUTE, SLOT_GATHER);
        compute_add(low, ops, low->head_forward, SLOT_GATHER, CATEGORY_COMPUTE);
        if (plan->t == 1) return;
        /* cross entropy over a split vocabulary: the largest logit, the sum of exponents, the target's logit */
        for (int i = 0; i < 3; i++)
            tensor_add(low, ops, PW_COLLECTIVE_ALL_REDUCE, 4 * (double)plan->tokens, SLOT_COMPUTE, SLOT_SCATTER);
        return;
    }
    if (plan->sequence_parallel && plan->stack.tp_regather)
        tensor_add(low, ops, PW_COLLECTIVE_ALL_GATHER, hidden, SLOT_COMPUTE, PW_NO_SLOT);
    compute_add(low, ops, low->head_backward, SLOT_SCATTER, CATEGORY_COMPUTE);
    if (plan->t > 1)
        tensor_add(low, ops, plan->sequence_parallel ? PW_COLLECTIVE_REDUCE_SCATTER : PW_COLLECTIVE_ALL_REDUCE, hidden,
                   SLOT_COMPUTE, SLOT_SCATTER);
    compute_add(low, ops, low->head_norm_backward, SLOT_SCATTER, CATEGORY_COMPUTE);
}

/* --- Chunks ------------------------------------------------------------------------------------------------------ */

void gather_add(lowering *low, list *ops, const unit *bucket, int16_t signal) {
    collective_add(low, ops, PW_COLLECTIVE_ALL_GATHER, GROUP_DATA, bucket->parameters * low->plan->parameter_wire_bytes,
                   CATEGORY_DATA, STREAM_DATA, PW_NO_SLOT, signal);
}

void reduce_add(lowering *low, list *ops, double parameters) {
    collective_add(low, ops, low->plan->zero1 ? PW_COLLECTIVE_REDUCE_SCATTER : PW_COLLECTIVE_ALL_REDUCE, GROUP_DATA,
                   parameters * low->plan->gradient_wire_bytes, CATEGORY_DATA, STREAM_DATA, SLOT_COMPUTE, SLOT_REDUCED);
}

static void unit_add(lowering *low, list *ops, const unit *bucket, bool backward) {
    switch (bucket->kind) {
        case UNIT_EMBEDDING: embedding_add(low, ops, backward); break;
        case UNIT_HEAD: head_add(low, ops, backward); break;
        case UNIT_LAYERS: call_add(low, ops, backward ? low->layer_backward : low->layer_forward, bucket->layers); break;
    }
}

/* Layers share buckets while they fit into one; the ends of the model have their own. */
static void split_units(lowering *low, chunk_templates *to) {
    const pw_plan *plan = low->plan;
    double per_layer = pw_layer_parameters(plan->model, plan->t);
    int64_t together = (int64_t)(plan->bucket_bytes / (per_layer * plan->gradient_wire_bytes));
    if (together < 1) together = 1;
    list units = {0};
    if (to->embedding)
        *(unit *)list_add(low, &units, sizeof(unit)) = (unit){UNIT_EMBEDDING, 0, pw_plan_embedding_parameters(plan)};
    for (int64_t done = 0; done < to->layers; done += together) {
        int64_t layers = to->layers - done < together ? to->layers - done : together;
        *(unit *)list_add(low, &units, sizeof(unit)) = (unit){UNIT_LAYERS, (uint32_t)layers, (double)layers * per_layer};
    }
    if (to->head) *(unit *)list_add(low, &units, sizeof(unit)) = (unit){UNIT_HEAD, 0, pw_plan_head_parameters(plan)};
    to->units = units.items;
    to->unit_count = units.count;
    for (uint32_t i = 0; i < units.count; i++) to->parameters += to->units[i].parameters;
}

static void wait_add(lowering *low, list *ops, int16_t slot, uint32_t category) {
    op_add(low, ops, PW_OP_DELAY, STREAM_COMPUTE, category)->waits[0] = slot;
}

static uint32_t forward_first(lowering *low, const chunk_templates *of) {
    list ops = {0};
    for (uint32_t i = 0; i < of->unit_count; i++) {
        if (i + 1 < of->unit_count)
            gather_add(low, &ops, &of->units[i + 1], i % 2 ? SLOT_PARAMETERS_EVEN : SLOT_PARAMETERS_ODD);
        wait_add(low, &ops, i == 0 ? SLOT_PARAMETERS : i % 2 ? SLOT_PARAMETERS_ODD : SLOT_PARAMETERS_EVEN, CATEGORY_DATA);
        unit_add(low, &ops, &of->units[i], false);
    }
    return template_add(low, "first forward pass", &ops);
}

static void backward_add(lowering *low, list *ops, const chunk_templates *of, bool reduces) {
    uint32_t accumulate = accumulate_segment(low, of->parameters);
    for (uint32_t i = of->unit_count; i-- > 0;) {
        unit_add(low, ops, &of->units[i], true);
        if (reduces && i > 0) reduce_add(low, ops, of->units[i].parameters);
    }
    compute_add(low, ops, accumulate, SLOT_SCATTER, CATEGORY_COMPUTE);
    if (reduces && of->unit_count) reduce_add(low, ops, of->units[0].parameters);
}

const chunk_templates *lower_chunk(lowering *low, int64_t stage, int64_t chunk) {
    int64_t layers = pw_plan_layers(low->plan, stage, chunk);
    bool embedding = pw_plan_has_embedding(low->plan, stage, chunk), head = pw_plan_has_head(low->plan, stage, chunk);
    const chunk_templates *known = low->chunks.items;
    for (uint32_t i = 0; i < low->chunks.count; i++)
        if (known[i].layers == layers && known[i].embedding == embedding && known[i].head == head) return &known[i];
    chunk_templates made = {.layers = layers, .embedding = embedding, .head = head};
    split_units(low, &made);
    list forward = {0}, backward = {0};
    for (uint32_t i = 0; i < made.unit_count; i++) unit_add(low, &forward, &made.units[i], false);
    backward_add(low, &backward, &made, false);
    made.forward = made.forward_first = template_add(low, "forward pass", &forward);
    made.backward = made.backward_last = template_add(low, "backward pass", &backward);
    if (low->gathers_parameters) made.forward_first = forward_first(low, &made);
    if (low->reduces_behind) {
        list last = {0};
        backward_add(low, &last, &made, true);
        made.backward_last = template_add(low, "last backward pass", &last);
    }
    chunk_templates *place = list_add(low, &low->chunks, sizeof made);
    *place = made;
    return place;
}
