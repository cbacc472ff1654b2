#include "calibrate/import/measurements.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/text.h"

enum { LONGEST = 400 };

typedef struct writer {
    const char *name;
    const pw_log_labels *labels;
    const pw_catalogue *catalogue;
    pw_file *file;
    pw_log_tell_fn *tell;
    void *object;
    uint32_t written;
} writer;

static void __attribute__((format(printf, 3, 4))) say(const writer *w, int line, const char *format, ...) {
    char text[LONGEST + 100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    w->tell(w->object, line, text);
}

void pw_log_write_header(pw_file *file) {
    pw_file_text(file, "table_id,source,method,lib,lib_version,gpu,nodes,gpus_per_node,concurrent_groups,intra,inter,collective,dtype,"
                       "size_bytes,time_us,algbw,busbw,health,digitised,note\n");
}

/* ---- What a table is ---- */

typedef struct identity {
    char id[LONGEST];
    const char *gpu;
    pw_log_kind kind;
    uint32_t nodes, per_node;
} identity;

static const char *find_gpu(const writer *w, const pw_log_table *table) {
    const char *name = w->labels->gpu ? w->labels->gpu : table->gpu;
    const pw_device *device;
    if (!*name) say(w, table->line, "the log does not name the GPU; say it with --gpu NAME");
    else if (pw_catalogue_device(w->catalogue, name, &device, NULL) == PW_OK) return device->name;
    else say(w, table->line, "the catalogue has no GPU '%.100s'; say which one it is with --gpu NAME", name);
    return name;
}

/* Words of a log go into the CSV as they are: they must be text. */
static bool is_text(const char *words) {
    for (size_t length; words && *words; words += length)
        if ((length = pw_text_character(words)) == 0) return false;
    return true;
}

static bool are_texts(const writer *w, const pw_log_table *table) {
    return is_text(w->name) && is_text(table->gpu) && is_text(table->library) && is_text(table->library_version) && is_text(table->network);
}

/* False, after telling why, when the table cannot become measurements. */
static bool identify(const writer *w, const pw_log_table *table, identity *is) {
    is->kind = w->labels->kind != PW_LOG_UNKNOWN ? w->labels->kind : table->kind;
    is->nodes = w->labels->nodes ? (uint32_t)w->labels->nodes : table->group_hosts;
    is->per_node = w->labels->gpus_per_node ? (uint32_t)w->labels->gpus_per_node : is->nodes ? table->group_ranks / is->nodes : 0;
    bool told = w->labels->nodes && w->labels->gpus_per_node;
    const char *why = NULL;
    if (table->alone) why = "every process lists itself as rank 0: the test was built without MPI, and each ran by itself";
    else if (is->kind == PW_LOG_UNKNOWN) why = "the log does not say which collective this is; say it with --collective NAME";
    else if (is->kind == PW_LOG_ALLTOALLV) why = "ranks of alltoallv send different amounts, which the one size does not tell";
    else if (!is->nodes || !is->per_node) why = "the log does not list the devices; say --nodes N and --gpus-per-node N";
    else if (!told && table->uneven) why = "nodes have different numbers of ranks";
    else if (is->nodes * (uint64_t)is->per_node < 2) why = "a single rank communicates with nobody";
    else if (table->mixed_gpus && !w->labels->gpu) why = "the ranks have GPUs of several types";
    else if (!are_texts(w, table)) why = "a name in it (of the file, GPU, library or network) is no UTF-8 text";
    else if (told && table->group_ranks && is->nodes * (uint64_t)is->per_node != table->group_ranks)
        why = "--nodes and --gpus-per-node do not give the ranks that the log lists";
    if (why) say(w, table->line, "a table of %u rows is left out: %s", table->row_count, why);
    return !why;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* "NAME", "NAME-2", and what tells several runs under one header apart. */
static void name_rows(const writer *w, const pw_log *log, const pw_log_table *table, const pw_log_row *row, char id[LONGEST]) {
    const pw_log_row *first = &table->rows[0];
    int at = snprintf(id, LONGEST, "%.200s", w->name);
    if (log->count > 1) at += snprintf(id + at, (size_t)(LONGEST - at), "-%u", (unsigned)(table - log->tables) + 1);
    if (!same_text(row->type, first->type)) at += snprintf(id + at, (size_t)(LONGEST - at), "-%.20s", row->type);
    if (!same_text(row->redop, first->redop)) at += snprintf(id + at, (size_t)(LONGEST - at), "-%.20s", row->redop ? row->redop : "none");
    if (row->root != first->root) snprintf(id + at, (size_t)(LONGEST - at), "-root%lld", (long long)row->root);
}

/* ---- Rows ---- */

static const double LEAST_US = 1e-3, MOST_US = 1e12; /* others are no times */

typedef struct left_out {
    uint32_t empty, no_time, wrong;
} left_out;

/* Time of a row in us; false when it has none. A CPU's time is not that of the bandwidths, so theirs is computed back. */
static bool find_time(const writer *w, const pw_log_table *table, const pw_log_row *row, double *time, char note[LONGEST], left_out *left) {
    const pw_log_half *half = &row->out_of_place;
    char text[LONGEST];
    int at = 0;
    note[0] = '\0';
    if (!(half->time_us >= LEAST_US && half->time_us <= MOST_US)) {
        half = &row->in_place;
        at = snprintf(note, LONGEST, "in place");
    }
    *time = half->time_us;
    if (table->cpu_time) {
        *time = half->algbw_GBps >= 1 ? (double)row->size_bytes / half->algbw_GBps / 1e3 : (double)NAN; /* fewer digits otherwise */
        at += snprintf(note + at, LONGEST - (size_t)at, "%stime from algbw", at ? "; " : "");
    }
    if (!(*time >= LEAST_US && *time <= MOST_US)) {
        left->no_time++;
        return false;
    }
    if (pw_log_contradicts(table, row, half, text, sizeof text)) {
        say(w, row->line, "left out: %s", text);
        return false;
    }
    if (half->wrong > 0) {
        left->wrong++;
        at += snprintf(note + at, LONGEST - (size_t)at, "%s%.0f wrong values", at ? "; " : "", half->wrong);
    }
    if (row->cycle) snprintf(note + at, LONGEST - (size_t)at, "%scycle %u", at ? "; " : "", row->cycle);
    return true;
}

static void put_rounded(pw_file *file, double value) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    pw_file_csv_text(file, text);
}

static void put_row(const writer *w, const pw_log_table *table, const identity *is, const pw_log_row *row, double time, const char *note) {
    double algbw = (double)row->size_bytes / time / 1e3;
    const pw_log_labels *labels = w->labels;
    pw_file_csv_text(w->file, is->id);
    pw_file_csv_text(w->file, labels->source ? labels->source : w->name);
    pw_file_csv_text(w->file, strcmp(table->library, "rccl") == 0 ? "rccl-tests" : "nccl-tests");
    pw_file_csv_text(w->file, table->library);
    pw_file_csv_text(w->file, labels->library_version ? labels->library_version : table->library_version);
    pw_file_csv_text(w->file, is->gpu);
    pw_file_csv_integer(w->file, is->nodes);
    pw_file_csv_integer(w->file, is->per_node);
    pw_file_csv_integer(w->file, table->groups);
    pw_file_csv_text(w->file, labels->intra ? labels->intra : "");
    pw_file_csv_text(w->file, labels->inter ? labels->inter : is->nodes > 1 ? table->network : "");
    pw_file_csv_text(w->file, pw_log_kind_names[is->kind]);
    pw_file_csv_text(w->file, row->type);
    pw_file_csv_integer(w->file, row->size_bytes);
    put_rounded(w->file, time);
    put_rounded(w->file, algbw);
    put_rounded(w->file, algbw * pw_log_factor(is->kind, is->nodes * is->per_node));
    pw_file_csv_text(w->file, "");
    pw_file_csv_integer(w->file, 0);
    pw_file_csv_text(w->file, note);
    pw_file_csv_end(w->file);
}

static void write_table(writer *w, const pw_log *log, const pw_log_table *table) {
    identity is = {0};
    left_out left = {0};
    char note[LONGEST];
    double time;
    if (!identify(w, table, &is)) return;
    is.gpu = find_gpu(w, table);
    if (is.nodes > 1 && !w->labels->inter)
        say(w, table->line, "the log does not say which network joins the nodes; say it with --inter, as in --inter \"8x NDR400 IB\"");
    pw_log_table known = *table; /* with what the user said */
    known.kind = is.kind;
    known.group_ranks = is.nodes * is.per_node;
    for (uint32_t i = 0; i < table->row_count; i++) {
        const pw_log_row *row = &table->rows[i];
        if (row->size_bytes == 0) left.empty++;
        else if (!is_text(row->type) || !is_text(row->redop)) say(w, row->line, "left out: the type or operation is no UTF-8 text");
        else if (find_time(w, &known, row, &time, note, &left)) {
            name_rows(w, log, table, row, is.id);
            put_row(w, table, &is, row, time, note);
            w->written++;
        }
    }
    if (left.empty) say(w, table->line, "%u rows of size 0 are left out", left.empty);
    if (left.no_time) say(w, table->line, "%u rows without a usable time are left out", left.no_time);
    if (left.wrong) say(w, table->line, "%u rows have wrong values: the times stand, but do not trust this system's results", left.wrong);
    if (table->truncated) say(w, table->line, "the test did not end: its last lines are missing");
}

uint32_t pw_log_write(const pw_log *log, const char *name, const pw_log_labels *labels, const pw_catalogue *catalogue, pw_file *file,
                      pw_log_tell_fn *tell, void *object) {
    writer w = {.name = name, .labels = labels, .catalogue = catalogue, .file = file, .tell = tell, .object = object};
    for (uint32_t t = 0; t < log->count; t++) write_table(&w, log, &log->tables[t]);
    return w.written;
}
