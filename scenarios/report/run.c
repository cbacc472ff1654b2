/* The report of a training run. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/layout.h"
#include "scenarios/report/report.h"
#include "sim/json.h"

enum { WIDTH = 100, BAR = 30, MOST_STAGES = 8 };

static const char *choice_text(const pw_kind *kind, const char *name, const void *desc, char *text, size_t size) {
    return pw_report_value(pw_kind_field(kind, name), desc, text, size);
}

/* The stage whose memory comes closest to the capacity. */
static const pw_stage_result *fullest(const pw_train_result *result) {
    const pw_stage_result *found = NULL;
    for (uint32_t i = 0; i < result->stage_count; i++)
        if (!found || result->stages[i].memory.total > found->memory.total) found = &result->stages[i];
    return found;
}

/* "1.83 million", three digits. */
static const char *large(double value, char *text, size_t size) {
    static const struct {
        double factor;
        const char *word;
    } steps[] = {{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}};
    if (value < 1e6) return pw_layout_count((int64_t)value, text, size);
    size_t i = 0;
    while (i < 2 && value < steps[i].factor * 0.9995) i++;
    double shown = value / steps[i].factor;
    snprintf(text, size, "%.*f%s", shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0, shown, steps[i].word);
    return text;
}

/* Four digits that matter: 4.812 s, 31.25 ms. */
static const char *seconds(double value, char *text, size_t size) {
    const char *unit = value >= 1 ? "s" : value >= 1e-3 ? "ms" : "us";
    double shown = value >= 1 ? value : value >= 1e-3 ? value * 1e3 : value * 1e6;
    if (value == 0) snprintf(text, size, "0 s");
    else snprintf(text, size, "%.*f %s", shown < 10 ? 3 : shown < 100 ? 2 : 1, shown, unit);
    return text;
}

static const char *gigabytes(double bytes, char *text, size_t size) {
    snprintf(text, size, "%.1f", bytes / 1e9);
    return text;
}

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

/* 185.4, 2,591, 3.36 million. */
static const char *rate(double value, char *text, size_t size) {
    if (value >= 1000) return large(value, text, size);
    snprintf(text, size, "%.4g", value);
    return text;
}

static void put_head(const pw_run_report *r, pw_file *file) {
    const pw_train_result *result = r->result;
    const pw_train_desc *job = r->job;
    char a[64], b[64], c[64], d[64], line[600];
    pw_file_print(file, "%s\n\n  cluster  ", r->title);
    snprintf(line, sizeof line, "%s node%s of %s, %s GPU%s %s", pw_layout_count(r->nodes, a, sizeof a),
             plural(r->nodes), r->server, pw_layout_count(result->gpus, b, sizeof b), plural(result->gpus), r->device->name);
    if (r->nodes > 1)
        snprintf(line + strlen(line), sizeof line - strlen(line), ", %s",
                 choice_text(&pw_network_kind, "topology", &r->cluster->network, c, sizeof c));
    if (r->nodes > 1 && r->cluster->network.oversubscription > 1)
        snprintf(line + strlen(line), sizeof line - strlen(line), ", %g:1 oversubscribed", r->cluster->network.oversubscription);
    pw_layout_wrap(file, 11, WIDTH, line);
    double tokens = (double)job->sequence * (double)job->global_batch;
    snprintf(line, sizeof line, "%s, %s parameters; sequence %s, batch %s sequences (%s tokens), %s",
             job->model->name ? job->model->name : "model", large(result->parameters, a, sizeof a),
             pw_layout_count(job->sequence, b, sizeof b), pw_layout_count(job->global_batch, c, sizeof c),
             large(tokens, d, sizeof d), pw_format_names[job->precision]);
    pw_file_text(file, "  job      ");
    pw_layout_wrap(file, 11, WIDTH, line);
    snprintf(line, sizeof line, "tensor %" PRId64 " x pipeline %" PRId64, job->tensor_parallel, job->pipeline_parallel);
    if (job->virtual_stages > 1)
        snprintf(line + strlen(line), sizeof line - strlen(line), " (%" PRId64 " chunks each)", job->virtual_stages);
    if (job->context_parallel > 1)
        snprintf(line + strlen(line), sizeof line - strlen(line), " x context %" PRId64, job->context_parallel);
    snprintf(line + strlen(line), sizeof line - strlen(line),
             " x data %" PRId64 "; %" PRId64 " micro-batch%s of %" PRId64 "; sharding %s, recompute %s",
             result->data_parallel, result->micro_batches, result->micro_batches == 1 ? "" : "es", job->micro_batch,
             choice_text(&pw_train_kind, "sharding", job, a, sizeof a),
             choice_text(&pw_train_kind, "recompute", job, b, sizeof b));
    pw_file_text(file, "  split    ");
    pw_layout_wrap(file, 11, WIDTH, line);
}

static void put_answer(const pw_run_report *r, pw_file *file) {
    const pw_train_result *result = r->result;
    char a[64], b[64], c[64], d[64], e[64], f[64], line[700];
    pw_file_print(file, "\n  step     %s, %s tokens/s, %s tokens/s per GPU\n", seconds(result->step_s, a, sizeof a),
                  large(result->tokens_per_s, b, sizeof b), rate(result->tokens_per_s_per_gpu, c, sizeof c));
    snprintf(line, sizeof line, "%.1f %%, %s per GPU (%s; %.1f %% with full attention)", 100 * result->mfu,
             pw_unit_format(result->flops_per_gpu, PW_UNIT_FLOPS, a, sizeof a), result->mfu_convention, 100 * result->mfu_full);
    pw_file_text(file, "  MFU      ");
    pw_layout_wrap(file, 11, WIDTH, line);
    const pw_stage_result *stage = fullest(result);
    if (!stage) return;
    const pw_memory_account *m = &stage->memory;
    snprintf(line, sizeof line,
             "%s of %s GB per GPU on stage %" PRIu32 ", the fullest%s (weights %s, gradients %s, optimizer %s, activations %s, "
             "logits %.1f, buffers %.1f, reserve %.1f)",
             gigabytes(m->total, a, sizeof a), gigabytes(m->capacity, b, sizeof b), stage->stage,
             m->total > m->capacity ? ": DOES NOT FIT" : "", gigabytes(m->weights, c, sizeof c),
             gigabytes(m->gradients, d, sizeof d), gigabytes(m->optimizer, e, sizeof e),
             gigabytes(m->activations, f, sizeof f), m->logits / 1e9, m->buffers / 1e9, m->reserve / 1e9);
    pw_file_text(file, "  memory   ");
    pw_layout_wrap(file, 11, WIDTH, line);
}

static void put_blame(const pw_run_report *r, pw_file *file) {
    const pw_train_result *result = r->result;
    char time[64];
    pw_file_text(file, "\n  where the time goes, along the critical path");
    if (result->stage_count > 1) pw_file_print(file, " as %s saw it", result->home_program);
    pw_file_text(file, "\n");
    int width = 12;
    for (uint32_t i = 0; i < result->part_count; i++)
        if ((int)strlen(result->parts[i].name) > width) width = (int)strlen(result->parts[i].name);
    for (uint32_t i = 0; i < result->part_count; i++) {
        const pw_blame_part *part = &result->parts[i];
        pw_file_print(file, "    %-*s %10s  %5.1f %%", width, part->name, seconds(part->seconds, time, sizeof time),
                      100 * part->share);
        int bar = (int)(part->share * BAR + 0.5);
        if (bar > 0) pw_file_text(file, "  ");
        pw_layout_repeat(file, '#', bar);
        pw_file_text(file, "\n");
    }
}

static void put_stage(const pw_stage_result *stage, pw_file *file) {
    char a[32], b[32], c[32], d[32];
    pw_file_print(file, "    %5" PRIu32 " %7" PRIu32 " %8.1f %12s %14s %12s %12s\n", stage->stage, stage->layers,
                  stage->memory.total / 1e9, seconds(stage->compute_s, a, sizeof a),
                  seconds(stage->communication_s, b, sizeof b), seconds(stage->idle_s, c, sizeof c),
                  seconds(stage->launch_wait_s, d, sizeof d));
}

/* All stages when they are few; else the first, the fullest and the last, and how many lie between. */
static void put_stages(const pw_run_report *r, pw_file *file) {
    const pw_train_result *result = r->result;
    const pw_stage_result *full = fullest(result);
    if (result->stage_count < 2) return;
    pw_file_text(file, "\n    stage  layers  GB/GPU      compute  communication         idle  launch wait\n");
    uint32_t last_shown = 0;
    for (uint32_t i = 0; i < result->stage_count; i++) {
        bool shown = result->stage_count <= MOST_STAGES || i == 0 || i == result->stage_count - 1 || &result->stages[i] == full;
        if (!shown) continue;
        if (i > last_shown + 1) pw_file_print(file, "      ... %" PRIu32 " more\n", i - last_shown - 1);
        put_stage(&result->stages[i], file);
        last_shown = i;
    }
}

static void accuracy_text(const pw_accuracy *accuracy, const char *arch, char *text, size_t size) {
    if (!accuracy->source) {
        snprintf(text, size, "no validation is on file for answers of this kind; `podwright validate training` makes one");
        return;
    }
    bool is_other = strcmp(accuracy->group, "all") == 0;
    if (is_other)
        snprintf(text, size, "unknown: no published run on %s is on file. For comparison, step times on other hardware: ", arch);
    else snprintf(text, size, "step times of this kind (%s): ", accuracy->group);
    size_t length = strlen(text);
    snprintf(text + length, size - length,
             "median error %.1f %%, 9 of 10 within %.1f %%, bias %+.1f %%, over %" PRId64
             " published runs%s%s%s",
             accuracy->median_pct, accuracy->p90_pct, accuracy->bias_pct, accuracy->n,
             *accuracy->source ? " (" : "", accuracy->source, *accuracy->source ? ")" : "");
}

/* One line each, unless all of their words are asked for. */
static void put_notes(const pw_run_report *r, pw_file *file) {
    bool is_cut = false;
    if (r->result->note_count) pw_file_text(file, "\n  notes\n");
    for (uint32_t i = 0; i < r->result->note_count; i++) {
        const char *note = r->result->notes[i];
        size_t length = strlen(note);
        pw_file_text(file, "    ");
        if (r->long_notes || length <= WIDTH - 4) {
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

void pw_report_run_text(const pw_run_report *r, pw_file *file) {
    char line[700];
    put_head(r, file);
    put_answer(r, file);
    put_blame(r, file);
    put_stages(r, file);
    put_notes(r, file);
    accuracy_text(&r->accuracy, r->device->arch, line, sizeof line);
    pw_file_text(file, "\n  accuracy ");
    pw_layout_wrap(file, 11, WIDTH, line);
    pw_file_print(file, "  run      podwright %s, seed %" PRIu64 ", hash %016" PRIx64 "\n", r->version, r->seed, r->result->hash);
}

/* ---- JSON ---- */

static void json_memory(pw_json *json, const pw_memory_account *m) {
    pw_json_object(json, "memory");
    pw_json_number(json, "weights", m->weights);
    pw_json_number(json, "gradients", m->gradients);
    pw_json_number(json, "optimizer", m->optimizer);
    pw_json_number(json, "activations", m->activations);
    pw_json_number(json, "logits", m->logits);
    pw_json_number(json, "buffers", m->buffers);
    pw_json_number(json, "reserve", m->reserve);
    pw_json_number(json, "total", m->total);
    pw_json_number(json, "capacity", m->capacity);
    pw_json_end(json);
}

static void json_lists(pw_json *json, const pw_train_result *result) {
    pw_json_array(json, "blame");
    for (uint32_t i = 0; i < result->part_count; i++) {
        pw_json_object(json, NULL);
        pw_json_text(json, "name", result->parts[i].name);
        pw_json_number(json, "seconds", result->parts[i].seconds);
        pw_json_number(json, "share", result->parts[i].share);
        pw_json_end(json);
    }
    pw_json_end(json);
    pw_json_array(json, "stages");
    for (uint32_t i = 0; i < result->stage_count; i++) {
        const pw_stage_result *stage = &result->stages[i];
        pw_json_object(json, NULL);
        pw_json_integer(json, "stage", stage->stage);
        pw_json_integer(json, "layers", stage->layers);
        pw_json_integer(json, "ranks", stage->ranks);
        pw_json_number(json, "compute_s", stage->compute_s);
        pw_json_number(json, "communication_s", stage->communication_s);
        pw_json_number(json, "idle_s", stage->idle_s);
        pw_json_number(json, "launch_wait_s", stage->launch_wait_s);
        json_memory(json, &stage->memory);
        pw_json_end(json);
    }
    pw_json_end(json);
    pw_json_array(json, "notes");
    for (uint32_t i = 0; i < result->note_count; i++) pw_json_text(json, NULL, result->notes[i]);
    pw_json_end(json);
}

static void json_accuracy(pw_json *json, const pw_accuracy *accuracy) {
    if (!accuracy->source) {
        pw_json_null(json, "accuracy");
        return;
    }
    pw_json_object(json, "accuracy");
    pw_json_text(json, "suite", "training");
    pw_json_text(json, "group", accuracy->group);
    pw_json_integer(json, "n", accuracy->n);
    pw_json_number(json, "bias_pct", accuracy->bias_pct);
    pw_json_number(json, "median_pct", accuracy->median_pct);
    pw_json_number(json, "p90_pct", accuracy->p90_pct);
    pw_json_text(json, "source", accuracy->source);
    pw_json_end(json);
}

/* Every plain number of a result, for JSON and CSV alike. */
static const struct {
    const char *name, *unit;
    size_t offset;
} numbers[] = {{"step_s", "s", offsetof(pw_train_result, step_s)},
               {"tokens_per_s", "tokens/s", offsetof(pw_train_result, tokens_per_s)},
               {"tokens_per_s_per_gpu", "tokens/s", offsetof(pw_train_result, tokens_per_s_per_gpu)},
               {"flops_per_gpu", "flop/s", offsetof(pw_train_result, flops_per_gpu)},
               {"mfu", "", offsetof(pw_train_result, mfu)},
               {"mfu_full", "", offsetof(pw_train_result, mfu_full)},
               {"parameters", "", offsetof(pw_train_result, parameters)}};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static double number_of(const pw_train_result *result, int index) {
    double value;
    memcpy(&value, (const char *)result + numbers[index].offset, sizeof value);
    return value;
}

void pw_report_run_json(const pw_run_report *r, pw_file *file) {
    const pw_train_result *result = r->result;
    char hash[32];
    pw_json json;
    pw_json_begin(&json, file);
    pw_json_object(&json, NULL);
    pw_json_text(&json, "schema", "podwright.run/1");
    pw_json_text(&json, "version", r->version);
    pw_json_integer(&json, "seed", (int64_t)r->seed);
    pw_json_text(&json, "scenario", r->title);
    pw_json_text(&json, "gpu", r->device->name);
    pw_json_object(&json, "cluster");
    pw_report_json_fields(&json, &pw_cluster_kind, r->cluster);
    pw_json_end(&json);
    pw_json_object(&json, "job");
    pw_report_json_fields(&json, &pw_train_kind, r->job);
    pw_json_end(&json);
    pw_json_object(&json, "result");
    for (int i = 0; i < NUMBERS; i++) pw_json_number(&json, numbers[i].name, number_of(result, i));
    pw_json_text(&json, "mfu_convention", result->mfu_convention);
    pw_json_integer(&json, "gpus", result->gpus);
    pw_json_integer(&json, "data_parallel", result->data_parallel);
    pw_json_integer(&json, "micro_batches", result->micro_batches);
    json_lists(&json, result);
    pw_json_end(&json);
    json_accuracy(&json, &r->accuracy);
    snprintf(hash, sizeof hash, "%016" PRIx64, result->hash);
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

void pw_report_run_csv(const pw_run_report *r, pw_file *file) {
    const pw_train_result *result = r->result;
    char name[160];
    pw_file_text(file, "name,value,unit\n");
    for (int i = 0; i < NUMBERS; i++) csv_line(file, numbers[i].name, number_of(result, i), numbers[i].unit);
    csv_line(file, "gpus", (double)result->gpus, "");
    csv_line(file, "data_parallel", (double)result->data_parallel, "");
    csv_line(file, "micro_batches", (double)result->micro_batches, "");
    for (uint32_t i = 0; i < result->part_count; i++) {
        snprintf(name, sizeof name, "blame.%s", result->parts[i].name);
        csv_line(file, name, result->parts[i].seconds, "s");
    }
    for (uint32_t i = 0; i < result->stage_count; i++) {
        const pw_stage_result *stage = &result->stages[i];
        const struct {
            const char *name, *unit;
            double value;
        } columns[] = {{"layers", "", stage->layers}, {"compute", "s", stage->compute_s},
                       {"communication", "s", stage->communication_s}, {"idle", "s", stage->idle_s},
                       {"launch_wait", "s", stage->launch_wait_s}, {"memory", "bytes", stage->memory.total}};
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            snprintf(name, sizeof name, "stage.%" PRIu32 ".%s", stage->stage, columns[k].name);
            csv_line(file, name, columns[k].value, columns[k].unit);
        }
    }
    csv_line(file, "seed", (double)r->seed, "");
}
