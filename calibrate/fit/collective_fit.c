/* The fit of collectives, in turns: rings and in-switch reduction of each generation in one domain, then its messages, then what the
 * network adds, over all generations at once, then other network stacks. Each turn varies a few values and evaluates the very cost
 * model that is simulated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/collective_model.h"
#include "calibrate/fit/collective_points.h"
#include "calibrate/fit/fit.h"
#include "calibrate/fit/tables.h"
#include "calibrate/fit/robust.h"

static const double knee = 0.06; /* errors beyond 6 % count linearly */
static const char source[] = "fitted by podwright-fit to the fit rows of tests/validation/data/collectives-measured.csv, NCCL 2.18 to 2.30";
enum { GENERATIONS = 5, STACKS = 8, LAUNCHES = 16, STARTS = 6 };

typedef struct generation {
    generation_values v;
    collective_row_text texts[COLLECTIVE_ROWS];
    parameter_row rows[COLLECTIVE_ROWS];
    pw_error_summary summaries[COLLECTIVE_ROWS];
    size_t count;
} generation;

typedef struct stack_values {
    parameter_stack stack;
    double hop_s[2], share[2];
} stack_values;

typedef struct launch_values { /* XLA's run-time */
    const char *generation, *host;
    double added_s, exchange_s;
} launch_values;

typedef struct study {
    generation generations[GENERATIONS];
    network_values network;
    stack_values stacks[STACKS];
    int stack_count;
    launch_values launches[LAUNCHES];
    int launch_count;
    pw_collective_points points;
    FILE *report;
} study;

/* --- Trying values --------------------------------------------------------------------------------------------------- */

static generation *generation_of(study *s, const pw_bench *bench) {
    const char *arch = pw_cluster_device(bench->cluster)->arch;
    generation *found = NULL;
    for (int g = 0; g < GENERATIONS; g++) {
        size_t length = strlen(s->generations[g].v.name);
        if (strncmp(arch, s->generations[g].v.name, length) || (arch[length] && arch[length] != ' ')) continue;
        if (!found || length > strlen(found->v.name)) found = &s->generations[g];
    }
    return found;
}

static void rebuild(study *s) {
    for (int i = 0; i < GENERATIONS; i++) {
        generation *g = &s->generations[i];
        g->count = collective_rows(&g->v, &s->network, g->texts);
        for (size_t r = 0; r < g->count; r++) g->rows[r] = g->texts[r].row;
    }
}

static launch_values *launch_of(study *s, const pw_bench *bench) {
    const generation *g = generation_of(s, bench);
    if (strcmp(bench->words[PW_BENCH_launch], "xla") || !g) return NULL;
    for (int l = 0; l < s->launch_count; l++)
        if (!strcmp(s->launches[l].generation, g->v.name) && !strcmp(s->launches[l].host, pw_cluster_host(bench->cluster))) return &s->launches[l];
    return NULL;
}

static stack_values *stack_of(study *s, const pw_bench *bench) {
    for (int i = 0; i < s->stack_count; i++)
        if (!strcmp(s->stacks[i].stack.name, bench->stack)) return &s->stacks[i];
    return NULL;
}

static double time_of(study *s, const pw_collective_point *p) {
    double seconds;
    const launch_values *launch = launch_of(s, p->bench);
    stack_values *stack = stack_of(s, p->bench);
    if (launch) collectives_try_launch(p->bench->collectives, launch->added_s, launch->exchange_s);
    if (stack && p->bench->shape.domains > 1) {
        for (int i = 0; i < 2; i++) stack->stack.hop_s[i] = stack->hop_s[i], stack->stack.share[i] = stack->share[i];
        collectives_try_stack(p->bench->collectives, &stack->stack);
    }
    return pw_bench_time(p->bench, p->kind, p->bytes, &seconds, NULL) == PW_OK ? seconds : NAN;
}

/* --- A turn ---------------------------------------------------------------------------------------------------------- */

typedef struct vary {
    double *value, low, high;
} vary;

typedef struct turn {
    study *s;
    const char *name;
    const generation *only; /* NULL: all */
    bool (*wants)(const study *s, const pw_collective_point *point);
    const char *stack;      /* benches of this stack */
    vary varied[PW_FIT_MAX_PARAMETERS];
    size_t count;
    const pw_collective_point **points;
    size_t rows;
} turn;

static void put(turn *t, double *value, double low, double high) { t->varied[t->count++] = (vary){value, low, high}; }

static bool is_of(turn *t, const pw_collective_point *p) {
    if (t->only && generation_of(t->s, p->bench) != t->only) return false;
    return !strcmp(p->bench->stack, t->stack) && t->wants(t->s, p);
}

static void predict(void *context, const double *values, double *predicted) {
    turn *t = context;
    for (size_t i = 0; i < t->count; i++) *t->varied[i].value = values[i];
    rebuild(t->s);
    for (size_t i = 0; i < t->rows; i++) predicted[i] = time_of(t->s, t->points[i]);
}

static pw_status summarise(turn *t, bool check, pw_error_summary *summary, pw_error *error) {
    double *errors = malloc((t->s->points.count + 1) * sizeof *errors);
    size_t count = 0;
    if (!errors) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the errors of a fit");
    for (size_t i = 0; i < t->s->points.count; i++) {
        const pw_collective_point *p = &t->s->points.points[i];
        if (p->check == check && is_of(t, p)) errors[count++] = time_of(t->s, p) / p->seconds - 1;
    }
    *summary = (pw_error_summary){0};
    pw_status status = count ? pw_errors_summarise(errors, count, NULL, summary) : PW_OK;
    free(errors);
    if (status == PW_OK && count)
        fprintf(t->s->report, "%-34s %-6s %6zu %7.1f %6.1f %7.1f %7.1f\n", t->name, check ? "check" : "fit", summary->count,
                100 * summary->bias, 100 * summary->mean, 100 * summary->median, 100 * summary->p90);
    return status;
}

static pw_status run(turn *t, double *cost, pw_error_summary *summary, pw_error *error) {
    double low[PW_FIT_MAX_PARAMETERS], high[PW_FIT_MAX_PARAMETERS], guess[PW_FIT_MAX_PARAMETERS];
    bool held[PW_FIT_MAX_PARAMETERS] = {false};
    size_t most = t->s->points.count + 1;
    double *measured = malloc(most * sizeof *measured);
    t->points = malloc(most * sizeof(void *));
    t->rows = 0;
    pw_fit_result result;
    pw_status status = measured && t->points ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a fit");
    for (size_t i = 0; status == PW_OK && i < t->s->points.count; i++) {
        const pw_collective_point *p = &t->s->points.points[i];
        if (p->check || !is_of(t, p)) continue;
        t->points[t->rows] = p;
        measured[t->rows++] = p->seconds;
    }
    for (size_t i = 0; i < t->count; i++) low[i] = t->varied[i].low, high[i] = t->varied[i].high, guess[i] = *t->varied[i].value;
    pw_fit_problem problem = {.rows = t->rows, .parameters = t->count, .low = low, .high = high, .guess = guess, .held = held,
                              .measured = measured, .predict = predict, .context = t, .knee = knee, .starts = STARTS};
    if (status == PW_OK) status = pw_fit_robust(&problem, &result, error);
    if (status == PW_OK) {
        for (size_t i = 0; i < t->count; i++) *t->varied[i].value = result.value[i];
        rebuild(t->s);
        *cost = result.cost;
        status = summarise(t, false, summary, error);
    }
    if (status == PW_OK) {
        pw_error_summary check;
        status = summarise(t, true, &check, error);
    }
    free(measured);
    free(t->points);
    return status;
}

/* --- Which points ---------------------------------------------------------------------------------------------------- */

static bool is_ring_kind(int kind) {
    return kind == PW_COLLECTIVE_ALL_REDUCE || kind == PW_COLLECTIVE_ALL_GATHER || kind == PW_COLLECTIVE_REDUCE_SCATTER;
}
static bool is_message_kind(int kind) { return kind == PW_COLLECTIVE_ALL_TO_ALL || kind == PW_COLLECTIVE_SEND_RECV; }
/* Over NVLink where the generation has it: its rows are scaled to servers without. */
static bool is_in_domain(const study *s, const pw_collective_point *p) {
    const generation *g = generation_of((study *)s, p->bench);
    return p->bench->shape.domains == 1 && (!g || !g->v.has_network || pw_cluster_scaleup_Bps(p->bench->cluster) > 0);
}
static bool rings_in_domain(const study *s, const pw_collective_point *p) { return is_in_domain(s, p) && is_ring_kind(p->kind); }
static bool messages_in_domain(const study *s, const pw_collective_point *p) { return is_in_domain(s, p) && is_message_kind(p->kind); }
static bool is_known(const study *s, const pw_collective_point *p) {
    generation *g = generation_of((study *)s, p->bench);
    return p->bench->shape.domains > 1 && g && g->v.has_network;
}
static bool collects_between(const study *s, const pw_collective_point *p) { return is_known(s, p) && is_ring_kind(p->kind); }
static bool sends_between(const study *s, const pw_collective_point *p) { return is_known(s, p) && p->kind == PW_COLLECTIVE_SEND_RECV; }
static bool any_between(const study *s, const pw_collective_point *p) {
    (void)s;
    return p->bench->shape.domains > 1 && is_ring_kind(p->kind);
}

/* --- The turns ------------------------------------------------------------------------------------------------------- */

static const double us = 1e-6, GBps = 1e9;

/* The summary of a turn goes to the rows of its scope and kinds. */
static void note(generation *g, const char *scope, bool messages, const pw_error_summary *summary) {
    for (size_t r = 0; r < g->count; r++) {
        int kind = g->texts[r].row.kind;
        bool is_message = !(is_ring_kind(kind) || kind == PW_COLLECTIVE_BROADCAST || kind == PW_COLLECTIVE_REDUCE || kind == PW_COLLECTIVE_BARRIER);
        if (!strcmp(g->texts[r].scope, scope) && is_message == messages) g->summaries[r] = *summary;
    }
}

static pw_status fit_rings(study *s, generation *g, pw_error *error) {
    turn t = {.s = s, .name = g->v.name, .only = g, .wants = rings_in_domain, .stack = ""};
    char name[80];
    double cost;
    pw_error_summary summary;
    snprintf(name, sizeof name, "%s, one domain", g->v.name);
    t.name = name;
    for (int k = 0; k < 3; k++) put(&t, &g->v.own[k], 1e-3, 3);
    for (int j = 0; j < g->v.pieces; j++) {
        put(&t, &g->v.start[j], (j ? 0.1 : 1) * us, (j ? 100 : 40) * us);
        put(&t, &g->v.hop[j], 0.05 * us, 25 * us);
        put(&t, &g->v.rate_Bps[j], 0.5 * GBps, 1200 * GBps);
    }
    for (int j = 0; j < g->v.switches; j++) {
        put(&t, &g->v.switch_start[j], 5 * us, 600 * us);
        put(&t, &g->v.switch_member[j], 1e-3 * us, 20 * us);
        put(&t, &g->v.switch_Bps[j], 50 * GBps, 700 * GBps);
    }
    for (int l = 0; l < s->launch_count; l++)
        if (!strcmp(s->launches[l].generation, g->v.name)) put(&t, &s->launches[l].added_s, 0.01 * us, 60 * us);
    PW_TRY(run(&t, &cost, &summary, error));
    note(g, "one_domain", false, &summary);
    return PW_OK;
}

/* Where threads change from LL to Simple is one of two sizes: the one that fits better. */
static pw_status fit_messages(study *s, generation *g, pw_error *error) {
    static const double sizes[] = {1048576, 32768};
    generation_values first = g->v;
    generation_values best = g->v;
    launch_values launches[LAUNCHES], best_launches[LAUNCHES];
    memcpy(launches, s->launches, sizeof launches);
    double least = INFINITY;
    pw_error_summary summary, kept = {0};
    for (int choice = 0; choice < 2; choice++) {
        turn t = {.s = s, .only = g, .wants = messages_in_domain, .stack = ""};
        char name[80];
        double cost;
        snprintf(name, sizeof name, "%s, messages, threads %g KiB", g->v.name, sizes[choice] / 1024);
        t.name = name;
        g->v = first;
        memcpy(s->launches, launches, sizeof launches);
        g->v.change_bytes[0] = sizes[0];
        g->v.change_bytes[1] = sizes[choice];
        put(&t, &g->v.message_start, 2 * us, 40 * us);
        put(&t, &g->v.peer, 1e-3 * us, 3 * us);
        put(&t, &g->v.channel_small_Bps, 0.1 * GBps, 30 * GBps);
        for (int i = 0; i < 2; i++) {
            put(&t, &g->v.large_start[i], 0.1 * us, (i ? 200 : 60) * us);
            put(&t, &g->v.channel_large_Bps[i], 0.5 * GBps, 45 * GBps);
        }
        put(&t, &g->v.large_peer, 1e-3 * us, 12 * us);
        put(&t, &g->v.messages_Bps, 5 * GBps, 1000 * GBps);
        for (int l = 0; l < s->launch_count; l++)
            if (!strcmp(s->launches[l].generation, g->v.name)) put(&t, &s->launches[l].exchange_s, 0.01 * us, 60 * us);
        PW_TRY(run(&t, &cost, &summary, error));
        if (cost >= least) continue;
        least = cost;
        best = g->v;
        memcpy(best_launches, s->launches, sizeof best_launches);
        kept = summary;
    }
    g->v = best;
    memcpy(s->launches, best_launches, sizeof best_launches);
    rebuild(s);
    note(g, "one_domain", true, &kept);
    return PW_OK;
}

static pw_status fit_network(study *s, pw_error *error) {
    network_values *n = &s->network;
    pw_error_summary summary;
    double cost;
    turn t = {.s = s, .name = "rings and trees between domains", .wants = collects_between, .stack = ""};
    put(&t, &n->ring_hop[0], 0.5 * us, 40 * us);
    put(&t, &n->ring_share[0], 0.01, 1);
    put(&t, &n->ring_hop[1], 5 * us, 100 * us);
    for (int p = 0; p < 3; p++) {
        put(&t, &n->tree_hop[p], (p == 2 ? 5 : 0.5) * us, (p == 2 ? 300 : 80) * us);
        put(&t, &n->tree_share[p], 0.01, 1);
    }
    for (int g = 0; g < GENERATIONS; g++)
        if (s->generations[g].v.has_network && s->generations[g].v.switches)
            put(&t, &s->generations[g].v.switch_network_Bps, 100 * GBps, 700 * GBps);
    PW_TRY(run(&t, &cost, &summary, error));
    turn sends = {.s = s, .name = "messages between domains", .wants = sends_between, .stack = ""};
    for (int p = 0; p < 2; p++) {
        put(&sends, &n->message_start[p], 2 * us, 100 * us);
        put(&sends, &n->message_share[p], 0.005, 1);
    }
    pw_error_summary of_sends;
    PW_TRY(run(&sends, &cost, &of_sends, error));
    for (int i = 0; i < GENERATIONS; i++) {
        generation *g = &s->generations[i];
        note(g, "several_domains", true, &of_sends);
        note(g, "several_domains", false, &summary);
    }
    return PW_OK;
}

static pw_status fit_stacks(study *s, pw_error *error) {
    for (int i = 0; i < s->stack_count; i++) {
        stack_values *v = &s->stacks[i];
        turn t = {.s = s, .name = v->stack.name, .wants = any_between, .stack = v->stack.name};
        pw_error_summary summary;
        double cost;
        for (int p = 0; p < 2; p++) {
            put(&t, &v->hop_s[p], 1 * us, 2000 * us);
            put(&t, &v->share[p], 0.005, 1);
        }
        PW_TRY(run(&t, &cost, &summary, error));
        /* Rings at the port's rate were published over this stack alone in a healthy state; verbs get the same share. */
        if (!strcmp(v->stack.name, "tcpxo")) s->network.ring_share[1] = v->share[1];
    }
    return PW_OK;
}

/* --- Where a fit begins, and the tables --------------------------------------------------------------------------------- */

/* Begin near NCCL's own constants: hops of a microsecond, channels of the link's rate. */
static void begin_generation(generation *g, const char *name, int pieces, int low, int switches, bool has_network) {
    generation_values *v = &g->v;
    *v = (generation_values){.name = name, .pieces = pieces, .low = low, .switches = switches, .has_messages = true, .has_network = has_network,
                             .least_threads_bytes = INFINITY};
}

static void begin_values(generation_values *v, double tree_Bps) {
    static const double shares[COLLECTIVE_PIECES] = {0.03, 0.42, 0.65, 0.8, 0.95}, starts[COLLECTIVE_PIECES] = {7, 1, 6, 15, 5},
                        hops[COLLECTIVE_PIECES] = {1, 1.2, 2, 1.5, 5};
    double link = v->link_Bps;
    for (int j = 0; j < v->pieces; j++) {
        int piece = j < v->low ? j : COLLECTIVE_PIECES - (v->pieces - j);
        v->start[j] = starts[piece] * us, v->hop[j] = hops[piece] * us, v->rate_Bps[j] = shares[piece] * link;
    }
    for (int k = 0; k < 3; k++) v->own[k] = k ? 0.6 : 0.3;
    for (int j = 0; j < v->switches; j++) {
        bool large = j + 1 == v->switches;
        v->switch_start[j] = (j ? 200 : 40) * us, v->switch_member[j] = (j ? 5 : 0.1) * us, v->switch_Bps[j] = (large ? 0.65 : 0.28) * link;
    }
    v->switch_network_Bps = 0.6 * link;
    v->tree_Bps = tree_Bps;
    v->message_start = 8 * us, v->peer = 0.3 * us, v->channel_small_Bps = 0.006 * link, v->large_peer = us;
    v->large_start[0] = 5 * us, v->large_start[1] = 25 * us, v->channel_large_Bps[0] = 0.025 * link, v->channel_large_Bps[1] = 0.03 * link, v->messages_Bps = 0.85 * link;
    v->change_bytes[0] = v->change_bytes[1] = 1048576;
}

/* The chain of a tree in a node carries what the library takes its channels to carry on two nodes of eight ports; a rank sends
 * 2 (p - 1) / p of the message. */
static double tree_rate(const library_constants *k) { return 8 * k->tree_Bps[1] / 2 * (2 * 7.0 / 8); }

static pw_status begin(study *s, pw_error *error) {
    begin_generation(&s->generations[0], "Ampere", 4, 2, 0, true);
    begin_generation(&s->generations[1], "Hopper", 4, 2, 1, true);
    begin_generation(&s->generations[2], "Blackwell", 5, 3, 2, true);
    begin_generation(&s->generations[3], "Ada", 3, 1, 0, false);
    begin_generation(&s->generations[4], "Blackwell RTX", 3, 1, 0, false);
    s->generations[2].v.least_threads_bytes = 2 * 1048576.0;
    s->network = (network_values){{6 * us, 20 * us, 88 * us}, {0.05, 0.3, 0.94}, {5 * us, 16 * us}, {0.05, 0.93}, {15 * us, 25 * us}, {0.1, 0.75}};
    for (size_t i = 0; i < s->points.count; i++) {
        const pw_collective_point *p = &s->points.points[i];
        generation *g = generation_of(s, p->bench);
        if (!g) continue;
        collectives_try_rows(p->bench->collectives, g->rows, 0); /* counted below */
        if (g->v.link_Bps > 0 || p->bench->shape.domains > 1 || p->check) continue;
        const library_constants *k = collectives_library(p->bench->collectives);
        g->v.link_Bps = p->bench->shape.scaleup_Bps;
        g->v.sms = k->sms, g->v.nvls_sms = k->nvls_sms, g->v.sm_bytes = k->sm_bytes;
        begin_values(&g->v, tree_rate(k));
    }
    for (int i = 0; i < GENERATIONS; i++)
        if (!(s->generations[i].v.link_Bps > 0))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "the split has a fit row of each", "no fit row of %s", s->generations[i].v.name);
    rebuild(s);
    for (size_t i = 0; i < s->points.count; i++) {
        const pw_bench *bench = s->points.points[i].bench;
        generation *g = generation_of(s, bench);
        if (g) collectives_try_rows(bench->collectives, g->rows, g->count);
        if (!s->points.points[i].check && g && !strcmp(bench->words[PW_BENCH_launch], "xla") && !launch_of(s, bench) && s->launch_count < LAUNCHES)
            s->launches[s->launch_count++] = (launch_values){g->v.name, pw_cluster_host(bench->cluster), 10 * us, 15 * us};
        if (!s->points.points[i].check && *bench->stack && !stack_of(s, bench) && s->stack_count < STACKS) {
            stack_values *v = &s->stacks[s->stack_count++];
            *v = (stack_values){.hop_s = {60 * us, 200 * us}, .share = {0.3, 0.85}};
            snprintf(v->stack.name, sizeof v->stack.name, "%s", bench->stack);
        }
    }
    return PW_OK;
}

static pw_status write(study *s, const pw_catalogue *catalogue, const char *folder, pw_error *error) {
    pw_file *file;
    char path[1024], names[LAUNCHES][96];
    pw_fit_cell cells[4 * STACKS + 2 * LAUNCHES];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/collective-parameters.csv", folder);
    PW_TRY(pw_file_create(path, NULL, &file, error));
    collective_rows_header(file);
    for (int i = 0; i < GENERATIONS; i++) {
        const generation *g = &s->generations[i];
        collective_rows_write(file, &g->v, g->texts, g->count, g->summaries, source);
    }
    PW_TRY(pw_file_commit(file, error));
    for (int i = 0; i < s->stack_count; i++) {
        const stack_values *v = &s->stacks[i];
        cells[count++] = (pw_fit_cell){v->stack.name, "hop_small", v->hop_s[0] / us};
        cells[count++] = (pw_fit_cell){v->stack.name, "hop_large", v->hop_s[1] / us};
        cells[count++] = (pw_fit_cell){v->stack.name, "share_small", v->share[0]};
        cells[count++] = (pw_fit_cell){v->stack.name, "share_large", v->share[1]};
    }
    PW_TRY(pw_fit_rewrite(catalogue, "network-stacks", folder, cells, count, error));
    count = 0;
    for (int l = 0; l < s->launch_count; l++) {
        snprintf(names[l], sizeof names[l], "XLA %s %s", s->launches[l].generation, s->launches[l].host);
        cells[count++] = (pw_fit_cell){names[l], "added", s->launches[l].added_s / us};
        cells[count++] = (pw_fit_cell){names[l], "added_exchange", s->launches[l].exchange_s / us};
    }
    return pw_fit_rewrite(catalogue, "collective-launch", folder, cells, count, error);
}

static pw_status fit_all(study *s, const pw_catalogue *catalogue, const pw_fit_paths *paths, pw_error *error) {
    PW_TRY(begin(s, error));
    for (int g = 0; g < GENERATIONS; g++) PW_TRY(fit_rings(s, &s->generations[g], error));
    for (int g = 0; g < GENERATIONS; g++) PW_TRY(fit_messages(s, &s->generations[g], error));
    PW_TRY(fit_stacks(s, error));
    PW_TRY(fit_network(s, error));
    return write(s, catalogue, paths->folder, error);
}

pw_status pw_fit_collectives(const pw_catalogue *catalogue, const pw_fit_paths *paths, FILE *report, pw_error *error) {
    study *s = calloc(1, sizeof *s);
    if (!s) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the fit of collectives");
    s->report = report;
    pw_status status = pw_collective_points_read(catalogue, paths->data, paths->split, &s->points, error);
    if (status == PW_OK) {
        status = fit_all(s, catalogue, paths, error);
        for (size_t i = 0; i < s->points.count; i++) collectives_try_rows(s->points.points[i].bench->collectives, NULL, 0);
        pw_collective_points_free(&s->points);
    }
    free(s);
    return status;
}
