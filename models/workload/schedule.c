/* The program of a pipeline stage: passes and messages in the order in which Megatron-LM issues them
 * (megatron/core/pipeline_parallel/schedules.py), then gradients, optimizer and parameters.
 *
 * Passes are numbered k = 0, 1, ... in each direction. In groups of p micro-batches a stage works through its v chunks:
 * pass k is chunk (k mod pv) / p of micro-batch (k div pv) p + k mod p; backward the chunks count down. A stage runs its
 * warm-up of forward passes, then pairs (forward, backward), then the backward passes that are left.
 *
 * Without overlap a message holds up the compute stream: a pass waits for everything sent and received so far. With
 * overlap it waits for its own input; the next input is asked for as soon as this pass is issued.
 *
 * A message is named by the pass that receives it: tag = chunk x 2^32 + micro-batch, one channel per direction. Pairs in
 * the middle repeat every pv passes with micro-batches p further on, so they are a LOOP whose argument is that shift.
 */
#include <stdio.h>

#include "models/workload/lower.h"
#include "models/workload/trainable.h"

typedef struct stage_writer {
    lowering *low;
    const pw_plan *plan;
    int64_t stage, total, warmup;
    const chunk_templates **chunks;
    list ops;
    bool in_loop;
} stage_writer;

static int64_t chunk_of(const stage_writer *w, int64_t k, bool backward) {
    int64_t chunk = k % (w->plan->p * w->plan->v) / w->plan->p;
    return backward ? w->plan->v - 1 - chunk : chunk;
}
static int64_t micro_of(const stage_writer *w, int64_t k) {
    if (w->plan->v == 1) return k;
    return k / (w->plan->p * w->plan->v) * w->plan->p + k % w->plan->p;
}

/* The first forward pass has no input, the last no output; backward the other way round. */
static bool is_end(const stage_writer *w, int64_t chunk, bool first) {
    return first ? w->stage == 0 && chunk == 0 : w->stage == w->plan->p - 1 && chunk == w->plan->v - 1;
}

double message_bytes(const pw_plan *plan) {
    double bytes = plan->format.element_bytes * (double)plan->tokens * (double)plan->shape.hidden;
    return plan->sequence_parallel || plan->stack.scatter_gather ? bytes / (double)plan->t : bytes;
}

void arrival_add(lowering *low, list *ops, pw_op *receive, int16_t share, int16_t done) {
    const pw_plan *plan = low->plan;
    uint16_t stream = receive->stream;
    bool gathers = plan->t > 1 && plan->stack.scatter_gather && !plan->sequence_parallel;
    receive->signal = gathers ? share : done;
    if (gathers) /* every tensor-parallel rank got 1/t; on its own stream, so that it holds up no layer */
        collective_add(low, ops, PW_COLLECTIVE_ALL_GATHER, GROUP_TENSOR, message_bytes(plan) * (double)plan->t, CATEGORY_TENSOR,
                       stream, share, done);
}

static void message_add(stage_writer *w, pw_op_kind kind, bool backward, int64_t receiving_chunk, int64_t micro) {
    lowering *low = w->low;
    const pw_plan *plan = w->plan;
    bool receives = kind == PW_OP_RECV;
    uint16_t stream = receives ? (backward ? STREAM_RECV_BACKWARD : STREAM_RECV_FORWARD)
                               : (backward ? STREAM_SEND_BACKWARD : STREAM_SEND_FORWARD);
    pw_op *op = op_add(low, &w->ops, kind, stream, CATEGORY_PIPELINE);
    op->message.peer_role = receives != backward ? PEER_PREVIOUS : PEER_NEXT;
    op->message.channel = backward ? CHANNEL_BACKWARD : CHANNEL_FORWARD;
    op->message.tag = (receiving_chunk << 32) + micro + (w->in_loop ? PW_ARGUMENT : 0);
    op->message.bytes = message_bytes(plan);
    op->waits[0] = SLOT_COMPUTE;
    op->waits[1] = SLOT_SCATTER;
    if (receives) arrival_add(low, &w->ops, op, SLOT_SHARE, backward ? SLOT_RECV_BACKWARD : SLOT_RECV_FORWARD);
    else op->signal = backward ? SLOT_SEND_BACKWARD : SLOT_SEND_FORWARD;
}

/* Asks for the input of pass k, if there is such a pass and it has one from another stage. */
static void receive(stage_writer *w, int64_t k, bool backward) {
    if (k >= w->total) return;
    int64_t chunk = chunk_of(w, k, backward);
    if (!is_end(w, chunk, !backward)) message_add(w, PW_OP_RECV, backward, chunk, micro_of(w, k));
}

static void send(stage_writer *w, int64_t k, bool backward) {
    int64_t chunk = chunk_of(w, k, backward);
    if (is_end(w, chunk, backward)) return;
    bool wraps = backward ? w->stage == 0 : w->stage == w->plan->p - 1;
    message_add(w, PW_OP_SEND, backward, chunk + (wraps ? (backward ? -1 : 1) : 0), micro_of(w, k));
}

static void pass(stage_writer *w, int64_t k, bool backward) {
    lowering *low = w->low;
    int64_t chunk = chunk_of(w, k, backward), micro = micro_of(w, k);
    const chunk_templates *of = w->chunks[chunk];
    if (w->plan->p > 1) {
        pw_op *wait = op_add(low, &w->ops, PW_OP_DELAY, STREAM_COMPUTE, CATEGORY_PIPELINE);
        wait->waits[0] = backward ? SLOT_RECV_BACKWARD : SLOT_RECV_FORWARD;
        if (!w->plan->stack.overlap_pipeline) {
            wait->waits[1] = backward ? SLOT_RECV_FORWARD : SLOT_RECV_BACKWARD;
            wait->waits[2] = SLOT_SEND_FORWARD;
            wait->waits[3] = SLOT_SEND_BACKWARD;
        }
        wait->signal = SLOT_COMPUTE;
    }
    pw_op *call = op_add(low, &w->ops, PW_OP_CALL, 0, 0);
    bool last = micro == w->plan->micro_batches - 1;
    if (backward) call->call.template_index = last ? of->backward_last : of->backward;
    else call->call.template_index = micro == 0 ? of->forward_first : of->forward;
    if (!backward && micro == 0 && low->gathers_parameters && chunk + 1 < w->plan->v && w->chunks[chunk + 1]->unit_count)
        gather_add(low, &w->ops, &w->chunks[chunk + 1]->units[0], PW_NO_SLOT, SLOT_PARAMETERS);
}

/* Forward pass warmup + i and backward pass i. */
static void pair(stage_writer *w, int64_t i) {
    int64_t k = w->warmup + i;
    bool overlap = w->plan->stack.overlap_pipeline, plain = w->plan->v == 1;
    pass(w, k, false);
    if (overlap) {
        send(w, k, false);
        receive(w, k + 1, false);
        pass(w, i, true);
        send(w, i, true);
        receive(w, i + 1, true);
    } else if (plain) {
        send(w, k, false);
        receive(w, i, true);
        pass(w, i, true);
        send(w, i, true);
        receive(w, k + 1, false);
    } else {
        pass(w, i, true);
        send(w, k, false);
        receive(w, k + 1, false);
        send(w, i, true);
        receive(w, i + 1, true);
    }
}

static void pairs(stage_writer *w) {
    int64_t left = w->total - w->warmup, period = w->plan->v == 1 ? 1 : w->plan->p * w->plan->v, i = 0;
    int64_t rounds = left / period - 2; /* the first and the last full round differ: first and last micro-batches */
    if (rounds >= 2) {
        for (; i < period; i++) pair(w, i);
        uint32_t at = w->ops.count;
        op_add(w->low, &w->ops, PW_OP_LOOP, 0, 0);
        w->in_loop = true;
        for (; i < 2 * period; i++) pair(w, i);
        w->in_loop = false;
        pw_op *loop = (pw_op *)w->ops.items + at;
        if (!w->low->out_of_memory) {
            loop->loop.count = (uint32_t)rounds;
            loop->loop.length = w->ops.count - at - 1;
            loop->loop.stride = w->plan->v == 1 ? 1 : w->plan->p;
        }
        i = (1 + rounds) * period;
    }
    for (; i < left; i++) pair(w, i);
}

static void passes(stage_writer *w) {
    bool asks_late = w->plan->v == 1 && !w->plan->stack.overlap_pipeline; /* for gradients: just before each pass */
    receive(w, 0, false);
    for (int64_t k = 0; k < w->warmup; k++) {
        pass(w, k, false);
        send(w, k, false);
        receive(w, k + 1, false);
    }
    if (!asks_late) receive(w, 0, true);
    pairs(w);
    for (int64_t k = w->total - w->warmup; k < w->total; k++) {
        if (asks_late) receive(w, k, true);
        pass(w, k, true);
        send(w, k, true);
        if (!asks_late) receive(w, k + 1, true);
    }
}

/* --- Gradients, optimizer, parameters ---------------------------------------------------------------------------- */

static void finish_step(stage_writer *w) {
    lowering *low = w->low;
    const pw_plan *plan = w->plan;
    double parameters = pw_plan_stage_trained(plan, w->stage), experts = pw_plan_stage_experts(plan, w->stage);
    bool shares_data = pw_plan_shares_data(plan);
    if (shares_data && low->reduces_once && !low->reduces_behind && plan->sharding != PW_SHARDING_ZERO3)
        reduce_add(low, &w->ops, parameters, experts);
    bool apart = plan->p > 1 && plan->order->placement == PW_PLACE_ROUND; /* the ends of the model */
    if (plan->model->tied && plan->model->head != PW_HEAD_SPAN && apart && (w->stage == 0 || w->stage == plan->p - 1))
        collective_add(low, &w->ops, PW_COLLECTIVE_ALL_REDUCE, GROUP_EMBEDDING,
                       (double)(plan->vocabulary / plan->t) * (double)plan->shape.hidden * plan->gradient_wire_bytes /
                           (double)(plan->sharding >= PW_SHARDING_ZERO2 ? plan->shards : 1),
                       CATEGORY_PIPELINE, STREAM_DATA, SLOT_COMPUTE, SLOT_REDUCED);
    uint32_t norm = optimizer_segment(low, parameters, experts, 0, true);
    if (norm == PW_NONE) op_add(low, &w->ops, PW_OP_DELAY, STREAM_COMPUTE, CATEGORY_OPTIMIZER)->waits[0] = SLOT_REDUCED;
    compute_add(low, &w->ops, norm, SLOT_REDUCED, CATEGORY_OPTIMIZER);
    bool late = plan->desc->optimizer_check == PW_CHECK_LATE;
    if (plan->t * plan->p > 1 && !late) /* the norm of all gradients; every stage waits here for the slowest */
        collective_add(low, &w->ops, PW_COLLECTIVE_ALL_REDUCE, GROUP_MODEL, 4, CATEGORY_MODEL, STREAM_DATA, SLOT_COMPUTE,
                       SLOT_NORM);
    if (plan->desc->offload_optimizer) {
        if (!shares_data && plan->sharding != PW_SHARDING_ZERO3) offload_gradients(low, &w->ops, parameters, experts, SLOT_COMPUTE);
        update_on_host(low, &w->ops, parameters, experts, pw_plan_stage_layers(plan, w->stage));
    } else {
        uint32_t update = optimizer_segment(low, parameters, experts, pw_plan_stage_tensors(plan, w->stage), false);
        compute_add(low, &w->ops, update, late ? PW_NO_SLOT : SLOT_NORM, CATEGORY_OPTIMIZER);
    }
    if (shares_data && !low->gathers_parameters && plan->sharding != PW_SHARDING_NONE && plan->sharding != PW_SHARDING_ZERO3)
        gather_add(low, &w->ops, &(unit){UNIT_LAYERS, 0, 0, parameters, experts}, SLOT_COMPUTE, PW_NO_SLOT);
}

uint32_t lower_stage(lowering *low, int64_t stage) {
    const pw_plan *plan = low->plan;
    stage_writer writer = {.low = low, .plan = plan, .stage = stage, .total = plan->micro_batches * plan->v,
                           .warmup = pw_plan_warmup(plan, stage)};
    writer.chunks = pw_arena_alloc(low->arena, (size_t)plan->v * sizeof *writer.chunks);
    if (!writer.chunks) {
        low->out_of_memory = true;
        return 0;
    }
    for (int64_t chunk = 0; chunk < plan->v && !low->out_of_memory; chunk++)
        writer.chunks[chunk] = lower_chunk(low, stage, chunk);
    if (low->out_of_memory) return 0;
    if (plan->order->splits) {
        split_passes_add(low, &writer.ops, stage, writer.chunks);
    } else {
        if (low->gathers_parameters && writer.chunks[0]->unit_count)
            gather_add(low, &writer.ops, &writer.chunks[0]->units[0], PW_NO_SLOT, SLOT_PARAMETERS);
        passes(&writer);
    }
    finish_step(&writer);
    char name[32];
    snprintf(name, sizeof name, "stage %lld", (long long)stage);
    const char *kept = pw_arena_text(low->arena, name);
    if (!kept) low->out_of_memory = true;
    return template_add(low, kept, &writer.ops);
}
