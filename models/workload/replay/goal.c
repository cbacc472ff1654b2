/* GOAL as LogGOPSim reads it: `num_ranks N`, then `rank R { ... }` with `label: calc NS`, `label: send BYTESb to RANK tag T`,
 * `label: recv BYTESb from RANK tag T` (each with `cpu N` and `nic N`), `a requires b` and `a irequires b` (may start when b
 * has started). Seconds are nanoseconds in the file. Comments: // and # to the end of the line, and between / * and * /.
 * Source: Hoefler, Siebert, Lumsdaine 2009, Group Operation Assembly Language. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/replay/trace.h"
#include "sim/file.h"
#include "sim/text.h"

enum { LONGEST = 128 };
static const size_t largest_file = (size_t)4 << 30;

typedef struct label {
    const char *text;
    uint32_t length, node;
} label;

typedef struct pending { /* a requirement that waits for all labels of its rank */
    label from, to;
    int line;
    bool start;
} pending;

typedef struct reader {
    trace *t;
    const char *at, *path;
    int line;
    label *labels;    size_t label_count, label_capacity;
    pending *pending; size_t pending_count, pending_capacity;
    const char *word; uint32_t length; /* the word read last */
} reader;

#define REFUSE(r, hint, ...) return pw_fail((r)->t->error, PW_BAD_INPUT, (r)->path, (r)->line, hint, __VA_ARGS__)

static void skip(reader *r) {
    for (;;) {
        while (*r->at && isspace((unsigned char)*r->at)) r->line += *r->at++ == '\n';
        if (*r->at == '#' || strncmp(r->at, "//", 2) == 0) r->at += strcspn(r->at, "\n");
        else if (strncmp(r->at, "/*", 2) == 0) {
            while (*r->at && strncmp(r->at, "*/", 2) != 0) r->line += *r->at++ == '\n';
            if (*r->at) r->at += 2;
        } else return;
    }
}

/* Letters, digits, '_', '.', '-'; else one character. Empty at the end of the text. */
static bool next(reader *r) {
    skip(r);
    r->word = r->at;
    while (isalnum((unsigned char)*r->at) || (*r->at && strchr("_.-", *r->at))) r->at++;
    if (r->at == r->word && *r->at) r->at++;
    r->length = (uint32_t)(r->at - r->word);
    return r->length > 0;
}

static bool is(const reader *r, const char *text) { return strlen(text) == r->length && strncmp(r->word, text, r->length) == 0; }

static pw_status expect(reader *r, const char *text) {
    next(r);
    if (!is(r, text)) REFUSE(r, NULL, "'%s' is expected, not '%.*s'", text, (int)r->length, r->word);
    return PW_OK;
}

static pw_status whole(reader *r, const char *what, int64_t *value) {
    char text[LONGEST];
    const char *end;
    next(r);
    snprintf(text, sizeof text, "%.*s", (int)r->length, r->word);
    if (!pw_text_integer(text, &end, value) || (*end && strcmp(end, "b") != 0) || *value < 0)
        REFUSE(r, NULL, "%s is a whole number from 0 on, not '%s'", what, text);
    return PW_OK;
}

static int compare_labels(const void *a, const void *b) {
    const label *left = a, *right = b;
    uint32_t length = left->length < right->length ? left->length : right->length;
    int order = strncmp(left->text, right->text, length);
    return order ? order : (left->length > right->length) - (left->length < right->length);
}

/* cpu N and nic N behind an operation; a computation runs on its cpu. The network decides about nics. */
static pw_status read_options(reader *r, trace_node *node) {
    for (;;) {
        const char *at = r->at;
        int line = r->line;
        int64_t value;
        next(r);
        bool is_cpu = is(r, "cpu");
        if (!is_cpu && !is(r, "nic") && !is(r, "tag")) {
            r->at = at, r->line = line;
            return PW_OK;
        }
        bool is_tag = is(r, "tag");
        PW_TRY(whole(r, is_cpu ? "cpu" : is_tag ? "tag" : "nic", &value));
        if (is_tag) node->tag = value;
        if (is_cpu && value >= TRACE_RESOURCES) REFUSE(r, NULL, "cpu is between 0 and %d", TRACE_RESOURCES - 1);
        if (is_cpu) node->resource = (uint8_t)value;
    }
}

static pw_status read_operation(reader *r, uint32_t rank, label name) {
    trace_node *node = trace_add(r->t, rank);
    int64_t value, peer;
    if (!node || pw_grow(r->t->allocator, (void **)&r->labels, &r->label_capacity, r->label_count + 1, sizeof *r->labels))
        return trace_no_memory(r->t);
    node->line = r->line;
    node->id = (int64_t)r->label_count + 1;
    name.node = (uint32_t)(r->t->node_count - 1);
    r->labels[r->label_count++] = name;
    next(r);
    bool sends = is(r, "send");
    if (is(r, "calc")) {
        PW_TRY(whole(r, "calc", &value));
        node->kind = TRACE_COMPUTE;
        node->seconds = (double)value * 1e-9;
    } else if (sends || is(r, "recv")) {
        node->kind = sends ? TRACE_SEND : TRACE_RECV;
        PW_TRY(whole(r, "the size", &value));
        PW_TRY(expect(r, sends ? "to" : "from"));
        PW_TRY(whole(r, "the rank", &peer));
        if (peer >= r->t->ranks || peer == rank)
            REFUSE(r, NULL, "rank %u %s rank %lld; there are %u ranks", rank, sends ? "sends to" : "receives from", (long long)peer,
                   r->t->ranks);
        node->bytes = (double)value;
        node->other = (uint32_t)peer;
    } else REFUSE(r, "calc, send and recv are known", "the operation '%.*s' is not modelled", (int)r->length, r->word);
    return read_options(r, node);
}

static pw_status read_line(reader *r, uint32_t rank) {
    label name = {r->word, r->length, 0};
    if (is(r, "send") || is(r, "recv") || is(r, "calc")) { /* without a label: nothing can require it */
        r->at = r->word;
        name.length = 0;
        return read_operation(r, rank, name);
    }
    next(r);
    if (is(r, ":")) return read_operation(r, rank, name);
    bool start = is(r, "irequires");
    if (!start && !is(r, "requires")) REFUSE(r, NULL, "':' or 'requires' is expected, not '%.*s'", (int)r->length, r->word);
    next(r);
    if (pw_grow(r->t->allocator, (void **)&r->pending, &r->pending_capacity, r->pending_count + 1, sizeof *r->pending))
        return trace_no_memory(r->t);
    r->pending[r->pending_count++] = (pending){name, {r->word, r->length, 0}, r->line, start};
    return PW_OK;
}

static pw_status find_label(const reader *r, const label *name, int line, uint32_t *node) {
    const label *found = r->label_count ? bsearch(name, r->labels, r->label_count, sizeof *r->labels, compare_labels) : NULL;
    if (!found || !name->length)
        return pw_fail(r->t->error, PW_BAD_INPUT, r->path, line, NULL, "this rank has no label '%.*s'", (int)name->length, name->text);
    *node = found->node;
    return PW_OK;
}

static int compare_pending(const void *a, const void *b) {
    const pending *left = a, *right = b;
    if (left->from.node != right->from.node) return left->from.node < right->from.node ? -1 : 1;
    return left->line - right->line;
}

/* Requirements are written in any order; a node's needs lie together. */
static pw_status join(reader *r) {
    if (r->label_count) qsort(r->labels, r->label_count, sizeof *r->labels, compare_labels);
    for (size_t i = 1; i < r->label_count; i++)
        if (r->labels[i].length && compare_labels(&r->labels[i], &r->labels[i - 1]) == 0)
            return pw_fail(r->t->error, PW_BAD_INPUT, r->path, r->t->nodes[r->labels[i].node].line, NULL,
                           "the label '%.*s' is there twice", (int)r->labels[i].length, r->labels[i].text);
    for (size_t i = 0; i < r->pending_count; i++) {
        PW_TRY(find_label(r, &r->pending[i].from, r->pending[i].line, &r->pending[i].from.node));
        PW_TRY(find_label(r, &r->pending[i].to, r->pending[i].line, &r->pending[i].to.node));
    }
    if (r->pending_count) qsort(r->pending, r->pending_count, sizeof *r->pending, compare_pending);
    for (size_t i = 0; i < r->pending_count; i++) {
        trace_node *node = &r->t->nodes[r->pending[i].from.node];
        if (!node->needs) node->first_need = (uint32_t)r->t->need_count;
        if (!trace_need_add(r->t, node, r->t->nodes[r->pending[i].to.node].id, r->pending[i].start)) return trace_no_memory(r->t);
    }
    r->label_count = r->pending_count = 0;
    return PW_OK;
}

static pw_status read_rank(reader *r, uint32_t expected) {
    int64_t rank;
    PW_TRY(expect(r, "rank"));
    PW_TRY(whole(r, "the rank", &rank));
    if (rank != expected) REFUSE(r, "ranks are written in order, from 0", "rank %u is expected, not rank %lld", expected, (long long)rank);
    PW_TRY(expect(r, "{"));
    r->t->first[expected] = (uint32_t)r->t->node_count;
    for (;;) {
        if (!next(r)) REFUSE(r, NULL, "rank %u has no end", expected);
        if (is(r, "}")) break;
        PW_TRY(read_line(r, expected));
    }
    PW_TRY(join(r));
    return trace_resolve(r->t, expected);
}

static pw_status read_schedule(reader *r) {
    int64_t ranks;
    PW_TRY(expect(r, "num_ranks"));
    PW_TRY(whole(r, "num_ranks", &ranks));
    if (ranks < 1 || ranks > 1048576) REFUSE(r, NULL, "num_ranks is between 1 and 1048576");
    r->t->ranks = (uint32_t)ranks;
    r->t->files = pw_arena_alloc(r->t->arena, (size_t)ranks * sizeof *r->t->files);
    r->t->first = pw_arena_alloc(r->t->arena, ((size_t)ranks + 1) * sizeof *r->t->first);
    if (!r->t->files || !r->t->first) return trace_no_memory(r->t);
    for (uint32_t rank = 0; rank < ranks; rank++) r->t->files[rank] = r->path;
    for (uint32_t rank = 0; rank < ranks; rank++) PW_TRY(read_rank(r, rank));
    if (next(r)) REFUSE(r, NULL, "nothing is expected behind the last rank, but there is '%.*s'", (int)r->length, r->word);
    return PW_OK;
}

pw_status trace_read_goal(trace *t, const char *path) {
    char *text;
    size_t size;
    PW_TRY(pw_file_read(path, largest_file, t->allocator, &text, &size, t->error));
    reader r = {.t = t, .at = text, .path = pw_arena_text(t->arena, path), .line = 1};
    pw_status status = r.path ? PW_OK : trace_no_memory(t);
    if (status == PW_OK && strlen(text) != size) status = pw_fail(t->error, PW_BAD_INPUT, path, 0, "the binary form is not read", "this is no text");
    if (status == PW_OK) status = read_schedule(&r);
    pw_free(t->allocator, r.labels, r.label_capacity * sizeof *r.labels);
    pw_free(t->allocator, r.pending, r.pending_capacity * sizeof *r.pending);
    pw_free(t->allocator, text, size + 1);
    return status;
}
