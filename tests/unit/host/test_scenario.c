/* Laws: what a script says lands in the descriptions, each wrong field is named with its own line, and overrides win. */
#include <stdlib.h>
#include <unistd.h>

#include "models/workload/train.h"
#include "scenarios/host/command.h"
#include "scenarios/host/scenario.h"
#include "tests/harness/check.h"

static pw_catalogue *catalogue;
static pw_arena *arena;
static pw_scenario scenario;
static pw_error error;
static char path[] = "/tmp/podwright-scenario-XXXXXX";

static const char good[] =
    "local o, u = require 'podwright', require 'podwright.units'\n"
    "return o.scenario 'title' {\n"
    "  cluster = o.cluster 'pod' {\n"
    "    node = o.node { server = 'DGX H100' },\n"
    "    nodes = 4,\n"
    "  },\n"
    "  job = o.train {\n"
    "    model = o.model 'llama2-7b' { layers = 30 },\n"
    "    sequence = 4096,\n"
    "    global_batch = 64,\n"
    "    flash_attention = true,\n"
    "    bucket_bytes = 40 * u.MB,\n"
    "  },\n"
    "}\n";

static const pw_train_desc *job_of(const pw_scenario *it) {
    PW_EXPECT(it->desc.job.kind == &pw_train_kind);
    return it->desc.job.record;
}

static pw_status load_with(const char *text, const char *const *overrides, int count) {
    FILE *file = fopen(path, "w");
    if (!file) abort();
    fputs(text, file);
    fclose(file);
    memset(&error, 0, sizeof error);
    pw_scenario_options options = {.catalogue = catalogue, .overrides = overrides, .override_count = count, .seed = 1};
    return pw_scenario_load(path, &options, arena, &scenario, &error);
}

/* The good scenario with `from` replaced by `to`. */
static pw_status load_changed(const char *from, const char *to) {
    char text[2000];
    const char *at = strstr(good, from);
    if (!at) abort();
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    return load_with(text, NULL, 0);
}

PW_TEST(fields_land_in_the_descriptions) {
    PW_EXPECT_INT(load_with(good, NULL, 0), PW_OK);
    PW_EXPECT_TEXT(scenario.title, "title");
    PW_EXPECT_TEXT(scenario.desc.cluster->name, "pod");
    PW_EXPECT_TEXT(scenario.desc.cluster->node.server, "DGX H100");
    PW_EXPECT_INT(scenario.desc.cluster->nodes, 4);
    const pw_train_desc *job = scenario.desc.job.record;
    PW_EXPECT_INT(job->sequence, 4096);
    PW_EXPECT_NEAR(job->bucket_bytes, 40e6, 0);
    PW_EXPECT_INT(job->model->layers, 30);
    PW_EXPECT_INT(job->model->hidden, 4096); /* of the preset */
    PW_EXPECT_INT(job->micro_batch, 1);      /* a default */
}
PW_TEST(each_value_knows_its_line) {
    PW_EXPECT_INT(load_with(good, NULL, 0), PW_OK);
    PW_EXPECT_INT(pw_scenario_origin(&scenario, "cluster.nodes")->line, 5);
    PW_EXPECT_INT(pw_scenario_origin(&scenario, "job.model.layers")->line, 8);
    PW_EXPECT_INT(pw_scenario_origin(&scenario, "job")->line, 7);
    PW_EXPECT_INT(pw_scenario_origin(&scenario, "job.model")->kind, PW_ORIGIN_PRESET);
    PW_EXPECT(pw_scenario_origin(&scenario, "job.micro_batch") == NULL);
}
PW_TEST(each_of_many_values_knows_its_line) {
    enum { SWITCHES = 3000 };
    char item[64];
    PW_EXPECT_INT(load_with("local o = require 'podwright'\nlocal list = {}\nfor i = 1, 3000 do\n  list[i] = o.switch { name = 's' .. i }\nend\n"
                            "return o.cluster 'c' { node = o.node { server = 'DGX H100' },\n  network = o.network { switches = list } }",
                            NULL, 0),
                  PW_OK);
    for (int i = 1; i <= SWITCHES; i++) {
        snprintf(item, sizeof item, "cluster.network.switches[%d].name", i);
        const pw_origin *origin = pw_scenario_origin(&scenario, item);
        if (!origin || origin->line != 4 || strcmp(origin->path, item) != 0) PW_FAILED("%s has another origin", item);
    }
    PW_EXPECT_INT(pw_scenario_origin(&scenario, "cluster.network.switches")->line, 7);
    PW_EXPECT(pw_scenario_origin(&scenario, "cluster.network.switches[3001].name") == NULL);
}
PW_TEST(each_mistake_is_named_with_its_line) {
    static const struct {
        const char *from, *to, *what, *hint;
        int line;
    } cases[] = {
        {"sequence =", "sequnce =", "train has no field 'sequnce'", "did you mean 'sequence'?", 9},
        {"nodes = 4", "nodes = 'four'", "cluster.nodes", "", 5},
        {"nodes = 4", "nodes = 4.5", "cluster.nodes takes a whole number", "", 5},
        {"nodes = 4", "nodes = 0", "cluster.nodes is 0", "", 5},
        {"nodes = 4", "nodes = 4 * u.GB", "cluster.nodes takes a plain number", "", 5},
        {"nodes = 4", "nodes = {}", "cluster.nodes cannot be a table", "whole number", 5},
        {"40 * u.MB", "40", "train.bucket_bytes needs a unit of bytes", "u.", 12},
        {"40 * u.MB", "40 * u.ms", "train.bucket_bytes is in bytes, not in s", "u.", 12},
        {"40 * u.MB", "0/0", "train.bucket_bytes is not a number", "", 12},
        {"flash_attention = true", "flash_attention = 1", "train.flash_attention", "off, on", 11},
        {"o.node { server = 'DGX H100' }", "'DGX H100'", "cluster.node takes a node, not a string", "o.node", 4},
        {"o.node { server = 'DGX H100' }", "o.model 'x'", "cluster.node takes a node, not a model", "o.node", 4},
        {"'DGX H100'", "'a\\0b'", "node.server holds bytes", "", 4},
        {"'llama2-7b'", "'lama2-7b'", "'lama2-7b'", "llama2-7b", 8},
        {"layers = 30", "layers = 0", "model.layers is 0", "", 8},
        {"    sequence = 4096,\n", "", "train.sequence is missing", "", 7},
        {"    model = o.model 'llama2-7b' { layers = 30 },\n", "", "train.model is missing", "", 7},
        {"o.model 'llama2-7b' { layers = 30 }", "o.model { layers = 3 }", "model.hidden is missing", "", 8},
        {"return o.scenario 'title' {", "return o.cluster {", "cluster has no field 'cluster'", "", 3},
        {"return o.scenario 'title' {", "return {", "returns a table, not a scenario", "o.scenario", 0},
        {"global_batch = 64,", "64,", "one value here has no name", "", 7},
        {"o.scenario 'title' {", "o.scenario 'title' {} {", "has its fields already", "", 2},
        {"o.scenario 'title'", "o.scenario(nil)", "takes a name or a table of fields, not nothing", "", 2},
        {"o.train", "o.trian", "podwright has no 'trian'", "o.train", 7},
        {"o.node {", "o.node 'n' {", "a node has no name", "", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_status status = load_changed(cases[i].from, cases[i].to);
        if (status == PW_OK) {
            PW_FAILED("no error for %s", cases[i].to);
            continue;
        }
        PW_EXPECT_CONTAINS(error.what, cases[i].what);
        PW_EXPECT_CONTAINS(error.hint, cases[i].hint);
        if (error.line != cases[i].line) PW_FAILED("line %d, expected %d: %s", error.line, cases[i].line, error.what);
        PW_EXPECT_TEXT(error.file, path);
        PW_EXPECT_INT(pw_exit_code(status), 2);
    }
}
PW_TEST(overrides_win_and_are_checked) {
    const char *two[] = {"job.tensor_parallel=4", "cluster.network.port_rate=200 Gbps"};
    PW_EXPECT_INT(load_with(good, two, 2), PW_OK);
    PW_EXPECT_INT(job_of(&scenario)->tensor_parallel, 4);
    PW_EXPECT_NEAR(scenario.desc.cluster->network.port_Bps, 25e9, 0);
    PW_EXPECT_INT(pw_scenario_origin(&scenario, "job.tensor_parallel")->kind, PW_ORIGIN_OVERRIDE);
    const char *model[] = {"job.model=gpt3-175b", "job.model.layers=3"};
    PW_EXPECT_INT(load_with(good, model, 2), PW_OK);
    PW_EXPECT_INT(job_of(&scenario)->model->hidden, 12288);
    PW_EXPECT_INT(job_of(&scenario)->model->layers, 3);
    static const char *const wrong[] = {"job.tensor_paralel=4", "job.tensor_parallel=x", "job.tensor_parallel", "=4",
                                        "cluster.network.port_rate=200", "job.model=nothing", "job=3", "nodes=3",
                                        "job.tensor_parallel=0", "cluster..nodes=3", NULL};
    for (int i = 0; wrong[i]; i++) {
        pw_status status = load_with(good, &wrong[i], 1);
        if (status == PW_OK) PW_FAILED("no error for --set %s", wrong[i]);
        else PW_EXPECT_CONTAINS(error.file, wrong[i]);
    }
}
PW_TEST(an_override_may_supply_what_the_file_leaves_out) {
    const char *one[] = {"job.sequence=2048"};
    char text[2000];
    const char *at = strstr(good, "    sequence");
    snprintf(text, sizeof text, "%.*s%s", (int)(at - good), good, strchr(at, '\n') + 1);
    PW_EXPECT_INT(load_with(text, one, 1), PW_OK);
    PW_EXPECT_INT(job_of(&scenario)->sequence, 2048);
}
PW_TEST(a_record_can_be_used_twice_and_does_not_change) {
    PW_EXPECT_INT(load_with("local o = require 'podwright'\n"
                            "local base = o.model 'llama2-7b'\n"
                            "local small, smaller = base { layers = 4 }, base { layers = 2 }\n"
                            "local fields = { model = small, sequence = 8, global_batch = 8 }\n"
                            "local job = o.train(fields)\n"
                            "fields.sequence = 9\n"
                            "assert(job.sequence == 8 and smaller.layers == 2 and base.layers == nil)\n"
                            "assert(not pcall(function() job.sequence = 1 end))\n"
                            "assert(tostring(base) == 'model \"llama2-7b\"' and base.name == 'llama2-7b')\n"
                            "return o.scenario { cluster = o.cluster { node = o.node { server = 'DGX H100' } }, job = job }",
                            NULL, 0),
                  PW_OK);
    PW_EXPECT_INT(job_of(&scenario)->model->layers, 4);
    PW_EXPECT_INT(job_of(&scenario)->sequence, 8);
}
PW_TEST(a_cluster_alone_is_a_scenario_without_a_job) {
    PW_EXPECT_INT(load_with("local o = require 'podwright'\nreturn o.cluster 'c' { node = o.node { server = 'DGX H100' } }", NULL, 0),
                  PW_OK);
    PW_EXPECT(scenario.desc.job.record == NULL);
    PW_EXPECT_INT(pw_scenario_origin(&scenario, "cluster")->line, 2);
}

PW_TEST(each_allocation_may_fail_and_nothing_leaks) {
    const char *one[] = {"job.tensor_parallel=4"};
    PW_EXPECT_INT(load_with(good, one, 1), PW_OK); /* writes the file */
    for (unsigned long long fail_at = 1;; fail_at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        pw_arena *own = pw_arena_create(&counting.allocator);
        pw_status status = PW_NO_MEMORY;
        if (own) {
            pw_scenario_options options = {.allocator = &counting.allocator, .catalogue = catalogue, .overrides = one,
                                           .override_count = 1};
            status = pw_scenario_load(path, &options, own, &scenario, &error);
        }
        pw_arena_destroy(own);
        PW_EXPECT_INT(counting.live_bytes, 0);
        if (status == PW_OK) {
            PW_EXPECT(fail_at > 5); /* failures were tried */
            break;
        }
        if (status != PW_NO_MEMORY) PW_FAILED("allocation %llu: status %d, %s", fail_at, status, error.what);
    }
}

int main(int argc, char **argv) {
    int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    arena = pw_arena_create(NULL);
    if (pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) {
        printf("Bail out! %s\n", error.what);
        return 1;
    }
    int code = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
    unlink(path);
    return code;
}
