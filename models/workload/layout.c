/* How a pipeline lays out the model: which chunk of which stage holds which layers.
 *
 * Positions count the chunks in order of the model's layers. A job says what each stage or chunk holds, or the first and the
 * last stage; else layers are spread as evenly as they go. When they do not divide, or where the job says so, the embedding
 * and the output layer count as a layer each, so that the chunks that hold them get less.
 */
#include "models/workload/plan.h"

#define REFUSE(hint, ...) return pw_fail(error, PW_BAD_INPUT, file, line, hint, __VA_ARGS__)
#define LL(x) ((long long)(x))

static pw_status check_order(const pw_plan *plan, const char *file, int line, pw_error *error) {
    const pw_order *order = plan->order;
    int64_t given = plan->desc->virtual_stages, p = plan->p, micro = plan->micro_batches;
    if (given > 1 && p == 1)
        REFUSE("virtual stages interleave a pipeline; use pipeline_parallel of at least 2",
               "train.virtual_stages %lld needs a pipeline, but pipeline_parallel is 1", LL(given));
    if (order->chunks == 1 && given > 1)
        REFUSE("use schedule = \"1f1b\" for the interleaved order", "train.virtual_stages %lld cannot run as %s", LL(given),
               order->name);
    if (order->chunks > 1 && given > 1 && given != order->chunks)
        REFUSE("leave virtual_stages out: the schedule decides", "schedule %s has %lld chunks per stage, not %lld", order->name,
               LL(order->chunks), LL(given));
    if (order->chunks == 0 && plan->v > 1 && micro % p)
        REFUSE("interleaving works in groups of pipeline_parallel; change global_batch or use virtual_stages = 1",
               "%lld micro-batches are not a multiple of pipeline_parallel %lld", LL(micro), LL(p));
    if (!order->splits) return PW_OK;
    if (p == 1)
        REFUSE("use pipeline_parallel of at least 2, or leave schedule out",
               "schedule %s orders the stages of a pipeline, but pipeline_parallel is 1", order->name);
    if (p > order->most_stages)
        REFUSE("use a smaller pipeline_parallel", "schedule %s has at most %lld stages, not %lld", order->name,
               LL(order->most_stages), LL(p));
    if (plan->desc->overlap_pipeline == 0)
        REFUSE("leave overlap_pipeline out, or use schedule 1f1b",
               "schedule %s sends behind its passes, so it cannot run with overlap_pipeline = \"off\"", order->name);
    if (plan->desc->offload_activations)
        REFUSE("use schedule 1f1b, or recompute", "offload_activations is not modelled with schedule %s, which keeps tensors for its "
               "weight gradients", order->name);
    if (plan->copies == 2 && (p % 2 || micro % 2))
        REFUSE("half of the micro-batches enter at either end; make pipeline_parallel and the micro-batches even",
               "schedule %s cannot have %lld stages and %lld micro-batches", order->name, LL(p), LL(micro));
    if (micro < order->least_rounds * p)
        REFUSE("raise global_batch, or use a smaller pipeline_parallel or micro_batch",
               "schedule %s needs at least %lld micro-batches for %lld stages, not %lld", order->name,
               LL(order->least_rounds * p), LL(p), LL(micro));
    return PW_OK;
}

/* The stage of a position; with two copies of the model, of the first. */
static int64_t stage_of(const pw_plan *plan, int64_t at) {
    if (plan->order->placement == PW_PLACE_ROUND) return at % plan->p;
    return at < plan->p ? at : 2 * plan->p - 1 - at;
}

/* Layers of every stage or of every chunk, as written. */
static pw_status check_given(const pw_plan *plan, const char *file, int line, pw_error *error) {
    const pw_train_desc *desc = plan->desc;
    const int64_t *given = desc->stage_layers.items;
    int64_t count = desc->stage_layers.count, parts = plan->positions / plan->p, sum = 0;
    if (desc->first_stage_layers || desc->last_stage_layers || desc->ends_in_split != PW_ENDS_AUTO)
        REFUSE("give stage_layers alone, or first_stage_layers, last_stage_layers and ends_in_split",
               "train.stage_layers says what every stage holds, so nothing else can");
    if (count != plan->p && count != plan->positions)
        REFUSE("give the layers of each stage, or of each chunk in the order of the model's layers",
               "train.stage_layers has %lld items for pipeline_parallel %lld x %lld chunks", LL(count), LL(plan->p), LL(parts));
    for (int64_t i = 0; i < count; i++) {
        sum += given[i];
        if (count == plan->p && given[i] % parts)
            REFUSE("give the layers of each chunk instead, in the order of the model's layers",
                   "train.stage_layers[%lld] is %lld, which does not divide into %lld chunks", LL(i + 1), LL(given[i]), LL(parts));
    }
    if (sum != plan->shape.layers)
        REFUSE("the stages hold all layers of the model, and no more", "train.stage_layers sum up to %lld, but the model has %lld layers",
               LL(sum), LL(plan->shape.layers));
    return PW_OK;
}

/* Megatron-LM's --decoder-first-pipeline-num-layers and -last-: the stages between share out the rest. */
static pw_status check_ends(pw_plan *plan, const char *file, int line, pw_error *error) {
    int64_t first = plan->desc->first_stage_layers, last = plan->desc->last_stage_layers, parts = plan->positions / plan->p;
    int64_t others = plan->p - (first > 0) - (last > 0), rest = plan->shape.layers - first - last;
    if (plan->desc->ends_in_split != PW_ENDS_AUTO)
        REFUSE("leave ends_in_split out", "train.ends_in_split has no meaning with first_stage_layers or last_stage_layers");
    if (plan->p == 1)
        REFUSE("leave them out, or use pipeline_parallel of at least 2", "train.%s needs stages, but there is one",
               first ? "first_stage_layers" : "last_stage_layers");
    if (first % parts || last % parts)
        REFUSE("every chunk of a stage holds as many layers", "train.first_stage_layers %lld and last_stage_layers %lld do not divide into "
               "%lld chunks", LL(first), LL(last), LL(parts));
    if (rest < 0 || (others == 0 && rest) || (others > 0 && rest % (others * parts)))
        REFUSE("what the first and the last stage leave must divide over the chunks of the others",
               "%lld layers are left for %lld stages of %lld chunks", LL(rest), LL(others), LL(parts));
    plan->slots = others > 0 ? rest / (others * parts) : 0; /* layers of a chunk of the others */
    return PW_OK;
}

pw_status pw_plan_layout(pw_plan *plan, const char *file, int line, pw_error *error) {
    PW_TRY(check_order(plan, file, line, error));
    const pw_train_desc *desc = plan->desc;
    plan->first_short = plan->last_short = 0;
    if (desc->stage_layers.items) return check_given(plan, file, line, error);
    if (desc->first_stage_layers || desc->last_stage_layers) return check_ends(plan, file, line, error);
    int64_t layers = plan->shape.layers, positions = plan->positions;
    if (desc->ends_in_split != PW_ENDS_AUTO) {
        plan->first_short = (desc->ends_in_split & PW_ENDS_EMBEDDING) != 0;
        plan->last_short = (desc->ends_in_split & PW_ENDS_OUTPUT) != 0;
    } else if (layers % positions) {
        plan->first_short = plan->last_short = 1;
        if (plan->model->experts && (layers + 2) % positions && (layers + 3) % positions == 0) {
            plan->last_short = (layers + 3) / positions < 3 ? (layers + 3) / positions : 3; /* the output as two: Megatron-Bridge */
            plan->first_short = 3 - plan->last_short;
        }
    }
    plan->slots = layers + plan->first_short + plan->last_short;
    if (positions > plan->slots || (positions == 1 && plan->slots > layers))
        REFUSE(positions == 1 ? "leave ends_in_split out: there is one chunk"
                              : "the embedding and the output layer count as a layer each; use a smaller pipeline_parallel or virtual_stages",
               "%lld layers do not fill pipeline_parallel %lld x %lld chunks", LL(layers), LL(plan->p), LL(positions / plan->p));
    return PW_OK;
}

bool pw_plan_spreads(const pw_plan *plan) {
    const pw_train_desc *desc = plan->desc;
    return !desc->stage_layers.items && !desc->first_stage_layers && !desc->last_stage_layers;
}

int64_t pw_plan_position(const pw_plan *plan, int64_t stage, int64_t chunk) {
    switch (plan->order->placement) {
        case PW_PLACE_V: return chunk == 0 ? stage : 2 * plan->p - 1 - stage;
        case PW_PLACE_BOTH_WAYS: return chunk == 0 ? stage : plan->p - 1 - stage;
        default: return chunk * plan->p + stage;
    }
}

static int64_t layers_at(const pw_plan *plan, int64_t at) {
    const pw_train_desc *desc = plan->desc;
    const int64_t *given = desc->stage_layers.items;
    int64_t n = plan->positions, parts = n / plan->p, stage = stage_of(plan, at);
    if (given) return desc->stage_layers.count == n ? given[at] : given[stage] / parts;
    if (desc->first_stage_layers || desc->last_stage_layers) {
        if (stage == 0 && desc->first_stage_layers) return desc->first_stage_layers / parts;
        if (stage == plan->p - 1 && desc->last_stage_layers) return desc->last_stage_layers / parts;
        return plan->slots;
    }
    int64_t layers = (at + 1) * plan->slots / n - at * plan->slots / n;
    return layers - (at == 0 ? plan->first_short : 0) - (at == n - 1 ? plan->last_short : 0);
}

int64_t pw_plan_layers(const pw_plan *plan, int64_t stage, int64_t chunk) {
    return layers_at(plan, pw_plan_position(plan, stage, chunk));
}

int64_t pw_plan_first_layer(const pw_plan *plan, int64_t stage, int64_t chunk) {
    int64_t first = 0;
    for (int64_t at = pw_plan_position(plan, stage, chunk); at-- > 0;) first += layers_at(plan, at);
    return first;
}

int64_t pw_plan_stage_layers(const pw_plan *plan, int64_t stage) {
    int64_t layers = 0;
    for (int64_t chunk = 0; chunk < plan->v; chunk++) layers += pw_plan_layers(plan, stage, chunk);
    return layers;
}

pw_order_shape pw_plan_order_shape(const pw_plan *plan) {
    return (pw_order_shape){plan->p, plan->v, plan->micro_batches / plan->copies};
}

int64_t pw_plan_warmup(const pw_plan *plan, int64_t stage) {
    pw_order_shape shape = pw_plan_order_shape(plan);
    return plan->desc->schedule == PW_SCHEDULE_GPIPE ? shape.micro_batches * shape.chunks : pw_order_warmup(&shape, stage);
}

double pw_plan_peak(const pw_plan *plan, int64_t stage, pw_held_fn *held, const void *object) {
    pw_order_shape shape = pw_plan_order_shape(plan);
    return pw_order_peak(plan->order, &shape, stage, held, object);
}
