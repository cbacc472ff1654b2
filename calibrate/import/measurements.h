/* Logs as measurements: one CSV row per printed size, in the columns that `podwright validate collectives --data` reads.
 *
 *   table_id           one test, "NAME-2" for the second table of a file
 *   source             as given, else the file's name
 *   method             nccl-tests or rccl-tests
 *   lib, lib_version   nccl or rccl; "" when the log does not say
 *   gpu                the catalogue's name for what the driver calls the GPU
 *   nodes, gpus_per_node   of one group; ranks = nodes x gpus_per_node
 *   concurrent_groups  groups that ran the collective at once
 *   intra, inter       links inside a node and between nodes, as given: logs do not say them
 *   collective, dtype  as the benchmark names them
 *   size_bytes         the benchmark's size column
 *   time_us            out of place; in place where that was not run (then `note` says so)
 *   algbw, busbw       GB/s (1e9), computed from size_bytes and time_us
 *   health, digitised  "" (not judged) and 0
 *   note               what is special about the row
 *
 * A row that contradicts itself, has size 0 or no time is left out, and so is a table whose collective or ranks nobody told.
 * Whatever is left out is told.
 */
#ifndef PW_CALIBRATE_IMPORT_MEASUREMENTS_H
#define PW_CALIBRATE_IMPORT_MEASUREMENTS_H

#include "calibrate/import/log.h"
#include "models/catalogue/catalogue.h"
#include "sim/file.h"

/* What the user says of the logs; NULL or 0: as the log has it. */
typedef struct pw_log_labels {
    const char *source, *gpu, *intra, *inter, *library_version;
    pw_log_kind kind; /* PW_LOG_UNKNOWN: as the log has it */
    int64_t nodes, gpus_per_node;
} pw_log_labels;

/* One sentence about line `line` (0: the whole file). */
typedef void pw_log_tell_fn(void *object, int line, const char *text);

void pw_log_write_header(pw_file *file);
/* Writes the rows of one log; name: beginning of the table ids. Returns how many rows were written. */
uint32_t pw_log_write(const pw_log *log, const char *name, const pw_log_labels *labels, const pw_catalogue *catalogue, pw_file *file,
                      pw_log_tell_fn *tell, void *object);

#endif
