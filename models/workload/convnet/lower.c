/* A data-parallel step as a program: forward, backward in buckets of gradients that are reduced behind it, update. The
 * input pipeline prepares later batches on streams of its own, as in the middle of a long run: the step ends when the slowest
 * of computation and pipeline has done one batch. */
#include <math.h>
#include <string.h>

#include "models/workload/convnet/layers.h"
#include "sim/math.h"

enum stream { STREAM_COMPUTE, STREAM_DATA, STREAM_STORE, STREAM_DECODE, STREAM_COPY, STREAM_COUNT };
enum slot { SLOT_COMPUTE, SLOT_REDUCED, SLOT_READ, SLOT_DECODED, SLOT_COPIED, SLOT_COUNT };
enum category { CATEGORY_COMPUTE, CATEGORY_DATA, CATEGORY_OPTIMIZER, CATEGORY_STORE, CATEGORY_DECODE, CATEGORY_COPY,
                CATEGORY_COUNT };
enum group { GROUP_DATA, GROUP_NODE, GROUP_COUNT };

static const pw_category categories[CATEGORY_COUNT] = {
    [CATEGORY_COMPUTE] = {"compute", PW_BLAME_COMPUTE},    [CATEGORY_DATA] = {"dp", PW_BLAME_COMMUNICATION},
    [CATEGORY_OPTIMIZER] = {"optimizer", PW_BLAME_OPTIMIZER}, [CATEGORY_STORE] = {"input: store", PW_BLAME_OTHER},
    [CATEGORY_DECODE] = {"input: decode", PW_BLAME_OTHER}, [CATEGORY_COPY] = {"input: copy", PW_BLAME_OTHER}};

typedef struct lowering {
    const pw_convnet_plan *plan;
    pw_arena *arena;
    pw_kernel_list kernels;
    pw_segment *segments;
    uint32_t segment_count, first_kernel; /* of the segment under construction */
    pw_op *ops;
    uint32_t op_count, most;
    bool out_of_memory;
} lowering;

static pw_op *add_op(lowering *low, pw_op_kind kind, uint16_t stream, uint32_t category) {
    PW_CHECK(low->op_count < low->most);
    pw_op *op = &low->ops[low->op_count++];
    *op = (pw_op){.kind = kind, .stream = stream, .category = category, PW_OP_INIT};
    return op;
}

/* What was added to the kernels since the last segment runs now. */
static void run_segment(lowering *low, const char *name, uint32_t category, int16_t wait) {
    uint32_t count = low->kernels.count - low->first_kernel;
    if (count == 0 || low->kernels.out_of_memory) return;
    PW_CHECK(low->segment_count < low->most);
    pw_segment_part *parts = pw_arena_alloc(low->arena, count * sizeof *parts);
    if (!parts) {
        low->out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        parts[i] = (pw_segment_part){low->first_kernel + i, low->kernels.repeats[low->first_kernel + i]};
    low->first_kernel = low->kernels.count;
    low->segments[low->segment_count] = (pw_segment){.name = name, .parts = parts, .count = count, .repeats = 1};
    pw_op *op = add_op(low, PW_OP_COMPUTE, STREAM_COMPUTE, category);
    op->compute.segment = low->segment_count++;
    op->waits[0] = wait;
    op->signal = SLOT_COMPUTE;
}

static void reduce(lowering *low, double parameters) {
    pw_op *op = add_op(low, PW_OP_COLLECTIVE, STREAM_DATA, CATEGORY_DATA);
    op->collective.kind = PW_COLLECTIVE_ALL_REDUCE;
    op->collective.algorithm = PW_ALGORITHM_AUTO;
    op->collective.group_role = GROUP_DATA;
    op->collective.bytes = parameters * low->plan->stack.gradient_wire;
    op->waits[0] = SLOT_COMPUTE;
    op->signal = SLOT_REDUCED;
}

/* Last layer first; a bucket is reduced as soon as its gradients are there. */
static void run_backward(lowering *low) {
    const pw_convnet_plan *plan = low->plan;
    bool shares = plan->ranks > 1, behind = shares && plan->stack.overlap_gradients;
    double waiting = 0; /* parameters whose gradients are there */
    pw_convnet_loss(plan, true, &low->kernels);
    for (uint32_t i = plan->shape.count; i-- > 0;) {
        pw_convnet_backward(plan, &plan->shape.layers[i], &low->kernels);
        waiting += plan->shape.layers[i].parameters;
        if (!behind || waiting * plan->stack.gradient_wire < plan->bucket_bytes) continue;
        run_segment(low, "backward", CATEGORY_COMPUTE, PW_NO_SLOT);
        reduce(low, waiting);
        waiting = 0;
    }
    run_segment(low, "backward", CATEGORY_COMPUTE, PW_NO_SLOT);
    if (!shares || waiting == 0) return;
    double each = plan->bucket_bytes / plan->stack.gradient_wire;
    for (; !behind && waiting > each; waiting -= each) reduce(low, each);
    reduce(low, waiting);
}

/* --- Input -------------------------------------------------------------------------------------------------------- */

/* Streams of the stages wait for each other only where they work on the same batch. */
static void run_input(lowering *low) {
    const pw_convnet_plan *plan = low->plan;
    const pw_input_desc *input = plan->desc->input;
    const pw_image_model_desc *model = plan->desc->model;
    double images = (double)plan->batch;
    bool in_turn = input->prefetch != PW_PREFETCH_STAGES;
    pw_op *op = add_op(low, PW_OP_IO, STREAM_STORE, CATEGORY_STORE);
    op->io.bytes = images * input->image_bytes;
    op->io.operations = images / input->images_per_request;
    op->signal = SLOT_READ;
    if (input->decode_per_core > 0) {
        op = add_op(low, PW_OP_DELAY, STREAM_DECODE, CATEGORY_DECODE);
        op->delay.seconds = images / (input->decode_per_core * input->cores);
        op->waits[0] = in_turn ? SLOT_READ : PW_NO_SLOT;
        op->signal = SLOT_DECODED;
    }
    op = add_op(low, PW_OP_COPY, STREAM_COPY, CATEGORY_COPY);
    op->copy.bytes = images * (double)(model->height * model->width * model->channels) * input->value_bytes;
    op->waits[0] = in_turn ? SLOT_READ : PW_NO_SLOT;
    op->waits[1] = in_turn ? SLOT_DECODED : PW_NO_SLOT;
    op->signal = SLOT_COPIED;
}

static bool add_store(const lowering *low, pw_job *job) {
    const pw_input_desc *input = low->plan->desc->input;
    pw_store *store = pw_arena_alloc(low->arena, sizeof *store);
    if (!store) return false;
    *store = (pw_store){.name = input->shared ? "shared store" : "node's store",
                        .group_role = input->shared ? GROUP_DATA : GROUP_NODE,
                        .bandwidth_Bps = input->store_bandwidth_Bps,
                        .operations_per_s = input->store_operations_per_s > 0 ? input->store_operations_per_s : INFINITY,
                        .latency_s = input->store_latency_s,
                        .reader_Bps = input->reader_Bps > 0 ? input->reader_Bps : INFINITY};
    job->stores = store;
    job->store_count = 1;
    return true;
}

/* --- The job ------------------------------------------------------------------------------------------------------ */

static bool fill_group(pw_arena *arena, const char *name, uint32_t ranks, uint32_t size, pw_group_role *to) {
    uint32_t groups = (ranks + size - 1) / size;
    uint32_t *of = pw_arena_alloc(arena, ranks * sizeof *of), *members = pw_arena_alloc(arena, ranks * sizeof *members);
    uint32_t *first = pw_arena_alloc(arena, (groups + 1) * sizeof *first);
    if (!of || !members || !first) return false;
    for (uint32_t r = 0; r < ranks; r++) of[r] = r / size, members[r] = r;
    for (uint32_t g = 0; g <= groups; g++) first[g] = g * size < ranks ? g * size : ranks;
    *to = (pw_group_role){name, groups, of, first, members};
    return true;
}

static bool fill_ranks(const pw_convnet_plan *plan, pw_arena *arena, pw_job *job) {
    uint32_t ranks = (uint32_t)plan->ranks;
    uint32_t *gpu_of = pw_arena_alloc(arena, ranks * sizeof *gpu_of), *program_of = pw_arena_alloc(arena, ranks * sizeof *program_of);
    pw_group_role *groups = pw_arena_alloc(arena, GROUP_COUNT * sizeof *groups);
    if (!gpu_of || !program_of || !groups) return false;
    for (uint32_t r = 0; r < ranks; r++) gpu_of[r] = r;
    if (!fill_group(arena, "dp", ranks, ranks, &groups[GROUP_DATA]) ||
        !fill_group(arena, "node", ranks, (uint32_t)plan->per_node, &groups[GROUP_NODE]))
        return false;
    job->ranks = ranks;
    job->gpu_of_rank = gpu_of;
    job->program_of_rank = program_of;
    job->group_roles = groups;
    job->group_role_count = GROUP_COUNT;
    return true;
}

/* Operations and segments: a bucket per layer at the most, and pieces of all parameters. */
static bool make_room(lowering *low) {
    const pw_convnet_plan *plan = low->plan;
    double buckets = plan->shape.parameters * plan->stack.gradient_wire / plan->bucket_bytes;
    low->most = 2 * plan->shape.count + (buckets < 1e6 ? (uint32_t)buckets : 1000000) + 16;
    low->ops = pw_arena_alloc(low->arena, low->most * sizeof *low->ops);
    low->segments = pw_arena_alloc(low->arena, low->most * sizeof *low->segments);
    return low->ops && low->segments;
}

static void run_step(lowering *low) {
    const pw_convnet_plan *plan = low->plan;
    bool waits = plan->desc->input && plan->desc->input->prefetch == PW_PREFETCH_NONE;
    if (plan->desc->input) run_input(low);
    for (uint32_t i = 0; i < plan->shape.count; i++) pw_convnet_forward(plan, &plan->shape.layers[i], &low->kernels);
    pw_convnet_loss(plan, false, &low->kernels);
    run_segment(low, "forward", CATEGORY_COMPUTE, waits ? SLOT_COPIED : PW_NO_SLOT);
    run_backward(low);
    pw_convnet_optimizer(plan, &low->kernels);
    run_segment(low, "optimizer", CATEGORY_OPTIMIZER, SLOT_REDUCED);
}

pw_status pw_convnet_plan_lower(const pw_convnet_plan *plan, pw_arena *arena, pw_job **result, pw_error *error) {
    lowering low = {.plan = plan, .arena = arena, .kernels.arena = arena};
    pw_job *job = pw_arena_alloc(arena, sizeof *job);
    pw_template *templates = pw_arena_alloc(arena, sizeof *templates);
    pw_program *programs = pw_arena_alloc(arena, sizeof *programs);
    const char *name = pw_arena_text(arena, plan->desc->name && *plan->desc->name ? plan->desc->name : "convnet");
    bool good = job && templates && programs && name && make_room(&low) && fill_ranks(plan, arena, job) &&
                (!plan->desc->input || add_store(&low, job));
    if (good) run_step(&low);
    if (!good || low.out_of_memory || low.kernels.out_of_memory)
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to lower a convolutional network");
    *templates = (pw_template){"step", low.ops, low.op_count};
    *programs = (pw_program){.name = "worker"};
    job->name = name;
    job->programs = programs;
    job->program_count = 1;
    job->templates = templates;
    job->template_count = 1;
    job->segments = low.segments;
    job->segment_count = low.segment_count;
    job->kernels = low.kernels.kernels;
    job->kernel_count = low.kernels.count;
    job->categories = categories;
    job->category_count = CATEGORY_COUNT;
    job->streams = STREAM_COUNT;
    job->slots = SLOT_COUNT;
    job->kernel_time_factor = plan->stack.kernel_time_factor;
    *result = job;
    return PW_OK;
}

pw_status pw_convnet_lower(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_convnet_desc *desc,
                           pw_arena *arena, const char *file, int line, pw_job **job, pw_error *error) {
    pw_convnet_plan *plan = pw_arena_alloc(arena, sizeof *plan);
    if (!plan) return pw_fail(error, PW_NO_MEMORY, file, line, NULL, "no memory for a job");
    PW_TRY(pw_convnet_plan_make(catalogue, pw_cluster_device(cluster), pw_cluster_gpus(cluster),
                                pw_cluster_gpus_per_node(cluster), desc, arena, file, line, plan, error));
    PW_TRY(pw_convnet_plan_lower(plan, arena, job, error));
    if (plan->stack.cuda_graphs) return PW_OK;
    PW_TRY(pw_gpu_launch_s(catalogue, pw_cluster_host(cluster), &(*job)->launch_s, error));
    (*job)->launch_s *= plan->stack.launch_factor;
    return PW_OK;
}
