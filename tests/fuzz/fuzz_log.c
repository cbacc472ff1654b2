/* Any bytes are a log of a collective benchmark or an error; what is read can be written as measurements. */
#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "calibrate/import/measurements.h"
#include "tests/fuzz/input.h"

static pw_catalogue *catalogue;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    pw_error error = {0};
    need(pw_catalogue_load(NULL, NULL, &catalogue, &error), &error);
    return 0;
}

static void tell(void *object, int line, const char *text) {
    if (line < 0 || line > *(int *)object || !*text) abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char path[INPUT_PATH];
    int lines = 1, file = input_open(path), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    input_write(file, (const char *)data, size);
    for (size_t i = 0; i < size; i++) lines += data[i] == '\n' || data[i] == '\r';
    pw_arena *arena = pw_arena_create(NULL);
    pw_error error = {0};
    pw_file *out;
    pw_log log;
    if (!arena || nowhere < 0) abort();
    pw_status status = pw_log_read(path, arena, &log, &error);
    check_error(status, &error);
    if (error.line > lines) abort();
    if (status == PW_OK) {
        uint32_t rows = 0;
        for (uint32_t t = 0; t < log.count; t++) {
            const pw_log_table *table = &log.tables[t];
            rows += table->row_count;
            if (table->line > lines || !table->gpu || !table->library || table->kind > PW_LOG_UNKNOWN) abort();
            for (uint32_t r = 0; r < table->row_count; r++)
                if (table->rows[r].size_bytes < 0 || !table->rows[r].type || table->rows[r].line > lines) abort();
        }
        pw_log_labels labels = {.kind = size & 1 ? PW_LOG_ALL_REDUCE : PW_LOG_UNKNOWN, .nodes = size & 2, .gpus_per_node = size & 2};
        need(pw_file_attach(nowhere, NULL, &out, &error), &error);
        if (pw_log_write(&log, "fuzz", &labels, catalogue, out, tell, &lines) > rows) abort();
        need(pw_file_commit(out, &error), &error);
    } else if (log.count) abort();
    pw_arena_destroy(arena);
    close(file);
    close(nowhere);
    return 0;
}
