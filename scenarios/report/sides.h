/* What jobs side by side on one cluster have to say: each its own report, what each lost to whom, how links were used.
 */
#ifndef PW_REPORT_SIDES_H
#define PW_REPORT_SIDES_H

#include "models/program/watch.h"
#include "scenarios/report/parts.h"
#include "scenarios/report/report.h"

const char *pw_link_name(const pw_part_names *names, pw_link link, char *text, size_t size); /* "leaf 3 -> spine 1" */

typedef struct pw_side_job {
    const char *name;
    const pw_kind *kind;
    const void *desc;
    const uint32_t *nodes;          /* in the order of its GPUs; NULL: all of the cluster */
    uint32_t node_count;
    bool is_endless;
    pw_run_result result;           /* as its kind reports it, means over its steps, beside the others */
    double start_s, end_s;          /* of the run's time */
    uint32_t rounds;                /* steps done */
    double together_s, alone_s;     /* from its start to its end; alone_s NaN for a job without end */
    bool ran_alone;                 /* false: nobody was on its links, so alone_s is together_s */
    double *lost_to_s;              /* [jobs]: parts of together_s - alone_s */
    double unexplained_s;           /* what no link explains; the parts and this are the loss */
    const char *const *roles, *const *peers; /* names of its group and peer roles, by number, for the table of transfers */
    uint32_t role_count, peer_count;
} pw_side_job;

typedef struct pw_side_by_side {
    pw_side_job *jobs;
    uint32_t count;
    const pw_watch *watch;
    pw_part_names names;
    uint64_t hash;
    double end_s;
} pw_side_by_side;

typedef struct pw_sides_report {
    const char *title, *version;
    uint64_t seed;
    const pw_cluster_desc *cluster;
    const char *server;
    const pw_side_by_side *sides;
    bool long_notes;
} pw_sides_report;
void pw_report_sides_text(const pw_sides_report *report, pw_file *file);
void pw_report_sides_json(const pw_sides_report *report, pw_file *file); /* schema podwright.jobs/1 */
void pw_report_sides_csv(const pw_sides_report *report, pw_file *file);  /* name,value,unit; names begin with the job's */

/* Use of every link over time, a line for each link and bin; all transfers, a line for each. */
void pw_report_links_csv(const pw_side_by_side *sides, pw_file *file);
void pw_report_flows_csv(const pw_side_by_side *sides, pw_file *file);
/* "links": [...], the ones most in use, into the JSON object that is open. */
void pw_report_json_links(pw_json *json, const pw_side_by_side *sides);

#endif
