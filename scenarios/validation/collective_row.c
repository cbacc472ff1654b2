#include "scenarios/validation/collective_row.h"

#include <math.h>

static const double LEAST_US = 1e-3, MOST_US = 1e12; /* of a collective that somebody timed */

pw_status collective_benches_create(const pw_validation_context *context, pw_benches **benches, pw_error *error) {
    char path[4608];
    snprintf(path, sizeof path, "%s/collective-systems.csv", context->folder);
    return pw_benches_create(NULL, context->catalogue, path, benches, error);
}

static void words_of(const pw_measured *input, uint32_t row, const char *words[PW_BENCH_WORDS]) {
    for (int w = 0; w < PW_BENCH_WORDS; w++) words[w] = pw_measured_text(input, row, pw_bench_columns[w]);
}

void collective_benches_add(pw_benches *benches, const pw_measured *input) {
    for (uint32_t row = 0; row < input->rows; row++) {
        const char *words[PW_BENCH_WORDS];
        const pw_bench *bench;
        words_of(input, row, words);
        (void)pw_benches_add(benches, words, &bench, NULL); /* a row whose words are wrong says so when it is its turn */
    }
}

pw_status collective_row_of(const pw_benches *benches, const pw_measured *input, uint32_t r, collective_row *row,
                            pw_prediction *prediction, pw_error *error) {
    const char *words[PW_BENCH_WORDS], *word = pw_measured_text(input, r, "collective");
    double microseconds;
    int64_t unused;
    int kind = pw_bench_kind(word);
    *row = (collective_row){.measured_s = NAN};
    PW_TRY(pw_measured_number(input, r, "size_bytes", &row->bytes, error));
    PW_TRY(pw_measured_number(input, r, "time_us", &microseconds, error));
    static const char *const numbers[] = {"nodes", "gpus_per_node", "ranks", "concurrent_groups"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        PW_TRY(pw_measured_integer(input, r, numbers[i], 0, &unused, error));
    row->measured_s = microseconds * 1e-6;
    words_of(input, r, words);
    const pw_bench *bench = pw_benches_find(benches, words);
    if (!(microseconds > 0)) snprintf(prediction->why, sizeof prediction->why, "no time");
    else if (!(microseconds >= LEAST_US && microseconds <= MOST_US))
        snprintf(prediction->why, sizeof prediction->why, "a time of %g us is none", microseconds);
    else if (!(row->bytes > 0)) snprintf(prediction->why, sizeof prediction->why, "no bytes");
    else if (kind < 0) snprintf(prediction->why, sizeof prediction->why, "collective '%.60s' is not modelled", word);
    else if (!bench) snprintf(prediction->why, sizeof prediction->why, "no such number of nodes, ranks or groups");
    else if (*bench->why) snprintf(prediction->why, sizeof prediction->why, "%s", bench->why);
    if (*prediction->why) return PW_OK;
    row->kind = (pw_collective_kind)kind;
    row->bench = bench;
    return PW_OK;
}
