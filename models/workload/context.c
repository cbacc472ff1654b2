/* Context parallel: how ranks that share a sequence bring queries and keys together.
 *
 *   ring                 keys and values go round all ranks while attention works on what has come (ring attention;
 *                        Megatron Core's p2p)
 *   all_to_all           ranks exchange tokens for heads: each sees the whole sequence with a share of the heads (DeepSpeed
 *                        Ulysses, Jacobs et al. 2023, arXiv 2309.14509)
 *   all_gather           every rank gathers all keys and values and keeps its queries (Llama 3, Meta 2024, section 3.3.2)
 *   ring_of_all_to_all   all_to_all among neighbours, a ring over their groups (Megatron Core's hierarchical a2a+p2p)
 *
 * A rank holds an early and a late slice of the sequence, so that all have the same share of a causal triangle.
 */
#include "models/workload/lower.h"

const char *const pw_context_names[] = {"ring", "all_to_all", "all_gather", "ring_of_all_to_all", NULL};

#define REFUSE(hint, ...) return pw_fail(error, PW_BAD_INPUT, file, line, hint, __VA_ARGS__)
#define LL(x) ((long long)(x))

static pw_status split_heads(const pw_plan *plan, const char *file, int line, pw_error *error) {
    int64_t heads = plan->shape.heads / plan->t, kv_heads = plan->shape.kv_heads / plan->t, a = plan->exchange_ranks;
    if (heads % a == 0 && kv_heads % a == 0) return PW_OK;
    REFUSE("ranks share out whole heads; use context_exchange = \"ring\", or ring_of_all_to_all with a smaller context_inner",
           "an all_to_all over %lld ranks does not divide the %lld heads and %lld kv_heads of a tensor-parallel rank", LL(a),
           LL(heads), LL(kv_heads));
}

pw_status pw_plan_context(pw_plan *plan, const char *file, int line, pw_error *error) {
    const pw_train_desc *desc = plan->desc;
    int64_t c = plan->c, inner = desc->context_inner;
    bool nested = desc->context_exchange == PW_CONTEXT_RING_OF_ALL_TO_ALL;
    plan->exchange = (pw_context_exchange)desc->context_exchange;
    plan->exchange_ranks = 1;
    plan->ring_ranks = c;
    if (c == 1 && (plan->exchange != PW_CONTEXT_RING || inner))
        REFUSE("leave it out, or use a context_parallel of at least 2", "train.context_%s needs context parallel ranks, but there is one",
               inner ? "inner" : "exchange");
    if (inner && !nested)
        REFUSE("use context_exchange = \"ring_of_all_to_all\"", "train.context_inner has no meaning with context_exchange %s",
               pw_context_names[plan->exchange]);
    if (nested && (inner < 2 || inner >= c || c % inner))
        REFUSE("context_inner ranks exchange heads, context_parallel / context_inner of those groups form the ring",
               "train.context_inner %lld must be a divisor of context_parallel %lld, above 1 and below it", LL(inner), LL(c));
    if (plan->exchange == PW_CONTEXT_ALL_TO_ALL || nested) {
        plan->exchange_ranks = nested ? inner : c;
        plan->ring_ranks = c / plan->exchange_ranks;
        PW_TRY(split_heads(plan, file, line, error));
    }
    if (plan->exchange == PW_CONTEXT_ALL_GATHER) plan->ring_ranks = 1;
    return PW_OK;
}

static double key_bytes(const pw_plan *plan) { /* keys and values of one rank */
    return plan->format.element_bytes * (double)plan->tokens * (double)(plan->shape.key_width + plan->shape.value_width) /
           (double)plan->t;
}
static double query_bytes(const pw_plan *plan) {
    return plan->format.element_bytes * (double)plan->tokens * (double)plan->shape.query_width / (double)plan->t;
}
static double output_bytes(const pw_plan *plan) {
    return plan->format.element_bytes * (double)plan->tokens * (double)plan->shape.output_width / (double)plan->t;
}

double pw_plan_context_buffers(const pw_plan *plan) {
    double keys = key_bytes(plan), bytes = 0;
    if (plan->ring_ranks > 1) bytes += 2 * 2 * keys; /* with their gradients, coming and going */
    if (plan->exchange_ranks > 1) bytes += query_bytes(plan) + keys;                     /* what is being exchanged */
    if (plan->exchange == PW_CONTEXT_ALL_GATHER) bytes += 2 * keys * (double)plan->c;    /* all keys, all gradients */
    return bytes;
}

/* --- Operations --------------------------------------------------------------------------------------------------- */

/* An exchange that attention waits for. */
static void swap_add(lowering *low, list *ops, pw_collective_kind kind, double bytes) {
    collective_add(low, ops, kind, GROUP_CONTEXT, bytes, CATEGORY_CONTEXT, STREAM_CONTEXT_SEND, SLOT_COMPUTE, SLOT_KEYS);
    host_wait_add(low, ops, SLOT_KEYS);
    pw_op *wait = op_add(low, ops, PW_OP_DELAY, STREAM_COMPUTE, CATEGORY_CONTEXT);
    wait->waits[0] = SLOT_KEYS;
    wait->signal = SLOT_COMPUTE;
}

/* Own keys first; while they are worked on, the next ones come round. */
static void ring_add(lowering *low, list *ops, const layer_segments *of, double bytes) {
    for (int64_t step = 1; step <= low->plan->ring_ranks; step++) {
        bool first = step == 1, last = step == low->plan->ring_ranks;
        if (!first) compute_add(low, ops, of->ring_next, SLOT_KEYS, CATEGORY_COMPUTE);
        if (!last) {
            pw_op *send = op_add(low, ops, PW_OP_SEND, STREAM_CONTEXT_SEND, CATEGORY_CONTEXT);
            send->message.peer_role = PEER_RING_NEXT;
            send->message.channel = CHANNEL_RING;
            send->message.tag = step;
            send->message.bytes = bytes;
            send->waits[0] = first ? SLOT_COMPUTE : SLOT_KEYS;
            pw_op *recv = op_add(low, ops, PW_OP_RECV, STREAM_CONTEXT_RECV, CATEGORY_CONTEXT);
            *recv = *send;
            recv->kind = PW_OP_RECV;
            recv->stream = STREAM_CONTEXT_RECV;
            recv->message.peer_role = PEER_RING_PREVIOUS;
            recv->signal = SLOT_KEYS;
        }
        if (first) compute_add(low, ops, of->ring_first, PW_NO_SLOT, CATEGORY_COMPUTE);
    }
}

void context_add(lowering *low, list *ops, const layer_segments *of, bool backward) {
    const pw_plan *plan = low->plan;
    double keys = key_bytes(plan), queries = query_bytes(plan), output = output_bytes(plan);
    bool gathers = plan->exchange == PW_CONTEXT_ALL_GATHER, swaps = plan->exchange_ranks > 1;
    if (gathers) swap_add(low, ops, PW_COLLECTIVE_ALL_GATHER, keys * (double)plan->c);
    /* Queries, keys and values go out and the output comes back; backward its gradient, then theirs. */
    if (swaps) swap_add(low, ops, PW_COLLECTIVE_ALL_TO_ALL, backward ? output : queries + keys);
    ring_add(low, ops, of, backward ? 2 * keys : keys); /* backward with the gradients of keys and values */
    if (swaps) swap_add(low, ops, PW_COLLECTIVE_ALL_TO_ALL, backward ? queries + keys : output);
    if (gathers && backward) swap_add(low, ops, PW_COLLECTIVE_REDUCE_SCATTER, keys * (double)plan->c);
}
