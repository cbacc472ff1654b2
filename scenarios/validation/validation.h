/* Validation: published measurements replayed, predicted against measured, beside a trivial baseline on the same rows.
 *
 * A suite reads a CSV file of measurements (one row a point), predicts each row it can run and says why it skips the
 * others. Three variants are scored on the rows that ran: "plain" (no factor for the software), "stack" (with the factor
 * of the row's software stack, where one is on file) and "baseline" (what anybody could compute in a minute). Rows of
 * the files that ship with podwright carry a side: fit (may shape parameters) or check (only judges them).
 *
 * Errors are relative: (predicted - measured) / measured.
 */
#ifndef PW_SCENARIOS_VALIDATION_H
#define PW_SCENARIOS_VALIDATION_H

#include <stdio.h>

#include "models/catalogue/catalogue.h"
#include "sim/file.h"

/* A whole CSV file as text cells. */
typedef struct pw_measured {
    const char *file;
    uint32_t rows, columns;
    const char **names; /* [columns] */
    const char **cells; /* [rows * columns] */
    int *lines;         /* [rows] */
} pw_measured;
pw_status pw_measured_read(const char *path, pw_arena *arena, pw_measured *measured, pw_error *error);
int pw_measured_find(const pw_measured *measured, const char *column); /* -1: none */
/* "" for a column that the file does not have. */
const char *pw_measured_text(const pw_measured *measured, uint32_t row, const char *column);
/* NaN for an empty or missing cell; a cell that is no number is an error with its place. */
pw_status pw_measured_number(const pw_measured *measured, uint32_t row, const char *column, double *value,
                             pw_error *error);
/* The same for whole numbers; an empty or missing cell gives fallback. */
pw_status pw_measured_integer(const pw_measured *measured, uint32_t row, const char *column, int64_t fallback,
                              int64_t *value, pw_error *error);

typedef struct pw_prediction {
    bool ran;
    char why[400];    /* not ran: the reason, on one line */
    const char *side; /* "fit", "check", or "" when the row's family is in no split */
    double measured, plain, stack, baseline; /* stack: as plain where the software has no factor on file */
    double second;          /* of suites with a second baseline */
    const char *step_class; /* of suites with intervals: the regime, in static storage; NULL: no class has been made for it */
    double low, high;       /* the interval that goes with stack; both 0: none on file */
} pw_prediction;

typedef struct pw_validation_context {
    const pw_catalogue *catalogue;
    const char *folder;         /* where the splits and measured data lie */
    const pw_measured *input;   /* what is validated */
    const pw_measured *shipped; /* what ships with podwright: the baseline is fitted on its fit rows */
    const pw_measured *split;
    const volatile int *interrupt;
    void *state; /* what the suite's prepare made; arena memory */
    void *user;  /* from the options */
    pw_arena *arena;
} pw_validation_context;

struct pw_validation;
typedef struct pw_suite {
    const char *name, *text;
    const char *unit;            /* of measured and predicted */
    const char *file;            /* what ships: below data/ */
    const char *split;           /* file of the split */
    const char *const *required; /* columns an input must have; NULL-terminated */
    const char *const *by;       /* groups of the readable report; NULL-terminated */
    const char *baseline;        /* one sentence: what the baseline is */
    const char *second;          /* the same of a second baseline; NULL: there is none */
    pw_status (*prepare)(pw_validation_context *context, pw_error *error);
    /* Fills *prediction for one row. Called from several threads, each row once. A failure that lies in the row itself
     * (an unreadable cell, say) makes it a skipped row with file:line and the reason; others end the run. */
    pw_status (*predict)(const pw_validation_context *context, uint32_t row, pw_prediction *prediction, pw_error *error);
    void (*finish)(pw_validation_context *context); /* may be NULL; called once, also after a failure of predict */
    /* A suite that compares rows of another one has no required columns, prepare, predict or finish: derive makes its rows
     * (derived->input) and predictions, in arena, from all rows of `from`. */
    const struct pw_suite *from;
    pw_status (*derive)(const struct pw_validation *base, pw_arena *arena, struct pw_validation *derived, pw_error *error);
    bool interval; /* predictions carry intervals: reports say how many measured values lie within */
    /* Columns that follow from a row's cells, for groups, --only and targets: NULL-terminated names, and the text of one in static
     * storage. NULL: the suite has none. */
    const char *const *labels;
    const char *(*label)(const pw_measured *input, uint32_t row, const char *column);
    bool ratio; /* values are ratios: reports also say how often the prediction is on the right side of 1 */
} pw_suite;
extern const pw_suite *const pw_suite_table[]; /* ends with NULL */

/* Whether the suite derives the column, and the text of a cell: a label's, else the input's. */
bool pw_suite_has_label(const pw_suite *suite, const char *column);
const char *pw_suite_text(const pw_suite *suite, const pw_measured *input, uint32_t row, const char *column);

/* Side of a row: looks its keys (the split's columns before "side") up in the split. "" when it is not listed. */
const char *pw_validation_side(const pw_measured *split, const pw_measured *measured, uint32_t row);

/* Where validation data lie: $PODWRIGHT_VALIDATION, else beside the catalogue's data. */
pw_status pw_validation_find(const pw_catalogue *catalogue, char *path, size_t size, pw_error *error);

typedef struct pw_score {
    uint32_t n;
    double bias_pct, mape_pct, median_pct, p90_pct, worst_pct; /* NaN when n is 0 */
} pw_score;
pw_score pw_validation_score(const double *relative_errors, uint32_t count);

/* Share of ratios whose prediction lies on the measured side of 1. Measured ratios within PW_RATIO_NOISE of 1 do not count:
 * repeats of one published run differ by as much. *n: how many counted. */
#define PW_RATIO_NOISE 0.02
double pw_validation_sign_pct(const double *measured, const double *predicted, uint32_t count, uint32_t *n);

typedef enum pw_variant { PW_VARIANT_PLAIN, PW_VARIANT_STACK, PW_VARIANT_BASELINE, PW_VARIANT_SECOND, PW_VARIANT_COUNT } pw_variant;

typedef struct pw_validation_options {
    const char *data;           /* NULL: what ships */
    const char *const *by;      /* columns to group by, or "side"; NULL: the suite's */
    uint32_t by_count;
    const char *const *only;    /* "COLUMN=VALUE[,VALUE...]": rows that match all of them; the others are skipped */
    uint32_t only_count;
    uint32_t threads;           /* 0: as many as there are processors */
    const volatile int *interrupt;
    void *user;                 /* for the suite's functions; NULL for the suites of the table */
} pw_validation_options;

typedef struct pw_validation {
    const pw_suite *suite;
    const pw_measured *input;
    const pw_prediction *predictions; /* [input->rows] */
    const char *const *by;
    uint32_t by_count;
} pw_validation;

/* Runs a suite. Everything lives in arena. */
pw_status pw_validation_run(const pw_suite *suite, const pw_catalogue *catalogue, const pw_validation_options *options,
                            pw_arena *arena, pw_validation *validation, pw_error *error);

/* PW_CLAIM with the figures when the plain variant's MAPE is above mape_pct (0: not asked), or its median or p90 above
 * ratio times the baseline's (0: not asked), or when no row ran. */
pw_status pw_validation_claim(const pw_validation *validation, double mape_pct, double ratio, pw_arena *arena,
                              pw_error *error);

/* Writers. The text is for reading; JSON has schema podwright.validation/1; CSV has one line per input row, in order:
 * row,id,status,measured,predicted,predicted_stack,class,low,high (the last three of suites with intervals). Failed writes show when the file is committed. */
pw_status pw_validation_write_text(const pw_validation *validation, pw_file *out, pw_arena *arena, pw_error *error);
pw_status pw_validation_write_json(const pw_validation *validation, pw_file *out, pw_arena *arena, pw_error *error);
pw_status pw_validation_write_csv(const pw_validation *validation, pw_file *out, pw_error *error);

extern const pw_suite pw_suite_training, pw_suite_knobs, pw_suite_memory, pw_suite_batches, pw_suite_gemm, pw_suite_attention, pw_suite_collectives,
    pw_suite_power, pw_suite_power_nodes, pw_suite_training_power, pw_suite_training_governed;

#endif
