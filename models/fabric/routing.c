/* Which of the equal paths between two ports a flow takes. A topology numbers them (draws); the policy picks the number.
 *
 * spray: every path carries the same share. ecmp: the number is a hash of flow and ports, so that flows collide as in Thaler and
 * Hopps, RFC 2992. static: the number belongs to the destination (D-mod-k; Zahavi 2011). adaptive: of at most CANDIDATES paths,
 * the one whose fullest link is least full once the flow is on it. */
#include <string.h>

#include "models/fabric/table.h"

enum { CANDIDATES = 64 };

/* Steele et al.'s SplitMix64 finaliser. */
uint64_t mix_flow(uint64_t hash, uint32_t a, uint32_t b) {
    uint64_t z = hash * 0x9e3779b97f4a7c15u + (((uint64_t)a << 32) | b);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Two ports, as the parts number them; each plane has a part for them. */
typedef struct port_pair {
    const network_part *first; /* plane p: first + p */
    uint32_t a, b;
} port_pair;

static pw_status find_pair(const pw_network *network, uint32_t port_a, uint32_t port_b, port_pair *pair) {
    uint32_t ports = network->nodes * network->rails;
    if (port_a >= ports || port_b >= ports) return PW_BAD_INPUT;
    *pair = (port_pair){network->parts, port_a, port_b};
    if (!network->topology->rails_apart || port_a == port_b) return PW_OK;
    uint32_t rail = port_a % network->rails;
    if (rail != port_b % network->rails) return PW_UNSUPPORTED;
    *pair = (port_pair){network->parts + rail * network->planes, port_a / network->rails, port_b / network->rails};
    return PW_OK;
}

void own_route(const network_part *part, uint32_t a, uint32_t b, uint64_t draw, pw_path *path) {
    if (part->table) table_route(part->table, a, b, draw, path);
    else part->topology->route(part, a, b, draw, path);
}

pw_status own_spread(const network_part *part, uint32_t a, uint32_t b, visit_fn *visit, void *object) {
    if (part->table) return table_spread(part, part->table, a, b, visit, object);
    part->topology->spread(part, a, b, visit, object);
    return PW_OK;
}

uint64_t own_ways(const network_part *part, uint32_t a, uint32_t b) {
    return part->table ? UINT64_MAX : part->topology->ways(part, a, b);
}

static void route_part(const network_part *part, uint32_t a, uint32_t b, uint64_t draw, pw_path *path) {
    (part->dead ? detour_route : own_route)(part, a, b, draw, path);
}

static uint64_t static_draw(const network_part *part, uint32_t b) {
    return part->topology->static_draw ? part->topology->static_draw(part, b) : b;
}

pw_status pw_network_route(const pw_network *network, uint32_t port_a, uint32_t port_b, uint64_t hash, pw_path *path) {
    port_pair pair;
    PW_TRY(find_pair(network, port_a, port_b, &pair));
    if (port_a == port_b) return PW_OK;
    uint64_t draw = mix_flow(hash, port_a, port_b);
    uint32_t plane = 0;
    if (network->planes > 1) {
        plane = (uint32_t)(draw % network->planes);
        draw /= network->planes;
    }
    const network_part *part = pair.first + plane;
    if (network->desc.routing == PW_ROUTING_STATIC) draw = static_draw(part, pair.b);
    pw_path made;
    made.count = 0;
    route_part(part, pair.a, pair.b, draw, &made);
    if (path->count > PW_ROUTE_MAX - made.count) return PW_OUT_OF_RANGE;
    memcpy(path->links + path->count, made.links, made.count * sizeof *made.links);
    path->count += made.count;
    return PW_OK;
}

/* --- Spreads -------------------------------------------------------------------------------------------------------- */

typedef struct spread_call {
    const pw_network *network;
    double bytes; /* of the pair in all planes */
    double (*load_bytes)(void *loads, pw_link link);
    void *loads;
    visit_fn *visit;
    void *object;
    double share; /* of what is visited now */
} spread_call;

static void visit_share(void *object, pw_link link, double fraction) {
    const spread_call *call = object;
    call->visit(call->object, link, fraction * call->share);
}

static void visit_path(spread_call *call, const pw_path *path) {
    for (uint32_t i = 0; i < path->count; i++) call->visit(call->object, path->links[i], call->share);
}

/* How full the fullest link of a path is, in seconds, with this flow on it. */
static double fullest(const spread_call *call, const pw_path *path) {
    double most = 0;
    for (uint32_t i = 0; i < path->count; i++) {
        double bytes = call->bytes * call->share + (call->load_bytes ? call->load_bytes(call->loads, path->links[i]) : 0);
        double seconds = bytes / pw_fabric_link(call->network->fabric, path->links[i])->bandwidth_Bps;
        if (seconds > most) most = seconds;
    }
    return most;
}

/* Starts at a path that differs by flow, so that the first of equal ones is not the same for all. */
static void route_adaptive(const spread_call *call, const network_part *part, uint32_t a, uint32_t b, uint64_t flow,
                           pw_path *best) {
    uint64_t ways = own_ways(part, a, b), start = mix_flow(flow, a, b) % ways;
    uint64_t count = ways < CANDIDATES ? ways : CANDIDATES;
    double least = 0;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t draw = ways <= CANDIDATES ? (start + k) % ways : mix_flow(flow + (k << 32), a, b) % ways;
        pw_path path;
        path.count = 0;
        route_part(part, a, b, draw, &path);
        double full = fullest(call, &path);
        if (k > 0 && full >= least) continue;
        least = full;
        best->count = path.count;
        memcpy(best->links, path.links, path.count * sizeof *path.links);
    }
}

/* One part, which carries `share` of the pair's bytes. */
static void spread_flows(spread_call *call, const network_part *part, uint32_t a, uint32_t b, double share) {
    const pw_network_desc *desc = &call->network->desc;
    uint32_t flows = desc->routing != PW_ROUTING_STATIC && desc->flows_per_pair > 1 ? (uint32_t)desc->flows_per_pair : 1;
    call->share = share / flows;
    for (uint64_t flow = 0; flow < flows; flow++) {
        pw_path path;
        path.count = 0;
        if (desc->routing == PW_ROUTING_ADAPTIVE) {
            route_adaptive(call, part, a, b, flow, &path);
        } else {
            uint64_t draw = desc->routing == PW_ROUTING_STATIC ? static_draw(part, b) : mix_flow(flow + ((uint64_t)part->plane << 32), a, b);
            route_part(part, a, b, draw, &path);
        }
        visit_path(call, &path);
    }
}

static pw_status spread(spread_call *call, uint32_t port_a, uint32_t port_b, bool twins) {
    const pw_network *network = call->network;
    port_pair pair;
    PW_TRY(find_pair(network, port_a, port_b, &pair));
    if (port_a == port_b) return PW_OK;
    for (uint32_t plane = 0; plane < network->planes; plane++) {
        const network_part *part = pair.first + plane;
        const pw_topology *topology = part->topology;
        if (network->desc.routing != PW_ROUTING_SPRAY) {
            spread_flows(call, part, pair.a, pair.b, 1.0 / network->planes);
            continue;
        }
        call->share = 1.0 / network->planes;
        if (part->dead) PW_TRY(detour_spread(part, pair.a, pair.b, visit_share, call));
        else if (twins && topology->spread_twins && !network->irregular) topology->spread_twins(part, pair.a, pair.b, visit_share, call);
        else PW_TRY(own_spread(part, pair.a, pair.b, visit_share, call));
    }
    return PW_OK;
}

pw_status pw_network_spread(const pw_network *network, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object) {
    return spread(&(spread_call){.network = network, .bytes = 1, .visit = visit, .object = object}, port_a, port_b, false);
}

pw_status pw_network_spread_twins(const pw_network *network, uint32_t port_a, uint32_t port_b, visit_fn *visit, void *object) {
    return spread(&(spread_call){.network = network, .bytes = 1, .visit = visit, .object = object}, port_a, port_b, true);
}

pw_status pw_network_spread_loaded(const pw_network *network, uint32_t port_a, uint32_t port_b, double bytes,
                                   double (*load_bytes)(void *loads, pw_link link), void *loads, visit_fn *visit,
                                   void *object) {
    return spread(&(spread_call){network, bytes, load_bytes, loads, visit, object, 1}, port_a, port_b, true);
}

/* Ports of one part after another, out then in. */
static pw_status exchange_part(const pw_network *network, const network_part *part, uint32_t block, const double *out, const double *in,
                               double *own, spread_call *call) {
    uint32_t ports = part->nodes * part->rails;
    for (uint32_t p = 0; p < ports; p++) {
        uint32_t port = part->rail == PW_NONE ? p : p * network->rails + part->rail;
        own[p] = out[port];
        own[ports + p] = in[port];
    }
    return part->topology->spread_exchange(part, block, own, own + ports, visit_share, call);
}

pw_status pw_network_spread_exchange(const pw_network *network, uint32_t block, const double *out, const double *in, visit_fn *visit,
                                     void *object) {
    if (!network->topology->spread_exchange || network->irregular || network->desc.routing != PW_ROUTING_SPRAY || block == 0 ||
        block % network->rails != 0)
        return PW_UNSUPPORTED;
    size_t size = 2 * (size_t)network->nodes * network->rails * sizeof(double);
    double *own = pw_alloc(network->allocator, size);
    pw_status status = own ? PW_OK : PW_NO_MEMORY;
    spread_call call = {.network = network, .visit = visit, .object = object, .share = 1.0 / network->planes};
    for (uint32_t p = 0; status == PW_OK && p < network->part_count; p++)
        status = exchange_part(network, &network->parts[p], block / network->rails, out, in, own, &call);
    if (own) pw_free(network->allocator, own, size);
    return status;
}

pw_twins pw_network_twins(const pw_network *network, pw_link link) {
    const pw_topology *topology = network->topology;
    const network_part *part = NULL;
    if (topology->twins && !network->irregular && network->desc.routing == PW_ROUTING_SPRAY) part = network_part_of(network, link);
    return part ? topology->twins(part, link) : (pw_twins){link, 1};
}
