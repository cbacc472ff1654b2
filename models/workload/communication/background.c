/* Every flow is one message of a peer role that has a rate, so large that no run sees its end. The k-th flow that a GPU sends
 * is of role k, on a stream of its own; the k-th that it receives of a role for that. GPUs with equal numbers of both share a
 * program. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/communication/communication.h"

enum { MOST_FLOWS = 256 };               /* of one GPU, out or in */
static const double LONGEST_RUN_S = 9e6; /* the clock goes to 9.2e6 s */
static const pw_category categories[] = {{"background", PW_BLAME_COMMUNICATION}};

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for background traffic");
}

typedef struct lowering {
    const pw_traffic *traffic;
    uint32_t ranks, most_out, most_in;
    uint32_t *out, *in;       /* [ranks]: flows so far */
    uint32_t *tag_out, *tag_in; /* [ranks x most]: which of the flows of one pair it is */
    uint32_t *to, *from;      /* [most x ranks]: peers by role */
    pw_arena *arena;
} lowering;

static pw_status count_flows(lowering *l, const char *file, int line, pw_error *error) {
    for (uint32_t f = 0; f < l->traffic->count; f++) {
        uint32_t out = ++l->out[l->traffic->flows[f].from], in = ++l->in[l->traffic->flows[f].to];
        if (out > l->most_out) l->most_out = out;
        if (in > l->most_in) l->most_in = in;
    }
    if (l->most_out <= MOST_FLOWS && l->most_in <= MOST_FLOWS) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "give it fewer ends, or a permutation",
                   "background: one GPU has %u flows, at most %d are simulated", l->most_out > l->most_in ? l->most_out : l->most_in,
                   MOST_FLOWS);
}

/* Flows of a pair before this one, so that both ends give it the same tag. */
static uint32_t same_pair(const lowering *l, const pw_flow *flow) {
    uint32_t same = 0;
    for (uint32_t k = 0; k < l->out[flow->from]; k++) same += l->to[(size_t)k * l->ranks + flow->from] == flow->to;
    return same;
}

static void assign_roles(lowering *l) {
    size_t slots = (size_t)l->ranks;
    for (size_t i = 0; i < l->most_out * slots; i++) l->to[i] = PW_NONE;
    for (size_t i = 0; i < l->most_in * slots; i++) l->from[i] = PW_NONE;
    memset(l->out, 0, slots * sizeof *l->out);
    memset(l->in, 0, slots * sizeof *l->in);
    for (uint32_t f = 0; f < l->traffic->count; f++) {
        const pw_flow *flow = &l->traffic->flows[f];
        uint32_t tag = same_pair(l, flow), out = l->out[flow->from]++, in = l->in[flow->to]++;
        l->to[out * slots + flow->from] = flow->to;
        l->from[in * slots + flow->to] = flow->from;
        l->tag_out[(size_t)flow->from * l->most_out + out] = tag;
        l->tag_in[(size_t)flow->to * l->most_in + in] = tag;
    }
}

static bool same_program(const lowering *l, uint32_t a, uint32_t b) {
    return l->out[a] == l->out[b] && l->in[a] == l->in[b] &&
           memcmp(l->tag_out + (size_t)a * l->most_out, l->tag_out + (size_t)b * l->most_out, l->out[a] * sizeof *l->tag_out) == 0 &&
           memcmp(l->tag_in + (size_t)a * l->most_in, l->tag_in + (size_t)b * l->most_in, l->in[a] * sizeof *l->tag_in) == 0;
}

static bool write_program(const lowering *l, uint32_t rank, double bytes, pw_template *template) {
    uint32_t out = l->out[rank], in = l->in[rank];
    pw_op *ops = pw_arena_alloc(l->arena, (out + in + (size_t)1) * sizeof *ops);
    for (uint32_t i = 0; ops && i < out + in; i++) {
        bool sends = i < out;
        uint32_t k = sends ? i : i - out;
        ops[i] = (pw_op){.kind = sends ? PW_OP_SEND : PW_OP_RECV, .stream = (uint16_t)(sends ? k : l->most_out + k), PW_OP_INIT,
                         .message = {.peer_role = (uint16_t)(sends ? k : l->most_out + k), .bytes = bytes,
                                     .tag = sends ? l->tag_out[(size_t)rank * l->most_out + k] : l->tag_in[(size_t)rank * l->most_in + k]}};
    }
    *template = (pw_template){"flows", ops, out + in};
    return ops != NULL;
}

/* Few kinds of ranks as a rule: looked for one by one, the latest first. */
static bool write_programs(const lowering *l, double bytes, pw_job *job, uint32_t *program_of, pw_template *templates,
                           pw_program *programs) {
    uint32_t *first = pw_arena_alloc(l->arena, (l->ranks + (size_t)1) * sizeof *first), count = 0;
    char name[40];
    for (uint32_t r = 0; first && r < l->ranks; r++) {
        uint32_t p = count;
        while (p > 0 && !same_program(l, r, first[p - 1])) p--;
        if (p == 0) {
            snprintf(name, sizeof name, "sends %u, receives %u", l->out[r], l->in[r]);
            programs[count] = (pw_program){.name = pw_arena_text(l->arena, name), .template_index = count};
            if (!programs[count].name || !write_program(l, r, bytes, &templates[count])) return false;
            first[count++] = r;
            p = count;
        }
        program_of[r] = p - 1;
    }
    job->program_count = job->template_count = count;
    return first != NULL;
}

static bool write_roles(const lowering *l, double rate_Bps, pw_job *job) {
    uint32_t count = l->most_out + l->most_in;
    pw_peer_role *roles = pw_arena_alloc(l->arena, (count + (size_t)1) * sizeof *roles);
    for (uint32_t r = 0; roles && r < count; r++) {
        bool sends = r < l->most_out;
        char name[40];
        snprintf(name, sizeof name, "%s %u", sends ? "flow" : "flow in", sends ? r : r - l->most_out);
        roles[r] = (pw_peer_role){.name = pw_arena_text(l->arena, name), .rate_Bps = rate_Bps,
                                  .peer_of_rank = sends ? l->to + (size_t)r * l->ranks : l->from + (size_t)(r - l->most_out) * l->ranks};
        if (!roles[r].name) return false;
    }
    job->peer_roles = roles;
    job->peer_role_count = count;
    return roles != NULL;
}

static pw_status lower(lowering *l, double rate_Bps, const char *file, int line, pw_job **out, pw_error *error) {
    size_t ranks = l->ranks;
    l->out = pw_arena_alloc(l->arena, ranks * sizeof *l->out);
    l->in = pw_arena_alloc(l->arena, ranks * sizeof *l->in);
    if (!l->out || !l->in) return no_memory(error);
    PW_TRY(count_flows(l, file, line, error));
    l->to = pw_arena_alloc(l->arena, l->most_out * ranks * sizeof *l->to);
    l->from = pw_arena_alloc(l->arena, l->most_in * ranks * sizeof *l->from);
    l->tag_out = pw_arena_alloc(l->arena, l->most_out * ranks * sizeof *l->tag_out);
    l->tag_in = pw_arena_alloc(l->arena, l->most_in * ranks * sizeof *l->tag_in);
    pw_job *job = *out = pw_arena_alloc(l->arena, sizeof *job);
    uint32_t *gpus = pw_arena_alloc(l->arena, ranks * sizeof *gpus), *program_of = pw_arena_alloc(l->arena, ranks * sizeof *program_of);
    pw_template *templates = pw_arena_alloc(l->arena, ranks * sizeof *templates);
    pw_program *programs = pw_arena_alloc(l->arena, ranks * sizeof *programs);
    if (!l->to || !l->from || !l->tag_out || !l->tag_in || !job || !gpus || !program_of || !templates || !programs)
        return no_memory(error);
    assign_roles(l);
    for (uint32_t r = 0; r < l->ranks; r++) gpus[r] = r;
    *job = (pw_job){.name = "background", .ranks = l->ranks, .gpu_of_rank = gpus, .program_of_rank = program_of, .programs = programs,
                    .templates = templates, .categories = categories, .category_count = 1,
                    .streams = (uint16_t)(l->most_out + l->most_in), .kernel_time_factor = 1};
    bool good = write_programs(l, rate_Bps * LONGEST_RUN_S, job, program_of, templates, programs) && write_roles(l, rate_Bps, job);
    return good ? PW_OK : no_memory(error);
}

static pw_status run(pw_machine *m, const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                     const pw_background_desc *d, const pw_run_options *options, const char *file, int line, pw_arena *arena,
                     pw_background_result *result, pw_error *error) {
    pw_traffic traffic;
    pw_job *job = NULL;
    PW_TRY(pw_machine_open(allocator, catalogue, cluster, m, error));
    result->device = pw_cluster_device(m->cluster);
    result->gpus = pw_cluster_gpus(m->cluster);
    pw_pattern_desc pattern = d->pattern;
    pattern.bytes = 1; /* only ends are wanted */
    if (pattern.pattern == PW_TRAFFIC_LIST)
        return pw_fail(error, PW_BAD_INPUT, file, line, "take one of the other patterns", "background.pattern = \"list\": listed flows end");
    PW_TRY(pw_pattern_check(&pattern, "background", result->gpus, file, line, error));
    PW_TRY(pw_traffic_make(&pattern, "background", result->gpus, options->seed, arena, &traffic, error));
    result->flows = traffic.count;
    result->rate_Bps = isnan(d->load) ? d->rate_Bps : d->load * pw_cluster_nic_Bps(m->cluster);
    if (!(result->rate_Bps > 0))
        return pw_fail(error, PW_BAD_INPUT, file, line, "write rate = 10 * u.Gbps", "background.load needs nodes with network ports");
    lowering l = {.traffic = &traffic, .ranks = result->gpus, .arena = arena};
    PW_TRY(lower(&l, result->rate_Bps, file, line, &job, error));
    PW_TRY(pw_collectives_create(allocator, catalogue, m->cluster, !options->plain, &m->collectives, error));
    return pw_machine_run(m, allocator, options, job, arena, &result->session, error);
}

pw_status pw_background_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                            const pw_background_desc *desc, const pw_run_options *options, const char *file, int line,
                            pw_arena *arena, pw_background_result *result, pw_error *error) {
    pw_machine machine = {0};
    memset(result, 0, sizeof *result);
    if (!options->runner)
        return pw_fail(error, PW_BAD_INPUT, file, line, "put it beside other jobs: jobs = { o.train { ... }, o.background { ... } }",
                       "background traffic never ends, so it cannot run alone");
    pw_status status = run(&machine, allocator, catalogue, cluster, desc, options, file, line, arena, result, error);
    pw_machine_close(&machine);
    return status;
}
