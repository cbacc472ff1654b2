#include "models/power/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/text.h"

const char *const pw_node_part_names[] = {
#define NAME(NAME, name, text) name,
    PW_NODE_PART_MAP(NAME) NULL
#undef NAME
};
const char *const pw_node_part_texts[] = {
#define TEXT(NAME, name, text) text,
    PW_NODE_PART_MAP(TEXT) NULL
#undef TEXT
};

static pw_status read_row(const pw_table *table, size_t row, pw_node_part *part, pw_error *error) {
    const char *kind = pw_table_text_of(table, row, "kind");
    int found = 0;
    while (pw_node_part_names[found] && strcmp(pw_node_part_names[found], kind) != 0) found++;
    if (!pw_node_part_names[found])
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row),
                       "cpu, memory, switch, nic, pcie, drive, board or pump", "there is no kind of part '%s'", kind);
    *part = (pw_node_part){.name = pw_table_text_of(table, row, "name"), .provenance = pw_table_text_of(table, row, "provenance"),
                           .source = pw_table_text_of(table, row, "source"), .kind = (pw_node_part_kind)found,
                           .idle_W = pw_table_number_of(table, row, "idle")};
    PW_TRY(pw_table_amount_of(table, row, "active", &part->active_W, error));
    if (part->idle_W < 0 || part->idle_W > part->active_W)
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "idle is at most active",
                       "%s draws %g W without work and %g W at full work", part->name, part->idle_W, part->active_W);
    return PW_OK;
}

/* "32 DDR4 RDIMM 64 GB", without blanks around it. */
static pw_status read_part(const pw_table *table, const char *item, const char *file, int line, pw_node_part *part, pw_error *error) {
    int64_t count;
    const char *rest;
    if (!pw_text_integer(item, &rest, &count) || *rest != ' ' || count < 1 || count > 1000)
        return pw_fail(error, PW_BAD_INPUT, file, line, "write a count and a name: \"2 EPYC 7742\"", "'%s' is no count of a part", item);
    rest += strspn(rest, " ");
    int row = pw_table_find_row(table, rest);
    if (row < 0) {
        const char *near = pw_table_nearest(table, rest);
        char hint[200];
        snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "parts are rows of node-parts.csv%s", near ? near : "");
        return pw_fail(error, PW_NOT_FOUND, file, line, hint, "unknown part '%s'", rest);
    }
    PW_TRY(read_row(table, (size_t)row, part, error));
    part->count = (int)count;
    return PW_OK;
}

pw_status pw_node_parts_read(const pw_catalogue *catalogue, const char *text, const char *file, int line,
                             pw_node_part parts[PW_NODE_PARTS], int *count, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_NODE_PARTS, &table, error));
    *count = 0;
    for (const char *at = text + strspn(text, "; "); *at; at += strspn(at, "; ")) {
        char item[128];
        size_t length = strcspn(at, ";");
        const char *next = at + length;
        while (length && at[length - 1] == ' ') length--;
        if (length >= sizeof item || *count == PW_NODE_PARTS)
            return pw_fail(error, PW_BAD_INPUT, file, line, "put the same parts into one entry", "the list of parts is too long");
        memcpy(item, at, length);
        item[length] = 0;
        PW_TRY(read_part(table, item, file, line, &parts[(*count)++], error));
        at = next;
    }
    return PW_OK;
}
