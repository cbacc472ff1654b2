/* Chakra in JSON: objects one after another, the metadata first (as its converter writes them), an array of nodes, or an object
 * with "nodes". Names in camel or snake case, whole numbers as numbers or texts. Objects are read one by one, so that memory
 * is that of the graph. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "models/workload/replay/trace.h"
#include "sim/file.h"
#include "sim/json_read.h"
#include "sim/text.h"

static const size_t largest_file = (size_t)4 << 30;

typedef struct reader {
    trace *t;
    const char *path;
    uint32_t rank;
    int line;
} reader;

static const json_t *member(const json_t *object, const char *camel, const char *snake) {
    const json_t *value = json_object_get(object, camel);
    return value ? value : json_object_get(object, snake);
}

/* A number, a number in a text, or a switch; NaN when it is none. */
static double number(const json_t *value) {
    double result;
    const char *end;
    if (json_is_number(value)) return json_number_value(value);
    if (json_is_boolean(value)) return json_is_true(value);
    if (json_is_string(value) && pw_text_number(json_string_value(value), &end, &result) && !*end) return result;
    return NAN;
}

static bool whole(const json_t *value, int64_t *result) {
    const char *end;
    if (json_is_integer(value)) *result = json_integer_value(value);
    else if (!json_is_string(value) || !pw_text_integer(json_string_value(value), &end, result) || *end) return false;
    return true;
}

/* {"name": "comm_size", "int64Val": "1024"}: the value lies under whatever is no name. */
static void read_attribute(chakra_node *node, const json_t *attribute) {
    const char *name = json_string_value(json_object_get(attribute, "name")), *key;
    json_t *value;
    if (!name) return;
    json_object_foreach((json_t *)(uintptr_t)attribute, key, value) {
        if (strcmp(key, "name") == 0 || strcmp(key, "docString") == 0 || strcmp(key, "doc_string") == 0) continue;
        if (strcmp(name, "pg_name") == 0 && json_is_string(value)) node->group = json_string_value(value);
        double read = number(value);
        if (!isnan(read)) chakra_attribute(node, name, read);
    }
}

static pw_status read_needs(const reader *r, trace_node *made, const json_t *list) {
    size_t i;
    json_t *value;
    json_array_foreach((json_t *)(uintptr_t)list, i, value) {
        int64_t id;
        if (!whole(value, &id))
            return trace_fail(r->t, made, PW_BAD_INPUT, NULL, "rank %u: a dependency of node %lld is no number", r->rank,
                              (long long)made->id);
        if (!trace_need_add(r->t, made, id, false)) return trace_no_memory(r->t);
    }
    return PW_OK;
}

static pw_status read_node(const reader *r, const json_t *object) {
    chakra_node node;
    trace_node *made;
    size_t i;
    json_t *attribute;
    chakra_begin(&node);
    node.line = r->line;
    if (!json_is_object(object)) return pw_fail(r->t->error, PW_BAD_INPUT, r->path, r->line, NULL, "a node is no object");
    const json_t *type = json_object_get(object, "type"), *id = json_object_get(object, "id");
    const json_t *duration = member(object, "durationMicros", "duration_micros");
    if (id && !whole(id, &node.id)) return pw_fail(r->t->error, PW_BAD_INPUT, r->path, r->line, NULL, "a node's id is no whole number");
    if (!id) node.id = 0; /* the converter leaves out what is 0 */
    if (json_is_string(type)) node.type_name = json_string_value(type);
    else if (json_is_integer(type)) node.type = json_integer_value(type);
    else node.type = 0;
    if (duration) node.duration_us = number(duration);
    json_array_foreach(json_object_get(object, "attr"), i, attribute) read_attribute(&node, attribute);
    PW_TRY(chakra_add(r->t, r->rank, &node, &made));
    PW_TRY(read_needs(r, made, member(object, "ctrlDeps", "ctrl_deps")));
    return read_needs(r, made, member(object, "dataDeps", "data_deps"));
}

static pw_status read_nodes(const reader *r, const json_t *list) {
    size_t i;
    json_t *value;
    json_array_foreach((json_t *)(uintptr_t)list, i, value) PW_TRY(read_node(r, value));
    return PW_OK;
}

static pw_status read_value(const reader *r, const json_t *value) {
    if (json_is_array(value)) return read_nodes(r, value);
    const json_t *nodes = json_object_get(value, "nodes");
    if (json_is_array(nodes)) return read_nodes(r, nodes);
    if (!json_object_get(value, "type") && json_object_get(value, "version")) return PW_OK; /* GlobalMetadata */
    if (json_is_object(value) && json_object_size(value) == 0) return PW_OK;
    return read_node(r, value);
}

static pw_status read_text(reader *r, const char *text, size_t size) {
    size_t at = 0;
    for (r->line = 1;;) {
        for (; at < size && strchr(" \t\r\n,", text[at]) && text[at]; at++) r->line += text[at] == '\n';
        if (at == size) return PW_OK;
        json_error_t found;
        json_t *value = json_loadb(text + at, size - at, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &found);
        if (!value)
            return pw_fail(r->t->error, PW_BAD_INPUT, r->path, r->line + (found.line > 0 ? found.line - 1 : 0), NULL,
                           "this is no JSON: %s", found.text);
        size_t end = at + (size_t)found.position;
        pw_status status = read_value(r, value);
        json_decref(value);
        if (status != PW_OK) return status;
        for (; at < end; at++) r->line += text[at] == '\n';
    }
}

pw_status trace_read_chakra(trace *t, const char *path, uint32_t rank) {
    char *text;
    size_t size;
    reader r = {t, path, rank, 0};
    PW_TRY(pw_file_read(path, largest_file, t->allocator, &text, &size, t->error));
    pw_status status = read_text(&r, text, size);
    pw_free(t->allocator, text, size + 1);
    return status;
}

static pw_status read_groups(trace *t, const char *path, json_t *root) {
    const char *name;
    json_t *list, *member_of;
    size_t i;
    if (!json_is_object(root)) return pw_fail(t->error, PW_BAD_INPUT, path, 0, "{\"tp0\": [0, 1], ...}", "the file holds no object of groups");
    uint32_t *members = pw_arena_alloc(t->arena, (t->ranks + 1) * sizeof *members);
    bool *is_there = pw_arena_alloc(t->arena, t->ranks + 1);
    if (!members || !is_there) return trace_no_memory(t);
    json_object_foreach(root, name, list) {
        uint32_t count = 0;
        memset(is_there, 0, t->ranks + 1);
        json_array_foreach(list, i, member_of) {
            int64_t rank = json_is_integer(member_of) ? json_integer_value(member_of) : -1;
            if (rank < 0 || rank >= t->ranks || is_there[rank])
                return pw_fail(t->error, PW_BAD_INPUT, path, 0, NULL, "group '%s': its members are different ranks from 0 to %u", name,
                               t->ranks - 1);
            is_there[rank] = true;
            members[count++] = (uint32_t)rank;
        }
        if (!count) return pw_fail(t->error, PW_BAD_INPUT, path, 0, NULL, "group '%s' has no members", name);
        PW_TRY(trace_group_add(t, name, members, count, NULL));
    }
    return PW_OK;
}

pw_status trace_read_groups(trace *t, const char *path) {
    json_t *root;
    PW_TRY(pw_json_load(path, (size_t)64 << 20, t->allocator, &root, t->error));
    pw_status status = read_groups(t, path, root);
    json_decref(root);
    return status;
}
