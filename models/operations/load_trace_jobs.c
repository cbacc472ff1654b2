/* What changes when. A cycle is the phases of a load; a run is a cycle on some nodes, and has one event: its next phase. Random jobs are
 * runs that end; the next job is drawn beforehand and starts, on the first free nodes, when it fits. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/operations/load_trace_internal.h"
#include "sim/csv.h"
#include "sim/math.h"
#include "sim/random.h"
#include "sim/text.h"

typedef struct cycle {
    const uint32_t *loads; /* numbers */
    const pw_time *lasts;
    uint32_t count;
    pw_time total;
} cycle;

typedef struct run {
    const cycle *cycle;
    uint32_t position, node_count;
    const uint32_t *list; /* its nodes; NULL: from first on */
    uint32_t first;
    pw_time end;
    trace *owner;
} run;

typedef struct row {
    pw_time time;
    uint32_t node, nodes, load;
} row;

struct trace_jobs {
    cycle *mix;
    uint32_t mix_count;
    pw_random random;
    uint8_t *taken; /* nodes */
    uint32_t in_use, most;
    uint32_t next_nodes, next_cycle;
    pw_time next_lasts, next_shift;
    row *rows;
    size_t row_count, row_next;
};

static pw_status no_memory(pw_error *error) { return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the jobs of a load trace"); }

static pw_status make_cycle(trace *t, const pw_load_desc *load, cycle *c, pw_error *error) {
    uint32_t *loads = pw_arena_alloc(t->arena, load->phases.count * sizeof *loads);
    pw_time *lasts = pw_arena_alloc(t->arena, load->phases.count * sizeof *lasts);
    if (!loads || !lasts) return no_memory(error);
    *c = (cycle){loads, lasts, load->phases.count, 0};
    const pw_one_of *phases = load->phases.items;
    for (uint32_t i = 0; i < c->count; i++) {
        const pw_load_phase_desc *phase = phases[i].record;
        PW_TRY(trace_find_load(t, phase, &loads[i], error));
        lasts[i] = pw_sim_ticks(t->sim, phase->lasts_s);
        c->total = pw_time_add(c->total, lasts[i]);
    }
    return PW_OK;
}

static void set_nodes(run *r, uint32_t load) {
    for (uint32_t i = 0; i < r->node_count; i++) trace_set(r->owner, r->list ? r->list[i] : r->first + i, load);
    trace_changed(r->owner);
}

static void start_waiting(trace *t);

static void next_phase(pw_sim *sim, void *object, uint64_t argument) {
    run *r = object;
    pw_time now = pw_sim_now(sim);
    (void)argument;
    if (now >= r->end) {
        set_nodes(r, TRACE_IDLE);
        if (!r->list) return;
        trace_jobs *jobs = r->owner->jobs;
        for (uint32_t i = 0; i < r->node_count; i++) jobs->taken[r->list[i]] = 0;
        jobs->in_use -= r->node_count;
        start_waiting(r->owner);
        return;
    }
    uint32_t position = r->position;
    r->position = (position + 1) % r->cycle->count;
    set_nodes(r, r->cycle->loads[position]);
    pw_time at = r->cycle->count == 1 ? r->end : pw_time_add(now, r->cycle->lasts[position]);
    pw_event_at(sim, at < r->end ? at : r->end, 0, next_phase, r, 0);
}

/* Begins `shift` into the cycle; the first phase is then what is left of it. */
static void begin(pw_sim *sim, void *object, uint64_t argument) {
    run *r = object;
    pw_time shift = (pw_time)argument % r->cycle->total;
    while (shift >= r->cycle->lasts[r->position]) shift -= r->cycle->lasts[r->position++];
    uint32_t position = r->position;
    r->position = (position + 1) % r->cycle->count;
    set_nodes(r, r->cycle->loads[position]);
    pw_time at = r->cycle->count == 1 ? r->end : pw_time_add(pw_sim_now(sim), r->cycle->lasts[position] - shift);
    pw_event_at(sim, at < r->end ? at : r->end, 0, next_phase, r, 0);
}

/* ---- Loads on given nodes ---- */

static pw_status check_nodes(const trace *t, const pw_load_desc *load, uint32_t number, uint8_t *taken, pw_error *error) {
    int64_t nodes = load->nodes ? load->nodes : (int64_t)t->nodes - load->first_node;
    if (load->first_node + nodes > t->nodes || nodes < 1)
        return pw_fail(error, PW_BAD_INPUT, t->options->file, t->options->line, NULL, "load_trace.loads[%u].%s: the cluster has %u nodes, 0 to %u", number,
                       load->nodes ? "nodes" : "first_node", t->nodes, t->nodes - 1);
    for (int64_t n = load->first_node; n < load->first_node + nodes; n++) {
        if (taken[n])
            return pw_fail(error, PW_BAD_INPUT, t->options->file, t->options->line, "one load for each node; a load may have many phases",
                           "load_trace.loads[%u]: node %" PRId64 " has a load already", number, n);
        taken[n] = 1;
    }
    return PW_OK;
}

static pw_status start_loads(trace *t, pw_error *error) {
    const pw_one_of *loads = t->desc->loads.items;
    uint8_t *taken = pw_arena_alloc(t->arena, t->nodes);
    if (!taken) return no_memory(error);
    for (uint32_t i = 0; i < t->desc->loads.count; i++) {
        const pw_load_desc *load = loads[i].record;
        PW_TRY(check_nodes(t, load, i + 1, taken, error));
        cycle *c = pw_arena_alloc(t->arena, sizeof *c);
        run *r = pw_arena_alloc(t->arena, sizeof *r);
        if (!c || !r) return no_memory(error);
        PW_TRY(make_cycle(t, load, c, error));
        pw_time start = pw_sim_ticks(t->sim, load->start_s);
        *r = (run){.cycle = c, .first = (uint32_t)load->first_node, .owner = t, .end = PW_TIME_MAX,
                   .node_count = (uint32_t)(load->nodes ? load->nodes : (int64_t)t->nodes - load->first_node)};
        if (!isnan(load->lasts_s)) r->end = pw_time_add(start, pw_sim_ticks(t->sim, load->lasts_s));
        pw_event_at(t->sim, start, 0, begin, r, (uint64_t)pw_sim_ticks(t->sim, load->shift_s));
    }
    t->result->jobs = t->desc->loads.count;
    return PW_OK;
}

/* ---- Random jobs ---- */

static void draw_next(trace *t) {
    trace_jobs *j = t->jobs;
    const pw_random_jobs_desc *d = t->desc->random;
    double nodes = 1;
    if (d->nodes > 1) nodes += floor(pw_log(1 - pw_random_uniform(&j->random)) / pw_log(1 - 1 / d->nodes));
    j->next_nodes = nodes < j->most ? (uint32_t)nodes : j->most;
    j->next_lasts = pw_sim_ticks(t->sim, pw_random_exponential(&j->random, d->lasts_s));
    j->next_cycle = (uint32_t)pw_random_below(&j->random, j->mix_count);
    j->next_shift = (pw_time)pw_random_below(&j->random, (uint64_t)j->mix[j->next_cycle].total);
}

/* Nodes are free at the end of an event that began before, so all of this happens at one instant. */
static void start_waiting(trace *t) {
    trace_jobs *j = t->jobs;
    while (j->in_use + j->next_nodes <= j->most) {
        run *r = pw_arena_alloc(t->arena, sizeof *r);
        uint32_t *list = pw_arena_alloc(t->arena, j->next_nodes * sizeof *list), found = 0;
        if (!r || !list) {
            pw_sim_fail(t->sim, PW_NO_MEMORY, NULL, "no memory for the jobs of a load trace");
            return;
        }
        for (uint32_t n = 0; n < t->nodes && found < j->next_nodes; n++)
            if (!j->taken[n]) j->taken[n] = 1, list[found++] = n;
        *r = (run){.cycle = &j->mix[j->next_cycle], .list = list, .node_count = found, .owner = t,
                   .end = pw_time_add(pw_sim_now(t->sim), j->next_lasts > 0 ? j->next_lasts : 1)};
        j->in_use += found;
        t->result->jobs++;
        pw_event_soon(t->sim, begin, r, (uint64_t)j->next_shift);
        draw_next(t);
    }
}

static pw_status start_random(trace *t, pw_error *error) {
    const pw_random_jobs_desc *d = t->desc->random;
    const pw_one_of *mix = d->mix.items;
    trace_jobs *j = t->jobs;
    j->mix_count = d->mix.count;
    j->mix = pw_arena_alloc(t->arena, d->mix.count * sizeof *j->mix);
    j->taken = pw_arena_alloc(t->arena, t->nodes);
    if (!j->mix || !j->taken) return no_memory(error);
    for (uint32_t i = 0; i < d->mix.count; i++) PW_TRY(make_cycle(t, mix[i].record, &j->mix[i], error));
    j->most = (uint32_t)fmax(1, floor(d->share * t->nodes));
    j->random = pw_random_stream(t->options->seed, "load trace jobs", 0);
    draw_next(t);
    start_waiting(t);
    return PW_OK;
}

/* ---- Rows of a file ---- */

static void next_row(pw_sim *sim, void *object, uint64_t argument) {
    trace *t = object;
    trace_jobs *j = t->jobs;
    (void)argument;
    while (j->row_next < j->row_count && j->rows[j->row_next].time <= pw_sim_now(sim)) {
        const row *r = &j->rows[j->row_next++];
        for (uint32_t n = 0; n < r->nodes; n++) trace_set(t, r->node + n, r->load);
    }
    trace_changed(t);
    if (j->row_next < j->row_count) pw_event_at(sim, j->rows[j->row_next].time, 0, next_row, t, 0);
}

static pw_status read_row(trace *t, const pw_csv *csv, const int columns[4], row *r, pw_error *error) {
    double time_s;
    int64_t node, nodes;
    pw_load_phase_desc phase;
    char name[128];
    PW_TRY(pw_csv_number(csv, columns[0], &time_s, error));
    PW_TRY(pw_csv_integer(csv, columns[1], &node, error));
    PW_TRY(pw_csv_integer(csv, columns[2], &nodes, error));
    if (!(time_s >= 0) || !isfinite(time_s)) return pw_csv_fail(csv, columns[0], NULL, error, "a time of %g s", time_s);
    if (node < 0 || nodes < 1 || node + nodes > t->nodes)
        return pw_csv_fail(csv, columns[1], NULL, error, "nodes %" PRId64 " to %" PRId64 " of %u", node, node + nodes - 1, t->nodes);
    PW_TRY(pw_description_defaults(&pw_load_phase_kind, &phase, t->arena, error));
    snprintf(name, sizeof name, "%s", pw_csv_text(csv, columns[3]));
    if (pw_load_phase_preset(t->catalogue, name, &phase, t->arena, error) != PW_OK)
        return pw_csv_fail(csv, columns[3], "`podwright catalogue load-phases` lists them", error, "no row of load-phases is called '%s'", name);
    *r = (row){pw_sim_ticks(t->sim, time_s), (uint32_t)node, (uint32_t)nodes, 0};
    return trace_find_load(t, &phase, &r->load, error);
}

static pw_status read_rows(trace *t, pw_csv *csv, pw_error *error) {
    static const char *const names[] = {"time_s", "node", "nodes", "phase"};
    trace_jobs *j = t->jobs;
    size_t room = 0;
    int columns[4];
    for (int i = 0; i < 4; i++) PW_TRY(pw_csv_column(csv, names[i], &columns[i], error));
    for (bool more = true;;) {
        PW_TRY(pw_csv_next(csv, &more, error));
        if (!more) return PW_OK;
        if (j->row_count == room) {
            row *grown = pw_arena_alloc(t->arena, (room ? 2 * room : 256) * sizeof *grown);
            if (!grown) return no_memory(error);
            if (room) memcpy(grown, j->rows, room * sizeof *grown);
            j->rows = grown;
            room = room ? 2 * room : 256;
        }
        row *r = &j->rows[j->row_count];
        PW_TRY(read_row(t, csv, columns, r, error));
        if (j->row_count && r->time < r[-1].time) return pw_csv_fail(csv, columns[0], "sort the rows by time", error, "time falls");
        j->row_count++;
    }
}

static pw_status start_file(trace *t, pw_error *error) {
    pw_csv *csv;
    pw_status status = pw_csv_open(t->desc->file, NULL, t->allocator, &csv, error);
    if (status != PW_OK) {
        if (error && (status == PW_IO || status == PW_NOT_FOUND)) error->status = PW_BAD_INPUT; /* the user named this file */
        return error ? error->status : PW_BAD_INPUT;
    }
    status = read_rows(t, csv, error);
    pw_csv_close(csv);
    if (status == PW_OK && !t->jobs->row_count)
        status = pw_fail(error, PW_BAD_INPUT, t->desc->file, 0, NULL, "the file has no rows: nothing changes");
    if (status == PW_OK) pw_event_at(t->sim, t->jobs->rows[0].time, 0, next_row, t, 0);
    return status;
}

pw_status trace_start_jobs(trace *t, pw_error *error) {
    t->jobs = pw_arena_alloc(t->arena, sizeof *t->jobs);
    if (!t->jobs) return no_memory(error);
    if (t->desc->random) return start_random(t, error);
    if (t->desc->loads.count) return start_loads(t, error);
    return start_file(t, error);
}
