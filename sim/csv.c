/* libcsv parses; it knows no lines. So it is fed at most one physical line at a time: a row ends at the end of a line,
 * or, inside quotes, of a later one, and the line on which it began is known. libcsv's field buffer is ours and grows
 * between feeds, so that all memory comes from the caller's allocator (libcsv's own hook has no context). */
#include "sim/csv.h"

#include <csv.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "sim/registry.h"
#include "sim/text.h"

enum { CHUNK = 1 << 16 };

struct pw_csv {
    const pw_allocator *allocator;
    pw_csv_limits limits;
    char *name;
    size_t name_size;
    gzFile file;          /* NULL when reading from memory */
    unsigned char *chunk; /* of the file, CHUNK bytes */
    const unsigned char *data;
    size_t used, size; /* of data */
    uint64_t total;
    bool at_end, after_return, in_row, finished, row_done, no_memory, too_long;
    int line;     /* of the next byte */
    int row_line; /* where the row at hand began */
    struct csv_parser parser;
    size_t entry_capacity;
    char *text; /* the row's fields, one after another, each with a final 0 */
    size_t text_used, text_capacity;
    size_t *field; /* where each begins */
    size_t fields, field_capacity;
    char *header_text;
    size_t header_size;
    const char **header; /* NULL-terminated */
    size_t columns;
};

pw_status pw_csv_fail(const pw_csv *csv, int column, const char *hint, pw_error *error, const char *format, ...) {
    char what[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (column < 0) return pw_fail(error, PW_BAD_INPUT, csv->name, csv->row_line, hint, "%s", what);
    return pw_fail(error, PW_BAD_INPUT, csv->name, csv->row_line, hint, "column '%s': %s",
                   pw_csv_column_name(csv, column), what);
}

static pw_status out_of_memory(const pw_csv *csv, pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, csv->name, csv->row_line, NULL, "no memory left while reading");
}

/* libcsv's callbacks */
static void take_field(void *entry, size_t size, void *context) {
    pw_csv *csv = context;
    if (csv->fields >= csv->limits.columns || size >= csv->limits.row_bytes - csv->text_used) {
        csv->too_long = true;
        return;
    }
    if (pw_grow(csv->allocator, (void **)&csv->text, &csv->text_capacity, csv->text_used + size + 1, 1) != 0 ||
        pw_grow(csv->allocator, (void **)&csv->field, &csv->field_capacity, csv->fields + 1, sizeof *csv->field) != 0) {
        csv->no_memory = true;
        return;
    }
    csv->field[csv->fields++] = csv->text_used;
    if (size) memcpy(csv->text + csv->text_used, entry, size);
    csv->text[csv->text_used + size] = '\0';
    csv->text_used += size + 1;
}
static void take_row(int end, void *context) {
    (void)end;
    ((pw_csv *)context)->row_done = true;
}
static void *refuse_memory(void *memory, size_t size) {
    (void)memory, (void)size;
    return NULL;
}
static void keep_memory(void *memory) { (void)memory; }

static pw_status refill(pw_csv *csv, pw_error *error) {
    if (!csv->file || csv->used < csv->size) {
        csv->at_end = csv->used == csv->size;
        return PW_OK;
    }
    int got = gzread(csv->file, csv->chunk, CHUNK);
    if (got <= 0) {
        int code = Z_OK;
        const char *text = gzerror(csv->file, &code);
        if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
            const char *reason = code == Z_ERRNO   ? strerror(errno)
                                 : code == Z_BUF_ERROR ? "the compressed data ends too early"
                                                       : text;
            return pw_fail(error, PW_IO, csv->name, 0, NULL, "cannot read: %s", reason);
        }
        csv->at_end = true;
        csv->size = csv->used = 0;
        return PW_OK;
    }
    csv->size = (size_t)got;
    csv->used = 0;
    csv->total += csv->size;
    if (csv->total > csv->limits.file_bytes)
        return pw_fail(error, PW_LIMIT, csv->name, csv->line, NULL, "the file is longer than %llu bytes",
                       (unsigned long long)csv->limits.file_bytes);
    return PW_OK;
}

/* Length of the rest of the physical line in the data at hand, with its first end character. */
static size_t line_piece(const pw_csv *csv) {
    const unsigned char *from = csv->data + csv->used;
    size_t size = csv->size - csv->used;
    const unsigned char *feed = memchr(from, '\n', size);
    if (feed) size = (size_t)(feed - from) + 1;
    const unsigned char *ret = memchr(from, '\r', size);
    return ret ? (size_t)(ret - from) + 1 : size;
}

static bool is_line_end(unsigned char c) { return c == '\n' || c == '\r'; }

/* A line is over at CR, or at LF that does not directly follow one. */
static void count_line(pw_csv *csv, unsigned char last, size_t size) {
    if (last == '\n' && size == 1 && csv->after_return) csv->after_return = false;
    else if (is_line_end(last)) {
        csv->line += csv->line < INT_MAX;
        csv->after_return = last == '\r';
    } else csv->after_return = false;
}

static pw_status feed(pw_csv *csv, const unsigned char *piece, size_t size, pw_error *error) {
    struct csv_parser *parser = &csv->parser;
    size_t needed = parser->entry_pos + size + 4;
    if (needed > csv->limits.row_bytes)
        return pw_csv_fail(csv, -1, csv->in_row && parser->quoted ? "is a quote never closed?" : NULL, error,
                           "the row is longer than %u bytes", csv->limits.row_bytes);
    void *buffer = parser->entry_buf;
    if (pw_grow(csv->allocator, &buffer, &csv->entry_capacity, needed, 1) != 0) return out_of_memory(csv, error);
    parser->entry_buf = buffer;
    parser->entry_size = csv->entry_capacity;
    const unsigned char *nul = memchr(piece, '\0', size);
    if (nul)
        return pw_fail(error, PW_BAD_INPUT, csv->name, csv->line, "is it UTF-8 text?", "the file holds a zero byte");
    size_t eaten = csv_parse(parser, piece, size, take_field, take_row, csv);
    if (csv->no_memory) return out_of_memory(csv, error);
    if (csv->too_long)
        return pw_csv_fail(csv, -1, NULL, error, "the row has more than %u fields or %u bytes", csv->limits.columns,
                           csv->limits.row_bytes);
    if (eaten != size)
        return pw_fail(error, PW_BAD_INPUT, csv->name, csv->line,
                       "a field with quotes is written \"say \"\"x\"\"\", with nothing outside the outer quotes",
                       "a quote stands in the wrong place");
    return PW_OK;
}

/* Reads one row into the buffers; csv->row_done tells whether there was one. */
static pw_status read_row(pw_csv *csv, bool comments, pw_error *error) {
    csv->fields = csv->text_used = 0;
    csv->row_done = csv->in_row = false;
    bool comment = false;
    while (!csv->row_done && !csv->finished) {
        PW_TRY(refill(csv, error));
        if (csv->at_end) {
            csv->finished = true;
            if (csv_fini(&csv->parser, take_field, take_row, csv) != 0)
                return pw_csv_fail(csv, -1, NULL, error, "a quote that opens in this row is never closed");
            if (csv->no_memory) return out_of_memory(csv, error);
            if (csv->too_long)
                return pw_csv_fail(csv, -1, NULL, error, "the row has more than %u fields", csv->limits.columns);
            break;
        }
        const unsigned char *piece = csv->data + csv->used;
        size_t size = line_piece(csv);
        unsigned char last = piece[size - 1];
        if (!csv->in_row && !(piece[0] == '\n' && csv->after_return)) {
            csv->in_row = true;
            csv->row_line = csv->line;
            comment = comments && piece[0] == '#';
        }
        csv->used += size;
        if (!comment) PW_TRY(feed(csv, piece, size, error));
        count_line(csv, last, size);
        if (is_line_end(last) && (comment || (!csv->row_done && !csv->parser.quoted))) csv->in_row = false;
    }
    return PW_OK;
}

static pw_status skip_byte_order_mark(pw_csv *csv, pw_error *error) {
    PW_TRY(refill(csv, error));
    const unsigned char *data = csv->data;
    if (csv->size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0) csv->used = 3;
    else if (csv->size >= 2 && (memcmp(data, "\xFF\xFE", 2) == 0 || memcmp(data, "\xFE\xFF", 2) == 0))
        return pw_fail(error, PW_BAD_INPUT, csv->name, 1, "save it as UTF-8", "the file is UTF-16");
    return PW_OK;
}

static pw_status read_header(pw_csv *csv, pw_error *error) {
    PW_TRY(skip_byte_order_mark(csv, error));
    PW_TRY(read_row(csv, true, error));
    if (!csv->row_done) return pw_fail(error, PW_BAD_INPUT, csv->name, 0, NULL, "there is no header row");
    csv->header_text = pw_alloc(csv->allocator, csv->text_used);
    if (csv->header_text) csv->header_size = csv->text_used;
    csv->header = pw_alloc(csv->allocator, (csv->fields + 1) * sizeof *csv->header);
    if (csv->header) csv->columns = csv->fields;
    if (!csv->header_text || !csv->header) return out_of_memory(csv, error);
    memcpy(csv->header_text, csv->text, csv->text_used);
    for (size_t i = 0; i < csv->columns; i++) csv->header[i] = csv->header_text + csv->field[i];
    csv->header[csv->columns] = NULL;
    for (size_t i = 0; i < csv->columns; i++) {
        if (!csv->header[i][0]) return pw_csv_fail(csv, -1, NULL, error, "column %zu has no name", i + 1);
        if (pw_csv_find(csv, csv->header[i]) != (int)i)
            return pw_csv_fail(csv, -1, NULL, error, "column '%s' appears twice", csv->header[i]);
    }
    return PW_OK;
}

static pw_status open_common(pw_csv **result, const char *name, const pw_csv_limits *limits,
                             const pw_allocator *allocator, pw_error *error) {
    pw_csv *csv = pw_alloc_zero(allocator, sizeof *csv);
    if (!csv) return pw_fail(error, PW_NO_MEMORY, name, 0, NULL, "no memory left while reading");
    csv->allocator = allocator;
    csv->limits = limits ? *limits : (pw_csv_limits){0};
    if (!csv->limits.file_bytes) csv->limits.file_bytes = (uint64_t)4 << 30;
    if (!csv->limits.row_bytes) csv->limits.row_bytes = 16 << 20;
    if (!csv->limits.columns) csv->limits.columns = 4096;
    csv->line = csv->row_line = 1;
    csv->data = (const unsigned char *)"";
    csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL);
    csv_set_realloc_func(&csv->parser, refuse_memory);
    csv_set_free_func(&csv->parser, keep_memory);
    csv->name_size = strlen(name) + 1;
    csv->name = pw_alloc(allocator, csv->name_size);
    if (!csv->name) {
        pw_csv_close(csv);
        return pw_fail(error, PW_NO_MEMORY, name, 0, NULL, "no memory left while reading");
    }
    memcpy(csv->name, name, csv->name_size);
    *result = csv;
    return PW_OK;
}

static pw_status finish_open(pw_csv *csv, pw_csv **result, pw_error *error) {
    pw_status status = read_header(csv, error);
    if (status == PW_OK) *result = csv;
    else pw_csv_close(csv);
    return status;
}

pw_status pw_csv_open(const char *path, const pw_csv_limits *limits, const pw_allocator *allocator, pw_csv **result,
                      pw_error *error) {
    pw_csv *csv = NULL;
    *result = NULL;
    PW_TRY(open_common(&csv, path, limits, allocator, error));
    csv->chunk = pw_alloc(allocator, CHUNK);
    csv->data = csv->chunk;
    errno = 0;
    csv->file = csv->chunk ? gzopen(path, "rb") : NULL;
    if (!csv->file) {
        pw_status status = csv->chunk && errno && errno != ENOMEM
                               ? pw_fail(error, errno == ENOENT ? PW_NOT_FOUND : PW_IO, path, 0, NULL, "cannot open: %s",
                                         strerror(errno))
                               : out_of_memory(csv, error);
        pw_csv_close(csv);
        return status;
    }
    return finish_open(csv, result, error);
}

pw_status pw_csv_open_text(const void *text, size_t size, const char *name, const pw_csv_limits *limits,
                           const pw_allocator *allocator, pw_csv **result, pw_error *error) {
    pw_csv *csv = NULL;
    *result = NULL;
    PW_TRY(open_common(&csv, name, limits, allocator, error));
    if (size) csv->data = text;
    csv->size = size;
    if (size > csv->limits.file_bytes) {
        pw_status status = pw_fail(error, PW_LIMIT, name, 0, NULL, "the text is longer than %llu bytes",
                                   (unsigned long long)csv->limits.file_bytes);
        pw_csv_close(csv);
        return status;
    }
    return finish_open(csv, result, error);
}

void pw_csv_close(pw_csv *csv) {
    if (!csv) return;
    if (csv->file) gzclose(csv->file);
    pw_free(csv->allocator, csv->parser.entry_buf, csv->entry_capacity);
    pw_free(csv->allocator, csv->chunk, CHUNK);
    pw_free(csv->allocator, csv->text, csv->text_capacity);
    pw_free(csv->allocator, csv->field, csv->field_capacity * sizeof *csv->field);
    pw_free(csv->allocator, csv->header_text, csv->header_size);
    pw_free(csv->allocator, csv->header, (csv->columns + 1) * sizeof *csv->header);
    pw_free(csv->allocator, csv->name, csv->name_size);
    pw_free(csv->allocator, csv, sizeof *csv);
}

int pw_csv_columns(const pw_csv *csv) { return (int)csv->columns; }

const char *pw_csv_column_name(const pw_csv *csv, int column) {
    PW_CHECK(column >= 0 && (size_t)column < csv->columns);
    return csv->header[column];
}

int pw_csv_find(const pw_csv *csv, const char *name) {
    for (size_t i = 0; i < csv->columns; i++)
        if (strcmp(csv->header[i], name) == 0) return (int)i;
    return -1;
}

pw_status pw_csv_column(const pw_csv *csv, const char *name, int *column, pw_error *error) {
    *column = pw_csv_find(csv, name);
    if (*column >= 0) return PW_OK;
    const char *nearest = pw_nearest(csv->header, name);
    char hint[256];
    if (nearest) snprintf(hint, sizeof hint, "there is a column '%s'", nearest);
    else {
        size_t used = (size_t)snprintf(hint, sizeof hint, "the columns are");
        for (size_t i = 0; i < csv->columns && used < sizeof hint; i++)
            used += (size_t)snprintf(hint + used, sizeof hint - used, "%s '%s'", i ? "," : "", csv->header[i]);
    }
    return pw_fail(error, PW_BAD_INPUT, csv->name, 0, hint, "there is no column '%s'", name);
}

pw_status pw_csv_next(pw_csv *csv, bool *row, pw_error *error) {
    *row = false;
    PW_TRY(read_row(csv, false, error));
    if (!csv->row_done) {
        csv->fields = 0;
        return PW_OK;
    }
    if (csv->fields != csv->columns) {
        size_t fields = csv->fields;
        csv->fields = 0;
        return pw_csv_fail(csv, -1, fields > csv->columns ? "a text with a comma needs quotes" : NULL, error,
                           "the row has %zu field%s where the header has %zu", fields, fields == 1 ? "" : "s",
                           csv->columns);
    }
    *row = true;
    return PW_OK;
}

const char *pw_csv_file(const pw_csv *csv) { return csv->name; }
int pw_csv_line(const pw_csv *csv) { return csv->row_line; }

const char *pw_csv_text(const pw_csv *csv, int column) {
    PW_CHECK(column >= 0 && (size_t)column < csv->fields);
    return csv->text + csv->field[column];
}

bool pw_csv_is_empty(const pw_csv *csv, int column) { return pw_csv_text(csv, column)[0] == '\0'; }

pw_status pw_csv_number(const pw_csv *csv, int column, double *value, pw_error *error) {
    const char *text = pw_csv_text(csv, column), *end;
    if (pw_text_number(text, &end, value) && !*end) return PW_OK;
    if (!*text) return pw_csv_fail(csv, column, NULL, error, "the number is missing");
    return pw_csv_fail(csv, column, "numbers are written 1234.5 or 4.5e11", error, "'%.100s' is not a number", text);
}

pw_status pw_csv_integer(const pw_csv *csv, int column, int64_t *value, pw_error *error) {
    const char *text = pw_csv_text(csv, column), *end;
    if (pw_text_integer(text, &end, value) && !*end) return PW_OK;
    if (!*text) return pw_csv_fail(csv, column, NULL, error, "the number is missing");
    return pw_csv_fail(csv, column, NULL, error, "'%.100s' is not a whole number", text);
}

pw_status pw_csv_number_or(const pw_csv *csv, int column, double fallback, double *value, pw_error *error) {
    if (!pw_csv_is_empty(csv, column)) return pw_csv_number(csv, column, value, error);
    *value = fallback;
    return PW_OK;
}

pw_status pw_csv_integer_or(const pw_csv *csv, int column, int64_t fallback, int64_t *value, pw_error *error) {
    if (!pw_csv_is_empty(csv, column)) return pw_csv_integer(csv, column, value, error);
    *value = fallback;
    return PW_OK;
}
