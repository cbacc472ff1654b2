/* Law: a message about a field names the line in which the field is written, whatever stands around it. */
#include "scenarios/host/locate.h"
#include "tests/harness/check.h"

static const char source[] =
    "local o = require \"podwright\"\n"                       /* 1 */
    "-- o.train { sequence = 1 }\n"                           /* 2 */
    "local text = \"o.train { sequence = 2 }\"\n"             /* 3 */
    "local long = [==[\n o.train {\n sequence = 3\n}]==]\n"   /* 4-7 */
    "return o.scenario 'x' {\n"                               /* 8 */
    "  cluster = o.cluster {\n"                               /* 9 */
    "    nodes = 2, --[[ nodes = 3 ]]\n"                      /* 10 */
    "    node = o.node { server = \"a\",\n"                   /* 11 */
    "      gpus = 4 },\n"                                     /* 12 */
    "  },\n"                                                  /* 13 */
    "  job = o.train {\n"                                     /* 14 */
    "    model = o.model \"m\" { layers = 2; name = 'sequence = 4',\n" /* 15 */
    "      [\"hidden\"] = 5 },\n"                             /* 16 */
    "    micro_batch = x == 3 and 1 or 2,\n"                  /* 17 */
    "    sequence\n"                                          /* 18 */
    "      = 8,\n"                                            /* 19 */
    "  } }\n";

PW_TEST(a_key_is_found_in_the_table_of_its_constructor) {
    PW_EXPECT_INT(pw_locate_key(source, 9, "cluster", "nodes"), 10);
    PW_EXPECT_INT(pw_locate_key(source, 11, "node", "server"), 11);
    PW_EXPECT_INT(pw_locate_key(source, 11, "node", "gpus"), 12);
    PW_EXPECT_INT(pw_locate_key(source, 14, "train", "micro_batch"), 17);
    PW_EXPECT_INT(pw_locate_key(source, 8, "scenario", "job"), 14);
}
PW_TEST(strings_and_comments_hide_keys) {
    PW_EXPECT_INT(pw_locate_key(source, 14, "train", "sequence"), 18);
    PW_EXPECT_INT(pw_locate_key(source, 1, "nothing", "sequence"), 18);
}
PW_TEST(a_key_in_brackets_is_a_key) { PW_EXPECT_INT(pw_locate_key(source, 15, "model", "hidden"), 16); }
PW_TEST(a_key_that_is_not_there_gives_the_line_of_the_record) {
    PW_EXPECT_INT(pw_locate_key(source, 9, "cluster", "absent"), 9);
    PW_EXPECT_INT(pw_locate_key(source, 4000, "cluster", "nodes"), 4000);
    PW_EXPECT_INT(pw_locate_key(NULL, 3, "cluster", "nodes"), 3);
}
PW_TEST(a_comparison_is_no_key) { PW_EXPECT_INT(pw_locate_key(source, 14, "train", "x"), 14); }
static const char list_source[] =
    "return o.net {\n"                                      /* 1 */
    "  stages = { 12, 14,\n"                                /* 2 */
    "    -- a comment, with a comma\n"                      /* 3 */
    "    f(1, 2) + 3; 16 },\n"                              /* 4 */
    "  layers = {\n"                                        /* 5 */
    "    o.conv { channels = 3, sizes = { 1, 2 } },\n"      /* 6 */
    "    o.pool {\n"                                        /* 7 */
    "      size = 2 },\n"                                   /* 8 */
    "    'text, with a comma',\n"                           /* 9 */
    "  },\n"                                                /* 10 */
    "  other = list, }\n";                                  /* 11 */

static void expect_lines(const char *key, const int *expected, uint32_t count) {
    int lines[8];
    pw_locate_items(list_source, 1, "net", key, lines, count);
    for (uint32_t i = 0; i < count; i++) PW_EXPECT_INT(lines[i], expected[i]);
}
PW_TEST(items_of_a_list_have_their_own_lines) {
    expect_lines("stages", (int[]){2, 2, 4, 4}, 4);
    expect_lines("layers", (int[]){6, 7, 9, 5}, 4); /* a fourth is not written there */
}
PW_TEST(items_that_are_not_written_out_have_the_line_of_the_key) {
    expect_lines("other", (int[]){11, 11}, 2);
    expect_lines("absent", (int[]){1, 1}, 2);
    int line = 0;
    pw_locate_items("o.net { stages = { 1, ", 1, "net", "stages", &line, 1);
    PW_EXPECT_INT(line, 1);
    pw_locate_items(NULL, 5, "net", "stages", &line, 1);
    PW_EXPECT_INT(line, 5);
}
PW_TEST(broken_source_does_no_harm) {
    PW_EXPECT_INT(pw_locate_key("o.train { \"open", 1, "train", "a"), 1);
    PW_EXPECT_INT(pw_locate_key("o.train { [[open", 1, "train", "a"), 1);
    PW_EXPECT_INT(pw_locate_key("--[[ open", 1, "train", "a"), 1);
    PW_EXPECT_INT(pw_locate_key("\"\\", 1, "train", "a"), 1);
    char deep[2000] = {0};
    memset(deep, '{', sizeof deep - 1);
    PW_EXPECT_INT(pw_locate_key(deep, 1, "train", "a"), 1);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
