/* Replays against closed forms, and traces that cannot run. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/workload/replay/replay.h"
#include "tests/harness/check.h"
#include "tests/unit/workload/jobs.h"

static char folder[64];

static void write_file(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) abort();
}

static pw_status replay(const char *trace, int format, int64_t ranks, const char *groups, pw_replay_result *result, pw_error *error) {
    pw_cluster_desc cluster;
    pw_replay_desc desc;
    char scenario[256];
    *error = (pw_error){0};
    must(pw_description_defaults(&pw_cluster_kind, &cluster, arena(), error), error);
    must(pw_description_defaults(&pw_replay_kind, &desc, arena(), error), error);
    cluster.node.server = "DGX H100";
    cluster.nodes = 1;
    desc.trace = trace;
    desc.format = format;
    desc.ranks = ranks;
    desc.groups = groups;
    snprintf(scenario, sizeof scenario, "%s/job.lua", folder);
    const pw_replay_options options = {.seed = 1};
    return pw_replay_run(NULL, catalogue(), &cluster, &desc, &options, scenario, 3, arena(), result, error);
}

static double goal(const char *text) { /* seconds */
    pw_replay_result result;
    pw_error error;
    write_file("t.goal", text);
    must(replay("t.goal", PW_REPLAY_GOAL, 0, NULL, &result, &error), &error);
    return result.session.end_s;
}

static double message_s(void) { return goal("num_ranks 2\nrank 0 { s: send 1000000b to 1 }\nrank 1 { r: recv 1000000b from 0 }\n"); }

PW_TEST(a_chain_takes_the_sum_and_a_diamond_its_longer_side) {
    PW_EXPECT_NEAR(goal("num_ranks 1\nrank 0 { a: calc 1000 b: calc 2000 c: calc 4000\nb requires a\nc requires b }\n"), 7e-6, 1e-12);
    const char *diamond = "num_ranks 1\nrank 0 {\n a: calc 1000\n b: calc 2000 cpu 1\n c: calc 5000 cpu 2\n d: calc 3000\n"
                          " b requires a\n c requires a\n d requires b\n d requires c\n}\n";
    PW_EXPECT_NEAR(goal(diamond), 9e-6, 1e-12);
}

PW_TEST(computations_of_one_resource_follow_each_other_as_they_become_ready) {
    /* b is written first but waits for a, which runs elsewhere: c goes before it. */
    const char *text = "num_ranks 1\nrank 0 {\n b: calc 1000\n c: calc 2000\n a: calc 5000 cpu 1\n b requires a\n}\n";
    PW_EXPECT_NEAR(goal(text), 6e-6, 1e-12);
    PW_EXPECT_NEAR(goal("num_ranks 1\nrank 0 { b: calc 1000 c: calc 2000 }\n"), 3e-6, 1e-12);
}

PW_TEST(rounds_of_ping_pong_add_up) {
    char text[8000] = "num_ranks 2\n";
    size_t used = strlen(text);
    enum { ROUNDS = 20 };
    for (int rank = 0; rank < 2; rank++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "rank %d {\n", rank);
        for (int i = 0; i < 2 * ROUNDS; i++) {
            bool sends = i % 2 == rank;
            used += (size_t)snprintf(text + used, sizeof text - used, "l%d: %s 1000000b %s %d tag %d\n", i, sends ? "send" : "recv",
                                     sends ? "to" : "from", 1 - rank, i);
            if (i) used += (size_t)snprintf(text + used, sizeof text - used, "l%d requires l%d\n", i, i - 1);
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "}\n");
    }
    PW_EXPECT_NEAR(goal(text), 2 * ROUNDS * message_s(), 1e-9);
}

PW_TEST(a_token_round_a_ring_takes_a_message_for_each_rank) {
    char text[2000] = "num_ranks 8\n";
    size_t used = strlen(text);
    for (int rank = 0; rank < 8; rank++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "rank %d {\nr: recv 1000000b from %d\ns: send 1000000b to %d\n%s requires %s\n}\n", rank, (rank + 7) % 8,
                                 (rank + 1) % 8, rank ? "s" : "r", rank ? "r" : "s");
    PW_EXPECT_NEAR(goal(text), 8 * message_s(), 1e-9);
}

PW_TEST(everybody_sends_round_the_ring_at_once_in_the_time_of_one) {
    char text[2000] = "num_ranks 8\n";
    size_t used = strlen(text);
    for (int rank = 0; rank < 8; rank++)
        used += (size_t)snprintf(text + used, sizeof text - used, "rank %d {\nr: recv 1000000b from %d\ns: send 1000000b to %d\n}\n", rank,
                                 (rank + 7) % 8, (rank + 1) % 8);
    PW_EXPECT_NEAR(goal(text), message_s(), 1e-9);
}

PW_TEST(a_message_is_there_before_it_is_asked_for) {
    /* The receiver computes 1 ms first: the message of some 20 us is long there. */
    const char *text = "num_ranks 2\nrank 0 { s: send 1000000b to 1 }\nrank 1 { c: calc 1000000 r: recv 1000000b from 0 d: calc 1000\n"
                       "r requires c\nd requires r }\n";
    PW_EXPECT_NEAR(goal(text), 1.001e-3, 1e-9);
}

PW_TEST(messages_that_are_taken_in_another_order_than_sent_do_not_lock) {
    const char *text = "num_ranks 2\nrank 0 { a: send 1000b to 1 tag 1 b: send 1000b to 1 tag 2\nb requires a }\n"
                       "rank 1 { y: recv 1000b from 0 tag 1 x: recv 1000b from 0 tag 2\ny requires x }\n";
    double alone = goal("num_ranks 2\nrank 0 { s: send 1000b to 1 }\nrank 1 { r: recv 1000b from 0 }\n");
    PW_EXPECT_NEAR(goal(text), 2 * alone, 1e-9);
}

PW_TEST(irequires_waits_for_the_start_alone) {
    PW_EXPECT_NEAR(goal("num_ranks 1\nrank 0 { a: calc 1000 b: calc 5000 cpu 1 c: calc 2000 cpu 2\nb requires a\nc irequires b }\n"), 6e-6, 1e-12);
    PW_EXPECT_NEAR(goal("num_ranks 1\nrank 0 { a: calc 1000 b: calc 5000 cpu 1 c: calc 2000 cpu 2\nb requires a\nc requires b }\n"), 8e-6, 1e-12);
    /* A receive is posted, then both send: no deadlock, and one message long. */
    const char *exchange = "num_ranks 2\nrank 0 { r: recv 1000000b from 1 s: send 1000000b to 1\ns irequires r }\n"
                           "rank 1 { r: recv 1000000b from 0 s: send 1000000b to 0\ns irequires r }\n";
    PW_EXPECT_NEAR(goal(exchange), message_s(), 1e-9);
}

PW_TEST(a_node_may_wait_for_many) {
    char text[4000] = "num_ranks 1\nrank 0 {\nz: calc 1000\n";
    size_t used = strlen(text);
    for (int i = 1; i < 40; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "l%d: calc %d cpu %d\nz requires l%d\n", i, 1000 * i, i, i);
    snprintf(text + used, sizeof text - used, "}\n");
    PW_EXPECT_NEAR(goal(text), 40e-6, 1e-12);
}

/* ---- Chakra ---- */

#define META "{\"version\": \"0.0.4\"}\n"

PW_TEST(chakra_nodes_keep_times_and_dependencies) {
    pw_replay_result result;
    pw_error error;
    write_file("c.0.json", META
               "{\"id\": \"1\", \"name\": \"a\", \"type\": \"COMP_NODE\", \"durationMicros\": \"100\"}"
               "{\"id\": \"2\", \"type\": \"COMP_NODE\", \"durationMicros\": \"200\", \"dataDeps\": [\"1\"]}\n"
               "{\"id\": \"3\", \"type\": \"METADATA_NODE\", \"ctrlDeps\": [\"2\"]}\n"
               "{\"id\": \"4\", \"type\": \"COMP_NODE\", \"durationMicros\": \"50\", \"dataDeps\": [\"3\"],"
               " \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": true}]}\n");
    must(replay("c.%r.json", PW_REPLAY_CHAKRA, 1, NULL, &result, &error), &error);
    PW_EXPECT_NEAR(result.session.end_s, 350e-6, 1e-9);
    PW_EXPECT_NEAR(result.compute_s[0], 350e-6, 1e-12);
    PW_EXPECT_NEAR(result.nodes, 4, 0);
}

PW_TEST(chakra_computations_without_a_time_take_the_roofline) {
    pw_replay_result result;
    pw_error error;
    write_file("c.0.json", "[{\"id\": 1, \"type\": 4, \"attr\": [{\"name\": \"num_ops\", \"int64_val\": 989400000000},"
                           " {\"name\": \"tensor_size\", \"uint64_val\": 1000}]},\n"
                           " {\"id\": 2, \"type\": 4, \"data_deps\": [1], \"attr\": [{\"name\": \"tensor_size\", \"uint64_val\": 3352000000}]}]");
    must(replay("c.%r.json", PW_REPLAY_CHAKRA, 1, NULL, &result, &error), &error);
    PW_EXPECT_NEAR(result.session.end_s, 2e-3, 1e-3); /* 989.4 GFLOP at 989.4 TFLOP/s, 3.352 GB at 3,352 GB/s */
    PW_EXPECT_NEAR(result.roofline_nodes, 2, 0);
}

static void write_collectives(const char *group, int ranks) {
    for (int rank = 0; rank < ranks; rank++) {
        char name[32], text[1000];
        snprintf(name, sizeof name, "c.%d.json", rank);
        snprintf(text, sizeof text, META "{\"id\": 1, \"type\": \"COMP_NODE\", \"durationMicros\": %d}\n"
                 "{\"id\": 2, \"type\": \"COMM_COLL_NODE\", \"dataDeps\": [1], \"attr\": [{\"name\": \"comm_type\", \"int64Val\": \"0\"},"
                 " {\"name\": \"comm_size\", \"int64Val\": \"100000000\"}, {\"name\": \"pg_name\", \"stringVal\": \"%s\"}]}\n",
                 1000 * (rank + 1), group);
        write_file(name, text);
    }
}

/* Kinds of the schema: 1 reduce, 3 gather, 4 scatter, 5 broadcast, 9 barrier. 4 ranks put in 100 MB each. */
PW_TEST(rooted_collectives_and_barriers_take_their_time) {
    double seconds[10] = {0};
    pw_error error;
    for (int kind = 0; kind < 10; kind++) {
        for (int rank = 0; rank < 4; rank++) {
            char name[32], text[1000];
            snprintf(name, sizeof name, "k.%d.json", rank);
            snprintf(text, sizeof text, META "{\"id\": 2, \"type\": \"COMM_COLL_NODE\", \"attr\": [{\"name\": \"comm_type\", \"int64Val\": %d}%s]}\n",
                     kind, kind == 9 ? "" : ", {\"name\": \"comm_size\", \"int64Val\": 100000000}");
            write_file(name, text);
        }
        pw_replay_result result;
        must(replay("k.%r.json", PW_REPLAY_CHAKRA, 4, NULL, &result, &error), &error);
        PW_EXPECT_NEAR(result.collectives, 1, 0);
        seconds[kind] = result.session.end_s;
    }
    enum { REDUCE = 1, ALL_GATHER, GATHER, SCATTER, BROADCAST, BARRIER = 9 };
    PW_EXPECT(seconds[REDUCE] == seconds[BROADCAST]);         /* one chain to and from the root */
    PW_EXPECT(seconds[GATHER] > 2 * seconds[SCATTER]);        /* 3 blocks of 100 MB come in, 3 of 25 MB go out */
    PW_EXPECT(seconds[BARRIER] > 0 && seconds[BARRIER] < 0.1 * seconds[SCATTER]);
}

PW_TEST(a_collective_starts_when_its_last_member_is_there) {
    pw_replay_result all, pairs;
    pw_error error;
    write_collectives("", 4);
    must(replay("c.%r.json", PW_REPLAY_CHAKRA, 4, NULL, &all, &error), &error);
    PW_EXPECT(all.session.end_s > 4.1e-3 && all.session.end_s < 6e-3);
    PW_EXPECT_NEAR(all.collectives, 1, 0);
    write_collectives("left", 2);
    write_file("groups.json", "{\"left\": [0, 1], \"right\": [2, 3]}");
    for (int rank = 2; rank < 4; rank++) {
        char name[32];
        snprintf(name, sizeof name, "c.%d.json", rank);
        write_file(name, META);
    }
    must(replay("c.%r.json", PW_REPLAY_CHAKRA, 4, "groups.json", &pairs, &error), &error);
    PW_EXPECT(pairs.session.end_s > 2.1e-3 && pairs.session.end_s < 4e-3);
}

/* A file of the protobuf form, written by hand: field numbers as in the schema. */
typedef struct wire {
    unsigned char bytes[4096];
    size_t size;
} wire;

static void put_varint(wire *to, uint64_t value) {
    for (; value > 127; value >>= 7) to->bytes[to->size++] = (unsigned char)(value & 127) | 128;
    to->bytes[to->size++] = (unsigned char)value;
}
static void put_number(wire *to, unsigned field, uint64_t value) {
    put_varint(to, field << 3);
    put_varint(to, value);
}
static void put_bytes(wire *to, unsigned field, const void *bytes, size_t size) {
    if (field) put_varint(to, field << 3 | 2);
    put_varint(to, size);
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}
static void put_attribute(wire *to, const char *name, unsigned field, uint64_t value) {
    wire inner = {.size = 0};
    put_bytes(&inner, 1, name, strlen(name));
    put_number(&inner, field, value);
    put_bytes(to, 10, inner.bytes, inner.size);
}
static void write_wire(const char *name, const wire *from) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(from->bytes, 1, from->size, file) != from->size || fclose(file)) abort();
}

PW_TEST(the_protobuf_form_says_the_same) {
    pw_replay_result result;
    pw_error error;
    for (int rank = 0; rank < 2; rank++) {
        wire file = {.size = 0}, meta = {.size = 0}, work = {.size = 0}, message = {.size = 0};
        char name[32];
        put_bytes(&meta, 1, "0.0.4", 5);
        put_number(&work, 1, 7);
        put_bytes(&work, 2, "a name that nobody reads", 24);
        put_number(&work, 3, 4);                /* COMP */
        put_number(&work, 7, rank ? 10 : 3000); /* us */
        put_number(&message, 1, 8);
        put_number(&message, 3, rank ? 6 : 5);  /* RECV, SEND */
        put_bytes(&message, 5, "\x07", 1);      /* packed: after node 7 */
        put_attribute(&message, rank ? "comm_src" : "comm_dst", 7, rank ? 0 : 1);
        put_attribute(&message, "comm_size", 9, 1000000);
        put_bytes(&file, 0, meta.bytes, meta.size);
        put_bytes(&file, 0, work.bytes, work.size);
        put_bytes(&file, 0, message.bytes, message.size);
        snprintf(name, sizeof name, "p.%d.et", rank);
        write_wire(name, &file);
        file.size -= 3;
        snprintf(name, sizeof name, "cut.%d.et", rank);
        write_wire(name, &file);
    }
    pw_status status = replay("p.%r.et", PW_REPLAY_CHAKRA, 2, NULL, &result, &error);
    if (!pw_replay_reads_protobuf()) {
        PW_EXPECT_INT(status, PW_UNSUPPORTED);
        PW_EXPECT_CONTAINS(error.hint, "chakra_jsonizer");
        return;
    }
    must(status, &error);
    PW_EXPECT_NEAR(result.session.end_s, 3e-3 + message_s(), 1e-9);
    PW_EXPECT_INT(replay("cut.%r.et", PW_REPLAY_CHAKRA, 2, NULL, &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "message 3 has no end");
}

/* ---- What cannot run ---- */

PW_TEST(what_waits_for_ever_is_named) {
    const struct { const char *text, *part; pw_status status; int line; } cases[] = {
        {"num_ranks 2\nrank 0 { s: send 8b to 1 tag 3 }\nrank 1 { c: calc 1 }\n",
         "deadlock: rank 0 waits for ever in node 1, a send to rank 1 with tag 3 that meets no receive", PW_DEADLOCK, 2},
        {"num_ranks 2\nrank 0 { c: calc 1 }\nrank 1 {\n c: calc 1\n r: recv 8b from 0 }\n",
         "rank 1 waits for ever in node 2, a receive from rank 0 with tag 0 that meets no send", PW_DEADLOCK, 5},
        {"num_ranks 1\nrank 0 {\n a: calc 1\n b: calc 1\n a requires b\n b requires a\n}\n",
         "deadlock: rank 0 node 1 waits for rank 0 node 2 waits for rank 0 node 1", PW_DEADLOCK, 3},
        {"num_ranks 2\nrank 0 { r: recv 8b from 1 s: send 8b to 1\ns requires r }\nrank 1 { r: recv 8b from 0 s: send 8b to 0\ns requires r }\n",
         "deadlock: rank", PW_DEADLOCK, 0},
        {"num_ranks 2\nrank 0 { s: send 8b to 1 }\nrank 1 { r: recv 9b from 0 }\n", "receives 9 bytes, but node 1 of rank 0 sends 8",
         PW_BAD_INPUT, 3},
        {"num_ranks 1\nrank 0 { a: calc 1\nb requires a }\n", "no label 'b'", PW_BAD_INPUT, 3},
        {"num_ranks 1\nrank 0 { a: calc 1\na: calc 2 }\n", "label 'a' is there twice", PW_BAD_INPUT, 3},
        {"num_ranks 1\nrank 0 { a: sleep 1 }\n", "operation 'sleep' is not modelled", PW_BAD_INPUT, 2},
        {"num_ranks 1\nrank 0 { a: calc -1 }\n", "whole number from 0 on", PW_BAD_INPUT, 2},
        {"num_ranks 1\nrank 0 { s: send 8b to 1 }\n", "there are 1 ranks", PW_BAD_INPUT, 2},
        {"num_ranks 2\nrank 0 { a: calc 1 }\n", "'rank' is expected", PW_BAD_INPUT, 0},
        {"num_ranks 1\nrank 0 { a: calc 1\n", "rank 0 has no end", PW_BAD_INPUT, 3},
        {"num_ranks 0\n", "between 1 and", PW_BAD_INPUT, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_replay_result result;
        pw_error error;
        write_file("bad.goal", cases[i].text);
        PW_EXPECT_INT(replay("bad.goal", PW_REPLAY_GOAL, 0, NULL, &result, &error), cases[i].status);
        PW_EXPECT_CONTAINS(error.what, cases[i].part);
        if (cases[i].line) PW_EXPECT_INT(error.line, cases[i].line);
    }
}

PW_TEST(bad_nodes_are_named_with_their_line) {
    const struct { const char *text, *part; int line; } cases[] = {
        {META "{\"id\": 1, \"type\": \"WARP_NODE\"}\n", "node 1 is of the unknown type 'WARP_NODE'", 2},
        {META "\n{\"id\": 1, \"type\": 99}\n", "node 1 is of the unknown type '99'", 3},
        {META "{\"id\": 1, \"type\": \"COMP_NODE\", \"dataDeps\": [7]}\n", "node 1 depends on node 7, which is not there", 2},
        {META "{\"id\": 1, \"type\": \"COMP_NODE\"}\n{\"id\": 1, \"type\": \"COMP_NODE\"}\n", "two nodes 1", 3},
        {META "{\"id\": 1, \"type\": \"COMM_SEND_NODE\", \"attr\": [{\"name\": \"comm_dst\", \"int32Val\": 5}]}\n", "sends to rank 5", 2},
        {META "{\"id\": 1, \"type\": \"COMM_COLL_NODE\", \"attr\": [{\"name\": \"pg_name\", \"stringVal\": \"tp\"}]}\n", "process group 'tp'", 2},
        {META "{\"id\": 1, \"type\": \"COMM_COLL_NODE\", \"attr\": [{\"name\": \"comm_type\", \"int64Val\": 10}]}\n", "kind 10, which is not modelled", 2},
        {META "{\"id\": 1, \"type\": \"COMM_COLL_NODE\", \"attr\": [{\"name\": \"comm_type\", \"int64Val\": 0}]}\n", "no comm_size", 2},
        {META "{\"id\": 1, \"type\": \"COMP_NODE\", \"durationMicros\": -3}\n", "negative", 2},
        {META "{\"id\": 1,\n", "this is no JSON", 0},
        {META "{\"id\": 1, \"type\": \"COMP_NODE\", \"dataDeps\": [1]}\n", "deadlock: rank 0 node 1 waits for rank 0 node 1", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_replay_result result;
        pw_error error;
        write_file("bad.0.json", cases[i].text);
        PW_EXPECT(replay("bad.%r.json", PW_REPLAY_CHAKRA, 1, NULL, &result, &error) != PW_OK);
        PW_EXPECT_CONTAINS(error.what, cases[i].part);
        PW_EXPECT_CONTAINS(error.file, "bad.0.json");
        if (cases[i].line) PW_EXPECT_INT(error.line, cases[i].line);
    }
}

PW_TEST(members_take_part_in_equal_numbers_of_collectives) {
    pw_replay_result result;
    pw_error error;
    write_collectives("", 2);
    write_file("c.1.json", META "{\"id\": 1, \"type\": \"COMP_NODE\"}\n");
    PW_EXPECT_INT(replay("c.%r.json", PW_REPLAY_CHAKRA, 2, NULL, &result, &error), PW_DEADLOCK);
    PW_EXPECT_CONTAINS(error.what, "rank 1 takes part in 0 collectives of group '0', rank 0 in 1");
}

PW_TEST(a_trace_outside_the_folder_is_not_read) {
    pw_replay_result result;
    pw_error error;
    PW_EXPECT_INT(replay("/etc/passwd", PW_REPLAY_GOAL, 0, NULL, &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "outside the folder");
    PW_EXPECT_INT(replay("none.goal", PW_REPLAY_GOAL, 0, NULL, &result, &error), PW_NOT_FOUND);
    PW_EXPECT_INT(replay("t.goal", PW_REPLAY_CHAKRA, 2, NULL, &result, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.hint, "%r");
}

PW_TEST(memory_is_linear_in_nodes) {
    double peak[2];
    for (int size = 0; size < 2; size++) {
        char path[128];
        int nodes = size ? 20000 : 10000;
        snprintf(path, sizeof path, "%s/long.goal", folder);
        FILE *file = fopen(path, "w");
        if (!file) abort();
        fprintf(file, "num_ranks 2\n");
        for (int rank = 0; rank < 2; rank++) {
            fprintf(file, "rank %d {\n", rank);
            for (int i = 0; i < nodes; i++) {
                if (i % 4 == 3) fprintf(file, "l%d: %s 1000b %s %d tag %d\n", i, (i / 4 + rank) % 2 ? "send" : "recv",
                                        (i / 4 + rank) % 2 ? "to" : "from", 1 - rank, i % 7);
                else fprintf(file, "l%d: calc %d\n", i, 100 + i % 13);
                if (i) fprintf(file, "l%d requires l%d\n", i, i - 1);
            }
            fprintf(file, "}\n");
        }
        fclose(file);
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        pw_arena *own = pw_arena_create(&counting.allocator);
        pw_cluster_desc cluster;
        pw_replay_desc desc;
        pw_replay_result result;
        pw_error error = {0};
        must(pw_description_defaults(&pw_cluster_kind, &cluster, arena(), &error), &error);
        must(pw_description_defaults(&pw_replay_kind, &desc, arena(), &error), &error);
        cluster.node.server = "DGX H100";
        cluster.nodes = 1;
        desc.trace = "long.goal";
        desc.format = PW_REPLAY_GOAL;
        snprintf(path, sizeof path, "%s/job.lua", folder);
        const pw_replay_options options = {.seed = 1};
        must(pw_replay_run(&counting.allocator, catalogue(), &cluster, &desc, &options, path, 1, own, &result, &error), &error);
        peak[size] = (double)counting.peak_bytes;
        pw_arena_destroy(own);
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
    PW_EXPECT(peak[1] < 2.4 * peak[0]);
    PW_EXPECT(peak[1] < 40000.0 * 1500);
}

int main(int argc, char **argv) {
    snprintf(folder, sizeof folder, "/tmp/podwright-replay-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    int failed = pw_run_tests(argc, argv);
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0 || failed;
}
