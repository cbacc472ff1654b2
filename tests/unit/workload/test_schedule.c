/* Pipelines of real lowered jobs: order, bubbles, micro-batches in flight, no deadlock. */
#include "tests/unit/workload/runs.h"

static pw_model_desc even(int64_t layers) {
    pw_model_desc model = {.name = "even", .layers = layers, .hidden = 2048, .heads = 16, .vocabulary = 1024};
    return model;
}

/* Makes every stage equal and everything but the layers free: the ends of the model and the optimizer lose their kernels,
 * and kernels take so long that messages do not count. */
static void only_layers(bench *b) {
    for (uint32_t i = 0; i < b->job->segment_count; i++) {
        pw_segment *segment = (pw_segment *)&b->job->segments[i];
        if (strncmp(segment->name, "layer", 5)) segment->count = 0;
    }
    b->job->launch_s = 0;
    b->job->kernel_time_factor = 1e6;
}

static void expect_bubble(int64_t p, int64_t v, int64_t m, int schedule, int overlap, double bubble_chunks) {
    pw_model_desc model = even(p * v * 2);
    pw_train_desc desc = job(&model, "megatron-2022", 1024, m);
    desc.pipeline_parallel = p;
    desc.virtual_stages = v;
    desc.data_parallel = 1;
    desc.schedule = schedule;
    desc.overlap_pipeline = overlap;
    bench b = bench_open(&desc, "DGX A100 640GB", p / 8 ? p / 8 : 1);
    only_layers(&b);
    double compute[64] = {0}, total = bench_run(&b, compute, NULL);
    for (int64_t stage = 1; stage < p; stage++) PW_EXPECT_NEAR(compute[stage], compute[0], 1e-9);
    double chunk = compute[0] / (double)(m * v);
    if (!(fabs(total - compute[0] - bubble_chunks * chunk) <= 1e-5 * total))
        PW_FAILED("p %d v %d m %d schedule %d overlap %d: bubble of %.6f chunks, expected %g", (int)p, (int)v, (int)m,
                  schedule, overlap, (total - compute[0]) / chunk, bubble_chunks);
    bench_close(&b);
}

/* Idle time (p-1)(f+b) of 1F1B and GPipe, (p-1)(f+b)/v interleaved; a chunk is (f+b)/v. */
PW_TEST(bubbles_of_uniform_stages_are_the_closed_forms) {
    for (int overlap = 0; overlap < 2; overlap++) {
        for (int64_t p = 8; p <= 16; p += 8) {
            expect_bubble(p, 1, p, PW_SCHEDULE_1F1B, overlap, (double)(p - 1));
            expect_bubble(p, 1, 3 * p + 1, PW_SCHEDULE_1F1B, overlap, (double)(p - 1));
            expect_bubble(p, 1, p + 3, PW_SCHEDULE_GPIPE, overlap, (double)(p - 1));
            expect_bubble(p, 2, p, PW_SCHEDULE_1F1B, overlap, (double)(p - 1));
            expect_bubble(p, 3, 4 * p, PW_SCHEDULE_1F1B, overlap, (double)(p - 1));
        }
    }
}

/* Counts passes over layers in the order of issue: the most that wait for their backward pass. */
static int64_t most_in_flight(const pw_job *job, uint32_t program) {
    int64_t alive = 0, most = 0;
    pw_walker *walker = pw_walker_create(NULL, job, program);
    for (pw_op op; pw_walker_next(walker, &op);) {
        if (op.kind != PW_OP_COMPUTE) continue;
        const char *name = job->segments[op.compute.segment].name;
        if (!strcmp(name, "layer")) alive++;
        if (!strcmp(name, "layer backward")) alive--;
        if (alive > most) most = alive;
    }
    PW_EXPECT_INT(alive, 0);
    pw_walker_destroy(walker);
    return most;
}

PW_TEST(layers_in_flight_are_those_of_the_memory_account) {
    const struct { int64_t p, v, m; int schedule; } cases[] = {
        {8, 1, 32, PW_SCHEDULE_1F1B}, {8, 1, 4, PW_SCHEDULE_1F1B}, {8, 3, 32, PW_SCHEDULE_1F1B},
        {8, 3, 8, PW_SCHEDULE_1F1B},  {8, 1, 12, PW_SCHEDULE_GPIPE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t p = cases[i].p, v = cases[i].v, m = cases[i].m;
        pw_model_desc model = even(p * v * 2);
        pw_train_desc desc = job(&model, "megatron-2022", 1024, m);
        desc.pipeline_parallel = p;
        desc.virtual_stages = v;
        desc.data_parallel = 1;
        desc.schedule = cases[i].schedule;
        bench b = bench_open(&desc, "DGX A100 640GB", 1);
        pw_memory_account one, account;
        pw_error error = {0};
        for (int64_t stage = 0; stage < p; stage++) {
            int64_t micro = v == 1 && p - stage < m ? p - stage : m;
            int64_t chunks = v == 1 ? micro : 2 * (p - stage - 1) + (v - 1) * p + 1;
            if (cases[i].schedule == PW_SCHEDULE_GPIPE || chunks > m * v) chunks = m * v;
            PW_EXPECT_INT(most_in_flight(b.job, (uint32_t)stage), 2 * chunks);
            must(pw_train_memory(catalogue(), device("A100-SXM4-80GB"), &desc, stage, &account, &error), &error);
            pw_train_desc single = desc;
            single.global_batch = 1;
            single.virtual_stages = 1;
            must(pw_train_memory(catalogue(), device("A100-SXM4-80GB"), &single, stage, &one, &error), &error);
            PW_EXPECT_NEAR(account.activations / one.activations, (double)chunks / (double)v, 1e-12);
        }
        bench_close(&b);
    }
}

/* The interleaved order of Megatron-LM for p = 2, v = 2, m = 4 on the first stage, written out by hand. */
PW_TEST(interleaved_messages_leave_in_the_order_of_megatron) {
    pw_model_desc model = even(8);
    pw_train_desc desc = job(&model, "megatron-2022", 1024, 4);
    desc.pipeline_parallel = 2;
    desc.virtual_stages = 2;
    desc.data_parallel = 1;
    desc.overlap_pipeline = 0;
    pw_cluster_desc two = nodes_of("DGX A100 640GB", 1);
    two.node.gpus = 2;
    pw_cluster *cluster;
    pw_job *lowered;
    pw_error error = {0};
    must(pw_cluster_create(NULL, catalogue(), &two, &cluster, &error), &error);
    must(pw_train_lower(catalogue(), cluster, &desc, arena(), "job.lua", 1, &lowered, &error), &error);
    const struct { int channel; int64_t chunk, micro; } order[] = { /* sends: chunk of the receiver */
        {0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 1}, {0, 0, 2}, {1, 0, 0}, {0, 0, 3}, {1, 0, 1},
        {0, 1, 2}, {0, 1, 3}, {1, 0, 2}, {1, 0, 3}};
    size_t next = 0;
    pw_walker *walker = pw_walker_create(NULL, lowered, 0);
    for (pw_op op; pw_walker_next(walker, &op);) {
        if (op.kind != PW_OP_SEND) continue;
        PW_EXPECT(next < sizeof order / sizeof *order);
        if (next >= sizeof order / sizeof *order) break;
        PW_EXPECT_INT(op.message.channel, order[next].channel);
        PW_EXPECT_INT(op.message.tag >> 32, order[next].chunk);
        PW_EXPECT_INT(op.message.tag & 0xffffffff, order[next].micro);
        next++;
    }
    PW_EXPECT_INT(next, sizeof order / sizeof *order);
    pw_walker_destroy(walker);
    pw_cluster_destroy(cluster);
}

/* Every combination of switches runs to its end, folded and unfolded alike. */
PW_TEST(no_combination_of_schedules_and_overlaps_deadlocks) {
    const struct { int64_t t, p, c, v, m; int schedule; } shapes[] = {
        {1, 2, 1, 1, 2, PW_SCHEDULE_1F1B}, {2, 2, 1, 2, 4, PW_SCHEDULE_1F1B}, {2, 4, 1, 1, 9, PW_SCHEDULE_1F1B},
        {1, 4, 2, 2, 8, PW_SCHEDULE_1F1B}, {2, 2, 2, 4, 16, PW_SCHEDULE_1F1B}, {1, 8, 1, 1, 3, PW_SCHEDULE_GPIPE},
        {1, 8, 1, 2, 8, PW_SCHEDULE_1F1B}, {2, 1, 2, 1, 3, PW_SCHEDULE_1F1B}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int switches = 0; switches < 16; switches++) {
            pw_model_desc model = even(16);
            model.tied = switches & 1;
            pw_train_desc desc = job(&model, "nemo-2024", 1024, 1);
            desc.tensor_parallel = shapes[i].t;
            desc.pipeline_parallel = shapes[i].p;
            desc.context_parallel = shapes[i].c;
            desc.virtual_stages = shapes[i].v;
            desc.schedule = shapes[i].schedule;
            desc.data_parallel = 8 / (shapes[i].t * shapes[i].p * shapes[i].c);
            desc.global_batch = shapes[i].m * desc.data_parallel;
            desc.sequence_parallel = switches >> 1 & 1;
            desc.overlap_pipeline = switches >> 2 & 1;
            desc.overlap_gradients = desc.overlap_parameters = switches >> 3 & 1;
            pw_train_result folded = run_plain(&desc, "DGX H100", 1, false);
            PW_EXPECT(folded.step_s > 0);
            if (switches % 5) continue;
            PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, true).step_s, folded.step_s, 1e-9);
        }
}

/* Megatron-LM overlaps messages of the interleaved schedule alone; a job may ask for more. */
PW_TEST(a_plain_pipeline_overlaps_messages_only_when_asked) {
    pw_model_desc model = even(16);
    pw_train_desc desc = job(&model, "nemo-2024", 1024, 32);
    desc.pipeline_parallel = 8;
    double as_stack = run_plain(&desc, "DGX H100", 1, false).step_s;
    desc.overlap_pipeline = 0;
    double off = run_plain(&desc, "DGX H100", 1, false).step_s;
    desc.overlap_pipeline = 1;
    double on = run_plain(&desc, "DGX H100", 1, false).step_s;
    PW_EXPECT_NEAR(as_stack, off, 1e-12);
    PW_EXPECT(on < off);
    desc.virtual_stages = 2;
    on = run_plain(&desc, "DGX H100", 1, false).step_s;
    desc.overlap_pipeline = 2;
    PW_EXPECT_NEAR(run_plain(&desc, "DGX H100", 1, false).step_s, on, 1e-12);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
