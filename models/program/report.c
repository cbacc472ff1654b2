/* Spans: one track per stream and host below one per rank class, below one per program. Costs nothing without a sink. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/program/report.h"
#include "models/program/run.h"

/* Segments of one name get their number behind it, so that a label says which segment it was (blame.c relies on it). */
void pw_segment_label(const pw_job *job, uint32_t segment, bool repeated, char *text, size_t size) {
    if (repeated)
        snprintf(text, size, "%s (%u)", job->segments[segment].name, segment);
    else
        snprintf(text, size, "%s", job->segments[segment].name);
}

static int compare_names(const void *left, const void *right, void *object) {
    const pw_job *job = object;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = strcmp(job->segments[a].name, job->segments[b].name);
    return order ? order : a < b ? -1 : a > b;
}

bool pw_segments_repeated(const pw_allocator *allocator, const pw_job *job, bool *repeated) {
    uint32_t count = job->segment_count;
    uint32_t *order = pw_alloc(allocator, (count + 1) * sizeof *order);
    if (!order) return false;
    for (uint32_t s = 0; s < count; s++) {
        order[s] = s;
        repeated[s] = false;
    }
    qsort_r(order, count, sizeof *order, compare_names, (void *)job);
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(job->segments[order[i - 1]].name, job->segments[order[i]].name) == 0)
            repeated[order[i - 1]] = repeated[order[i]] = true;
    pw_free(allocator, order, (count + 1) * sizeof *order);
    return true;
}

static pw_status no_memory(const pw_executor *x, pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the records of \"%s\"", x->job->name);
}

static pw_status prepare_names(pw_executor *x, pw_error *error) {
    pw_recorder *recorder = x->config.recorder;
    const pw_job *job = x->job;
    record_names *names = &x->names;
    char text[256];
    const struct { pw_name *name; const char *text; } fixed[] = {
        {&names->launch, "launch"}, {&names->wait, "wait"},   {&names->send, "send"}, {&names->recv, "recv"},
        {&names->delay, "delay"},   {&names->host, "host"}, {&names->io, "io"},   {&names->quorum, "quorum"}, {&names->copies[0], "copy to device"},
        {&names->copies[1], "copy to host"}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (!(*fixed[i].name = pw_record_name(recorder, fixed[i].text))) return no_memory(x, error);
    names->categories = pw_arena_alloc(x->arena, (job->category_count + 1) * sizeof *names->categories);
    names->segments = pw_arena_alloc(x->arena, (job->segment_count + 1) * sizeof *names->segments);
    names->collectives =
        pw_arena_alloc(x->arena, (job->group_role_count + 1) * PW_COLLECTIVE_KIND_COUNT * sizeof *names->collectives);
    bool *repeated = pw_arena_alloc(x->arena, job->segment_count + 1);
    if (!names->categories || !names->segments || !names->collectives || !repeated ||
        !pw_segments_repeated(&x->allocator, job, repeated))
        return no_memory(x, error);
    for (uint32_t c = 0; c < job->category_count; c++)
        if (!(names->categories[c] = pw_record_name(recorder, job->categories[c].name))) return no_memory(x, error);
    for (uint32_t s = 0; s < job->segment_count; s++) {
        pw_segment_label(job, s, repeated[s], text, sizeof text);
        if (!(names->segments[s] = pw_record_name(recorder, text))) return no_memory(x, error);
    }
    for (uint32_t r = 0; r < job->group_role_count; r++)
        for (int k = 0; k < PW_COLLECTIVE_KIND_COUNT; k++) {
            pw_name *name = &names->collectives[r * PW_COLLECTIVE_KIND_COUNT + (uint32_t)k];
            snprintf(text, sizeof text, "%s %s", job->group_roles[r].name, pw_collective_names[k]);
            if (!(*name = pw_record_name(recorder, text))) return no_memory(x, error);
        }
    return PW_OK;
}

/* Tracks of one name are one track, and programs are told apart by theirs (blame.c). */
static void program_text(const pw_job *job, uint32_t program, char *text, size_t size) {
    const char *name = job->programs[program].name;
    uint32_t other = 0;
    while (other < job->program_count && (other == program || strcmp(job->programs[other].name, name))) other++;
    snprintf(text, size, other < job->program_count ? "%s (%u)" : "%s", name, program);
}

pw_status report_prepare(pw_executor *x, pw_error *error) {
    pw_recorder *recorder = x->config.recorder;
    x->recording = pw_recorder_active(recorder);
    if (!x->recording) return PW_OK;
    PW_TRY(prepare_names(x, error));
    pw_track *programs = pw_arena_alloc(x->arena, (x->job->program_count + 1) * sizeof *programs);
    if (!programs) return no_memory(x, error);
    char text[256];
    for (uint32_t c = 0; c < x->fold->class_count; c++) {
        rank_run *rank = &x->ranks[c];
        if (!programs[rank->info.program]) {
            program_text(x->job, rank->info.program, text, sizeof text);
            programs[rank->info.program] = pw_record_track(recorder, 0, text);
            if (!programs[rank->info.program]) return no_memory(x, error);
        }
        if (rank->info.multiplicity > 1)
            snprintf(text, sizeof text, "rank %u (x %u)", rank->info.representative, rank->info.multiplicity);
        else
            snprintf(text, sizeof text, "rank %u", rank->info.representative);
        pw_track own = pw_record_track(recorder, programs[rank->info.program], text);
        if (!own) return no_memory(x, error);
        rank->host_track = pw_record_track(recorder, own, "host");
        rank->tracks = pw_arena_alloc(x->arena, (x->job->streams + 1u) * sizeof *rank->tracks);
        if (!rank->host_track || !rank->tracks) return no_memory(x, error);
        for (uint32_t s = 0; s < x->job->streams; s++) {
            snprintf(text, sizeof text, "stream %u", s);
            if (!(rank->tracks[s] = pw_record_track(recorder, own, text))) return no_memory(x, error);
        }
    }
    return PW_OK;
}

pw_span_id report_span(pw_executor *x, uint32_t rank_class, pw_track track, pw_name category, pw_name label,
                       pw_time start, pw_time end, pw_span_id cause) {
    if (!x->recording) return 0;
    pw_span span = {.cause = cause,
                    .track = track,
                    .category = category,
                    .label = label,
                    .start = start - x->origin,
                    .end = end - x->origin,
                    .weight = x->ranks[rank_class].info.multiplicity};
    return pw_record_span(x->config.recorder, &span);
}

static pw_name mark_name(const pw_executor *x, const char *text) {
    if (!text) return 0;
    pw_name name = pw_record_name(x->config.recorder, text);
    if (name == 0) pw_sim_fail(x->config.sim, PW_NO_MEMORY, NULL, "no memory for the records of \"%s\"", x->job->name);
    return name;
}

static pw_name label_of(const pw_executor *x, const pw_op *op) {
    switch (op->kind) {
        case PW_OP_COMPUTE: return x->names.segments[op->compute.segment];
        case PW_OP_IO: return x->names.io;
        case PW_OP_COPY: return x->names.copies[op->copy.to_host];
        case PW_OP_SEND: return x->names.send;
        case PW_OP_RECV: return x->names.recv;
        case PW_OP_COLLECTIVE:
            return x->names.collectives[op->collective.group_role * PW_COLLECTIVE_KIND_COUNT + (uint32_t)op->collective.kind];
        case PW_OP_QUORUM: return x->names.quorum;
        case PW_OP_DELAY: return x->names.delay;
        case PW_OP_MARK: return mark_name(x, op->mark.name);
        default: return 0;
    }
}

pw_span_id report_op(pw_executor *x, const op_run *op, pw_time start) {
    if (!x->recording) return 0;
    return report_span(x, op->rank_class, x->ranks[op->rank_class].tracks[op->op.stream],
                       x->names.categories[op->op.category], label_of(x, &op->op), start, pw_sim_now(x->config.sim),
                       op->cause);
}

void report_wait(pw_executor *x, const op_run *op, pw_time start) {
    if (!x->recording || start == pw_sim_now(x->config.sim)) return;
    report_span(x, op->rank_class, x->ranks[op->rank_class].tracks[op->op.stream], x->names.wait, label_of(x, &op->op), start,
                pw_sim_now(x->config.sim), op->cause);
}
