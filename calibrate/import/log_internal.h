/* Shared by the readers of logs. */
#ifndef PW_CALIBRATE_IMPORT_LOG_INTERNAL_H
#define PW_CALIBRATE_IMPORT_LOG_INTERNAL_H

#include "calibrate/import/log.h"

/* --- A table while it is read --------------------------------------------------------------------------------- */

typedef struct log_device {
    int64_t rank, group;
    const char *host, *name;
} log_device;

typedef struct log_builder {
    pw_arena *arena;
    pw_error *error;
    pw_log *log;
    uint32_t table_capacity, row_capacity;
    log_device *devices;
    uint32_t device_count, device_capacity;
    pw_log_table table; /* the one that is being read */
    bool open;          /* it has a header */
} log_builder;

/* Room for one more element of an array in the arena; NULL: out of memory, and the error is set. */
void *log_more(pw_arena *arena, void *array, uint32_t count, uint32_t *capacity, size_t element, pw_error *error);
const char *log_copy(log_builder *builder, const char *text, size_t length); /* NULL: as above */

/* Forgets devices and what is known of the test. */
void log_new_test(log_builder *builder);
pw_status log_add_device(log_builder *builder, int64_t rank, int64_t group, const char *host, const char *name);
pw_status log_add_row(log_builder *builder, const pw_log_row *row);
/* Ends the table: counts ranks and nodes, finds out which collective it is where no name told, appends it to the log when it has
 * rows or a footer. */
pw_status log_end_table(log_builder *builder);

extern const pw_log_half log_no_half;
/* Of "all_reduce_perf", "/opt/bin/alltoall_perf_mpi"; PW_LOG_UNKNOWN. The first name of a test in the text counts. */
pw_log_kind log_kind_of_program(const char *text);
/* Of "22809" (2.28.9), "2804" (2.8.4). */
const char *log_version_text(int64_t code, char text[32]);

/* --- Lines ---------------------------------------------------------------------------------------------------- */

/* The line behind the tags of launchers: "[1,0]<stdout>:", " 0: ", "[0]", a date, "node-1: ". */
char *log_behind_tags(char *line);
/* Makes tags inside a row blank. */
void log_blank_tags(char *row);

typedef struct log_token {
    const char *text; /* 0-terminated */
    int gap;          /* blanks before it */
} log_token;
enum { LOG_TOKENS = 64 };
/* Cuts the line at blanks, in place. What is behind the last token that fits is left out. */
int log_cut(char *line, log_token tokens[LOG_TOKENS]);

/* A printed value. "N/A" and "nan" give NaN. *whole is false when something else is glued to its end. False: no value. */
bool log_value(const char *text, double *value, bool *whole);
bool log_whole(const char *text, int64_t *value, bool *whole);

/* --- Formats -------------------------------------------------------------------------------------------------- */

/* text has size bytes and a 0 behind them, and is changed. */
pw_status log_read_text(log_builder *builder, const char *path, char *text, size_t size);
pw_status log_read_json(log_builder *builder, const char *path, const char *text, size_t size);

#endif
