/* One collective over many sizes on a cluster that does nothing else, as nccl-tests runs it.
 *
 * Every size is an operation of one small program (models/program); the executor runs it, and the row's time is what its
 * members' streams were busy with it. Groups that run at once meet on the fabric and share its links. Between two sizes all
 * groups wait for each other. What the host's launch adds is part of a collective's latency (cluster.communication.launch).
 */
#ifndef PW_SWEEP_SWEEP_H
#define PW_SWEEP_SWEEP_H

#include "models/program/executor.h"
#include "sim/file.h"

/* --- What nccl-tests calls it (tests.c) ---------------------------------------------------------------------------- */

typedef struct pw_sweep_test {
    pw_collective_kind kind;
    const char *program; /* "alltoall_perf" */
    const char *redop;   /* "sum", "none" */
    int root;            /* -1: none */
    bool parts;          /* S is n equal parts, one for each rank; each a multiple of 16 bytes */
} pw_sweep_test;
const pw_sweep_test *pw_sweep_test_of(pw_collective_kind kind);
/* The kind for a name here or in nccl-tests ("alltoall", "alltoall_perf"); PW_BAD_INPUT with a hint. */
pw_status pw_sweep_kind(const char *name, pw_collective_kind *kind, pw_error *error);

typedef struct pw_sweep_type { /* of an element */
    const char *name; /* as nccl-tests prints it */
    int bytes;
} pw_sweep_type;
pw_status pw_sweep_type_of(const char *name, pw_sweep_type *type, pw_error *error);

/* "8", "1K", "1.5M", "16G": binary suffixes. option names the option in messages. */
pw_status pw_sweep_size(const char *option, const char *text, int64_t *bytes, pw_error *error);

typedef struct pw_sweep_range {
    int64_t least, most, factor, step; /* bytes; factor 0: in steps */
} pw_sweep_range;
/* The rows' sizes: rounded down to whole elements and parts as nccl-tests does, none of them 0; a barrier has the one size 0.
 * Array in arena. */
pw_status pw_sweep_sizes(const pw_sweep_range *range, const pw_sweep_test *test, uint32_t members, int type_bytes,
                         pw_arena *arena, int64_t **sizes, uint32_t *count, pw_error *error);

/* --- Who takes part (groups.c) ------------------------------------------------------------------------------------- */

typedef struct pw_sweep_groups {
    uint32_t *gpus;  /* cluster numbers, group after group, in the order of their ring */
    uint32_t count;  /* groups */
    uint32_t size;   /* members of each */
} pw_sweep_groups;
extern const char *const pw_sweep_group_words[]; /* "all", "one-per-node", "each-node", ... NULL-terminated */
/* Reads "all", "one-per-node", "each-node", "each-domain", "each-rail", "16" (the first 16), "0-7,16", "0-63:8" (every
 * eighth); lists with "/" between are groups that run at once. Arrays in arena. */
pw_status pw_sweep_parse_groups(const pw_cluster *cluster, const char *text, pw_arena *arena, pw_sweep_groups *groups,
                                pw_error *error);

/* --- The run (sweep.c, limits.c) ----------------------------------------------------------------------------------- */

typedef struct pw_sweep_config {
    const pw_allocator *allocator;
    const pw_cluster *cluster;
    const pw_collectives *collectives;
    pw_collective_kind kind;
    int algorithm;                 /* PW_ALGORITHM_AUTO, a number of pw_algorithm_table or of a variant */
    bool messages;                 /* message by message */
    pw_sweep_groups groups;
    const int64_t *sizes;
    uint32_t size_count;
    uint64_t seed;
    const volatile int *interrupt; /* may be NULL */
} pw_sweep_config;

typedef enum pw_sweep_limit {
    PW_SWEEP_LATENCY,  /* more than half of the time is latency */
    PW_SWEEP_PROTOCOL, /* what the library's protocols reach: no link is full */
    PW_SWEEP_LINK,     /* a link is full while bytes flow */
    PW_SWEEP_LIMIT_COUNT
} pw_sweep_limit;
extern const char *const pw_sweep_limit_names[];

typedef struct pw_sweep_row {
    int64_t bytes;
    double time_s;                /* mean over ranks, as nccl-tests */
    double fastest_s, slowest_s;  /* of the groups */
    pw_collective_cost cost;      /* of the first group, alone on the fabric */
    pw_library_estimate library;  /* what the communication library expects itself; algorithm NULL: nothing */
    pw_sweep_limit limit;
    pw_link link;                 /* the busiest; PW_NONE: nothing crosses a link */
    uint32_t alike;               /* links that carry as much as it, for it stands for its twins; 1: it alone */
    double busy;                  /* its bytes over bandwidth x time of the row */
} pw_sweep_row;

typedef struct pw_sweep_result {
    pw_sweep_row *rows; /* [size_count], in the arena */
    double events;      /* simulated */
} pw_sweep_result;
pw_status pw_sweep_run(const pw_sweep_config *config, pw_arena *arena, pw_sweep_result *result, pw_error *error);

/* Bytes that a byte of S puts on each link, summed over the groups, by link (pw_fabric_links of them; twins on their first). */
pw_status pw_sweep_loads(const pw_sweep_config *config, double bytes, double *loads, pw_error *error);
/* Algorithm bandwidth of a row, bytes/s. */
static inline double pw_sweep_rate_Bps(const pw_sweep_row *row) { return row->time_s > 0 ? (double)row->bytes / row->time_s : 0; }
/* Where a GPU sits, as the reports name it. */
typedef struct pw_sweep_place {
    uint32_t node, device; /* of the node */
    const char *gpu;
} pw_sweep_place;
pw_sweep_place pw_sweep_place_of(const pw_cluster *cluster, uint32_t gpu);
/* Fills limit, link, alike and busy of rows whose times are known. */
pw_status pw_sweep_find_limits(const pw_sweep_config *config, pw_arena *arena, pw_sweep_row *rows, pw_error *error);

/* --- Reports ------------------------------------------------------------------------------------------------------- */

typedef struct pw_sweep_report {
    const char *title, *version;
    const pw_sweep_config *config;
    const pw_sweep_result *result;
    pw_sweep_range range;
    pw_sweep_type type;
    bool all_devices; /* list every GPU, not only the first ones */
} pw_sweep_report;
/* Mean bus bandwidth of the rows, bytes/s, as in nccl-tests' footer. */
double pw_sweep_mean_bus_Bps(const pw_sweep_report *report);
/* The table of nccl-tests 2.19.6; what only a simulator knows stands behind a # at the end of each row. */
pw_status pw_sweep_text(const pw_sweep_report *report, pw_arena *arena, pw_file *file, pw_error *error);
/* Its JSON, version 3, with a "podwright" object (schema podwright.collective/1) on top and in every result. */
pw_status pw_sweep_json(const pw_sweep_report *report, pw_arena *arena, pw_file *file, pw_error *error);
pw_status pw_sweep_csv(const pw_sweep_report *report, pw_arena *arena, pw_file *file, pw_error *error);
/* One size: latency, cap, cut bound, what the links carry, where the parameters come from. */
pw_status pw_sweep_explain(const pw_sweep_report *report, const pw_sweep_row *row, pw_arena *arena, pw_file *file,
                           pw_error *error);

#endif
