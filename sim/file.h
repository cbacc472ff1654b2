/* Files written whole or not at all, and read whole.
 *
 * pw_file_create opens a temporary file beside the target; pw_file_commit flushes it to disk and renames it over the
 * target. Until then, and after any error (disk full, say), the old file is untouched. Errors of writes are kept and
 * reported by commit. A target that is not a regular file (/dev/stdout, a pipe) is written directly.
 *
 *   pw_file *file;
 *   PW_TRY(pw_file_create("out.csv", NULL, &file, error));
 *   pw_file_csv_text(file, "h100, sxm");
 *   pw_file_csv_number(file, 80e9);
 *   pw_file_csv_end(file);
 *   return pw_file_commit(file, error);
 */
#ifndef PW_SIM_FILE_H
#define PW_SIM_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/memory.h"
#include "sim/status.h"

typedef struct pw_file pw_file;

pw_status pw_file_create(const char *path, const pw_allocator *allocator, pw_file **file, pw_error *error);
/* Writes directly to an open descriptor (STDOUT_FILENO, say), which stays open after commit or discard; errors speak of
 * "the output". */
pw_status pw_file_attach(int descriptor, const pw_allocator *allocator, pw_file **file, pw_error *error);
/* Ends the file's life in every case; on failure the target is as it was and the message says why. */
pw_status pw_file_commit(pw_file *file, pw_error *error);
void pw_file_discard(pw_file *file); /* leaves the target as it was; NULL is fine */

void pw_file_write(pw_file *file, const void *data, size_t size);
void pw_file_text(pw_file *file, const char *text);
/* Formatted, at most 1,000 bytes. Numbers that must read back go through pw_file_number. */
void pw_file_print(pw_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pw_file_number(pw_file *file, double value); /* shortest text that reads back */

/* Fields of a CSV row, with commas between and quotes where needed; a missing number (NaN) is an empty field. */
void pw_file_csv_text(pw_file *file, const char *text);
void pw_file_csv_number(pw_file *file, double value);
void pw_file_csv_integer(pw_file *file, int64_t value);
void pw_file_csv_end(pw_file *file);

/* Reads a file of at most limit bytes into memory of *size + 1 bytes, a 0 behind the last. The caller frees it with
 * pw_free(allocator, data, size + 1). */
pw_status pw_file_read(const char *path, size_t limit, const pw_allocator *allocator, char **data, size_t *size,
                       pw_error *error);

#endif
