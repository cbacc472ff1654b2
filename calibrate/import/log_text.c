/* The text output. Its own header says which columns a table has, so that versions need no list: size, count, type, then redop and
 * root where they are printed, then halves that begin with "time" or "cputime". Columns that mean nothing here (largest errors,
 * times of single iterations, what was tuned) are passed over by their number.
 *
 * A row is printed in three pieces, and launchers or other threads may break the line between them: a row stays pending until all
 * its values have come, or something else begins.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrate/import/log_internal.h"

enum { MOST_COLUMNS = 40, BLANK_HALF = 30 };

typedef enum { COLUMN_TIME, COLUMN_ALGBW, COLUMN_BUSBW, COLUMN_WRONG, COLUMN_OTHER } column;

typedef struct reader {
    log_builder *builder;
    const char *path;
    int line;
    bool has_redop, has_root;
    int halves, columns; /* of one half */
    column column_of[MOST_COLUMNS];
    bool only_out_of_place; /* one half, which is not in place */
    bool group_line_says_out_of_place;
    pw_log_kind program; /* named since the last test began */
    const char *tests_version, *library_version; /* the same */
    uint32_t cycle;
    bool pending;
    int done; /* values of the pending row */
    pw_log_row row;
} reader;

static pw_status end_row(reader *r) {
    if (!r->pending) return PW_OK;
    r->pending = false;
    return log_add_row(r->builder, &r->row);
}

static pw_status end_table(reader *r) {
    PW_TRY(end_row(r));
    return log_end_table(r->builder);
}

/* ---- Rows ---- */

static void set_value(reader *r, int at, double value) {
    bool in_place = r->halves == 2 ? at >= r->columns : !r->only_out_of_place;
    pw_log_half *half = in_place ? &r->row.in_place : &r->row.out_of_place;
    switch (r->column_of[at % r->columns]) {
    case COLUMN_TIME: half->time_us = value; break;
    case COLUMN_ALGBW: half->algbw_GBps = value; break;
    case COLUMN_BUSBW: half->busbw_GBps = value; break;
    case COLUMN_WRONG: half->wrong = value; break;
    case COLUMN_OTHER: break;
    }
}

/* Takes values from the tokens on; ends the row when it has all. */
static pw_status take_values(reader *r, const log_token *tokens, int count) {
    int total = r->halves * r->columns;
    bool whole = true;
    double value;
    for (int i = 0; i < count && r->done < total && whole; i++) {
        if (r->halves == 2 && r->done == 0 && tokens[i].gap >= BLANK_HALF && count - i <= r->columns + 2)
            r->done = r->columns; /* the first half is blank */
        bool free_text = r->column_of[r->done % r->columns] == COLUMN_OTHER;
        if (!log_value(tokens[i].text, &value, &whole)) {
            if (!free_text) break;
            whole = true;
        }
        set_value(r, r->done++, value);
    }
    return r->done == total ? end_row(r) : PW_OK;
}

/* Whether the rest of a row stands here alone: the values that are missing, or those of its first half. */
static bool is_rest(const reader *r, const log_token *tokens, int count) {
    int left = r->halves * r->columns - r->done, of_half = left > r->columns ? left - r->columns : left;
    double value;
    bool whole;
    for (int i = 0; i < count && i < left; i++)
        if (!log_value(tokens[i].text, &value, &whole) && i < of_half) return false;
    return count >= of_half;
}

/* How many tokens are the row's beginning (size, count, type, redop, root); 0: this is no row. *broken: something is glued to root. */
static int read_beginning(const reader *r, const log_token *tokens, int count, pw_log_row *row, bool *broken) {
    bool whole[2] = {false, false}, whole_root = true;
    int at = 3 + r->has_redop + r->has_root;
    *broken = false;
    if (count < at || !log_whole(tokens[0].text, &row->size_bytes, &whole[0]) || !log_whole(tokens[1].text, &row->count, &whole[1]) ||
        !whole[0] || !whole[1] || row->size_bytes < 0 || row->count < 0)
        return 0;
    if (strchr("0123456789+-.[#", tokens[2].text[0])) return 0;
    row->root = PW_LOG_NO_ROOT;
    if (r->has_root && !log_whole(tokens[at - 1].text, &row->root, &whole_root)) return 0;
    *broken = !whole_root;
    return at;
}

static pw_status read_row(reader *r, char *line) {
    log_token tokens[LOG_TOKENS];
    bool broken;
    pw_log_row row = {.line = r->line, .cycle = r->cycle, .out_of_place = log_no_half, .in_place = log_no_half};
    log_blank_tags(line);
    int count = log_cut(line, tokens), from = read_beginning(r, tokens, count, &row, &broken);
    if (!from) return r->pending && count && is_rest(r, tokens, count) ? take_values(r, tokens, count) : PW_OK;
    PW_TRY(end_row(r));
    row.type = log_copy(r->builder, tokens[2].text, strlen(tokens[2].text));
    if (r->has_redop) row.redop = log_copy(r->builder, tokens[3].text, strlen(tokens[3].text));
    if (!row.type || (r->has_redop && !row.redop)) return PW_NO_MEMORY;
    r->builder->open = true; /* also a second table under one header */
    r->row = row;
    r->pending = true;
    r->done = 0;
    return broken ? PW_OK : take_values(r, tokens + from, count - from);
}

/* ---- Comments ---- */

static void read_columns(reader *r, const log_token *tokens, int count) {
    r->has_redop = r->has_root = false;
    r->halves = r->columns = 0;
    r->builder->table.cpu_time = false;
    for (int i = 0; i < count; i++) {
        const char *name = tokens[i].text;
        bool is_cpu = strcmp(name, "cputime") == 0;
        if (strcmp(name, "timestamp") == 0) break; /* comes last */
        if (is_cpu || strcmp(name, "time") == 0) {
            r->builder->table.cpu_time |= is_cpu;
            r->halves++;
        }
        if (r->halves == 0) {
            r->has_redop |= strcmp(name, "redop") == 0;
            r->has_root |= strcmp(name, "root") == 0;
        } else if (r->halves == 1 && r->columns < MOST_COLUMNS) {
            column of = COLUMN_OTHER;
            if (is_cpu || strcmp(name, "time") == 0) of = COLUMN_TIME;
            else if (strcmp(name, "algbw") == 0) of = COLUMN_ALGBW;
            else if (strcmp(name, "busbw") == 0) of = COLUMN_BUSBW;
            else if (strcmp(name, "#wrong") == 0) of = COLUMN_WRONG;
            r->column_of[r->columns++] = of;
        }
    }
    if (r->halves > 2) r->halves = 2;
    r->only_out_of_place = r->halves == 1 && r->group_line_says_out_of_place;
    r->builder->table.line = r->line;
    r->builder->open = r->halves > 0;
}

static bool has_token(const log_token *tokens, int count, const char *text) {
    for (int i = 0; i < count; i++)
        if (strcmp(tokens[i].text, text) == 0) return true;
    return false;
}

/* The number behind a word: "nGpus 8". */
static int64_t number_behind(const log_token *tokens, int count, const char *word, int64_t fallback) {
    int64_t value;
    bool whole;
    for (int i = 0; i + 1 < count; i++)
        if (strcmp(tokens[i].text, word) == 0 && log_whole(tokens[i + 1].text, &value, &whole)) return value;
    return fallback;
}

static const char *behind(const char *line, const char *word) {
    const char *at = strstr(line, word);
    return at ? at + strlen(word) : NULL;
}

/* "Rank  0 Group  0 Pid  41000 on  node-a device  0 [0x1b] NVIDIA H100 80GB HBM3" */
static pw_status read_device(reader *r, char *line) {
    log_token tokens[LOG_TOKENS];
    char name[128] = "";
    const char *text = strchr(line, ']');
    if (text) {
        for (text++; *text == ' ';) text++;
        snprintf(name, sizeof name, "%s", text);
        for (size_t end = strlen(name); end && strchr(" \t\r", name[end - 1]);) name[--end] = '\0';
    }
    int count = log_cut(line, tokens);
    int64_t rank = number_behind(tokens, count, "Rank", -1), group = number_behind(tokens, count, "Group", 0);
    const char *host = NULL;
    for (int i = 0; i + 1 < count && !host; i++)
        if (strcmp(tokens[i].text, "on") == 0) host = tokens[i + 1].text;
    return rank < 0 || !host ? PW_OK : log_add_device(r->builder, rank, group, host, name);
}

static pw_status begin_test(reader *r, char *line) {
    log_token tokens[LOG_TOKENS];
    log_builder *builder = r->builder;
    bool again = !builder->open && !builder->table.row_count && builder->device_count == 0; /* several processes print this line */
    PW_TRY(end_table(r));
    if (!again || r->program != PW_LOG_UNKNOWN) {
        log_new_test(builder);
        builder->table.kind = r->program;
        if (r->tests_version) builder->table.tests_version = r->tests_version;
        if (r->library_version) builder->table.library_version = r->library_version;
    }
    r->program = PW_LOG_UNKNOWN;
    r->tests_version = r->library_version = NULL;
    r->cycle = 0;
    int count = log_cut(line, tokens);
    int64_t gpus = number_behind(tokens, count, "nGpus", 1), threads = number_behind(tokens, count, "nThread", 1);
    builder->table.gpus_per_process = gpus > 0 && threads > 0 && gpus < 65536 && threads < 65536 ? (uint32_t)(gpus * threads) : 0;
    return PW_OK;
}

static pw_status read_average(reader *r, const char *value) {
    bool whole;
    PW_TRY(end_row(r));
    while (*value == ' ' || *value == ':') value++;
    if (!r->builder->open || !log_value(value, &r->builder->table.average_busbw_GBps, &whole)) return PW_OK;
    r->builder->table.truncated = false;
    return log_end_table(r->builder);
}

static pw_status read_bounds(reader *r, const char *value) {
    bool whole;
    PW_TRY(end_row(r));
    while (*value == ' ' || *value == ':') value++;
    if (!r->builder->open || !log_whole(value, &r->builder->table.out_of_bounds, &whole)) return PW_OK;
    r->builder->table.out_of_bounds_failed = strstr(value, "FAILED") != NULL;
    return PW_OK;
}

static pw_status word_behind(reader *r, const char *text, const char **word) {
    while (*text == ' ' || *text == ':') text++;
    *word = log_copy(r->builder, text, strcspn(text, " \t+"));
    return *word ? PW_OK : PW_NO_MEMORY;
}

/* "# nccl-tests version 2.17.6 nccl-headers=22803 nccl-library=22803" */
static pw_status read_versions(reader *r, const char *line, const char *version) {
    char text[32];
    int64_t code;
    bool whole;
    PW_TRY(word_behind(r, version, &r->tests_version));
    const char *library = behind(line, "nccl-library=");
    if (!library || !log_whole(library, &code, &whole) || code < 1000 || code > 999999) return PW_OK;
    log_version_text(code, text);
    r->library_version = log_copy(r->builder, text, strlen(text));
    return r->library_version ? PW_OK : PW_NO_MEMORY;
}

static pw_status read_comment(reader *r, char *line) {
    const char *at;
    if ((at = behind(line, "Out of bounds values"))) return read_bounds(r, at);
    if ((at = behind(line, "Avg bus bandwidth"))) return read_average(r, at);
    if ((at = behind(line, "nccl-tests version "))) return read_versions(r, line, at);
    if (strstr(line, "nThread ") && strstr(line, "nGpus ")) return begin_test(r, line);
    if (strstr(line, " Rank ") && strstr(line, " device ")) return read_device(r, line);
    if ((at = behind(line, "Collective test starting:"))) {
        PW_TRY(end_table(r));
        r->program = log_kind_of_program(at);
        return PW_OK;
    }
    if ((at = behind(line, "Testing ")) && strstr(at, " cycle")) {
        int64_t cycle;
        bool whole;
        PW_TRY(end_row(r));
        if (log_whole(at, &cycle, &whole) && cycle >= 0 && cycle < UINT32_MAX) r->cycle = (uint32_t)cycle;
        return PW_OK;
    }
    if (strstr(line, "out-of-place") || strstr(line, "in-place")) {
        r->group_line_says_out_of_place = strstr(line, "out-of-place") != NULL;
        return PW_OK;
    }
    log_token tokens[LOG_TOKENS];
    line += strspn(line, "#"); /* "#size" */
    int count = log_cut(line, tokens);
    if (has_token(tokens, count, "size") && has_token(tokens, count, "count") && has_token(tokens, count, "busbw")) {
        PW_TRY(end_table(r));
        read_columns(r, tokens, count);
    }
    return PW_OK;
}

/* ---- Other lines ---- */

static const char *network_of(const char *line) {
    const char *at = behind(line, "NET/");
    if (!at || !(strstr(line, " Using ") || strstr(line, "Selected") || strstr(line, "Using network"))) return NULL;
    if (strncmp(at, "OFI", 3) == 0) return "OFI";
    if (strncmp(at, "Socket", 6) == 0) return "Socket";
    if (strncmp(at, "IB", 2) == 0) return strstr(at, "/RoCE") ? "RoCE" : "IB";
    return NULL;
}

static pw_status read_other(reader *r, const char *line) {
    const char *at;
    pw_log_table *table = &r->builder->table;
    if ((at = behind(line, "rccl-tests: Version"))) {
        table->library = "rccl";
        return word_behind(r, at, &table->tests_version);
    }
    if ((at = behind(line, "RCCL version"))) {
        table->library = "rccl";
        PW_TRY(word_behind(r, at, &table->library_version));
        return PW_OK;
    }
    if ((at = behind(line, "NCCL version ")) && !*table->library_version) return word_behind(r, at, &table->library_version);
    const char *network = network_of(line);
    if (network && !*table->network) table->network = network;
    pw_log_kind kind = log_kind_of_program(line);
    if (kind != PW_LOG_UNKNOWN) r->program = kind;
    return PW_OK;
}

static pw_status read_line(reader *r, char *line) {
    char *at = log_behind_tags(line);
    while (*at == ' ' || *at == '\t') at++;
    if (*at == '#') return read_comment(r, at);
    bool may_be_row = r->halves > 0 && ((*at >= '0' && *at <= '9') || (r->pending && *at));
    if (may_be_row && !strstr(at, " NCCL ")) return read_row(r, at);
    if (may_be_row && *at >= '0' && *at <= '9') { /* a row with a message of the library glued to it */
        char *cut = strstr(at, " NCCL ");
        while (cut > at && cut[-1] != ' ') cut--;
        char kept = *cut;
        *cut = '\0';
        PW_TRY(read_row(r, at));
        *cut = kept;
        return PW_OK;
    }
    return read_other(r, at);
}

pw_status log_read_text(log_builder *builder, const char *path, char *text, size_t size) {
    reader r = {.builder = builder, .path = path, .program = PW_LOG_UNKNOWN};
    for (char *at = text, *end = text + size; at < end;) {
        char *stop = at + strcspn(at, "\r\n");
        bool both = stop < end && stop[0] == '\r' && stop[1] == '\n';
        r.line++;
        if (stop < end) *stop = '\0';
        PW_TRY(read_line(&r, at));
        at = stop + 1 + both;
    }
    return end_table(&r);
}
