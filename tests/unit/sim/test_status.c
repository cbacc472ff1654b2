#include "sim/status.h"
#include "tests/harness/check.h"

PW_TEST(every_status_has_a_text_of_its_own) {
    for (int a = 0; a < PW_STATUS_COUNT; a++) {
        PW_EXPECT(pw_status_text((pw_status)a)[0] != '\0');
        for (int b = 0; b < a; b++) PW_EXPECT(strcmp(pw_status_text((pw_status)a), pw_status_text((pw_status)b)) != 0);
    }
    PW_EXPECT_TEXT(pw_status_text((pw_status)PW_STATUS_COUNT), "unknown status");
    PW_EXPECT_TEXT(pw_status_text((pw_status)-1), "unknown status");
}

PW_TEST(a_message_reads_place_what_hint) {
    pw_error error;
    char text[2048];
    PW_EXPECT_INT(pw_fail(&error, PW_BAD_INPUT, "a.lua", 7, "write 400 * u.Gbps", "%s is %d", "bandwidth", 400), PW_BAD_INPUT);
    PW_EXPECT_TEXT(pw_error_text(&error, text, sizeof text), "a.lua:7: bandwidth is 400\nhint: write 400 * u.Gbps");
    pw_fail(&error, PW_IO, "a.csv", 0, NULL, "cannot read");
    PW_EXPECT_TEXT(pw_error_text(&error, text, sizeof text), "a.csv: cannot read");
    pw_fail(&error, PW_IO, NULL, 3, NULL, "%s", "");
    PW_EXPECT_TEXT(pw_error_text(&error, text, sizeof text), "input/output error");
    PW_EXPECT_INT(pw_fail(NULL, PW_LIMIT, NULL, 0, NULL, "nobody listens"), PW_LIMIT);
}

PW_TEST(long_texts_are_cut_between_characters) {
    pw_error error;
    char euros[3 * 400 + 1], small[8];
    for (int i = 0; i < 400; i++) memcpy(euros + 3 * i, "\xe2\x82\xac", 3);
    euros[1200] = '\0';
    pw_fail(&error, PW_LIMIT, euros, 1, euros, "x%s", euros);
    PW_EXPECT_INT(strlen(error.file), 255);
    PW_EXPECT_INT(strlen(error.hint), 765); /* 255 whole characters */
    PW_EXPECT_INT(strlen(error.what), 766);
    pw_fail(&error, PW_LIMIT, NULL, 0, NULL, "ab%s", euros);
    PW_EXPECT_TEXT(pw_error_text(&error, small, sizeof small), "ab\xe2\x82\xac");
}

PW_TEST(an_error_may_quote_itself) {
    pw_error error;
    pw_fail(&error, PW_IO, "f", 2, "old hint", "inner");
    pw_fail(&error, PW_BAD_INPUT, error.file, error.line, error.hint, "outer: %s", error.what);
    PW_EXPECT_TEXT(error.what, "outer: inner");
    PW_EXPECT_TEXT(error.hint, "old hint");
    PW_EXPECT_TEXT(error.file, "f");
    PW_EXPECT_INT(error.line, 2);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
