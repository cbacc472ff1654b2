/* What a run of any kind of job has to say. A kind of job fills a result (scenarios/jobs); the writers of this folder show it as
 * text, JSON and CSV without knowing the kind.
 *
 *   pw_result_line(r, "job", "%s on %u GPUs", name, gpus);       head of the readable report
 *   pw_result_answer(r, "step", "%s, %s images/s", ...);         what the reader came for
 *   pw_result_figure(r, "images_per_s", 2500, "images/s");       for programs: JSON (result.images_per_s) and CSV
 *   pw_result_rows(r, "worker", count);                          what each program did: a table, workers[] in JSON
 *   return pw_result_finish(r, error);
 *
 * The builders copy what they are given; when memory is out they do nothing more and pw_result_finish says so.
 */
#ifndef PW_REPORT_RESULT_H
#define PW_REPORT_RESULT_H

#include "models/node/cluster.h"
#include "models/program/blame.h"

typedef struct pw_line {
    const char *label, *text; /* "job", "7B parameters, ..." */
} pw_line;

typedef struct pw_figure {
    const char *name; /* as in JSON and CSV: step_s, tokens_per_s */
    double value;
    const char *unit; /* "s", "tokens/s", "bytes", "" */
    const char *text; /* not NULL: a word instead of a number, for JSON alone */
} pw_figure;

enum { PW_RESULT_LINES = 96, PW_RESULT_FIGURES = 320, PW_ROW_FIGURES = 8, PW_ROW_MEMORY = 12, PW_HAPPENING_FIGURES = 3 };

/* One program: a pipeline stage, a worker, a server. Times are means over its ranks. */
typedef struct pw_result_row {
    const char *name; /* NULL: its number */
    uint32_t ranks;
    double compute_s, communication_s, idle_s, launch_wait_s;
    pw_figure figures[PW_ROW_FIGURES]; /* more columns, the same ones in every row: "layers" */
    uint32_t figure_count;
    pw_figure memory[PW_ROW_MEMORY]; /* account in bytes per GPU, by use; none: not known */
    uint32_t memory_count;
    double memory_total, memory_capacity;
} pw_result_row;

/* Rows over time, for --series-csv. */
typedef struct pw_series {
    const char *label_name;      /* a first column of words, "site"; NULL: none */
    const char *const *labels;   /* of each block of block_rows rows */
    uint64_t block_rows;
    const char *const *columns;
    uint32_t column_count;
    uint64_t row_count;          /* 0: the job has no series */
    const double *values;        /* row after row; NaN: empty */
} pw_series;

/* Something that happened while the job ran. */
typedef struct pw_happening {
    double at_s;
    const char *what, *effect; /* "feed a lost", "GPUs at 990 MHz" */
    uint32_t first_node, nodes;
    pw_figure figures[PW_HAPPENING_FIGURES]; /* more for programs: "gpu_clock"; name NULL: no more */
} pw_happening;

/* Watts of all GPUs of a job over one repetition of it, in bins; count 0: not known. For meters. */
typedef struct pw_power_shape {
    const double *watts;
    uint32_t count;
    double bin_s, span_s; /* the last bin ends with the span */
} pw_power_shape;

typedef struct pw_run_result {
    pw_arena *arena; /* of everything here; set by the caller, all else zero */
    bool is_out_of_memory;
    pw_line head[PW_RESULT_LINES], answers[PW_RESULT_LINES];
    uint32_t head_count, answer_count;
    pw_figure figures[PW_RESULT_FIGURES];
    uint32_t figure_count;
    const pw_blame_part *parts; /* where the time went */
    uint32_t part_count;
    const char *home; /* the program that saw it so */
    const char *row_word; /* "stage": JSON key stages, CSV stage.0.compute */
    pw_result_row *rows;
    uint32_t row_count;
    pw_happening *happenings; /* in order of time */
    uint32_t happening_count;
    const char *happening_word; /* "power_events": JSON key */
    bool bare_rows; /* rows are no programs: they have figures but no times */
    const char *const *notes;
    uint32_t note_count, note_capacity;
    pw_series series;
    pw_power_shape gpu_power;
    const pw_device *device; /* of every node */
    int64_t gpus;            /* that the job uses */
    const char *answer_class; /* regime whose errors are alike, as `validate` prints it; NULL: none */
    uint64_t hash;           /* of all spans: equal runs have equal hashes */
} pw_run_result;

void pw_result_line(pw_run_result *result, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));
void pw_result_answer(pw_run_result *result, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));
void pw_result_figure(pw_run_result *result, const char *name, double value, const char *unit);
void pw_result_word(pw_run_result *result, const char *name, const char *text);
void pw_result_note(pw_run_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `count` rows, all zero, numbered, to be filled; NULL when memory is out. */
pw_result_row *pw_result_rows(pw_run_result *result, const char *word, uint32_t count);
void pw_row_figure(pw_run_result *result, pw_result_row *row, const char *name, double value, const char *unit);
void pw_row_memory(pw_run_result *result, pw_result_row *row, const char *use, double bytes);
/* Room for `count` happenings, all zero, to be filled with texts that outlive the result; NULL when memory is out. word: "power_events". */
pw_happening *pw_result_happenings(pw_run_result *result, const char *word, uint32_t count);
pw_status pw_result_finish(const pw_run_result *result, pw_error *error);

#endif
