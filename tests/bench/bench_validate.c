/* All measured training rows through the simulator, as `podwright validate training` runs them.
 *
 * Prints CPU seconds (of all threads), rows per CPU second, and rows for tests/bench/history.csv behind "csv: ". An argument
 * COLUMN=VALUE runs the rows that match.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "scenarios/validation/validation.h"

static double cpu_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void must(pw_status status, const pw_error *error) {
    char text[2000];
    if (status == PW_OK) return;
    fprintf(stderr, "bench_validate: %s\n", pw_error_text(error, text, sizeof text));
    exit(1);
}

static void report(const char *what, double value, const char *unit) {
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    char today[16] = "";
    time_t now = time(NULL);
    strftime(today, sizeof today, "%Y-%m-%d", gmtime(&now));
    printf("csv: %s,%s,%s,validate training: %s,%.4g,%s\n", today, commit ? commit : "", machine ? machine : "", what, value, unit);
}

int main(int argc, char **argv) {
    pw_error error = {0};
    pw_catalogue *catalogue;
    pw_validation validation;
    pw_arena *arena = pw_arena_create(NULL);
    if (!arena) return 1;
    must(pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &catalogue, &error), &error);
    pw_validation_options options = {.only = (const char *const *)argv + 1, .only_count = (uint32_t)(argc > 1 ? argc - 1 : 0)};
    double start = cpu_s();
    must(pw_validation_run(&pw_suite_training, catalogue, &options, arena, &validation, &error), &error);
    double seconds = cpu_s() - start;
    uint32_t ran = 0;
    for (uint32_t row = 0; row < validation.input->rows; row++) ran += validation.predictions[row].ran;
    printf("validate training: %u of %u rows in %.2f CPU seconds, %.1f rows per CPU second\n", ran, validation.input->rows, seconds,
           ran / seconds);
    if (argc == 1) {
        report("rows that ran", ran, "rows");
        report("all rows", seconds, "CPU-s");
        report("rows per CPU second", ran / seconds, "1/s");
    }
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
    return 0;
}
