/* Reports: what a run or a cluster is, written for people (text), programs (JSON) and tables (CSV: name,value,unit).
 *
 * The readable form fits one screen. Everything printed is a function of the inputs: no times of day, no machine, no
 * host's speed, so that equal runs give equal bytes.
 */
#ifndef PW_REPORT_REPORT_H
#define PW_REPORT_REPORT_H

#include "scenarios/report/result.h"
#include "sim/file.h"
#include "sim/json.h"

/* What `podwright validate` has on file about answers of this kind. */
typedef struct pw_accuracy {
    const char *group, *source; /* NULL source: nothing is on file */
    bool is_elsewhere;          /* of any hardware, since nothing is on file about this one */
    int64_t n;
    double bias_pct, median_pct, p90_pct;
} pw_accuracy;
/* Reads accuracy.csv of the catalogue's folder: the suite's row of the GPU, else of its generation, else of all. Where answers
 * have classes (answer_class not NULL), rows of that class alone. Nothing on file is no error. Texts live in the catalogue. */
pw_accuracy pw_accuracy_find(const pw_catalogue *catalogue, const char *suite, const char *answer_class, const char *gpu,
                             const char *generation);
/* What a row is called: "experts, Hopper", "experts", "Hopper", "all". NULL: no class; any hardware. Returns text. */
const char *pw_accuracy_group(const char *answer_class, const char *hardware, char *text, size_t size);

typedef struct pw_run_report {
    const char *title, *version;
    uint64_t seed;
    const pw_cluster_desc *cluster;
    pw_one_of job;       /* its kind and description */
    const char *server;  /* what a node is called */
    int64_t nodes;
    const pw_run_result *result;
    const char *suite, *answers; /* of validation: its name (NULL: none), and what it judges ("step times") */
    pw_accuracy accuracy;
    bool long_notes; /* text: notes in full instead of one line each */
    const struct pw_side_by_side *watched; /* JSON: the links most in use; NULL: they were not watched */
} pw_run_report;
void pw_report_run_text(const pw_run_report *report, pw_file *file);
void pw_report_run_json(const pw_run_report *report, pw_file *file); /* schema podwright.run/1 */
void pw_report_run_csv(const pw_run_report *report, pw_file *file);
/* The rows over time of a result that has them. */
void pw_report_series_csv(const pw_series *series, pw_file *file);

/* What a job's result says, without title, cluster and accuracy: text; figures, blame, rows and notes into the object that is
 * open. */
void pw_report_result_text(const pw_run_result *result, bool long_notes, pw_file *file);
void pw_report_result_json(pw_json *json, const pw_run_result *result);

/* One field of a description, for `describe`. */
typedef struct pw_described_field {
    const char *path;
    const pw_kind *kind;
    const pw_field *field;
    const void *description;
    const char *origin; /* "default", "scenario.lua:12", "--set ...", "preset gpt3-175b" */
} pw_described_field;

typedef struct pw_describe_report {
    const char *title, *version;
    const pw_catalogue *catalogue;
    const pw_cluster *cluster;
    const pw_cluster_desc *cluster_desc;
    const pw_run_result *job; /* figures of the job that need no run; NULL: no job */
    const pw_described_field *fields;
    size_t field_count;
} pw_describe_report;
void pw_report_describe_text(const pw_describe_report *report, pw_file *file);
void pw_report_describe_json(const pw_describe_report *report, pw_file *file); /* schema podwright.describe/1 */

/* A field's value in words: "400 Gbps"-like with unit, a choice's name, "-" when it is not given. Returns text. */
const char *pw_report_value(const pw_field *field, const void *description, char *text, size_t size);
/* Every field of a description into the JSON object that is open; a record of one of several kinds names its "kind". */
void pw_report_json_fields(pw_json *json, const pw_kind *kind, const void *description);

#endif
