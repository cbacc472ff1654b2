#include "scenarios/host/calibrate_import.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calibrate/import/measurements.h"
#include "scenarios/validation/collective_flags.h"
#include "sim/registry.h"
#include "sim/text.h"

enum { MOST_TOLD = 20 }; /* lines about one file; the rest is counted */

typedef struct teller {
    const char *path;
    uint32_t count;
} teller;

static void tell(void *object, int line, const char *text) {
    teller *to = object;
    if (to->count++ >= MOST_TOLD) return;
    if (line) fprintf(stderr, "%s:%d: %s\n", to->path, line, text);
    else fprintf(stderr, "%s: %s\n", to->path, text);
}

static pw_status read_count(const pw_arguments *arguments, const char *option, int64_t *count, pw_error *error) {
    const char *text = pw_arguments_value(arguments, option, NULL), *end;
    *count = 0;
    if (text && (!pw_text_integer(text, &end, count) || *end || *count < 1 || *count > 1048576))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "--%s takes a whole number from 1 on, not '%.100s'", option, text);
    return PW_OK;
}

static pw_status read_labels(const pw_arguments *arguments, const pw_catalogue *catalogue, pw_log_labels *labels, pw_error *error) {
    const char *kind = pw_arguments_value(arguments, "collective", NULL);
    const pw_device *device;
    *labels = (pw_log_labels){.source = pw_arguments_value(arguments, "source", NULL),
                              .gpu = pw_arguments_value(arguments, "gpu", NULL),
                              .intra = pw_arguments_value(arguments, "intra", NULL),
                              .inter = pw_arguments_value(arguments, "inter", NULL),
                              .library_version = pw_arguments_value(arguments, "library-version", NULL),
                              .kind = PW_LOG_UNKNOWN};
    PW_TRY(read_count(arguments, "nodes", &labels->nodes, error));
    PW_TRY(read_count(arguments, "gpus-per-node", &labels->gpus_per_node, error));
    if (labels->gpu) PW_TRY(pw_catalogue_device(catalogue, labels->gpu, &device, error));
    for (int k = 0; kind && pw_log_kind_names[k]; k++)
        if (strcmp(kind, pw_log_kind_names[k]) == 0) labels->kind = (pw_log_kind)k;
    if (!kind || labels->kind != PW_LOG_UNKNOWN) return PW_OK;
    char hint[300];
    int at = snprintf(hint, sizeof hint, "it is one of");
    for (int k = 0; pw_log_kind_names[k]; k++) at += snprintf(hint + at, sizeof hint - (size_t)at, " %s", pw_log_kind_names[k]);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "--collective does not know '%.100s'", kind);
}

/* The file's name without folders and ending, with a number where an earlier file has the same. */
static const char *name_log(const pw_arguments *arguments, int index, pw_arena *arena, pw_error *error) {
    const char *path = arguments->operands[index], *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    size_t length = dot > base ? (size_t)(dot - base) : strlen(base);
    char *name = pw_arena_alloc(arena, length + 16);
    int same = 1;
    if (!name) {
        pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        return NULL;
    }
    for (int i = 1; i < index; i++) {
        const char *other = strrchr(arguments->operands[i], '/');
        other = other ? other + 1 : arguments->operands[i];
        same += strncmp(other, base, length) == 0 && (other[length] == '.' || other[length] == '\0');
    }
    if (same > 1) snprintf(name, length + 16, "%.*s.%d", (int)length, base, same);
    else snprintf(name, length + 16, "%.*s", (int)length, base);
    return name;
}

static pw_status import_files(const pw_host *host, const pw_arguments *arguments, const pw_catalogue *catalogue,
                              const pw_log_labels *labels, pw_file *file, pw_arena *arena, pw_error *error) {
    uint32_t written = 0;
    pw_log_write_header(file);
    for (int i = 1; i < arguments->operand_count; i++) {
        teller to = {.path = arguments->operands[i]};
        const char *name = name_log(arguments, i, arena, error);
        pw_log log;
        if (!name) return PW_NO_MEMORY;
        pw_status status = pw_log_read(to.path, arena, &log, error);
        if (status == PW_IO && error) error->status = status = PW_BAD_INPUT; /* the user named this file */
        PW_TRY(status);
        uint32_t rows = pw_log_write(&log, name, labels, catalogue, file, tell, &to);
        if (to.count > MOST_TOLD) fprintf(stderr, "%s: %u more of that kind\n", to.path, to.count - MOST_TOLD);
        pw_host_talk(host, "%s: %u tables, %u measurements", to.path, log.count, rows);
        written += rows;
    }
    if (!written) return pw_fail(error, PW_BAD_INPUT, NULL, 0, "the lines above say why", "nothing in these logs could be used");
    return PW_OK;
}

/* What the tables of a CSV of measurements may be ill of, on stderr. */
static pw_status tell_flags(const pw_catalogue *catalogue, const char *path, pw_arena *arena, pw_error *error) {
    pw_diagnosis *diagnoses;
    uint32_t count;
    PW_TRY(pw_collective_diagnose(catalogue, path, arena, &diagnoses, &count, error));
    for (uint32_t i = 0; i < count; i++) {
        if (!(diagnoses[i].values[PW_FLAG_SLOW] > 0))
            fprintf(stderr, "%.200s: not compared with the model at large sizes: %.300s\n", diagnoses[i].table_id,
                    diagnoses[i].why[0] ? diagnoses[i].why : "it has none");
        for (uint32_t f = 0; f < diagnoses[i].flag_count; f++)
            fprintf(stderr, "%.200s: %s (%.2f): %s\n", diagnoses[i].table_id, diagnoses[i].flags[f].name, diagnoses[i].flags[f].value,
                    diagnoses[i].flags[f].text);
    }
    return PW_OK;
}

/* Measurements into `kept`, a file in memory. */
static pw_status import_into(const pw_host *host, const pw_arguments *arguments, const pw_catalogue *catalogue, int kept, pw_arena *arena,
                             pw_error *error) {
    pw_log_labels labels;
    pw_file *file;
    PW_TRY(read_labels(arguments, catalogue, &labels, error));
    PW_TRY(pw_file_attach(kept, host->allocator, &file, error));
    return pw_host_close(file, import_files(host, arguments, catalogue, &labels, file, arena, error), error);
}

static pw_status put_out(const pw_host *host, const pw_arguments *arguments, const char *kept, pw_error *error) {
    char *text;
    size_t size;
    pw_file *file;
    PW_TRY(pw_file_read(kept, (size_t)1 << 32, host->allocator, &text, &size, error));
    pw_status status = pw_host_open(host, pw_arguments_value(arguments, "output", NULL), &file, error);
    if (status == PW_OK) {
        pw_file_write(file, text, size);
        status = pw_host_close(file, PW_OK, error);
    }
    pw_free(host->allocator, text, size + 1);
    return status;
}

pw_status pw_calibrate_import(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                              pw_error *error) {
    char path[64];
    if (arguments->operand_count < 2)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "podwright calibrate import all_reduce.log", "import needs a log");
    int kept = memfd_create("measurements", MFD_CLOEXEC);
    if (kept < 0) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    snprintf(path, sizeof path, "/proc/self/fd/%d", kept);
    pw_status status = import_into(host, arguments, catalogue, kept, arena, error);
    if (status == PW_OK) status = put_out(host, arguments, path, error);
    if (status == PW_OK) status = tell_flags(catalogue, path, arena, error);
    close(kept);
    return status;
}

pw_status pw_calibrate_judge(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena, pw_error *error) {
    pw_diagnosis *diagnoses;
    uint32_t count;
    pw_file *file;
    const char *data = arguments->operand_count > 1 ? arguments->operands[1] : NULL;
    if (arguments->operand_count > 2)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "judge reads one file, not also '%.200s'", arguments->operands[2]);
    pw_status status = pw_collective_diagnose(catalogue, data, arena, &diagnoses, &count, error);
    if (data && status == PW_IO && error) error->status = status = PW_BAD_INPUT; /* the user named this file */
    PW_TRY(status);
    const char *output = pw_arguments_value(arguments, "output", NULL);
    size_t length = output ? strlen(output) : 0;
    PW_TRY(pw_host_open(host, output, &file, error));
    if (length > 4 && strcmp(output + length - 4, ".csv") == 0) pw_collective_flags_write_csv(diagnoses, count, file);
    else pw_collective_flags_write_text(diagnoses, count, file);
    return pw_host_close(file, PW_OK, error);
}

pw_status pw_calibrate_no_import_options(const pw_arguments *arguments, pw_error *error) {
    static const pw_option own[] = {PW_CALIBRATE_IMPORT_OPTIONS, {0}};
    for (int i = 0; own[i].name; i++)
        if (pw_arguments_has(arguments, own[i].name))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "--%s is for import", own[i].name);
    return PW_OK;
}
