/* Test macros: one process per file, TAP on stdout, no framework.
 *
 *   PW_TEST(ring_all_reduce_meets_its_closed_form) { PW_EXPECT(x == 1); PW_EXPECT_NEAR(a, b, 1e-9); }
 *   int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
 *
 * Tests register themselves in order of definition. An argument selects tests whose name contains it. A failed
 * expectation prints file:line and the values and lets the test go on.
 */
#ifndef PW_TESTS_CHECK_H
#define PW_TESTS_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct pw_test {
    const char *name;
    void (*run)(void);
    struct pw_test *next;
} pw_test;

static pw_test *pw_tests_first, **pw_tests_last = &pw_tests_first;
static int pw_test_failures;

#define PW_TEST(test_name)                                                              \
    static void test_name(void);                                                        \
    static pw_test pw_test_##test_name = {#test_name, test_name, NULL};                 \
    __attribute__((constructor)) static void pw_register_##test_name(void) {            \
        *pw_tests_last = &pw_test_##test_name;                                          \
        pw_tests_last = &pw_test_##test_name.next;                                      \
    }                                                                                   \
    static void test_name(void)

#define PW_FAILED(...) (pw_test_failures++, printf("# %s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"))
#define PW_EXPECT(condition) \
    do {                     \
        if (!(condition)) PW_FAILED("expected %s", #condition); \
    } while (0)
#define PW_EXPECT_INT(actual, expected)                                                                        \
    do {                                                                                                       \
        long long pw_a = (long long)(actual), pw_e = (long long)(expected);                                    \
        if (pw_a != pw_e) PW_FAILED("%s is %lld, expected %lld", #actual, pw_a, pw_e);                         \
    } while (0)
/* relative tolerance; an expected zero is compared absolutely */
#define PW_EXPECT_NEAR(actual, expected, tolerance)                                                            \
    do {                                                                                                       \
        double pw_a = (actual), pw_e = (expected), pw_s = pw_e != 0 ? fabs(pw_e) : 1;                          \
        if (!(fabs(pw_a - pw_e) <= (tolerance) * pw_s))                                                        \
            PW_FAILED("%s is %.17g, expected %.17g (relative difference %.3g)", #actual, pw_a, pw_e,           \
                      fabs(pw_a - pw_e) / pw_s);                                                               \
    } while (0)
#define PW_EXPECT_TEXT(actual, expected)                                                                       \
    do {                                                                                                       \
        const char *pw_a = (actual), *pw_e = (expected);                                                       \
        if (!pw_a || strcmp(pw_a, pw_e)) PW_FAILED("%s is \"%s\", expected \"%s\"", #actual, pw_a ? pw_a : "(null)", pw_e); \
    } while (0)
#define PW_EXPECT_CONTAINS(actual, part)                                                                       \
    do {                                                                                                       \
        const char *pw_a = (actual), *pw_e = (part);                                                           \
        if (!pw_a || !strstr(pw_a, pw_e)) PW_FAILED("%s is \"%s\", should contain \"%s\"", #actual, pw_a ? pw_a : "(null)", pw_e); \
    } while (0)

static inline int pw_run_tests(int argc, char **argv) {
    int number = 0, failed = 0;
    for (pw_test *test = pw_tests_first; test; test = test->next) {
        if (argc > 1 && !strstr(test->name, argv[1])) continue;
        pw_test_failures = 0;
        test->run();
        printf("%s %d - %s\n", pw_test_failures ? "not ok" : "ok", ++number, test->name);
        fflush(stdout);
        failed += pw_test_failures != 0;
    }
    printf("1..%d\n", number);
    if (number == 0) printf("# no test has \"%s\" in its name\n", argc > 1 ? argv[1] : "");
    return failed != 0 || number == 0;
}

#endif
