/* The report of a run, whatever kind of job it was. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/layout.h"
#include "scenarios/report/report.h"
#include "scenarios/report/sides.h"
#include "sim/json.h"

enum { WIDTH = 100, INDENT = 11, BAR = 30, MOST_ROWS = 8, MOST_BARE_ROWS = 16, WIDEST_NAME = 24 };

/* ---- Text ---- */

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

/* Label and text, wrapped behind the column of labels. */
static void put_line(pw_file *file, const char *label, const char *text) {
    pw_file_print(file, "  %-8s ", label);
    pw_layout_wrap(file, INDENT, WIDTH, text);
}

static void put_cluster(const pw_run_report *r, pw_file *file) {
    char a[64], b[64], c[64], line[600];
    const pw_network_desc *network = &r->cluster->network;
    int64_t gpus = r->result->gpus;
    size_t used = (size_t)snprintf(line, sizeof line, "%s node%s of %.200s, %s GPU%s %s", pw_layout_count(r->nodes, a, sizeof a),
                                   plural(r->nodes), r->server, pw_layout_count(gpus, b, sizeof b), plural(gpus),
                                   r->result->device->name);
    if (r->nodes > 1)
        used += (size_t)snprintf(line + used, sizeof line - used, ", %s",
                                 pw_report_value(pw_kind_field(&pw_network_kind, "topology"), network, c, sizeof c));
    if (r->nodes > 1 && network->oversubscription > 1)
        snprintf(line + used, sizeof line - used, ", %g:1 oversubscribed", network->oversubscription);
    put_line(file, "cluster", line);
}

/* "stage 5" */
static const char *row_name(const pw_run_result *result, uint32_t row, char *text, size_t size) {
    if (result->rows[row].name) snprintf(text, size, "%s", result->rows[row].name);
    else snprintf(text, size, "%s %" PRIu32, result->row_word, row);
    return text;
}

/* The row whose memory comes closest to the capacity; NULL: no row has an account. */
static const pw_result_row *fullest(const pw_run_result *result) {
    const pw_result_row *found = NULL;
    for (uint32_t i = 0; i < result->row_count; i++)
        if (result->rows[i].memory_count && (!found || result->rows[i].memory_total > found->memory_total))
            found = &result->rows[i];
    return found;
}

static void put_memory(const pw_run_result *result, pw_file *file) {
    char line[900], name[100];
    const pw_result_row *full = fullest(result);
    if (!full) return;
    size_t used = (size_t)snprintf(line, sizeof line, "%.1f of %.1f GB per GPU on %.90s%s%s (", full->memory_total / 1e9,
                                   full->memory_capacity / 1e9,
                                   row_name(result, (uint32_t)(full - result->rows), name, sizeof name),
                                   result->row_count > 1 ? ", the fullest" : "",
                                   full->memory_total > full->memory_capacity ? ": DOES NOT FIT" : "");
    for (uint32_t i = 0; i < full->memory_count && used < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%.40s %.1f%s", i ? ", " : "", full->memory[i].name,
                                 full->memory[i].value / 1e9, i + 1 == full->memory_count ? ")" : "");
    put_line(file, "memory", line);
}

static void put_blame(const pw_run_result *result, pw_file *file) {
    char time[64];
    if (result->part_count == 0) return;
    pw_file_text(file, "\n  where the time goes, along the critical path");
    if (result->row_count > 1 && result->home) pw_file_print(file, " as %s saw it", result->home);
    pw_file_text(file, "\n");
    int width = 12;
    for (uint32_t i = 0; i < result->part_count; i++)
        if ((int)strlen(result->parts[i].name) > width) width = (int)strlen(result->parts[i].name);
    for (uint32_t i = 0; i < result->part_count; i++) {
        const pw_blame_part *part = &result->parts[i];
        pw_file_print(file, "    %-*s %10s  %5.1f %%", width, part->name, pw_layout_seconds(part->seconds, time, sizeof time),
                      100 * part->share);
        int bar = (int)(part->share * BAR + 0.5);
        if (bar > 0) pw_file_text(file, "  ");
        pw_layout_repeat(file, '#', bar);
        pw_file_text(file, "\n");
    }
}

static int column_width(const char *heading) {
    int width = pw_layout_width(heading);
    return width < 7 ? 7 : width;
}

/* Clocks stand in MHz and watts say so; names of other figures hold their unit themselves. */
static const char *heading_of(const pw_figure *figure, char *text, size_t size) {
    const char *unit = !figure->unit ? "" : strcmp(figure->unit, "Hz") == 0 ? "_MHz" : strcmp(figure->unit, "W") == 0 ? "_W" : "";
    snprintf(text, size, "%s%s", figure->name, unit);
    return text;
}

static void put_figure(const pw_figure *figure, pw_file *file) {
    char text[64], heading[96];
    int width = column_width(heading_of(figure, heading, sizeof heading));
    if (figure->unit && strcmp(figure->unit, "Hz") == 0) snprintf(text, sizeof text, "%.0f", figure->value / 1e6);
    else pw_layout_rate(figure->value, text, sizeof text);
    pw_file_print(file, " %*s", width, text);
}

static void put_row(const pw_run_result *result, uint32_t index, int name_width, pw_file *file) {
    const pw_result_row *row = &result->rows[index];
    const double times[] = {row->compute_s, row->communication_s, row->idle_s, row->launch_wait_s};
    static const int widths[] = {12, 14, 12, 12};
    char text[64];
    if (row->name) pw_file_print(file, "    %-*.*s", name_width, WIDEST_NAME, row->name);
    else pw_file_print(file, "    %*" PRIu32, name_width, index);
    for (uint32_t i = 0; i < row->figure_count; i++) put_figure(&row->figures[i], file);
    if (fullest(result)) pw_file_print(file, " %7.1f", row->memory_total / 1e9);
    for (int i = 0; i < 4 && !result->bare_rows; i++) pw_file_print(file, " %*s", widths[i], pw_layout_seconds(times[i], text, sizeof text));
    pw_file_text(file, "\n");
}

/* All rows when they are few; else the first, the fullest and the last, and how many lie between. */
static void put_rows(const pw_run_result *result, pw_file *file) {
    if (result->row_count < 2) return;
    const pw_result_row *full = fullest(result), *first = &result->rows[0];
    int width = pw_layout_width(result->row_word);
    for (uint32_t i = 0; i < result->row_count; i++) {
        int wide = result->rows[i].name ? pw_layout_width(result->rows[i].name) : 5;
        if (wide > width) width = wide;
    }
    if (width > WIDEST_NAME) width = WIDEST_NAME;
    pw_file_print(file, first->name ? "\n    %-*s" : "\n    %*s", width, result->row_word);
    for (uint32_t i = 0; i < first->figure_count; i++) {
        char heading[96];
        heading_of(&first->figures[i], heading, sizeof heading);
        pw_file_print(file, " %*s", column_width(heading), heading);
    }
    if (full) pw_file_print(file, " %7s", "GB/GPU");
    if (!result->bare_rows) pw_file_print(file, " %12s %14s %12s %12s", "compute", "communication", "idle", "launch wait");
    pw_file_text(file, "\n");
    uint32_t last_shown = 0;
    for (uint32_t i = 0; i < result->row_count; i++) {
        bool shown = result->row_count <= (result->bare_rows ? MOST_BARE_ROWS : MOST_ROWS) || i == 0 || i == result->row_count - 1 || &result->rows[i] == full;
        if (!shown) continue;
        if (i > last_shown + 1) pw_file_print(file, "      ... %" PRIu32 " more\n", i - last_shown - 1);
        put_row(result, i, width, file);
        last_shown = i;
    }
}

static void put_happenings(const pw_run_result *result, pw_file *file) {
    char when[64], where[64];
    int width = 0;
    if (!result->happening_count) return;
    for (uint32_t i = 0; i < result->happening_count; i++)
        if ((int)strlen(result->happenings[i].what) > width) width = (int)strlen(result->happenings[i].what);
    pw_file_text(file, "\n  what happened\n");
    for (uint32_t i = 0; i < result->happening_count; i++) {
        const pw_happening *h = &result->happenings[i];
        if (h->nodes == 1) snprintf(where, sizeof where, "node %" PRIu32, h->first_node);
        else snprintf(where, sizeof where, "%" PRIu32 " nodes from %" PRIu32, h->nodes, h->first_node);
        pw_file_print(file, "    %10s  %-*s  %-16s %s\n", pw_layout_seconds(h->at_s, when, sizeof when), width, h->what, where, h->effect);
    }
}

static void accuracy_text(const pw_run_report *r, char *text, size_t size) {
    const pw_accuracy *accuracy = &r->accuracy;
    if (!accuracy->source) {
        const char *name = r->result->answer_class;
        snprintf(text, size, "unknown: no published run of this kind%s%s%s has judged it", name ? " (" : "", name ? name : "", name ? ")" : "");
        return;
    }
    if (accuracy->is_elsewhere)
        snprintf(text, size, "unknown: too few published runs of this kind on %s. For comparison, %s on any hardware (%s): ",
                 r->result->device->arch, r->answers, accuracy->group);
    else snprintf(text, size, "%s of this kind (%s): ", r->answers, accuracy->group);
    size_t length = strlen(text);
    snprintf(text + length, size - length,
             "median error %.1f %%, 9 of 10 within %.1f %%, bias %+.1f %%, over %" PRId64
             " published runs%s%s%s",
             accuracy->median_pct, accuracy->p90_pct, accuracy->bias_pct, accuracy->n,
             *accuracy->source ? " (" : "", accuracy->source, *accuracy->source ? ")" : "");
}

/* One line each, unless all of their words are asked for. */
static void put_notes(const pw_run_result *result, bool long_notes, pw_file *file) {
    bool is_cut = false;
    if (result->note_count) pw_file_text(file, "\n  notes\n");
    for (uint32_t i = 0; i < result->note_count; i++) {
        const char *note = result->notes[i];
        size_t length = strlen(note);
        pw_file_text(file, "    ");
        if (long_notes || length <= WIDTH - 4) {
            pw_layout_wrap(file, 4, WIDTH, note);
            continue;
        }
        for (length = WIDTH - 8; length > 0 && note[length] != ' ';) length--;
        pw_file_write(file, note, length);
        pw_file_text(file, " ...\n");
        is_cut = true;
    }
    if (is_cut) pw_file_text(file, "    (--notes shows them in full)\n");
}

void pw_report_result_text(const pw_run_result *result, bool long_notes, pw_file *file) {
    for (uint32_t i = 0; i < result->head_count; i++) put_line(file, result->head[i].label, result->head[i].text);
    if (result->answer_count) pw_file_text(file, "\n");
    for (uint32_t i = 0; i < result->answer_count; i++) put_line(file, result->answers[i].label, result->answers[i].text);
    put_memory(result, file);
    put_blame(result, file);
    put_rows(result, file);
    put_happenings(result, file);
    put_notes(result, long_notes, file);
}

void pw_report_run_text(const pw_run_report *r, pw_file *file) {
    const pw_run_result *result = r->result;
    char line[700];
    pw_file_print(file, "%s\n\n", r->title);
    put_cluster(r, file);
    pw_report_result_text(result, r->long_notes, file);
    accuracy_text(r, line, sizeof line);
    pw_file_text(file, "\n");
    put_line(file, "accuracy", line);
    pw_file_print(file, "  run      podwright %s, seed %" PRIu64 ", hash %016" PRIx64 "\n", r->version, r->seed, result->hash);
}

/* ---- JSON ---- */

static void json_figures(pw_json *json, const pw_figure *figures, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (figures[i].text) pw_json_text(json, figures[i].name, figures[i].text);
        else pw_json_number(json, figures[i].name, figures[i].value);
    }
}

static void json_row(pw_json *json, const pw_run_result *result, uint32_t index) {
    const pw_result_row *row = &result->rows[index];
    pw_json_object(json, NULL);
    if (row->name) pw_json_text(json, result->row_word, row->name);
    else pw_json_integer(json, result->row_word, index);
    json_figures(json, row->figures, row->figure_count);
    if (result->bare_rows) {
        pw_json_end(json);
        return;
    }
    pw_json_integer(json, "ranks", row->ranks);
    pw_json_number(json, "compute_s", row->compute_s);
    pw_json_number(json, "communication_s", row->communication_s);
    pw_json_number(json, "idle_s", row->idle_s);
    pw_json_number(json, "launch_wait_s", row->launch_wait_s);
    if (row->memory_count) {
        pw_json_object(json, "memory");
        json_figures(json, row->memory, row->memory_count);
        pw_json_number(json, "total", row->memory_total);
        pw_json_number(json, "capacity", row->memory_capacity);
        pw_json_end(json);
    }
    pw_json_end(json);
}

void pw_report_result_json(pw_json *json, const pw_run_result *result) {
    char plural_word[80];
    json_figures(json, result->figures, result->figure_count);
    pw_json_array(json, "blame");
    for (uint32_t i = 0; i < result->part_count; i++) {
        pw_json_object(json, NULL);
        pw_json_text(json, "name", result->parts[i].name);
        pw_json_number(json, "seconds", result->parts[i].seconds);
        pw_json_number(json, "share", result->parts[i].share);
        pw_json_end(json);
    }
    pw_json_end(json);
    if (result->row_word) {
        snprintf(plural_word, sizeof plural_word, "%s%s", result->row_word, "s");
        pw_json_array(json, plural_word);
        for (uint32_t i = 0; i < result->row_count; i++) json_row(json, result, i);
        pw_json_end(json);
    }
    if (result->happening_word) {
        pw_json_array(json, result->happening_word);
        for (uint32_t i = 0; i < result->happening_count; i++) {
            const pw_happening *h = &result->happenings[i];
            pw_json_object(json, NULL);
            pw_json_number(json, "at_s", h->at_s);
            pw_json_text(json, "what", h->what);
            pw_json_text(json, "effect", h->effect);
            pw_json_integer(json, "first_node", h->first_node);
            pw_json_integer(json, "nodes", h->nodes);
            for (int f = 0; f < PW_HAPPENING_FIGURES && h->figures[f].name; f++) json_figures(json, &h->figures[f], 1);
            pw_json_end(json);
        }
        pw_json_end(json);
    }
    pw_json_array(json, "notes");
    for (uint32_t i = 0; i < result->note_count; i++) pw_json_text(json, NULL, result->notes[i]);
    pw_json_end(json);
}

static void json_accuracy(pw_json *json, const pw_run_report *r) {
    const pw_accuracy *accuracy = &r->accuracy;
    if (!accuracy->source) {
        pw_json_null(json, "accuracy");
        return;
    }
    pw_json_object(json, "accuracy");
    pw_json_text(json, "suite", r->suite);
    pw_json_text(json, "group", accuracy->group);
    pw_json_integer(json, "n", accuracy->n);
    pw_json_number(json, "bias_pct", accuracy->bias_pct);
    pw_json_number(json, "median_pct", accuracy->median_pct);
    pw_json_number(json, "p90_pct", accuracy->p90_pct);
    pw_json_text(json, "source", accuracy->source);
    pw_json_end(json);
}

void pw_report_run_json(const pw_run_report *r, pw_file *file) {
    char hash[32];
    pw_json json;
    pw_json_begin(&json, file);
    pw_json_object(&json, NULL);
    pw_json_text(&json, "schema", "podwright.run/1");
    pw_json_text(&json, "version", r->version);
    pw_json_integer(&json, "seed", (int64_t)r->seed);
    pw_json_text(&json, "scenario", r->title);
    pw_json_text(&json, "gpu", r->result->device->name);
    pw_json_object(&json, "cluster");
    pw_report_json_fields(&json, &pw_cluster_kind, r->cluster);
    pw_json_end(&json);
    pw_json_object(&json, "job");
    pw_json_text(&json, "kind", r->job.kind->name);
    pw_report_json_fields(&json, r->job.kind, r->job.record);
    pw_json_end(&json);
    pw_json_object(&json, "result");
    pw_report_result_json(&json, r->result);
    pw_json_end(&json);
    if (r->watched) pw_report_json_links(&json, r->watched);
    json_accuracy(&json, r);
    snprintf(hash, sizeof hash, "%016" PRIx64, r->result->hash);
    pw_json_text(&json, "hash", hash);
    pw_json_end(&json);
}

/* ---- CSV ---- */

static void csv_line(pw_file *file, const char *name, double value, const char *unit) {
    pw_file_csv_text(file, name);
    pw_file_csv_number(file, value);
    pw_file_text(file, ",");
    pw_file_text(file, unit);
    pw_file_csv_end(file);
}

static void csv_row(pw_file *file, const pw_run_result *result, uint32_t index) {
    const pw_result_row *row = &result->rows[index];
    const pw_figure columns[] = {{"ranks", row->ranks, ""}, {"compute", row->compute_s, "s"},
                                 {"communication", row->communication_s, "s"}, {"idle", row->idle_s, "s"},
                                 {"launch_wait", row->launch_wait_s, "s"}, {"memory", row->memory_total, "bytes"}};
    char name[200], number[32];
    snprintf(number, sizeof number, "%" PRIu32, index);
    const char *row_id = row->name ? row->name : number;
    for (uint32_t i = 0; i < row->figure_count; i++) {
        snprintf(name, sizeof name, "%.40s.%.80s.%.60s", result->row_word, row_id, row->figures[i].name);
        csv_line(file, name, row->figures[i].value, row->figures[i].unit);
    }
    for (size_t i = 0; !result->bare_rows && i < sizeof columns / sizeof *columns - (row->memory_count == 0); i++) {
        snprintf(name, sizeof name, "%.40s.%.80s.%s", result->row_word, row_id, columns[i].name);
        csv_line(file, name, columns[i].value, columns[i].unit);
    }
}

void pw_report_run_csv(const pw_run_report *r, pw_file *file) {
    const pw_run_result *result = r->result;
    char name[160];
    pw_file_text(file, "name,value,unit\n");
    for (uint32_t i = 0; i < result->figure_count; i++)
        if (!result->figures[i].text) csv_line(file, result->figures[i].name, result->figures[i].value, result->figures[i].unit);
    for (uint32_t i = 0; i < result->part_count; i++) {
        snprintf(name, sizeof name, "blame.%s", result->parts[i].name);
        csv_line(file, name, result->parts[i].seconds, "s");
    }
    for (uint32_t i = 0; i < result->row_count; i++) csv_row(file, result, i);
    for (uint32_t i = 0; i < result->happening_count; i++) {
        const pw_happening *h = &result->happenings[i];
        snprintf(name, sizeof name, "%.40s.%" PRIu32 ".%.60s.at", result->happening_word, i, h->what);
        csv_line(file, name, h->at_s, "s");
        for (int f = 0; f < PW_HAPPENING_FIGURES && h->figures[f].name; f++) {
            if (h->figures[f].text) continue;
            snprintf(name, sizeof name, "%.40s.%" PRIu32 ".%.60s.%.30s", result->happening_word, i, h->what, h->figures[f].name);
            csv_line(file, name, h->figures[f].value, h->figures[f].unit);
        }
    }
    csv_line(file, "seed", (double)r->seed, "");
}
