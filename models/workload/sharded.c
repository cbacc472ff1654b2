/* Passes of a chunk whose parameters are spread over the data-parallel ranks (ZeRO-3, FSDP).
 *
 * A unit, one layer or an end of the model, is gathered on the data stream before it is computed and dropped afterwards. The
 * gather of unit i + a (a: layers ahead) is asked for just before unit i is computed and starts when unit i - 1 has been
 * dropped, so that at most a + 1 units are whole at once: the rate limit of PyTorch's FSDP. The data stream is served in order:
 * going back, the gather of the next unit comes before the scatter of this one's gradients, or after it where a = 0
 * (BACKWARD_PRE and BACKWARD_POST of FSDP). The ends stay whole from their forward to their backward pass: the output layer is
 * used at once again, an embedding's gradient needs no weights, and a tied one is the output layer.
 */
#include "models/workload/lower.h"
#include "models/workload/offload.h"

typedef struct walk {
    lowering *low;
    const chunk_templates *of;
    list ops;
    int64_t ahead;
    bool backward, gathers, reduces;
    double copied[2]; /* bytes of the last copy in and out, and their segments: layers share theirs */
    uint32_t copies[2];
} walk;

static const unit *unit_at(const walk *w, int64_t i) {
    return &w->of->units[w->backward ? (int64_t)w->of->unit_count - 1 - i : i];
}
static bool is_gathered(const walk *w, int64_t i) {
    return w->gathers && (!w->backward || unit_at(w, i)->kind == UNIT_LAYERS);
}
static int16_t slot_of(const walk *w, int64_t i) { return (int16_t)(SLOT_UNIT + i % (w->ahead + 1)); }

static void copy(walk *w, int which, double bytes) {
    if (!(bytes > 0)) return;
    if (w->copied[which] != bytes) w->copies[which] = copy_segment(w->low, which ? "scatter copy" : "gather copy", bytes);
    w->copied[which] = bytes;
    compute_add(w->low, &w->ops, w->copies[which], PW_NO_SLOT, CATEGORY_COMPUTE);
}

static void gather(walk *w, int64_t i) {
    if (i >= (int64_t)w->of->unit_count || !is_gathered(w, i)) return;
    const unit *of = unit_at(w, i);
    bool far = w->low->plan->desc->offload_parameters;
    if (far) fetch_parameters(w->low, &w->ops, of->parameters, of->experts);
    gather_add(w->low, &w->ops, of, far ? SLOT_FETCHED : SLOT_FREED, slot_of(w, i));
}

static void compute(walk *w, int64_t i) {
    lowering *low = w->low;
    const unit *of = unit_at(w, i);
    if (is_gathered(w, i)) {
        wait_add(low, &w->ops, slot_of(w, i), CATEGORY_DATA);
        copy(w, 0, low->plan->gather_copy * (of->parameters + of->experts));
    }
    unit_add(low, &w->ops, of, w->backward);
    op_add(low, &w->ops, PW_OP_DELAY, STREAM_COMPUTE, CATEGORY_DATA)->signal = SLOT_FREED;
}

static void reduce(walk *w, int64_t i) {
    lowering *low = w->low;
    const unit *of = unit_at(w, i);
    copy(w, 1, low->plan->scatter_copy * (of->parameters + of->experts));
    reduce_add(low, &w->ops, of->parameters, of->experts);
    if (!low->reduces_behind) wait_add(low, &w->ops, SLOT_REDUCED, CATEGORY_DATA);
}

static uint32_t pass(walk w, const char *name) {
    int64_t count = w.of->unit_count;
    for (int64_t i = 0; i < w.ahead; i++) gather(&w, i);
    for (int64_t i = 0; i < count; i++) {
        gather(&w, i + w.ahead);
        compute(&w, i);
        if (w.backward && i == count - 1)
            compute_add(w.low, &w.ops, accumulate_segment(w.low, pw_plan_own(w.low->plan, w.of->parameters, w.of->experts)), SLOT_SCATTER,
                        CATEGORY_COMPUTE);
        if (w.reduces) reduce(&w, i);
    }
    return template_add(w.low, name, &w.ops);
}

void regather_add(lowering *low, list *ops, pw_layer_kind kind) {
    const pw_plan *plan = low->plan;
    double experts = 0;
    for (int64_t i = plan->shape.layers; experts == 0 && i-- > 0;)
        if (pw_model_layer_kind(plan->model, i) == kind) experts = pw_plan_layers_experts(plan, i, 1);
    unit layer = {.kind = UNIT_LAYERS, .layers = 1, .parameters = pw_layer_parameters(plan->model, kind, plan->t), .experts = experts};
    gather_add(low, ops, &layer, SLOT_COMPUTE, SLOT_REGATHERED);
    wait_add(low, ops, SLOT_REGATHERED, CATEGORY_DATA);
}

/* Without reshard a pipeline's chunk stays whole until the end of the step, since other micro-batches are under way; without a
 * pipeline it is dropped after each backward pass. */
void sharded_passes(lowering *low, chunk_templates *of) {
    const pw_plan *plan = low->plan;
    bool shares = pw_plan_shares_data(plan) || plan->desc->offload_optimizer; /* or with the host alone */
    bool always = shares && (plan->reshard || plan->p == 1);
    walk forward = {.low = low, .of = of, .ahead = plan->ahead_forward, .gathers = always};
    walk backward = {.low = low, .of = of, .ahead = plan->ahead_backward, .backward = true,
                     .gathers = shares && plan->reshard, .reduces = shares && !low->reduces_once};
    of->forward = of->forward_first = pass(forward, "forward pass");
    of->backward = of->backward_last = pass(backward, "backward pass");
    if (shares && !always) {
        forward.gathers = true;
        of->forward_first = pass(forward, "first forward pass");
    }
    if (shares && low->reduces_once) {
        backward.reduces = true;
        of->backward_last = pass(backward, "last backward pass");
    }
}
