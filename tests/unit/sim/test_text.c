#include "sim/text.h"

#include <locale.h>
#include <stdlib.h>

#include "tests/harness/check.h"

static uint64_t random_state;
static uint64_t draw(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

PW_TEST(numbers_are_read_like_the_c_locale_reads_them) {
    const char *good[] = {"0", "-0", "1", "+1", "1.5", ".5", "5.", "1e3", "1E-3", "-1.25e+2", "123456789012345678", "1e22", "1e23",
                          "9007199254740993", "0.1", "2.2250738585072014e-308", "4.9e-324", "1e-400", "1.7976931348623157e308",
                          "0.000000000000000000000000000001", "00012", "123456789012345678901234567890", "0e99999999999",
                          "8.5e0", "179769313486231570000000000000000000000", "3.14159265358979323846264338327950288"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = 99;
        const char *end;
        PW_EXPECT(pw_text_number(good[i], &end, &value) && !*end);
        double want = strtod(good[i], NULL);
        if (memcmp(&value, &want, sizeof value) != 0) PW_FAILED("'%s' reads %.17g, expected %.17g", good[i], value, want);
    }
}

/* "0.000...01e99...": the exponent makes up for the zeros, or does not quite. */
PW_TEST(long_fractions_and_large_exponents_balance_exactly) {
    static const struct {
        int zeros;
        const char *exponent;
        double value; /* infinity: refused */
    } cases[] = {{999, "e1000", 1},           {99999, "e100003", 1000},      {123456, "e123457", 1},
                 {123456, "e1234570", INFINITY}, {1500000, "e999990", 0},       {1500000, "e1500001", 1},
                 {1500000, "e1500000", 0.1},  {40, "e99999999999999999999", INFINITY}, {40, "e-99999999999999999999", 0}};
    char *text = malloc(2000000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(text, "0.", 2);
        memset(text + 2, '0', (size_t)cases[i].zeros);
        sprintf(text + 2 + cases[i].zeros, "1%s", cases[i].exponent);
        double value = -1;
        const char *end = text;
        bool read = pw_text_number(text, &end, &value);
        PW_EXPECT(read == isfinite(cases[i].value));
        if (read) PW_EXPECT(value == cases[i].value && !*end);
    }
    free(text);
}

PW_TEST(what_is_not_a_decimal_number_is_refused) {
    const char *bad[] = {"", "-", ".", "e5", "inf", "nan", "Infinity", " 1", "--1", "+-1", "x", "1e400", "-1e999999"};
    double value;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (pw_text_number(bad[i], NULL, &value)) PW_FAILED("'%s' was read as %g", bad[i], value);
    const char *end;
    PW_EXPECT(pw_text_number("0x10", &end, &value) && value == 0 && *end == 'x');
    PW_EXPECT(pw_text_number("1,5", &end, &value) && value == 1 && *end == ',');
    PW_EXPECT(pw_text_number("2e", &end, &value) && value == 2 && *end == 'e');
    PW_EXPECT(pw_text_number("1.2.3", &end, &value) && value == 1.2 && strcmp(end, ".3") == 0);
}

PW_TEST(whole_numbers_fit_or_are_refused) {
    int64_t value;
    const char *end;
    PW_EXPECT(pw_text_integer("9223372036854775807", NULL, &value) && value == INT64_MAX);
    PW_EXPECT(pw_text_integer("-9223372036854775808", NULL, &value) && value == INT64_MIN);
    PW_EXPECT(!pw_text_integer("9223372036854775808", NULL, &value));
    PW_EXPECT(!pw_text_integer("-9223372036854775809", NULL, &value));
    PW_EXPECT(!pw_text_integer("", NULL, &value) && !pw_text_integer("-", NULL, &value) && !pw_text_integer("x", NULL, &value));
    PW_EXPECT(pw_text_integer("12.5", &end, &value) && value == 12 && *end == '.');
}

PW_TEST(every_number_reads_back_as_the_same_bits) {
    random_state = 11;
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = draw();
        double value, back, small = (double)(int64_t)(draw() % 2000001 - 1000000) / 1000;
        memcpy(&value, &bits, sizeof value);
        if (i % 2) value = small;
        if (!isfinite(value)) continue;
        char text[PW_NUMBER_TEXT];
        pw_number_text(value, text, sizeof text);
        if (!pw_text_number(text, NULL, &back) || memcmp(&value, &back, sizeof value) != 0)
            PW_FAILED("%.17g is written '%s' (seed 11)", value, text);
        if (i % 2 && strlen(text) > 8) PW_FAILED("'%s' is not the shortest", text);
    }
}

static void expect_text(double value, const char *want) {
    char text[PW_NUMBER_TEXT];
    PW_EXPECT_TEXT(pw_number_text(value, text, sizeof text), want);
}

PW_TEST(numbers_are_written_short) {
    expect_text(0.1, "0.1");
    expect_text(450e9, "450000000000");
    expect_text(1e15, "1e+15");
    expect_text(1e100, "1e+100");
    expect_text(-0.0, "-0");
    expect_text(5e-324, "5e-324");
    expect_text(1.0 / 3, "0.3333333333333333");
    expect_text(0.1 + 0.2, "0.30000000000000004");
    expect_text(NAN, "nan");
    expect_text(-INFINITY, "-inf");
}

PW_TEST(the_locale_changes_nothing) {
    const char *commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE"};
    const char *set = NULL;
    for (size_t i = 0; i < sizeof commas / sizeof *commas && !set; i++) set = setlocale(LC_ALL, commas[i]);
    if (!set) printf("# no locale with a decimal comma is installed\n");
    double value;
    const char *end;
    PW_EXPECT(pw_text_number("0.12345678901234567890", &end, &value) && !*end && value == 0.12345678901234567890);
    expect_text(0.25, "0.25");
    setlocale(LC_ALL, "C");
}

PW_TEST(distance_counts_edits_and_swaps) {
    PW_EXPECT_INT(pw_text_distance("", "abc"), 3);
    PW_EXPECT_INT(pw_text_distance("kitten", "sitting"), 3);
    PW_EXPECT_INT(pw_text_distance("form", "from"), 1);
    PW_EXPECT_INT(pw_text_distance("FLOPs", "flops"), 0);
    char a[200], b[200];
    memset(a, 'a', sizeof a), memset(b, 'b', sizeof b);
    a[199] = b[199] = '\0';
    PW_EXPECT_INT(pw_text_distance(a, b), 63);
    random_state = 3;
    for (int i = 0; i < 20000; i++) { /* a metric on short words */
        char word[3][8];
        for (int w = 0; w < 3; w++) {
            int length = (int)(draw() % 7);
            for (int c = 0; c < length; c++) word[w][c] = (char)('a' + draw() % 3);
            word[w][length] = '\0';
        }
        unsigned xy = pw_text_distance(word[0], word[1]), yx = pw_text_distance(word[1], word[0]);
        if (xy != yx || (xy == 0) != (strcmp(word[0], word[1]) == 0)) PW_FAILED("%s %s (seed 3)", word[0], word[1]);
        size_t x = strlen(word[0]), y = strlen(word[1]);
        if (xy > (x > y ? x : y) || xy < (x > y ? x - y : y - x)) PW_FAILED("%s %s: %u (seed 3)", word[0], word[1], xy);
    }
}

PW_TEST(characters_are_those_of_well_formed_utf8) {
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {{"a", 1}, {"", 1}, {"\xC3\xA9", 2}, {"\xE2\x82\xAC", 3}, {"\xF0\x9F\x98\x80", 4}, {"\x80", 0}, {"\xC0\x80", 0},
                 {"\xE0\x80\x80", 0}, {"\xED\xA0\x80", 0}, {"\xF0\x80\x80\x80", 0}, {"\xF4\x90\x80\x80", 0}, {"\xF5\x80\x80\x80", 0},
                 {"\xE2\x82", 0}, {"\xC3(", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) PW_EXPECT_INT(pw_text_character(cases[i].text), cases[i].length);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
