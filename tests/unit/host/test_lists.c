/* Laws: lists and records of several kinds come from a script into their structs, each item with its own line. */
#include <stdlib.h>
#include <unistd.h>

#include "scenarios/host/scenario.h"
#include "scenarios/report/report.h"
#include "tests/harness/check.h"
#include "tests/harness/net_kinds.h"

static pw_arena *arena;
static pw_scenario scenario;
static net loaded;
static pw_error error;
static char path[] = "/tmp/podwright-lists-XXXXXX";

static const char good[] =
    "local o, u = require 'podwright', require 'podwright.units'\n" /* 1 */
    "return o.net 'n' {\n"                                         /* 2 */
    "  stages = { 12,\n"                                           /* 3 */
    "    14 },\n"                                                  /* 4 */
    "  rates = { 400 * u.Gbps, 1 * u.GBps },\n"                    /* 5 */
    "  layers = {\n"                                               /* 6 */
    "    o.conv { channels = 64 },\n"                              /* 7 */
    "    o.block 'b' {\n"                                          /* 8 */
    "      layers = { o.conv {\n"                                  /* 9 */
    "        channels = 32 } },\n"                                 /* 10 */
    "    },\n"                                                     /* 11 */
    "  },\n"                                                       /* 12 */
    "  head = o.conv { channels = 3 },\n"                          /* 13 */
    "}\n";

static pw_status load_with(const char *text, const char *const *overrides, int count) {
    FILE *file = fopen(path, "w");
    if (!file) abort();
    fputs(text, file);
    fclose(file);
    error = (pw_error){0};
    scenario = (pw_scenario){0};
    pw_scenario_options options = {.overrides = overrides, .override_count = count, .seed = 1};
    return pw_scenario_load_as(path, &options, &net_kind, &loaded, arena, &scenario, &error);
}
static pw_status load_changed(const char *from, const char *to) {
    char text[2000];
    const char *at = strstr(good, from);
    if (!at) abort();
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    return load_with(text, NULL, 0);
}
static const conv *conv_at(pw_list list, uint32_t index) {
    const pw_one_of *item = (const pw_one_of *)list.items + index;
    PW_EXPECT(item->kind == &conv_kind);
    return item->record;
}

PW_TEST(lists_land_in_their_structs) {
    PW_EXPECT_INT(load_with(good, NULL, 0), PW_OK);
    PW_EXPECT_TEXT(loaded.name, "n");
    PW_EXPECT(loaded.stages.count == 2 && ((const int64_t *)loaded.stages.items)[1] == 14);
    PW_EXPECT_NEAR(((const double *)loaded.rates.items)[1], 1e9, 0);
    PW_EXPECT_INT(loaded.layers.count, 2);
    PW_EXPECT_INT(conv_at(loaded.layers, 0)->channels, 64);
    const pw_one_of *second = (const pw_one_of *)loaded.layers.items + 1;
    PW_EXPECT(second->kind == &block_kind);
    const block *inner = second->record;
    PW_EXPECT_TEXT(inner->name, "b");
    PW_EXPECT_INT(conv_at(inner->layers, 0)->channels, 32);
    PW_EXPECT(loaded.head.kind == &conv_kind && ((const conv *)loaded.head.record)->channels == 3);
}
PW_TEST(each_item_knows_its_line) {
    static const struct {
        const char *path;
        int line;
    } cases[] = {{"stages", 3}, {"stages[1]", 3}, {"stages[2]", 4}, {"layers[1]", 7}, {"layers[1].channels", 7}, {"layers[2]", 8},
                 {"layers[2].layers[1]", 9}, {"layers[2].layers[1].channels", 10}, {"head", 13}, {"head.channels", 13}};
    PW_EXPECT_INT(load_with(good, NULL, 0), PW_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pw_origin *origin = pw_scenario_origin(&scenario, cases[i].path);
        if (!origin || origin->line != cases[i].line)
            PW_FAILED("%s is in line %d, not %d", cases[i].path, origin ? origin->line : -1, cases[i].line);
    }
}
PW_TEST(each_mistake_has_the_line_of_its_item) {
    static const struct {
        const char *from, *to, *what, *hint;
        int line;
    } cases[] = {
        {"14 }", "140 }", "net.stages[2] is 140, must be between 1 and 100", "Layers of a stage.", 4},
        {"14 }", "1.5 }", "net.stages[2] takes a whole number, not 1.5", "", 4},
        {"14 }", "'x' }", "net.stages[2] takes a whole number, not the text 'x'", "", 4},
        {"14 }", "{} }", "net.stages[2] cannot be a table", "whole number", 4},
        {"14 }", "14, 1, 2, 3 }", "net.stages has 5 items, must have between 0 and 4", "The stages.", 3},
        {"14 }", "nil, 14 }", "net.stages is a list, and this one has holes", "one after the other", 3},
        {"14 }", "x = 14 }", "net.stages is a list, and this one has keys beside", "", 3},
        {"{ 12,\n    14 }", "12", "net.stages takes a list of whole numbers, not a number", "write stages = { 8, ... }", 3},
        {"1 * u.GBps", "1", "net.rates[2] needs a unit of bytes/s", "400 * u.Gbps", 5},
        {"o.conv { channels = 64 }", "o.conv { chanels = 64 }", "conv has no field 'chanels'", "'channels'", 7},
        {"channels = 64", "channels = 0", "conv.channels is 0", "", 7},
        {"channels = 64", "", "conv.channels is missing", "", 7},
        {"channels = 32", "channels = 5000", "conv.channels is 5000", "", 10},
        {"channels = 32", "", "conv.channels is missing", "", 9},
        {"o.conv { channels = 64 }", "7", "net.layers[1] takes a conv or block, not a number", "write o.conv { ... }", 7},
        {"o.conv { channels = 64 }", "o.net {}", "net.layers[1] takes a conv or block, not a net", "o.conv or block", 7},
        {"head = o.conv { channels = 3 }", "head = 3", "net.head takes a conv or block, not a number", "head = o.conv", 13},
        {"head = o.conv { channels = 3 }", "head = { o.conv {} }", "net.head takes a conv or block, not a table", "", 13},
        {"  layers = {\n", "  layers = o.conv {}, x = {\n", "net has no field 'x'", "", 6},
        {"layers = { o.conv {\n        channels = 32 } }", "layers = o.conv { channels = 1 }",
         "block.layers takes a list of a conv or block, not a conv", "layers = { o.conv { ... }, ... }", 9},
        {"layers = { o.conv {\n        channels = 32 } }", "layers = {}", "block.layers has 0 items", "", 9},
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
    }
}
PW_TEST(overrides_reach_into_lists) {
    const char *three[] = {"stages=1,2,3", "stages[2]=7", "layers[2].layers[1].channels=16"};
    PW_EXPECT_INT(load_with(good, three, 3), PW_OK);
    PW_EXPECT(loaded.stages.count == 3 && ((const int64_t *)loaded.stages.items)[1] == 7);
    const block *inner = ((const pw_one_of *)loaded.layers.items)[1].record;
    PW_EXPECT_INT(conv_at(inner->layers, 0)->channels, 16);
    PW_EXPECT_INT(pw_scenario_origin(&scenario, "layers[2].layers[1].channels")->kind, PW_ORIGIN_OVERRIDE);
    static const char *const wrong[] = {"stages[3]=7", "layers[2].layers[2].channels=1", "layers=1", "stages=1,2,3,4,5", "stages=0",
                                        NULL};
    for (int i = 0; wrong[i]; i++) {
        if (load_with(good, &wrong[i], 1) == PW_OK) PW_FAILED("no error for --set %s", wrong[i]);
        else PW_EXPECT_CONTAINS(error.file, wrong[i]);
    }
}
PW_TEST(a_message_about_an_item_finds_its_line) {
    PW_EXPECT_INT(load_with(good, NULL, 0), PW_OK);
    static const struct {
        const char *what;
        int line;
    } cases[] = {{"net.layers[2].layers[1].channels 32 is odd", 10}, {"net.layers[2] is odd", 8}, {"net.layers[2].name is odd", 8},
                 {"net.layers[7] is odd", 6}, {"net.stages[2].", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_error message = {0};
        pw_fail(&message, PW_BAD_INPUT, "else.lua", 99, NULL, "%s", cases[i].what);
        pw_scenario_refine(&scenario, &net_kind, "", &message);
        PW_EXPECT_INT(message.line, cases[i].line);
    }
}
PW_TEST(a_list_does_not_change_after_its_record_was_made) {
    PW_EXPECT_INT(load_with("local o = require 'podwright'\n"
                            "local stages, layers = { 1, 2 }, {}\n"
                            "for i = 1, 3 do layers[i] = o.conv { channels = i } end\n"
                            "local net = o.net { stages = stages, layers = layers }\n"
                            "stages[1], layers[1] = 50, nil\n"
                            "net.stages[2] = 60\n"
                            "assert(net.stages[1] == 1 and #net.layers == 3)\n"
                            "return net\n",
                            NULL, 0),
                  PW_OK);
    PW_EXPECT(((const int64_t *)loaded.stages.items)[0] == 1 && ((const int64_t *)loaded.stages.items)[1] == 2);
    PW_EXPECT_INT(conv_at(loaded.layers, 2)->channels, 3);
    PW_EXPECT_INT(pw_scenario_origin(&scenario, "layers[3]")->line, 3);
}
PW_TEST(records_do_not_nest_without_end) {
    PW_EXPECT_INT(load_with("local o = require 'podwright'\n"
                            "local it = o.conv { channels = 1 }\n"
                            "for i = 1, 100 do it = o.block { layers = { it } } end\n"
                            "return o.net { layers = { it } }\n",
                            NULL, 0),
                  PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "deep in each other");
    PW_EXPECT_INT(error.line, 3);
}
PW_TEST(the_api_holds_what_a_kind_reaches_and_each_name_once) {
    const pw_kind *kinds[PW_API_MOST];
    PW_EXPECT_INT(pw_api_kinds(&net_kind, kinds), 3);
    PW_EXPECT(kinds[0] == &net_kind && kinds[1] == &conv_kind && kinds[2] == &block_kind && !kinds[3]);
    size_t count = pw_api_kinds(&pw_scenario_kind, kinds);
    PW_EXPECT(count >= 6 && kinds[0] == &pw_scenario_kind);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(kinds[i]->name, kinds[j]->name) == 0) PW_FAILED("two kinds are called %s", kinds[i]->name);
    char text[200];
    PW_EXPECT_TEXT(pw_api_type_text(pw_kind_field(&net_kind, "stages"), text, sizeof text), "list of whole numbers");
    PW_EXPECT_TEXT(pw_api_type_text(pw_kind_field(&net_kind, "rates"), text, sizeof text), "list of quantities in bytes/s");
    PW_EXPECT_TEXT(pw_api_type_text(pw_kind_field(&net_kind, "layers"), text, sizeof text), "list of o.conv, o.block");
    PW_EXPECT_TEXT(pw_api_type_text(pw_kind_field(&net_kind, "head"), text, sizeof text), "o.conv, o.block");
}
PW_TEST(reports_show_lists) {
    PW_EXPECT_INT(load_with(good, NULL, 0), PW_OK);
    char text[64];
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&net_kind, "stages"), &loaded, text, sizeof text), "12, 14");
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&net_kind, "rates"), &loaded, text, sizeof text), "50 GB/s, 1 GB/s");
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&net_kind, "head"), &loaded, text, sizeof text), "o.conv");
    static int64_t many[40];
    for (int i = 0; i < 40; i++) many[i] = i;
    loaded.stages = (pw_list){many, 40};
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&net_kind, "stages"), &loaded, text, sizeof text),
                   "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ... (40 items)");
    loaded.stages = (pw_list){NULL, 0};
    PW_EXPECT_TEXT(pw_report_value(pw_kind_field(&net_kind, "stages"), &loaded, text, sizeof text), "-");
}
PW_TEST(each_allocation_may_fail_and_nothing_leaks) {
    PW_EXPECT_INT(load_with(good, NULL, 0), PW_OK); /* writes the file */
    const char *one[] = {"layers[1].channels=5"};
    for (unsigned long long fail_at = 1;; fail_at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        pw_arena *own = pw_arena_create(&counting.allocator);
        pw_status status = PW_NO_MEMORY;
        pw_scenario_options options = {.allocator = &counting.allocator, .overrides = one, .override_count = 1};
        if (own) status = pw_scenario_load_as(path, &options, &net_kind, &loaded, own, &scenario, &error);
        pw_arena_destroy(own);
        PW_EXPECT_INT(counting.live_bytes, 0);
        if (status == PW_OK) break;
        if (status != PW_NO_MEMORY) PW_FAILED("allocation %llu: status %d, %s", fail_at, status, error.what);
    }
}

int main(int argc, char **argv) {
    int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    arena = pw_arena_create(NULL);
    int code = pw_run_tests(argc, argv);
    pw_arena_destroy(arena);
    unlink(path);
    return code;
}
