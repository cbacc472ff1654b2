/* What goes wrong is said: deadlocks name who waits for whom, bad jobs what is bad, no memory ends in an error. */
#include "tests/unit/program/fixture.h"

static uint32_t across(uint32_t group, uint32_t member) { return (void)group, member; }

PW_TEST(a_deadlock_names_the_circle) {
    world *w = world_of(1, 2);
    uint16_t next = peers_of(w, "next", 1), previous = peers_of(w, "previous", -1);
    uint16_t all = groups_of(w, "dp", 1, 2, across);
    uint32_t a = template_of(w, "a"), b = template_of(w, "b");
    op(w, a, message_op(PW_OP_SEND, 0, next, 1, 8));
    op(w, a, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, all, 8));
    op(w, b, collective_op(0, PW_COLLECTIVE_ALL_REDUCE, all, 8));
    op(w, b, message_op(PW_OP_RECV, 0, previous, 1, 8));
    w->program_of_rank[0] = program_of(w, "first", a);
    w->program_of_rank[1] = program_of(w, "second", b);
    outcome o = run(w, &(options){.fold = true});
    PW_EXPECT_INT(o.status, PW_DEADLOCK);
    PW_EXPECT_CONTAINS(o.error.what, "rank 0 (\"first\") stream 0: send \"next\" tag 1 waits for rank 1");
    PW_EXPECT_CONTAINS(o.error.what, "rank 1 (\"second\") stream 0: all_reduce 0 of \"dp\" waits for rank 0");
    PW_EXPECT_CONTAINS(o.error.what, "in a circle");
    world_free(w);
}

PW_TEST(a_partner_that_has_ended_is_named) {
    world *w = world_of(1, 2);
    uint16_t next = peers_of(w, "next", 1);
    uint32_t a = template_of(w, "a"), b = template_of(w, "b");
    op(w, a, signals(message_op(PW_OP_SEND, 0, next, 42, 8), 3));
    op(w, a, waits_for((pw_op){.kind = PW_OP_SYNC, PW_OP_INIT, .category = OTHER}, 3));
    w->program_of_rank[0] = program_of(w, "sender", a);
    w->program_of_rank[1] = program_of(w, "idler", b);
    outcome o = run(w, &(options){0});
    PW_EXPECT_INT(o.status, PW_DEADLOCK);
    PW_EXPECT_CONTAINS(o.error.what, "tag 42 waits for rank 1; rank 1 (\"idler\"): its program has ended");
    world_free(w);
}

PW_TEST(different_sizes_of_a_message_are_an_error) {
    world *w = world_of(1, 2);
    uint16_t next = peers_of(w, "next", 1), previous = peers_of(w, "previous", -1);
    uint32_t a = template_of(w, "a"), b = template_of(w, "b");
    op(w, a, message_op(PW_OP_SEND, 0, next, 1, 8));
    op(w, b, message_op(PW_OP_RECV, 0, previous, 1, 16));
    w->program_of_rank[0] = program_of(w, "a", a);
    w->program_of_rank[1] = program_of(w, "b", b);
    outcome o = run(w, &(options){0});
    PW_EXPECT_INT(o.status, PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(o.error.what, "rank 0 sends 8 bytes to rank 1, which expects 16");
    world_free(w);
}

PW_TEST(bad_jobs_are_named) {
    pw_error error = {0};
    world *w = world_of(1, 2);
    uint32_t t = template_of(w, "body"), u = template_of(w, "other");
    program_of(w, "p", t);
    PW_EXPECT_INT(pw_job_check(&w->job, &error), PW_OK);
    struct { pw_op bad; const char *text; } cases[] = {
        {compute_op(0, 5), "bad compute"},
        {delay_op(99, 1), "stream 99 of 8"},
        {delay_op(0, -1), "bad delay"},
        {delay_op(0, NAN), "bad delay"},
        {waits_for(delay_op(0, 1), 400), "waits for slot 400"},
        {signals(delay_op(0, 1), 64), "signals slot 64"},
        {message_op(PW_OP_SEND, 0, 3, 0, 1), "bad send"},
        {collective_op(0, PW_COLLECTIVE_ALL_REDUCE, 2, 1), "bad collective"},
        {(pw_op){.kind = PW_OP_CALL, .call.template_index = 9}, "calls template 9"},
        {(pw_op){.kind = PW_OP_CALL, .call.template_index = t}, "calls itself"},
        {(pw_op){.kind = PW_OP_LOOP, .loop = {.count = 2, .length = 4}}, "loops over 4 operations where 0 are left"},
        {(pw_op){.kind = (pw_op_kind)77}, "no known kind"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        w->templates[t].count = 0;
        op(w, t, cases[i].bad);
        PW_EXPECT_INT(pw_job_check(&w->job, &error), PW_BAD_INPUT);
        PW_EXPECT_CONTAINS(error.what, cases[i].text);
    }
    w->templates[t].count = 0;
    uint16_t next = peers_of(w, "next", 1);
    op(w, t, (pw_op){.kind = PW_OP_CALL, .call.template_index = u});
    op(w, u, message_op(PW_OP_SEND, 0, next, 0, 1));
    PW_EXPECT_INT(pw_job_check(&w->job, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "rank 1 runs \"p\" but has no peer in role \"next\"");
    w->gpu_of_rank[1] = 0;
    w->templates[u].count = 0;
    outcome o = run(w, &(options){0});
    PW_EXPECT_INT(o.status, PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(o.error.what, "rank 1 shares GPU 0");
    world_free(w);
}

/* Fails each allocation of the simulation once: a clean error, nothing leaked. */
PW_TEST(every_failed_allocation_ends_in_an_error) {
    world *w = world_of(2, 2);
    uint16_t all = groups_of(w, "dp", 1, 4, across);
    uint32_t t = template_of(w, "step"), s = gemm_segment(w, "s", 1024, 3);
    op(w, t, signals(compute_op(0, s), 0));
    op(w, t, compute_op(2, s));
    op(w, t, waits_for(collective_op(1, PW_COLLECTIVE_ALL_REDUCE, all, 1e6), 0));
    op(w, t, (pw_op){.kind = PW_OP_COPY, .stream = 3, PW_OP_INIT, .category = OTHER, .copy.bytes = 1e6});
    op(w, t, (pw_op){.kind = PW_OP_MARK, PW_OP_INIT, .category = OTHER, .mark.name = "end"});
    program_of(w, "step", t);
    for (int messages = 0; messages < 2; messages++) {
        bool finished = false;
        for (unsigned long long n = 1; n < 5000 && !finished; n++) {
            pw_counting_allocator counting;
            pw_counting_allocator_init(&counting);
            counting.fail_at = n;
            pw_sim *sim = NULL;
            pw_fluid *fluid = NULL;
            pw_executor *x = NULL;
            pw_recorder *recorder = NULL;
            pw_blame *blame = NULL;
            pw_error error = {0};
            pw_status status = pw_sim_create(&(pw_sim_config){.allocator = &counting.allocator}, &sim, &error);
            if (!status) status = pw_fluid_create(sim, false, &fluid, &error);
            if (!status) status = pw_recorder_create(&counting.allocator, &recorder, &error);
            if (!status) status = pw_blame_create(&counting.allocator, &w->job, w->gpu, recorder, &blame, &error);
            pw_executor_config config = {.sim = sim, .fluid = fluid, .recorder = recorder, .cluster = w->cluster,
                                         .collectives = w->collectives, .gpu = w->gpu, .clock_ratio = 1,
                                         .fold = true, .messages = messages};
            if (!status) status = pw_executor_create(&config, &w->job, &x, &error);
            if (!status) status = pw_sim_run(sim, PW_TIME_MAX);
            if (!status) status = pw_executor_finish(x, &error);
            const pw_blame_part *parts;
            uint32_t count;
            double total;
            const char *home;
            if (!status) status = pw_blame_result(blame, &parts, &count, &total, &home, &error);
            finished = counting.calls < n;
            if (finished) PW_EXPECT_INT(status, PW_OK);
            else if (status != PW_NO_MEMORY) PW_FAILED("allocation %llu: %s", n, pw_status_text(status));
            pw_blame_destroy(blame);
            pw_executor_destroy(x);
            pw_recorder_destroy(recorder);
            pw_fluid_destroy(fluid);
            pw_sim_destroy(sim);
            if (counting.live_bytes != 0) {
                PW_FAILED("allocation %llu fails: %zu bytes leak", n, counting.live_bytes);
                break;
            }
        }
        PW_EXPECT(finished);
    }
    world_free(w);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
