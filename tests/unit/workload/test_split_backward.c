/* Schedules with weight gradients apart: bubbles, memory and messages of lowered and executed jobs. */
#include "tests/unit/workload/runs.h"

static pw_model_desc even(int64_t layers) {
    pw_model_desc model = {.name = "even", .layers = layers, .hidden = 2048, .heads = 16, .vocabulary = 1024};
    return model;
}

static pw_train_desc pipeline(pw_model_desc *model, int schedule, int64_t p, int64_t m) {
    pw_train_desc desc = job(model, "megatron-2022", 1024, m);
    desc.pipeline_parallel = p;
    desc.data_parallel = 1;
    desc.schedule = schedule;
    return desc;
}

/* On whole servers of eight GPUs: pipelines of p stages, m micro-batches each. */
static bench bench_of(pw_train_desc *desc) {
    int64_t p = desc->pipeline_parallel, nodes = 1, m = desc->global_batch;
    while (nodes * 8 % p) nodes++;
    desc->data_parallel = nodes * 8 / p;
    desc->global_batch = m * desc->data_parallel;
    return bench_open(desc, "DGX A100 640GB", nodes);
}

/* Uniform stages: a layer's forward pass, input gradient and weight gradient are f, b and w of one kernel; the ends of the
 * model and the optimizer are free; kernels take so long that messages do not count. */
static void make_uniform(bench *b, uint32_t forward, uint32_t input, uint32_t weights) {
    const struct { const char *name; uint32_t repeats; } layers[] = {
        {"layer", forward}, {"layer backward", input + weights}, {"layer backward (input)", input},
        {"layer backward (weights)", weights}};
    uint32_t kernel = 0;
    while (b->job->kernels[kernel].kind != PW_KERNEL_GEMM) kernel++;
    for (uint32_t i = 0; i < b->job->segment_count; i++) {
        pw_segment *segment = (pw_segment *)&b->job->segments[i];
        segment->count = 0;
        for (size_t k = 0; k < 4; k++)
            if (!strcmp(segment->name, layers[k].name)) {
                pw_segment_part *part = (pw_segment_part *)segment->parts;
                *part = (pw_segment_part){kernel, layers[k].repeats};
                segment->count = 1;
            }
    }
    b->job->launch_s = 0;
    b->job->kernel_time_factor = 1e6;
}

typedef struct length {
    double whole, stage; /* idle time until all have ended; of the longest stage from its own beginning: in units */
    double busy;         /* of a stage */
} length;

static length idle_of(int schedule, int check, int64_t p, int64_t m, uint32_t f, uint32_t b, uint32_t w) {
    pw_model_desc model = even(p * 2);
    pw_train_desc desc = pipeline(&model, schedule, p, m);
    desc.optimizer_check = check;
    bench made = bench_of(&desc);
    make_uniform(&made, f, b, w);
    double compute[64] = {0}, stage[64] = {0};
    double end = bench_spans(&made, compute, stage), longest = 0;
    for (int64_t s = 0; s < p; s++) {
        PW_EXPECT_NEAR(compute[s], compute[0], 1e-9);
        longest = fmax(longest, stage[s]);
    }
    bench_close(&made);
    double unit = compute[0] / (double)(m * (f + b + w)); /* of a whole stage */
    return (length){(end - compute[0]) / unit, (longest - compute[0]) / unit, compute[0] / unit};
}

static void expect_idle(const char *what, double idle, double law, double tolerance) {
    if (!(fabs(idle - law) <= tolerance)) PW_FAILED("%s: idle for %.6f units, the law says %g", what, idle, law);
}

#define FOR_SIZES                                  \
    for (int64_t p = 8; p <= 16; p += 8)           \
        for (int64_t m = 2 * p; m <= 5 * p; m += 3 * p)

static const struct { uint32_t f, b, w; } times[] = {{1, 1, 1}, {10, 12, 8}, {10, 11, 9}};

/* Qi et al. 2023: (p - 1)(F + B - W), and (p - 1)(F + B - 2 W) where no stage waits for the others at the end. */
PW_TEST(bubbles_of_zb_h1_and_zb_h2_are_the_closed_forms) {
    FOR_SIZES for (size_t i = 0; i < 3; i++) {
        double f = times[i].f, b = times[i].b, w = times[i].w, stages = (double)(p - 1);
        length h1 = idle_of(PW_SCHEDULE_ZB_H1, PW_CHECK_GLOBAL, p, m, times[i].f, times[i].b, times[i].w);
        expect_idle("zb-h1", h1.whole, stages * (f + b - w), 1e-5 * h1.busy);
        length h2 = idle_of(PW_SCHEDULE_ZB_H2, PW_CHECK_LATE, p, m, times[i].f, times[i].b, times[i].w);
        expect_idle("zb-h2", h2.stage, stages * (f + b - 2 * w), 1e-5 * h2.busy);
        h2 = idle_of(PW_SCHEDULE_ZB_H2, PW_CHECK_GLOBAL, p, m, times[i].f, times[i].b, times[i].w);
        expect_idle("zb-h2 with a global check", h2.whole, stages * fmax(f, f + b - 2 * w), 1e-5 * h2.busy);
    }
}

/* Zero-bubble V, and the two that trade memory for bubble: half and two thirds of 1F1B's. In units of half a stage v-min
 * waits 4 (p - 1) - 1, and 2 more where p is a multiple of 3. */
PW_TEST(bubbles_of_v_schedules_are_none_a_half_and_two_thirds) {
    FOR_SIZES {
        double plain = 3 * (double)(p - 1);
        length zbv = idle_of(PW_SCHEDULE_ZB_V, PW_CHECK_LATE, p, m, 1, 1, 1);
        expect_idle("zb-v", zbv.stage, 0, 1e-5 * zbv.busy);
        length half = idle_of(PW_SCHEDULE_V_HALF, PW_CHECK_GLOBAL, p, m, 1, 1, 1);
        expect_idle("v-half", half.whole, plain / 2, 1e-5 * half.busy);
        length least = idle_of(PW_SCHEDULE_V_MIN, PW_CHECK_GLOBAL, p, m, 1, 1, 1);
        expect_idle("v-min", least.whole, (4 * (double)(p - 1) - 1) / 2, 1e-5 * least.busy);
        PW_EXPECT(fabs(least.whole / plain - 2.0 / 3) < 0.5 / plain + 1e-3);
    }
}

/* DeepSeek-AI, README of DualPipe: (p/2 - 1)(FB + Bf - 3 W) with FB a pair side by side and Bf = B + W. FB is a little
 * less than F + Bf, as one computes while the other moves data; how much follows from two stages with other counts of
 * pairs: 2n - 3k + 1 on the outermost, 2n - 2k - 1 on the innermost (n micro-batches a direction, k stages a side). The law
 * holds on the innermost. */
static void expect_dual(int schedule, int64_t p, int64_t n, uint32_t f, uint32_t b, uint32_t w) {
    bool both = schedule == PW_SCHEDULE_DUALPIPE;
    int64_t sides = both ? p / 2 : p, m = both ? 2 * n : n;
    pw_model_desc model = even(p * 2);
    pw_train_desc desc = pipeline(&model, schedule, p, m);
    bench made = bench_of(&desc);
    make_uniform(&made, f, b, w);
    double busy[64] = {0}, end = bench_run(&made, busy, NULL), inner = busy[sides - 1];
    bench_close(&made);
    double gain = (inner - busy[0]) / (double)(sides - 2), pairs = (double)(2 * n - 3 * sides + 1); /* gain < 0: FB - F - Bf */
    double work = busy[0] - gain * pairs, unit = work / (double)(m * (f + b + w)), chunk = both ? unit : unit / 2;
    double law = (double)(sides - 1) * (chunk * ((double)f + 2 * (b + w) - 3.0 * w) + gain);
    PW_EXPECT(gain <= 0 && -gain < 0.1 * chunk * (f + b + w));
    if (!(fabs(end - inner - law) <= 1e-5 * end))
        PW_FAILED("schedule %d, p %d, n %d: idle for %.6f units, the law says %g", schedule, (int)p, (int)n,
                  (end - inner) / unit, law / unit);
}

PW_TEST(bubbles_of_dualpipe_are_the_closed_form) {
    const struct { uint32_t f, b, w; } equal[] = {{1, 1, 1}, {10, 10, 7}, {12, 12, 9}};
    FOR_SIZES for (size_t i = 0; i < 3; i++) {
        expect_dual(PW_SCHEDULE_DUALPIPE, p, m, equal[i].f, equal[i].b, equal[i].w);
        expect_dual(PW_SCHEDULE_DUALPIPEV, p, m, equal[i].f, equal[i].b, equal[i].w);
    }
}

/* --- Memory ------------------------------------------------------------------------------------------------------ */

typedef struct alive {
    double most;          /* bytes */
    int64_t passes, full; /* layers that wait for W, for B: at most */
} alive;

/* Walks a program as it is issued and adds up what its layers keep. */
static alive walk(const pw_job *job, uint32_t program, double full, double kept) {
    alive most = {0};
    int64_t forward = 0, input = 0;
    pw_walker *walker = pw_walker_create(NULL, job, program);
    for (pw_op op; pw_walker_next(walker, &op);) {
        if (op.kind != PW_OP_COMPUTE) continue;
        const char *name = job->segments[op.compute.segment].name;
        if (!strcmp(name, "layer")) forward++;
        if (!strcmp(name, "layer backward")) forward--;
        if (!strcmp(name, "layer backward (input)")) forward--, input++;
        if (!strcmp(name, "layer backward (weights)")) input--;
        double bytes = (double)forward * full + (double)input * kept;
        if (bytes > most.most) most.most = bytes;
        if (forward > most.full) most.full = forward;
        if (forward + input > most.passes) most.passes = forward + input;
    }
    PW_EXPECT_INT(forward, 0);
    PW_EXPECT_INT(input, 0);
    pw_walker_destroy(walker);
    return most;
}

/* h 2048, 16 heads, megatron-2022: s b h (34 + 5 a s/h) from F to B, 32 s b h from B to W. */
static const double FULL = 1024 * 2048 * (34.0 + 5 * 16 * 1024 / 2048.0), KEPT = 1024 * 2048 * 32.0;

PW_TEST(activations_of_the_account_are_those_of_the_program) {
    for (int schedule = 0; schedule <= PW_SCHEDULE_DUALPIPEV; schedule++)
        for (int64_t p = 4; p <= 8; p += 2)
            for (int64_t layers = 2 * p; layers <= 2 * p + 3; layers += 3) {
                pw_model_desc model = even(layers);
                pw_train_desc desc = pipeline(&model, schedule, p, 4 * p);
                desc.recompute = PW_RECOMPUTE_NONE;
                bench b = bench_of(&desc);
                for (int64_t stage = 0; stage < p; stage++) {
                    pw_memory_account account;
                    pw_error error = {0};
                    must(pw_train_memory(catalogue(), device("A100-SXM4-80GB"), &desc, stage, &account, &error), &error);
                    double most = walk(b.job, (uint32_t)stage, FULL, KEPT).most;
                    if (!(fabs(account.activations / most - 1) < 1e-12))
                        PW_FAILED("schedule %d, p %d, layers %d, stage %d: account %.0f, program %.0f", schedule, (int)p,
                                  (int)layers, (int)stage, account.activations, most);
                }
                bench_close(&b);
            }
}

/* Micro-batches of a stage that are alive, in layers of a stage: knowledge of the papers' tables. */
PW_TEST(micro_batches_in_flight_are_those_of_the_papers) {
    const struct { int schedule; double of_p, more; } laws[] = {
        {PW_SCHEDULE_ZB_H1, 1, 0}, {PW_SCHEDULE_ZB_H2, 2, -1}, {PW_SCHEDULE_ZB_V, 1, 0}, {PW_SCHEDULE_V_HALF, 0.5, 1},
        {PW_SCHEDULE_V_MIN, 1.0 / 3, 4.0 / 3}, {PW_SCHEDULE_DUALPIPE, 1, 1}, {PW_SCHEDULE_DUALPIPEV, 1, 0.5}};
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        for (int64_t p = 4; p <= 16; p *= 2) {
            pw_model_desc model = even(2 * p);
            pw_train_desc desc = pipeline(&model, laws[i].schedule, p, 4 * p);
            bench b = bench_of(&desc);
            double law = laws[i].of_p * (double)p + laws[i].more, most = 0;
            for (int64_t stage = 0; stage < p; stage++) {
                double here = (double)walk(b.job, (uint32_t)stage, 1, 1).passes / 2;
                most = fmax(most, here);
            }
            if (laws[i].schedule == PW_SCHEDULE_V_MIN) law = floor(law);
            if (!(fabs(most - law) <= 1e-9))
                PW_FAILED("schedule %d, p %d: %g micro-batches, expected %g", laws[i].schedule, (int)p, most, law);
            bench_close(&b);
        }
}

/* --- Jobs with everything on -------------------------------------------------------------------------------------- */

PW_TEST(split_schedules_run_with_every_parallelism_folded_or_not) {
    const struct { int64_t t, p, c; } shapes[] = {{1, 4, 1}, {2, 2, 1}, {2, 4, 1}, {1, 2, 2}, {2, 2, 2}, {1, 8, 1}};
    for (int schedule = PW_SCHEDULE_ZB_H1; schedule <= PW_SCHEDULE_DUALPIPEV; schedule++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int switches = 0; switches < 8; switches++) {
                pw_model_desc model = even(16);
                model.tied = switches & 1;
                pw_train_desc desc = job(&model, "nemo-2024", 1024, 1);
                desc.tensor_parallel = shapes[i].t;
                desc.pipeline_parallel = shapes[i].p;
                desc.context_parallel = shapes[i].c;
                desc.schedule = schedule;
                desc.data_parallel = 8 / (shapes[i].t * shapes[i].p * shapes[i].c);
                desc.global_batch = (2 * shapes[i].p + 2) * desc.data_parallel;
                desc.sequence_parallel = switches >> 1 & 1;
                desc.overlap_gradients = desc.overlap_parameters = switches >> 2 & 1;
                desc.recompute = switches == 5 ? PW_RECOMPUTE_FULL : PW_RECOMPUTE_NONE;
                pw_train_result folded = run_plain(&desc, "DGX H100", 1, false);
                PW_EXPECT(folded.step_s > 0);
                if (switches % 5) continue;
                PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, true).step_s, folded.step_s, 1e-9);
            }
}

/* Splitting the backward pass moves work, and adds or loses none. */
PW_TEST(split_schedules_do_the_multiplies_of_1f1b) {
    pw_model_desc model = even(16);
    pw_train_desc desc = job(&model, "nemo-2024", 1024, 32);
    desc.pipeline_parallel = 4;
    desc.tensor_parallel = 2;
    double plain = run_plain(&desc, "DGX H100", 1, false).totals.flops;
    for (int schedule = PW_SCHEDULE_ZB_H1; schedule <= PW_SCHEDULE_DUALPIPEV; schedule++) {
        desc.schedule = schedule;
        PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).totals.flops, plain, 1e-12);
    }
}

PW_TEST(split_schedules_work_with_experts) {
    for (int sequence_parallel = 0; sequence_parallel < 2; sequence_parallel++) {
        pw_model_desc model = even(16);
        model.experts = 8;
        model.experts_per_token = 2;
        model.expert_ffn = 2048;
        model.shared_ffn = sequence_parallel ? 2048 : 0;
        pw_train_desc desc = job(&model, "nemo-2025", 1024, 32);
        desc.pipeline_parallel = 4;
        desc.tensor_parallel = sequence_parallel ? 2 : 1;
        desc.expert_parallel = 2;
        desc.sequence_parallel = sequence_parallel;
        double plain = run_plain(&desc, "DGX H100", 1, false).totals.flops;
        for (int schedule = PW_SCHEDULE_ZB_H1; schedule <= PW_SCHEDULE_DUALPIPEV; schedule++) {
            desc.schedule = schedule;
            pw_train_result folded = run_plain(&desc, "DGX H100", 1, false);
            PW_EXPECT_NEAR(folded.totals.flops, plain, 1e-12);
            PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, true).step_s, folded.step_s, 1e-9);
        }
    }
}

/* A late check lets steps follow each other at the pace of the busiest stage; the parts of the step still add up. */
PW_TEST(a_late_check_never_makes_a_step_longer) {
    for (int schedule = 0; schedule <= PW_SCHEDULE_DUALPIPEV; schedule++) {
        pw_model_desc model = even(16);
        pw_train_desc desc = pipeline(&model, schedule, 8, 32);
        double global = run_plain(&desc, "DGX H100", 1, false).step_s;
        desc.optimizer_check = PW_CHECK_LATE;
        pw_train_result late = run_plain(&desc, "DGX H100", 1, false);
        PW_EXPECT(late.step_s <= global * (1 + 1e-9) && late.step_s > 0.5 * global);
        double sum = 0;
        for (uint32_t i = 0; i < late.part_count; i++) sum += late.parts[i].seconds;
        PW_EXPECT_NEAR(sum, late.step_s, 1e-9);
    }
}

/* Long steps cost no more memory: the program of a stage has as many operations with 512 micro-batches as with 256. */
PW_TEST(programs_of_long_steps_are_loops) {
    for (int schedule = PW_SCHEDULE_ZB_H1; schedule <= PW_SCHEDULE_DUALPIPEV; schedule++) {
        uint32_t operations[2] = {0};
        for (int i = 0; i < 2; i++) {
            pw_model_desc model = even(16);
            pw_train_desc desc = pipeline(&model, schedule, 8, i ? 512 : 256);
            bench b = bench_of(&desc);
            for (uint32_t k = 0; k < b.job->program_count; k++)
                operations[i] += b.job->templates[b.job->programs[k].template_index].count;
            bench_close(&b);
        }
        if (operations[0] != operations[1] || operations[0] > 8 * 1200)
            PW_FAILED("schedule %d: %u, then %u operations", schedule, operations[0], operations[1]);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
