/* Passes and messages of schedules whose weight gradients are passes of their own: an order (order.h) becomes a program.
 *
 * A pass waits for its own input. The receive of the next input of the same chunk and direction is posted as soon as a
 * pass is issued, so transfers run behind computation. A message is named by the pass that receives it, as in schedule.c;
 * what goes down the stages and what comes up have streams of their own, so that neither holds up the other.
 *
 * The steady state repeats with micro-batches further on. It is found in the list and becomes a LOOP, whose argument is
 * that shift; so a program has as many operations as its beginning, its end and one round.
 */
#include "models/workload/lower.h"

/* --- Templates of a chunk --------------------------------------------------------------------------------------- */

/* Layers of a unit; the ends of the model do their whole backward pass with the input's gradient. */
static uint32_t input_pass(lowering *low, const chunk_templates *of) {
    list ops = {0};
    for (uint32_t i = of->unit_count; i-- > 0;) {
        if (of->units[i].kind == UNIT_LAYERS) layers_add(low, &ops, &of->units[i], PW_PASS_INPUT);
        else unit_add(low, &ops, &of->units[i], true);
    }
    return template_add(low, "backward pass (input)", &ops);
}

static uint32_t weights_pass(lowering *low, const chunk_templates *of, bool reduces) {
    list ops = {0};
    uint32_t accumulate = accumulate_segment(low, of->parameters + of->experts);
    bool behind = reduces && low->reduces_behind;
    for (uint32_t i = of->unit_count; i-- > 0;) {
        if (of->units[i].kind == UNIT_LAYERS) layers_add(low, &ops, &of->units[i], PW_PASS_WEIGHT);
        if (behind && i > 0) reduce_add(low, &ops, of->units[i].parameters, of->units[i].experts);
    }
    compute_add(low, &ops, accumulate, PW_NO_SLOT, CATEGORY_COMPUTE);
    if (behind && of->unit_count) reduce_add(low, &ops, of->units[0].parameters, of->units[0].experts);
    if (reduces && !behind) {
        reduce_add(low, &ops, of->parameters, of->experts);
        wait_add(low, &ops, SLOT_REDUCED, CATEGORY_DATA);
    }
    return template_add(low, reduces ? "last backward pass (weights)" : "backward pass (weights)", &ops);
}

void lower_split_chunk(lowering *low, chunk_templates *to, bool reduces_each) {
    to->input = input_pass(low, to);
    to->weights = to->weights_last = weights_pass(low, to, reduces_each);
    if (low->reduces_behind && !reduces_each) to->weights_last = weights_pass(low, to, true);
}

/* --- Pairs side by side ------------------------------------------------------------------------------------------ */

/* The same operations on the twin streams of a pass, with the twins of its slots. What all passes share has no twin. */
static uint16_t twin_stream(uint16_t stream) {
    bool shared = stream == STREAM_DATA || stream == STREAM_REPLICA || (stream >= STREAM_SEND_FORWARD && stream <= STREAM_RECV_BACKWARD) ||
                  (stream >= STREAM_SEND_FORWARD_2 && stream <= STREAM_RECV_BACKWARD_2);
    return shared ? stream : (uint16_t)(STREAM_COUNT + stream);
}
static int16_t twin_slot(int16_t slot) {
    bool shared = slot == PW_NO_SLOT || slot == SLOT_REDUCED || slot == SLOT_NORM || slot == SLOT_SHARD ||
                  (slot >= SLOT_PARAMETERS && slot <= SLOT_PARAMETERS_ODD) || slot == SLOT_RECV_FORWARD ||
                  slot == SLOT_RECV_BACKWARD || (slot >= SLOT_RECV_FORWARD_2 && slot <= SLOT_SHARE_2);
    return shared ? slot : (int16_t)(SLOT_COUNT + slot);
}

static uint32_t twin_template(lowering *low, uint32_t index) {
    for (uint32_t i = 0; i < low->twins.count; i++) {
        const template_twin *known = (const template_twin *)low->twins.items + i;
        if (known->of == index) return known->twin;
    }
    list ops = {0};
    const pw_template from = ((const pw_template *)low->templates.items)[index];
    for (uint32_t i = 0; i < from.count; i++) {
        pw_op *op = list_add(low, &ops, sizeof *op);
        *op = from.ops[i];
        if (op->kind == PW_OP_CALL) op->call.template_index = twin_template(low, op->call.template_index);
        if (op->kind == PW_OP_CALL || op->kind == PW_OP_LOOP) continue;
        op->stream = twin_stream(op->stream);
        for (int w = 0; w < PW_OP_WAITS; w++) op->waits[w] = twin_slot(op->waits[w]);
        op->signal = twin_slot(op->signal);
    }
    uint32_t twin = template_add(low, from.name, &ops);
    *(template_twin *)list_add(low, &low->twins, sizeof(template_twin)) = (template_twin){index, twin};
    return twin;
}

/* --- The list of passes ------------------------------------------------------------------------------------------ */

/* A pass with what sets it apart from its like. */
typedef struct marked {
    pw_pass pass;
    bool first, last; /* gathers parameters; finishes gradients */
    bool asks;        /* there is a next input to ask for */
    bool second;      /* of a pair */
} marked;

typedef struct writer {
    lowering *low;
    const pw_plan *plan;
    const chunk_templates *const *chunks;
    list *ops;
    list passes; /* marked */
    int64_t stage, micro_batches;
    bool in_loop;
} writer;

static void collect(void *object, const pw_pass *pass) {
    writer *w = object;
    bool weights = pass->kind == PW_PASS_WEIGHT;
    bool second = w->passes.count > 0 && ((const marked *)w->passes.items)[w->passes.count - 1].pass.paired;
    *(marked *)list_add(w->low, &w->passes, sizeof(marked)) =
        (marked){.pass = *pass, .first = pass->kind == PW_PASS_FORWARD && pass->micro == 0,
                 .asks = !weights && pass->micro + 1 < w->micro_batches, .second = second};
}

/* The last pass of each chunk that adds to gradients. */
static void mark_last(writer *w) {
    marked *passes = w->passes.items;
    for (int chunk = 0; chunk < w->plan->v; chunk++)
        for (uint32_t i = w->passes.count; i-- > 0;)
            if (passes[i].pass.chunk == chunk &&
                (passes[i].pass.kind == PW_PASS_WEIGHT || passes[i].pass.kind == PW_PASS_BACKWARD)) {
                passes[i].last = true;
                break;
            }
}

/* --- Messages ---------------------------------------------------------------------------------------------------- */

/* Whether a chunk's forward messages go up the stages, to the previous one. */
static bool goes_up(const pw_plan *plan, int64_t chunk) { return plan->order->placement != PW_PLACE_ROUND && chunk == 1; }

/* Chunk of the pass at the other end of a message: the next position for an output (previous for an input of F), turned
 * round for B. -1: there is none, or it is on this stage. */
static int64_t other_chunk(const writer *w, int64_t chunk, bool backward, bool receives) {
    const pw_plan *plan = w->plan;
    int64_t at = pw_plan_position(plan, w->stage, chunk) + (receives == backward ? 1 : -1);
    if (at < 0 || at >= plan->positions) return -1;
    if (plan->order->placement != PW_PLACE_V) return chunk; /* one chunk for each copy of the model */
    if ((at < plan->p) != (chunk == 0)) return -1;          /* the turn at the last stage */
    return chunk;
}

static int16_t input_slot(const writer *w, const pw_pass *pass) { /* PW_NO_SLOT: none, or from this stage */
    bool backward = pass->kind != PW_PASS_FORWARD;
    if (other_chunk(w, pass->chunk, backward, true) < 0) return PW_NO_SLOT;
    if (backward) return pass->chunk ? SLOT_RECV_BACKWARD_2 : SLOT_RECV_BACKWARD;
    return pass->chunk ? SLOT_RECV_FORWARD_2 : SLOT_RECV_FORWARD;
}

static void message_add(writer *w, const pw_pass *pass, int64_t micro, bool backward, bool receives) {
    lowering *low = w->low;
    const pw_plan *plan = w->plan;
    int64_t chunk = other_chunk(w, pass->chunk, backward, receives);
    if (chunk < 0) return;
    bool up = goes_up(plan, pass->chunk) != backward;
    static const uint16_t streams[2][2][2] = {/* [receives][backward][second chunk] */
        {{STREAM_SEND_FORWARD, STREAM_SEND_FORWARD_2}, {STREAM_SEND_BACKWARD, STREAM_SEND_BACKWARD_2}},
        {{STREAM_RECV_FORWARD, STREAM_RECV_FORWARD_2}, {STREAM_RECV_BACKWARD, STREAM_RECV_BACKWARD_2}}};
    uint16_t stream = streams[receives][backward][pass->chunk];
    pw_op *op = op_add(low, w->ops, receives ? PW_OP_RECV : PW_OP_SEND, stream, CATEGORY_PIPELINE);
    op->message.peer_role = receives == up ? PEER_NEXT : PEER_PREVIOUS;
    op->message.channel = backward ? CHANNEL_BACKWARD : CHANNEL_FORWARD;
    op->message.tag = (chunk << 32) + micro + (w->in_loop ? PW_ARGUMENT : 0);
    op->message.bytes = message_bytes(plan);
    if (!receives) {
        op->waits[0] = SLOT_COMPUTE;
        op->waits[1] = SLOT_SCATTER;
        return;
    }
    int16_t done = input_slot(w, &(pw_pass){.kind = backward ? PW_PASS_INPUT : PW_PASS_FORWARD, .chunk = pass->chunk});
    arrival_add(low, w->ops, op, pass->chunk ? SLOT_SHARE_2 : SLOT_SHARE, done);
}

/* --- Passes ------------------------------------------------------------------------------------------------------ */

static uint32_t template_of(const writer *w, const marked *m) {
    const chunk_templates *of = w->chunks[m->pass.chunk];
    switch ((pw_pass_kind)m->pass.kind) {
        case PW_PASS_FORWARD: return m->first ? of->forward_first : of->forward;
        case PW_PASS_BACKWARD: return m->last ? of->backward_last : of->backward;
        case PW_PASS_INPUT: return of->input;
        default: return m->last ? of->weights_last : of->weights;
    }
}

/* Parameters of the other chunk's first bucket, when one chunk has begun. */
static void gather_next(writer *w, const marked *m, int64_t leading) {
    int64_t next = m->pass.chunk == leading ? w->plan->v - 1 - leading : -1;
    if (w->low->gathers_parameters && m->first && next >= 0 && next != leading && w->chunks[next]->unit_count)
        gather_add(w->low, w->ops, &w->chunks[next]->units[0], PW_NO_SLOT, SLOT_PARAMETERS);
}

/* A wait on the compute stream of a pass or its twin. */
static void input_wait_add(writer *w, bool twin, int16_t one, int16_t other) {
    pw_op *wait = op_add(w->low, w->ops, PW_OP_DELAY, STREAM_COMPUTE, CATEGORY_PIPELINE);
    wait->waits[0] = one;
    wait->waits[1] = other;
    wait->signal = SLOT_COMPUTE;
    if (!twin) return;
    wait->stream = twin_stream(STREAM_COMPUTE);
    wait->waits[2] = SLOT_COMPUTE;
    wait->signal = twin_slot(SLOT_COMPUTE);
}

/* A forward and a backward pass that begin together on two compute streams; both are done before anything follows. */
static void pair_add(writer *w, const marked *forward, const marked *backward, int64_t leading) {
    lowering *low = w->low;
    int16_t one = input_slot(w, &forward->pass), other = input_slot(w, &backward->pass);
    input_wait_add(w, false, one, other);
    input_wait_add(w, true, PW_NO_SLOT, PW_NO_SLOT);
    op_add(low, w->ops, PW_OP_CALL, 0, 0)->call.template_index = template_of(w, forward);
    op_add(low, w->ops, PW_OP_CALL, 0, 0)->call.template_index = twin_template(low, template_of(w, backward));
    input_wait_add(w, false, twin_slot(SLOT_COMPUTE), twin_slot(SLOT_SCATTER));
    message_add(w, &forward->pass, forward->pass.micro, false, false);
    message_add(w, &backward->pass, backward->pass.micro, true, false);
    if (forward->asks) message_add(w, &forward->pass, forward->pass.micro + 1, false, true);
    if (backward->asks) message_add(w, &backward->pass, backward->pass.micro + 1, true, true);
    gather_next(w, forward, leading);
}

static void pass_add(writer *w, const marked *m, int64_t leading) {
    lowering *low = w->low;
    const pw_pass *pass = &m->pass;
    bool backward = pass->kind != PW_PASS_FORWARD;
    if (pass->kind == PW_PASS_WEIGHT) {
        op_add(low, w->ops, PW_OP_CALL, 0, 0)->call.template_index = template_of(w, m);
        return;
    }
    int16_t input = input_slot(w, pass);
    if (input != PW_NO_SLOT) input_wait_add(w, false, input, PW_NO_SLOT);
    op_add(low, w->ops, PW_OP_CALL, 0, 0)->call.template_index = template_of(w, m);
    message_add(w, pass, pass->micro, backward, false);
    if (m->asks) message_add(w, pass, pass->micro + 1, backward, true);
    gather_next(w, m, leading);
}

/* --- The steady state -------------------------------------------------------------------------------------------- */

typedef struct rounds {
    uint32_t begin, length, count; /* passes of one round; count 0: none */
    int64_t stride;                /* micro-batches from round to round */
} rounds;

static bool repeats(const marked *a, const marked *b, int64_t stride) {
    return a->pass.kind == b->pass.kind && a->pass.chunk == b->pass.chunk && a->pass.paired == b->pass.paired &&
           a->second == b->second && a->first == b->first && a->last == b->last && a->asks == b->asks &&
           b->pass.micro - a->pass.micro == stride;
}

/* The rounds that save most passes; none begins in the middle of a pair. A round of every known schedule has at most six
 * passes. */
static rounds find_rounds(const list *passes) {
    const marked *m = passes->items;
    rounds best = {0};
    uint32_t saved = 0;
    for (uint32_t length = 1; length <= 12; length++) {
        uint32_t from = 0;
        for (uint32_t i = 0; i + length < passes->count; i++) {
            int64_t stride = m[i + length].pass.micro - m[i].pass.micro;
            if (stride < 1 || (i > from && stride != m[from + length].pass.micro - m[from].pass.micro) ||
                !repeats(&m[i], &m[i + length], stride)) {
                from = i + 1;
                if (stride >= 1 && repeats(&m[i], &m[i + length], stride)) from = i;
                continue;
            }
            uint32_t begin = from + m[from].second;
            if (begin > i) continue;
            uint32_t count = (i - begin + 1) / length + 1;
            if ((count - 1) * length <= saved) continue;
            saved = (count - 1) * length;
            best = (rounds){begin, length, count, stride};
        }
    }
    return best;
}

/* Passes from .. to - 1; a pair is one. */
static void range_add(writer *w, uint32_t from, uint32_t to, int64_t leading) {
    const marked *passes = w->passes.items;
    for (uint32_t i = from; i < to && !w->low->out_of_memory; i++) {
        bool paired = passes[i].pass.paired && i + 1 < to;
        if (paired) pair_add(w, &passes[i], &passes[i + 1], leading);
        else pass_add(w, &passes[i], leading);
        i += paired;
    }
}

void split_passes_add(lowering *low, list *ops, int64_t stage, const chunk_templates *const *chunks) {
    const pw_plan *plan = low->plan;
    pw_order_shape shape = pw_plan_order_shape(plan);
    writer w = {.low = low, .plan = plan, .chunks = chunks, .ops = ops, .stage = stage, .micro_batches = shape.micro_batches};
    plan->order->emit(&shape, stage, collect, &w);
    if (low->out_of_memory) return;
    mark_last(&w);
    int64_t leading = ((const marked *)w.passes.items)->pass.chunk;
    if (low->gathers_parameters && chunks[leading]->unit_count)
        gather_add(low, ops, &chunks[leading]->units[0], PW_NO_SLOT, SLOT_PARAMETERS);
    for (int chunk = 0; chunk < plan->v; chunk++)
        for (int backward = 0; backward < 2; backward++)
            message_add(&w, &(pw_pass){.chunk = (uint16_t)chunk}, 0, backward, true);
    rounds steady = find_rounds(&w.passes);
    if (steady.count < 3) {
        range_add(&w, 0, w.passes.count, leading);
        return;
    }
    range_add(&w, 0, steady.begin, leading);
    uint32_t at = ops->count;
    op_add(low, ops, PW_OP_LOOP, 0, 0);
    w.in_loop = true;
    range_add(&w, steady.begin, steady.begin + steady.length, leading);
    w.in_loop = false;
    if (low->out_of_memory) return;
    pw_op *loop = (pw_op *)ops->items + at;
    loop->loop.count = steady.count;
    loop->loop.length = ops->count - at - 1;
    loop->loop.stride = steady.stride;
    range_add(&w, steady.begin + steady.length * steady.count, w.passes.count, leading);
}
