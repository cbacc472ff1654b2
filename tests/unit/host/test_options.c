/* Law: options are read as GNU programs read them, and every mistake is named with a hint. */
#include "scenarios/host/command.h"
#include "tests/harness/check.h"

static const pw_option options[] = {{'o', "output", "FILE", false, "where"}, {0, "set", "P=V", true, "a field"},
                                    {0, "json", NULL, false, "as JSON"},      {'h', "help", NULL, false, "help"},
                                    {0}};
static const pw_command command = {"run", "FILE", "runs", NULL, options, 1, 1, NULL};

static pw_arena *arena;
static pw_error error;
static pw_arguments arguments;

static pw_status parse(int count, const char *const *words) {
    char *copies[16];
    for (int i = 0; i < count; i++) copies[i] = pw_arena_text(arena, words[i]);
    memset(&error, 0, sizeof error);
    return pw_arguments_parse(&command, count, copies, arena, &arguments, &error);
}
#define PARSE(...) parse((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

PW_TEST(every_spelling_of_a_value_is_read) {
    PW_EXPECT_INT(PARSE("a.lua", "--output", "x"), PW_OK);
    PW_EXPECT_TEXT(pw_arguments_value(&arguments, "output", NULL), "x");
    PW_EXPECT_INT(PARSE("--output=x=y", "a.lua"), PW_OK);
    PW_EXPECT_TEXT(pw_arguments_value(&arguments, "output", NULL), "x=y");
    PW_EXPECT_INT(PARSE("-o", "x", "a.lua"), PW_OK);
    PW_EXPECT_TEXT(pw_arguments_value(&arguments, "output", NULL), "x");
    PW_EXPECT_INT(PARSE("-ox", "a.lua"), PW_OK);
    PW_EXPECT_TEXT(pw_arguments_value(&arguments, "output", NULL), "x");
    PW_EXPECT_TEXT(arguments.operands[0], "a.lua");
    PW_EXPECT_TEXT(pw_arguments_value(&arguments, "set", "none"), "none");
}
PW_TEST(repeated_values_keep_their_order_and_the_last_counts) {
    PW_EXPECT_INT(PARSE("--set", "a=1", "f", "--set=b=2", "--json"), PW_OK);
    PW_EXPECT_TEXT(pw_arguments_each(&arguments, "set", 0), "a=1");
    PW_EXPECT_TEXT(pw_arguments_each(&arguments, "set", 1), "b=2");
    PW_EXPECT(pw_arguments_each(&arguments, "set", 2) == NULL);
    PW_EXPECT_TEXT(pw_arguments_value(&arguments, "set", NULL), "b=2");
    PW_EXPECT(pw_arguments_has(&arguments, "json"));
    PW_EXPECT(!pw_arguments_has(&arguments, "help"));
}
PW_TEST(two_dashes_end_the_options_and_one_is_an_operand) {
    PW_EXPECT_INT(PARSE("--", "--json"), PW_OK);
    PW_EXPECT_TEXT(arguments.operands[0], "--json");
    PW_EXPECT_INT(PARSE("-"), PW_OK);
    PW_EXPECT_TEXT(arguments.operands[0], "-");
}
PW_TEST(mistakes_are_named) {
    PW_EXPECT_INT(PARSE("f", "--jsno"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "'--jsno'");
    PW_EXPECT_CONTAINS(error.hint, "--json");
    PW_EXPECT_INT(PARSE("f", "-x"), PW_BAD_INPUT);
    PW_EXPECT_INT(PARSE("f", "--output"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "needs a value");
    PW_EXPECT_INT(PARSE("f", "--json=1"), PW_BAD_INPUT);
    PW_EXPECT_INT(PARSE("--json"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "needs FILE");
    PW_EXPECT_INT(PARSE("a", "b"), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "'b'");
}
PW_TEST(help_needs_no_operands) { PW_EXPECT_INT(PARSE("--help"), PW_OK); }
PW_TEST(exit_codes_follow_the_status) {
    PW_EXPECT_INT(pw_exit_code(PW_OK), 0);
    PW_EXPECT_INT(pw_exit_code(PW_DOES_NOT_FIT), 1);
    PW_EXPECT_INT(pw_exit_code(PW_LAW), 1);
    PW_EXPECT_INT(pw_exit_code(PW_IO), 1);
    PW_EXPECT_INT(pw_exit_code(PW_LIMIT), 1);
    PW_EXPECT_INT(pw_exit_code(PW_BAD_INPUT), 2);
    PW_EXPECT_INT(pw_exit_code(PW_NOT_FOUND), 2);
    PW_EXPECT_INT(pw_exit_code(PW_INTERRUPTED), 130);
}

int main(int argc, char **argv) {
    arena = pw_arena_create(NULL);
    int code = pw_run_tests(argc, argv);
    pw_arena_destroy(arena);
    return code;
}
