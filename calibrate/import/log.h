/* What collective benchmarks print, read back: the output of nccl-tests (2.0 to 2.19, text and JSON) and of rccl-tests.
 *
 * A file holds one test or several; each table of a test becomes a pw_log_table with one row per printed size. A row has two halves,
 * out of place and in place. Values are as printed; what was not printed is NaN. Tags that launchers put before lines or into
 * rows, and other programs' lines between rows, are passed over. A table without its footer (a crash, a kill) is `truncated`.
 *
 *   pw_log log;
 *   PW_TRY(pw_log_read("all_reduce.log", arena, &log, error));
 *   for (uint32_t t = 0; t < log.count; t++) ... log.tables[t].rows ...
 *
 * Host names serve to count nodes and are not kept. The environment in a JSON report is never read: it can hold secrets.
 */
#ifndef PW_CALIBRATE_IMPORT_LOG_H
#define PW_CALIBRATE_IMPORT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/status.h"

/* The tests, by what they measure. The factor is that of nccl-tests: busbw = algbw x factor. */
#define PW_LOG_KIND_MAP(X)                                     \
    X(ALL_REDUCE, "all_reduce", 2.0 * (n - 1) / n)             \
    X(ALL_GATHER, "all_gather", (n - 1) / n)                   \
    X(REDUCE_SCATTER, "reduce_scatter", (n - 1) / n)           \
    X(ALLTOALL, "alltoall", (n - 1) / n)                       \
    X(ALLTOALLV, "alltoallv", (n - 1) / n)                     \
    X(GATHER, "gather", (n - 1) / n)                           \
    X(SCATTER, "scatter", (n - 1) / n)                         \
    X(BROADCAST, "broadcast", 1.0)                             \
    X(REDUCE, "reduce", 1.0)                                   \
    X(SENDRECV, "sendrecv", 1.0)
typedef enum pw_log_kind {
#define PW_LOG_KIND_ENUM(NAME, name, factor) PW_LOG_##NAME,
    PW_LOG_KIND_MAP(PW_LOG_KIND_ENUM)
#undef PW_LOG_KIND_ENUM
    PW_LOG_KIND_COUNT,
    PW_LOG_UNKNOWN = PW_LOG_KIND_COUNT
} pw_log_kind;
extern const char *const pw_log_kind_names[]; /* NULL-terminated */
double pw_log_factor(pw_log_kind kind, uint32_t ranks);

typedef struct pw_log_half {
    double time_us, algbw_GBps, busbw_GBps; /* GB: 1e9 bytes */
    double wrong;                           /* elements with a wrong value; NaN: not checked, or an old version's largest error */
} pw_log_half;

#define PW_LOG_NO_ROOT INT64_MIN /* the version prints no root; -1: printed, but the collective has none */
typedef struct pw_log_row {
    int line;
    uint32_t cycle; /* of rccl-tests' stress mode; else 0 */
    int64_t size_bytes, count;
    const char *type, *redop; /* redop NULL: the version prints none */
    int64_t root;
    pw_log_half out_of_place, in_place;
} pw_log_row;

typedef struct pw_log_table {
    int line; /* where its header is; 0 for JSON */
    pw_log_kind kind;
    const char *library, *library_version, *tests_version; /* "nccl" or "rccl"; "" when not printed */
    const char *gpu;                                       /* the name that the driver gives; "" when not printed */
    const char *network;                                   /* what the library says it uses: "IB", "RoCE", "OFI", "Socket"; "" */
    uint32_t ranks, hosts;    /* of the device list; 0: not printed */
    uint32_t groups;          /* that ran at once, each its own collective; 1 mostly */
    uint32_t group_ranks, group_hosts; /* of the first group */
    uint32_t gpus_per_process;
    bool alone;               /* every process lists itself as rank 0: the test was built without MPI */
    bool mixed_gpus, uneven;  /* GPUs of several types; nodes with different numbers of ranks */
    bool cpu_time;            /* times are the CPU's: bandwidths belong to another time */
    int64_t out_of_bounds;    /* -1: no footer */
    bool out_of_bounds_failed;
    double average_busbw_GBps; /* NaN: no footer */
    bool truncated;
    pw_log_row *rows;
    uint32_t row_count;
} pw_log_table;

typedef struct pw_log {
    pw_log_table *tables;
    uint32_t count;
} pw_log;

/* Reads a file, text or JSON by its first character. Everything lies in arena. A file without a table is PW_BAD_INPUT. */
pw_status pw_log_read(const char *path, pw_arena *arena, pw_log *log, pw_error *error);

/* What a row says against itself: size over time is not its algbw, or busbw is not algbw times the factor of its collective and
 * ranks. Allows for printed digits. Writes a sentence into text and returns true when it does. */
bool pw_log_contradicts(const pw_log_table *table, const pw_log_row *row, const pw_log_half *half, char *text, size_t size);

#endif
