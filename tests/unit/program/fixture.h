/* A small world for executor tests: one cluster, one job built by hand, one run.
 *
 *   world w = world_of(2, 4, ...)      2 nodes of 4 GPUs
 *   op(&w, t, (pw_op){...})            appends to template t
 *   run(&w, &options)                  executes; times in w.end
 */
#ifndef PW_TESTS_PROGRAM_FIXTURE_H
#define PW_TESTS_PROGRAM_FIXTURE_H

#include <stdlib.h>

#include "models/program/blame.h"
#include "models/program/executor.h"
#include "tests/harness/check.h"

enum { MOST_TEMPLATES = 64, MOST_ROLES = 8, MOST_NAMES = 64 };

typedef struct world {
    pw_catalogue *catalogue;
    pw_cluster *cluster;
    pw_collectives *collectives;
    pw_gpu *gpu;
    pw_job job;
    pw_template templates[MOST_TEMPLATES];
    uint32_t capacity[MOST_TEMPLATES];
    pw_program programs[MOST_TEMPLATES];
    pw_group_role group_roles[MOST_ROLES];
    pw_peer_role peer_roles[MOST_ROLES];
    pw_segment segments[MOST_NAMES];
    pw_segment_part parts[MOST_NAMES];
    pw_kernel kernels[MOST_NAMES];
    uint32_t *gpu_of_rank, *program_of_rank;
    void *owned[256];
    uint32_t owned_count;
} world;

enum { COMPUTE, TP, PP, DP, OPTIMIZER, OTHER };
static const pw_category world_categories[] = {{"compute", PW_BLAME_COMPUTE},     {"tp", PW_BLAME_LAYER_COMMUNICATION},
                                               {"pp", PW_BLAME_COMMUNICATION},    {"dp", PW_BLAME_COMMUNICATION},
                                               {"optimizer", PW_BLAME_OPTIMIZER}, {"other", PW_BLAME_OTHER}};

static inline void *own(world *w, size_t size) {
    void *memory = calloc(1, size ? size : 1);
    PW_CHECK(memory && w->owned_count < 256);
    return w->owned[w->owned_count++] = memory;
}

/* Uncalibrated collectives: the textbook forms. */
static inline world *world_on(const pw_cluster_desc *desc, uint32_t ranks) {
    world *w = calloc(1, sizeof *w);
    pw_error error = {0};
    char text[2000];
    if (pw_catalogue_load(NULL, NULL, &w->catalogue, &error) || pw_cluster_create(NULL, w->catalogue, desc, &w->cluster, &error) ||
        pw_collectives_create(NULL, w->catalogue, w->cluster, false, &w->collectives, &error) ||
        pw_gpu_create(NULL, w->catalogue, "H100-SXM5-80GB", &w->gpu, &error)) {
        printf("Bail out! %s\n", pw_error_text(&error, text, sizeof text));
        exit(1);
    }
    w->gpu_of_rank = own(w, ranks * sizeof(uint32_t));
    w->program_of_rank = own(w, ranks * sizeof(uint32_t));
    for (uint32_t r = 0; r < ranks; r++) w->gpu_of_rank[r] = r;
    w->job = (pw_job){.name = "test",
                      .ranks = ranks,
                      .gpu_of_rank = w->gpu_of_rank,
                      .program_of_rank = w->program_of_rank,
                      .programs = w->programs,
                      .templates = w->templates,
                      .segments = w->segments,
                      .kernels = w->kernels,
                      .group_roles = w->group_roles,
                      .peer_roles = w->peer_roles,
                      .categories = world_categories,
                      .category_count = sizeof world_categories / sizeof *world_categories,
                      .streams = 8,
                      .slots = 64,
                      .kernel_time_factor = 1};
    return w;
}

static inline pw_cluster_desc world_desc(int64_t nodes, int64_t gpus_per_node) {
    pw_cluster_desc desc = {.name = "test", .nodes = nodes};
    pw_error error = {0};
    static pw_arena *arena; /* names of defaults outlive every world */
    if (!arena) arena = pw_arena_create(NULL);
    PW_CHECK(pw_description_defaults(&pw_cluster_kind, &desc, arena, &error) == PW_OK);
    desc.name = "test";
    desc.nodes = nodes;
    desc.node.server = "DGX H100";
    desc.node.gpus = gpus_per_node;
    return desc;
}

static inline world *world_of(int64_t nodes, int64_t gpus_per_node) {
    pw_cluster_desc desc = world_desc(nodes, gpus_per_node);
    return world_on(&desc, (uint32_t)(nodes * gpus_per_node));
}

static inline void world_free(world *w) {
    for (uint32_t t = 0; t < w->job.template_count; t++) free((void *)w->templates[t].ops);
    for (uint32_t i = 0; i < w->owned_count; i++) free(w->owned[i]);
    pw_gpu_destroy(w->gpu);
    pw_collectives_destroy(w->collectives);
    pw_cluster_destroy(w->cluster);
    pw_catalogue_destroy(w->catalogue);
    free(w);
}

/* --- Building ----------------------------------------------------------------------------------------------------- */

static inline uint32_t template_of(world *w, const char *name) {
    PW_CHECK(w->job.template_count < MOST_TEMPLATES);
    w->templates[w->job.template_count].name = name;
    return w->job.template_count++;
}

static inline void op(world *w, uint32_t template_index, pw_op added) {
    pw_template *in = &w->templates[template_index];
    if (in->count == w->capacity[template_index]) {
        w->capacity[template_index] = w->capacity[template_index] ? 2 * w->capacity[template_index] : 64;
        in->ops = realloc((void *)in->ops, w->capacity[template_index] * sizeof(pw_op));
        PW_CHECK(in->ops);
    }
    ((pw_op *)in->ops)[in->count++] = added;
}

/* A program that starts at the template. */
static inline uint32_t program_of(world *w, const char *name, uint32_t template_index) {
    w->programs[w->job.program_count] = (pw_program){.name = name, .template_index = template_index};
    return w->job.program_count++;
}

/* Groups of equal size: member m of group g is rank g x outer + m x inner. */
static inline uint16_t groups_of(world *w, const char *name, uint32_t groups, uint32_t size, uint32_t (*rank)(uint32_t, uint32_t)) {
    uint32_t *of = own(w, w->job.ranks * sizeof *of), *first = own(w, (groups + 1) * sizeof *first);
    uint32_t *members = own(w, groups * size * sizeof *members);
    for (uint32_t r = 0; r < w->job.ranks; r++) of[r] = PW_NONE;
    for (uint32_t g = 0; g < groups; g++) {
        first[g + 1] = (g + 1) * size;
        for (uint32_t m = 0; m < size; m++) {
            members[g * size + m] = rank(g, m);
            of[rank(g, m)] = g;
        }
    }
    w->group_roles[w->job.group_role_count] =
        (pw_group_role){.name = name, .groups = groups, .group_of_rank = of, .first = first, .members = members};
    return (uint16_t)w->job.group_role_count++;
}

/* Peers at a distance: rank r has r + step if it lies in 0 .. ranks - 1, else none. */
static inline uint16_t peers_of(world *w, const char *name, int64_t step) {
    uint32_t *of = own(w, w->job.ranks * sizeof *of);
    for (int64_t r = 0; r < w->job.ranks; r++) of[r] = r + step >= 0 && r + step < w->job.ranks ? (uint32_t)(r + step) : PW_NONE;
    w->peer_roles[w->job.peer_role_count] = (pw_peer_role){.name = name, .peer_of_rank = of};
    return (uint16_t)w->job.peer_role_count++;
}

/* A segment of one square GEMM, repeated. */
static inline uint32_t gemm_segment(world *w, const char *name, int64_t size, uint32_t repeats) {
    uint32_t i = w->job.segment_count;
    w->kernels[i] = (pw_kernel){.kind = PW_KERNEL_GEMM,
                                .precision = PW_PRECISION_BF16,
                                .gemm = {.batch = 1, .m = size, .n = size, .k = size}};
    w->parts[i] = (pw_segment_part){.kernel = i, .repeats = repeats};
    w->segments[i] = (pw_segment){.name = name, .parts = &w->parts[i], .count = 1};
    w->job.kernel_count = ++w->job.segment_count;
    return i;
}

static inline pw_op delay_op(uint16_t stream, double seconds) {
    return (pw_op){.kind = PW_OP_DELAY, .stream = stream, PW_OP_INIT, .category = OTHER, .delay.seconds = seconds};
}
static inline pw_op waits_for(pw_op o, int16_t slot) {
    for (int w = 0; w < PW_OP_WAITS; w++)
        if (o.waits[w] == PW_NO_SLOT) {
            o.waits[w] = slot;
            break;
        }
    return o;
}
static inline pw_op signals(pw_op o, int16_t slot) { return o.signal = slot, o; }
static inline pw_op compute_op(uint16_t stream, uint32_t segment) {
    return (pw_op){.kind = PW_OP_COMPUTE, .stream = stream, PW_OP_INIT, .category = COMPUTE, .compute.segment = segment};
}
static inline pw_op message_op(pw_op_kind kind, uint16_t stream, uint16_t role, int64_t tag, double bytes) {
    return (pw_op){.kind = kind, .stream = stream, PW_OP_INIT, .category = PP,
                   .message = {.peer_role = role, .tag = tag, .bytes = bytes}};
}
static inline pw_op collective_op(uint16_t stream, pw_collective_kind kind, uint16_t role, double bytes) {
    return (pw_op){.kind = PW_OP_COLLECTIVE, .stream = stream, PW_OP_INIT, .category = DP,
                   .collective = {.kind = kind, .algorithm = 0, .group_role = role, .bytes = bytes}};
}

/* --- Running ------------------------------------------------------------------------------------------------------ */

typedef struct options {
    bool fold, messages, blame;
    double clock_ratio;      /* 0: 1 */
    double clock_at_s;       /* when to change it; 0: never */
    double clock_then;
    pw_sink sink;            /* one more, if it has a function */
    bool fluid_only;
    pw_link slow_link;       /* what is left of it from slow_at_s on is slow_part; 0: all */
    double slow_part, slow_at_s;
    const pw_effort_config *effort;
    const double *clock_of_group;
    double group_clock_then; /* of clock group 1, from clock_at_s on; 0: never */
} options;

typedef struct outcome {
    pw_status status;
    pw_error error;
    pw_time end;              /* of the last rank */
    pw_time *rank_end;        /* [ranks] */
    pw_rank_class *rank;      /* [ranks]: its class */
    pw_executor_totals totals;
    pw_effort *effort;        /* [ranks] */
    double *compute_at_half;  /* [ranks]: compute time of all segments at half the clock */
    pw_gpu_work *binned;      /* [ranks]: sum over bins */
    uint32_t bins; double bin_s;
    double *link_bytes;       /* [links] */
    uint64_t spans, hash;     /* of every span's fields */
    uint64_t events;
    pw_blame_part parts[32];  /* names are copies in part_names */
    char part_names[32][64], home[64];
    uint32_t part_count;
    double blamed_s;
} outcome;

static inline uint64_t hash_in(uint64_t h, uint64_t v) {
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 29);
}
static inline void hash_span(void *object, const pw_span *s) {
    outcome *o = object;
    o->spans++;
    o->hash = hash_in(hash_in(hash_in(o->hash, (uint64_t)s->start), (uint64_t)s->end), s->cause);
    o->hash = hash_in(hash_in(hash_in(o->hash, s->track), s->category), s->label);
}
static inline void change_clock(pw_sim *sim, void *executor, uint64_t ppm) {
    (void)sim;
    pw_executor_set_clock(executor, (double)ppm / 1e6);
}

static inline void change_group_clock(pw_sim *sim, void *executor, uint64_t ppm) {
    (void)sim;
    pw_executor_set_group_clock(executor, 1, (double)ppm / 1e6);
}

static inline void slow_down(pw_sim *sim, void *executor, uint64_t link_and_ppm) {
    (void)sim;
    pw_executor_set_link(executor, (pw_link)(link_and_ppm >> 32), (double)(uint32_t)link_and_ppm / 1e6, false, NULL);
}

static inline outcome run(world *w, const options *how) {
    outcome o = {0};
    pw_sim *sim = NULL;
    pw_fluid *fluid = NULL;
    pw_recorder *recorder = NULL;
    pw_executor *x = NULL;
    pw_blame *blame = NULL;
    o.rank_end = own(w, w->job.ranks * sizeof *o.rank_end);
    o.rank = own(w, w->job.ranks * sizeof *o.rank);
    o.effort = own(w, w->job.ranks * sizeof *o.effort);
    o.compute_at_half = own(w, w->job.ranks * sizeof *o.compute_at_half);
    o.binned = own(w, w->job.ranks * sizeof *o.binned);
    o.status = pw_sim_create(NULL, &sim, &o.error);
    if (!o.status) o.status = pw_fluid_create(sim, true, &fluid, &o.error);
    if (!o.status) o.status = pw_recorder_create(NULL, &recorder, &o.error);
    if (!o.status) o.status = pw_recorder_attach(recorder, &(pw_sink){.object = &o, .on_span = hash_span});
    if (!o.status && how->sink.on_span) o.status = pw_recorder_attach(recorder, &how->sink);
    if (!o.status && how->blame) o.status = pw_blame_create(NULL, &w->job, w->gpu, recorder, &blame, &o.error);
    pw_executor_config config = {.sim = sim, .fluid = fluid, .recorder = recorder, .cluster = w->cluster,
                                 .collectives = w->collectives, .gpu = w->gpu,
                                 .clock_ratio = how->clock_ratio > 0 ? how->clock_ratio : 1,
                                 .fold = how->fold, .messages = how->messages, .fluid_only = how->fluid_only,
                                 .effort = how->effort, .clock_of_group = how->clock_of_group};
    if (!o.status) o.status = pw_executor_create(&config, &w->job, &x, &o.error);
    if (!o.status && how->slow_part > 0)
        pw_event_at(sim, pw_sim_ticks(sim, how->slow_at_s), 0, slow_down, x,
                    (uint64_t)how->slow_link << 32 | (uint32_t)(how->slow_part * 1e6 + 0.5));
    if (!o.status && how->clock_at_s > 0 && how->clock_then > 0)
        pw_event_at(sim, pw_sim_ticks(sim, how->clock_at_s), 0, change_clock, x, (uint64_t)(how->clock_then * 1e6 + 0.5));
    if (!o.status && how->clock_at_s > 0 && how->group_clock_then > 0)
        pw_event_at(sim, pw_sim_ticks(sim, how->clock_at_s), 0, change_group_clock, x, (uint64_t)(how->group_clock_then * 1e6 + 0.5));
    if (!o.status) o.status = pw_sim_run(sim, PW_TIME_MAX);
    if (x) {
        pw_status finished = pw_executor_finish(x, &o.error);
        if (!o.status) o.status = finished;
        for (uint32_t r = 0; r < w->job.ranks; r++) {
            o.rank[r] = *pw_executor_class(x, pw_executor_class_of_rank(x, r));
            o.rank_end[r] = o.rank[r].end;
            uint32_t class = pw_executor_class_of_rank(x, r);
            o.effort[r] = pw_executor_effort(x, class);
            pw_executor_compute_at(x, class, 0.5, &o.compute_at_half[r], NULL);
            const pw_gpu_work *bins = pw_executor_effort_bins(x, class, &o.bins, &o.bin_s);
            for (uint32_t b = 0; bins && b < o.bins; b++) pw_gpu_work_add(&o.binned[r], &bins[b], 1);
            if (o.rank_end[r] > o.end) o.end = o.rank_end[r];
        }
        o.totals = pw_executor_get_totals(x);
        uint32_t links = pw_fabric_links(pw_cluster_fabric(w->cluster));
        o.link_bytes = own(w, links * sizeof *o.link_bytes);
        for (uint32_t l = 0; l < links; l++) o.link_bytes[l] = pw_executor_link_bytes(x, l);
        o.events = pw_sim_events_fired(sim);
    }
    if (recorder && sim) pw_recorder_close(recorder, pw_sim_now(sim));
    if (!o.status && blame) {
        const pw_blame_part *parts;
        const char *home;
        o.status = pw_blame_result(blame, &parts, &o.part_count, &o.blamed_s, &home, &o.error);
        for (uint32_t i = 0; !o.status && i < o.part_count && i < 32; i++) {
            o.parts[i] = parts[i];
            snprintf(o.part_names[i], sizeof o.part_names[i], "%s", parts[i].name);
        }
        if (!o.status) snprintf(o.home, sizeof o.home, "%s", home);
    }
    pw_blame_destroy(blame);
    pw_executor_destroy(x);
    pw_recorder_destroy(recorder);
    pw_fluid_destroy(fluid);
    pw_sim_destroy(sim);
    return o;
}

static inline double part_of(const outcome *o, const char *name) {
    for (uint32_t i = 0; i < o->part_count; i++)
        if (strcmp(o->part_names[i], name) == 0) return o->parts[i].seconds;
    return 0;
}

/* Prints why a run failed that should not have. */
#define EXPECT_RAN(o)                                                                 \
    do {                                                                              \
        if ((o).status != PW_OK) PW_FAILED("%s: %s", pw_status_text((o).status), (o).error.what); \
    } while (0)

static inline pw_time ticks(double seconds) { return pw_time_from_seconds(seconds, PW_TICKS_PER_SECOND_STEP); }

#endif
