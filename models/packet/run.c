/* One simulation of packets from beginning to end: checks, set-up, result. */
#include <math.h>
#include <string.h>

#include "models/packet/engine.h"

#define NAME(NAME, name) name,
const char *const pw_transport_names[] = {PW_TRANSPORT_MAP(NAME) NULL};
#undef NAME

pw_packet_desc pw_packet_defaults(void) {
    return (pw_packet_desc){.transport = PW_TRANSPORT_LINE, .packet_bytes = 4096, .paths = 1, .queue_bytes = INFINITY, .buffer_bytes = INFINITY,
                            .mark_from = INFINITY, .mark_to = INFINITY, .headroom_bytes = NAN, .pause_bytes = INFINITY, .resume_bytes = INFINITY,
                            .window_bytes = INFINITY, .pace = 1};
}

static pw_status check(const pw_packet_config *config, const pw_packet_desc *desc, const pw_traffic *traffic, pw_error *error) {
    if (desc->transport < 0 || desc->transport >= PW_TRANSPORT_COUNT) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "there is no such transport");
    if (!(desc->packet_bytes >= 1 && desc->packet_bytes <= 1 << 24 && desc->header_bytes >= 0 && desc->header_bytes < desc->packet_bytes))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "bytes of a packet with its header, such as 4096", "a packet of %g bytes with a header of %g",
                       desc->packet_bytes, desc->header_bytes);
    if (desc->paths < 1 || desc->paths > 4096) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "paths must be between 1 and 4096");
    bool limits = desc->queue_bytes < INFINITY || desc->buffer_bytes < INFINITY;
    if (limits && !desc->pfc && desc->transport != PW_TRANSPORT_CREDIT)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "use pfc, transport credit, or no limit of queues",
                       "transport %s sends no packet again that a full queue drops", pw_transport_names[desc->transport]);
    if (desc->queue_bytes < desc->packet_bytes || desc->buffer_bytes < desc->packet_bytes)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a queue or buffer has no room for one packet");
    if (desc->pfc && !(desc->resume_bytes <= desc->pause_bytes && desc->resume_bytes >= 0 && desc->pause_bytes < INFINITY))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "PFC resumes at %g bytes, which must be at most the %g at which it pauses",
                       desc->resume_bytes, desc->pause_bytes);
    if (desc->transport == PW_TRANSPORT_CREDIT && !(desc->window_bytes > 0 && desc->pace > 0 && desc->pace <= 1))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "the window of transport credit must be above 0, its pace above 0 and at most 1");
    const pw_dcqcn *d = &desc->dcqcn;
    if (desc->transport == PW_TRANSPORT_DCQCN &&
        !(d->gain > 0 && d->gain <= 1 && d->notice_interval_s >= 0 && d->alpha_interval_s > 0 && d->timer_s > 0 && d->byte_counter > 0 &&
          d->fast_rounds >= 1 && d->additive_Bps >= 0 && d->hyper_Bps >= 0 && d->least_Bps > 0))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a parameter of DCQCN is missing or out of range");
    if (desc->transport == PW_TRANSPORT_DCQCN && !(desc->mark_from < INFINITY && desc->mark_to >= desc->mark_from))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "set the queue at which ECN marks begin", "DCQCN without marks never slows down");
    for (uint32_t f = 0; f < traffic->count; f++) {
        const pw_flow *flow = &traffic->flows[f];
        if (flow->from >= config->ends || flow->to >= config->ends || flow->from == flow->to || !(flow->bytes > 0) || !(flow->start_s >= 0))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "flow %u (from %u to %u of %u ends, %g bytes) cannot be sent", f, flow->from, flow->to,
                           config->ends, flow->bytes);
    }
    return PW_OK;
}

static void close_run(run *x) {
    const pw_allocator *a = x->allocator;
    uint32_t flows = x->traffic->count;
    pw_free(a, x->port_memory, x->port_count * sizeof *x->ports + 64);
    pw_free(a, x->rest, x->port_count * sizeof *x->rest + 1);
    pw_free(a, x->buffers, pw_fabric_vertices(x->config->fabric) * sizeof *x->buffers + 1);
    pw_free(a, x->packets, x->packet_capacity * sizeof *x->packets);
    pw_free(a, x->hops, x->hop_capacity * sizeof *x->hops);
    pw_free(a, x->block_free, x->block_free_capacity * sizeof *x->block_free);
    pw_free(a, x->lanes, x->lane_capacity * sizeof *x->lanes);
    for (size_t i = 0; i < x->injector_count; i++) pw_free(a, x->injectors[i].heap, x->injectors[i].capacity * sizeof *x->injectors[i].heap);
    pw_free(a, x->injectors, x->injector_capacity * sizeof *x->injectors);
    pw_free(a, x->flows, flows * sizeof *x->flows + 1);
    pw_free(a, x->rates, flows * sizeof *x->rates + 1);
    pw_free(a, x->receivers, x->port_count * sizeof *x->receivers + 1);
    pw_free(a, x->dues, flows * sizeof *x->dues + 1);
    pw_free(a, x->after, (flows + (size_t)2) * sizeof *x->after);
    if (x->after_list) pw_free(a, x->after_list, (x->traffic->before[flows] + (size_t)1) * sizeof *x->after_list);
    pw_sim_destroy(x->sim);
}

static pw_status collect(run *x, pw_arena *arena, pw_packet_result *result, pw_error *error) {
    uint32_t flows = x->traffic->count;
    double ticks_per_s = pw_sim_ticks_per_second(x->sim);
    result->start_s = pw_arena_alloc(arena, flows * sizeof *result->start_s + 1);
    result->finish_s = pw_arena_alloc(arena, flows * sizeof *result->finish_s + 1);
    result->links = pw_arena_alloc(arena, x->port_count * sizeof *result->links + 1);
    result->known_s = pw_arena_alloc(arena, flows * sizeof *result->known_s + 1);
    if (!result->start_s || !result->finish_s || !result->known_s || !result->links) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a result");
    result->hash = 0xcbf29ce484222325u;
    for (uint32_t f = 0; f < flows; f++) {
        const flow_run *flow = &x->flows[f];
        result->start_s[f] = pw_time_to_seconds(flow->start, ticks_per_s);
        result->finish_s[f] = pw_time_to_seconds(flow->finish, ticks_per_s);
        result->known_s[f] = pw_time_to_seconds(flow->finish + flow->control, ticks_per_s);
        if (result->finish_s[f] > result->end_s) result->end_s = result->finish_s[f];
        result->hash = (result->hash ^ (uint64_t)flow->finish) * 0x100000001b3u;
    }
    result->fullest = PW_NONE;
    for (uint32_t l = 0; l < x->port_count; l++) {
        const port *p = &x->ports[l];
        const port_rest *rest = &x->rest[l];
        result->links[l] = (pw_packet_link){.bytes = p->bytes, .peak_bytes = p->peak, .mean_bytes = p->arrived > 0 ? p->found / (double)p->arrived : 0,
                                            .paused_s = rest->paused_s, .packets = p->packets, .marks = rest->marks, .trims = rest->trims,
                                            .pauses = rest->pauses};
        result->marks += rest->marks;
        result->trims += rest->trims;
        result->pauses += rest->pauses;
        result->paused_s += rest->paused_s;
        if (p->peak > 0 && (result->fullest == PW_NONE || p->peak > x->ports[result->fullest].peak)) result->fullest = l;
    }
    result->packets = x->sent;
    result->lost = x->lost;
    result->packet_hops = x->hops_done;
    result->events = pw_sim_events_fired(x->sim);
    return PW_OK;
}

static pw_status simulate(run *x, pw_error *error) {
    const pw_sim_config config = {.allocator = x->allocator, .seed = x->config->seed};
    PW_TRY(pw_sim_create(&config, &x->sim, error));
    pw_sim_watch(x->sim, x->config->interrupt);
    PW_TRY(ports_open(x, error));
    PW_TRY(flows_open(x, error));
    flows_begin(x);
    pw_status status = pw_sim_run(x->sim, PW_TIME_MAX);
    if (status != PW_OK) {
        if (error) *error = *pw_sim_error(x->sim);
        return status;
    }
    if (x->left > 0)
        return pw_fail(error, PW_DEADLOCK, NULL, 0, "paths that turn up and down again, or too small thresholds, let PFC pauses wait for each other",
                       "%u of %u flows never end: their links are paused in a circle", x->left, x->traffic->count);
    PW_CHECK(x->packets_live == 0);
    return PW_OK;
}

pw_status pw_packet_run(const pw_packet_config *config, const pw_packet_desc *desc, const pw_traffic *traffic, pw_arena *arena,
                        pw_packet_result *result, pw_error *error) {
    *result = (pw_packet_result){.fullest = PW_NONE};
    PW_TRY(check(config, desc, traffic, error));
    run x = {.allocator = config->allocator ? config->allocator : pw_allocator_default(), .config = config, .desc = desc, .traffic = traffic,
             .marks = pw_random_stream(config->seed, "ECN marks", 0), .packet_free = PW_NONE,
             .full_bytes = (uint32_t)desc->packet_bytes, .header_bytes = (uint32_t)desc->header_bytes};
    if (desc->transport == PW_TRANSPORT_CREDIT && x.header_bytes < PAUSE_BYTES) x.header_bytes = PAUSE_BYTES; /* the least frame */
    pw_status status = simulate(&x, error);
    if (status == PW_OK) status = collect(&x, arena, result, error);
    close_run(&x);
    return status;
}
