/* A step: lookups, exchange of vectors beside the bottom perceptron, interaction and top perceptron forward and backward, exchange
 * of gradients beside the bottom perceptron's backward pass, updates. Ranks with the same number of tables share a program. */
#include <string.h>

#include "models/workload/recommender/plan.h"

enum stream { STREAM_COMPUTE, STREAM_VECTORS, STREAM_DATA, STREAM_COUNT };
enum slot { SLOT_COMPUTE, SLOT_VECTORS, SLOT_GRADIENTS, SLOT_REDUCED, SLOT_COUNT };
enum category { CATEGORY_COMPUTE, CATEGORY_VECTORS, CATEGORY_DATA, CATEGORY_OPTIMIZER, CATEGORY_COUNT };
enum { MOST_KERNELS = 2048, MOST_OPS = 32, PROGRAMS = 2 }; /* two programs of at most 200 layers, two kernels forward and three back */

static const pw_category categories[CATEGORY_COUNT] = {[CATEGORY_COMPUTE] = {"compute", PW_BLAME_COMPUTE},
                                                       [CATEGORY_VECTORS] = {"vectors", PW_BLAME_COMMUNICATION},
                                                       [CATEGORY_DATA] = {"dp", PW_BLAME_COMMUNICATION},
                                                       [CATEGORY_OPTIMIZER] = {"optimizer", PW_BLAME_OPTIMIZER}};

typedef struct lowering {
    const pw_recommender_plan *plan;
    pw_arena *arena;
    pw_kernel *kernels;
    pw_segment_part *parts;
    uint32_t kernel_count, first_kernel;
    pw_segment *segments;
    uint32_t segment_count;
    pw_op *ops;
    uint32_t op_count;
} lowering;

static void add_kernel(lowering *low, const pw_kernel *kernel, double repeats) {
    PW_CHECK(low->kernel_count < MOST_KERNELS);
    low->kernels[low->kernel_count] = *kernel;
    low->parts[low->kernel_count] = (pw_segment_part){low->kernel_count, repeats >= 1 ? (uint32_t)repeats : 1};
    low->kernel_count++;
}

static void move(lowering *low, pw_kernel_class kind, double bytes, double kernels) {
    double count = kernels >= 1 ? (double)(uint32_t)kernels : 1;
    if (bytes > 0)
        add_kernel(low, &(pw_kernel){.kind = kind, .precision = low->plan->precision, .memory = {.bytes = bytes / count}}, count);
}

static void multiply(lowering *low, int64_t m, int64_t n, int64_t k) {
    add_kernel(low, &(pw_kernel){.kind = PW_KERNEL_GEMM, .precision = low->plan->precision, .gemm = {.batch = 1, .m = m, .n = n, .k = k}}, 1);
}

static double sample_bytes(const lowering *low, double elements) {
    return elements * (double)low->plan->samples * low->plan->element_bytes;
}

static void perceptron_forward(lowering *low, pw_list layers, int64_t in) {
    const int64_t *widths = layers.items;
    for (uint32_t i = 0; i < layers.count; in = widths[i++]) {
        multiply(low, low->plan->samples, widths[i], in);
        move(low, PW_KERNEL_ELEMENTWISE, low->plan->stack.relu_forward * sample_bytes(low, (double)widths[i]), 1);
    }
}

static void perceptron_backward(lowering *low, pw_list layers, int64_t in, bool wants_gradient) {
    const int64_t *widths = layers.items;
    for (uint32_t i = layers.count; i-- > 0;) {
        int64_t from = i ? widths[i - 1] : in;
        move(low, PW_KERNEL_ELEMENTWISE, low->plan->stack.relu_backward * sample_bytes(low, (double)widths[i]), 1);
        if (i > 0 || wants_gradient) multiply(low, low->plan->samples, from, widths[i]);
        multiply(low, widths[i], from, low->plan->samples);
    }
}

static void run_segment(lowering *low, const char *name, uint32_t category, int16_t wait) {
    uint32_t count = low->kernel_count - low->first_kernel;
    if (count == 0) return;
    low->segments[low->segment_count] =
        (pw_segment){.name = name, .parts = low->parts + low->first_kernel, .count = count, .repeats = 1};
    low->first_kernel = low->kernel_count;
    low->ops[low->op_count++] = (pw_op){.kind = PW_OP_COMPUTE, .stream = STREAM_COMPUTE, .category = category,
                                        .waits = {wait, PW_NO_SLOT, PW_NO_SLOT, PW_NO_SLOT}, .signal = SLOT_COMPUTE,
                                        .compute.segment = low->segment_count++};
}

static void exchange(lowering *low, pw_collective_kind kind, enum stream stream, uint32_t category, double bytes, enum slot signal) {
    if (low->plan->ranks == 1) return;
    low->ops[low->op_count++] = (pw_op){.kind = PW_OP_COLLECTIVE, .stream = (uint16_t)stream, .category = category,
                                        .waits = {SLOT_COMPUTE, PW_NO_SLOT, PW_NO_SLOT, PW_NO_SLOT}, .signal = (int16_t)signal,
                                        .collective = {.kind = kind, .algorithm = PW_ALGORITHM_AUTO, .bytes = bytes}};
}

static double perceptron_parameters(pw_list layers, int64_t in) {
    double sum = 0;
    const int64_t *widths = layers.items;
    for (uint32_t i = 0; i < layers.count; in = widths[i++]) sum += (double)(in + 1) * (double)widths[i];
    return sum;
}

static void run_step(lowering *low, double tables) {
    const pw_recommender_plan *plan = low->plan;
    const pw_recommender_model_desc *model = plan->model;
    const pw_recommender_stack *s = &plan->stack;
    const double fp32 = 4;
    int64_t pairs = pw_recommender_pairs(model);
    double w = (double)model->width, vectors = (double)(model->tables + 1) * w, lookups = (double)model->lookups;
    double vectors_made = tables * w * (double)plan->desc->batch, rows = vectors_made * lookups * plan->table_bytes;
    double exchanged = sample_bytes(low, (double)model->tables * w);
    double bottom = perceptron_parameters(model->bottom, model->dense), top = perceptron_parameters(model->top, pairs);

    move(low, PW_KERNEL_EMBEDDING, rows + vectors_made * plan->element_bytes, 1); /* read; written */
    run_segment(low, "lookup", CATEGORY_COMPUTE, PW_NO_SLOT);
    exchange(low, PW_COLLECTIVE_ALL_TO_ALL, STREAM_VECTORS, CATEGORY_VECTORS, exchanged, SLOT_VECTORS);
    perceptron_forward(low, model->bottom, model->dense);
    run_segment(low, "bottom", CATEGORY_COMPUTE, PW_NO_SLOT);

    move(low, PW_KERNEL_ELEMENTWISE, s->interaction_forward * sample_bytes(low, vectors + (double)pairs), 1);
    perceptron_forward(low, model->top, pairs);
    move(low, PW_KERNEL_LOSS, 4 * fp32 * (double)plan->samples, 2);
    perceptron_backward(low, model->top, pairs, true);
    move(low, PW_KERNEL_ELEMENTWISE, s->interaction_backward * sample_bytes(low, 2 * vectors + (double)pairs), 1);
    run_segment(low, "top", CATEGORY_COMPUTE, SLOT_VECTORS);
    exchange(low, PW_COLLECTIVE_ALL_TO_ALL, STREAM_VECTORS, CATEGORY_VECTORS, exchanged, SLOT_GRADIENTS);
    exchange(low, PW_COLLECTIVE_ALL_REDUCE, STREAM_DATA, CATEGORY_DATA, top * s->gradient_wire, SLOT_REDUCED);
    perceptron_backward(low, model->bottom, model->dense, false);
    run_segment(low, "bottom backward", CATEGORY_COMPUTE, PW_NO_SLOT);
    exchange(low, PW_COLLECTIVE_ALL_REDUCE, STREAM_DATA, CATEGORY_DATA, bottom * s->gradient_wire, SLOT_REDUCED);

    move(low, PW_KERNEL_EMBEDDING, vectors_made * plan->element_bytes + s->update * rows, 1); /* gradients read, rows updated */
    run_segment(low, "tables", CATEGORY_OPTIMIZER, SLOT_GRADIENTS);
    double bytes = s->optimizer + (plan->element_bytes < fp32 ? s->cast : 0), arrays = 2.0 * (model->bottom.count + model->top.count);
    move(low, PW_KERNEL_OPTIMIZER, bytes * (bottom + top), s->optimizer_kernels * arrays);
    run_segment(low, "optimizer", CATEGORY_OPTIMIZER, SLOT_REDUCED);
}

static bool fill_ranks(const pw_recommender_plan *plan, pw_arena *arena, pw_job *job) {
    uint32_t ranks = (uint32_t)plan->ranks, more = (uint32_t)(plan->model->tables % plan->ranks);
    uint32_t *order = pw_arena_alloc(arena, ranks * sizeof *order), *zeros = pw_arena_alloc(arena, ranks * sizeof *zeros);
    uint32_t *program_of = pw_arena_alloc(arena, ranks * sizeof *program_of), *first = pw_arena_alloc(arena, 2 * sizeof *first);
    pw_group_role *group = pw_arena_alloc(arena, sizeof *group);
    if (!order || !zeros || !program_of || !first || !group) return false;
    for (uint32_t r = 0; r < ranks; r++) order[r] = r, zeros[r] = 0, program_of[r] = more > 0 && r >= more;
    first[0] = 0, first[1] = ranks;
    *group = (pw_group_role){"all", 1, zeros, first, order};
    job->ranks = ranks;
    job->gpu_of_rank = order;
    job->program_of_rank = program_of;
    job->group_roles = group;
    job->group_role_count = 1;
    return true;
}

pw_status pw_recommender_plan_lower(const pw_recommender_plan *plan, pw_arena *arena, pw_job **result, pw_error *error) {
    lowering low = {.plan = plan, .arena = arena};
    pw_job *job = pw_arena_alloc(arena, sizeof *job);
    pw_template *templates = pw_arena_alloc(arena, PROGRAMS * sizeof *templates);
    pw_program *programs = pw_arena_alloc(arena, PROGRAMS * sizeof *programs);
    low.kernels = pw_arena_alloc(arena, MOST_KERNELS * sizeof *low.kernels);
    low.parts = pw_arena_alloc(arena, MOST_KERNELS * sizeof *low.parts);
    low.segments = pw_arena_alloc(arena, PROGRAMS * MOST_OPS * sizeof *low.segments);
    low.ops = pw_arena_alloc(arena, PROGRAMS * MOST_OPS * sizeof *low.ops);
    const char *name = pw_arena_text(arena, plan->desc->name && *plan->desc->name ? plan->desc->name : "recommender");
    if (!job || !templates || !programs || !low.kernels || !low.parts || !low.segments || !low.ops || !name ||
        !fill_ranks(plan, arena, job))
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory to lower a recommender");
    uint32_t count = plan->model->tables % plan->ranks ? 2 : 1; /* ranks with one table more; the others */
    for (uint32_t p = 0; p < count; p++) {
        uint32_t begin = low.op_count;
        run_step(&low, plan->tables - p);
        templates[p] = (pw_template){p ? "fewer tables" : "step", low.ops + begin, low.op_count - begin};
        programs[p] = (pw_program){.name = p ? "worker with fewer tables" : "worker", .template_index = p};
    }
    job->name = name;
    job->programs = programs;
    job->templates = templates;
    job->program_count = job->template_count = count;
    job->segments = low.segments;
    job->segment_count = low.segment_count;
    job->kernels = low.kernels;
    job->kernel_count = low.kernel_count;
    job->categories = categories;
    job->category_count = CATEGORY_COUNT;
    job->streams = STREAM_COUNT;
    job->slots = SLOT_COUNT;
    job->kernel_time_factor = plan->stack.kernel_time_factor;
    *result = job;
    return PW_OK;
}

pw_status pw_recommender_lower(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_recommender_desc *desc,
                               pw_arena *arena, const char *file, int line, pw_job **job, pw_error *error) {
    pw_recommender_plan *plan = pw_arena_alloc(arena, sizeof *plan);
    if (!plan) return pw_fail(error, PW_NO_MEMORY, file, line, NULL, "no memory for a job");
    PW_TRY(pw_recommender_plan_make(catalogue, pw_cluster_device(cluster), pw_cluster_gpus(cluster), desc, file, line, plan, error));
    PW_TRY(pw_recommender_plan_lower(plan, arena, job, error));
    if (plan->stack.cuda_graphs > 0) return PW_OK;
    PW_TRY(pw_gpu_launch_s(catalogue, pw_cluster_host(cluster), &(*job)->launch_s, error));
    (*job)->launch_s *= plan->stack.launch_factor;
    return PW_OK;
}
