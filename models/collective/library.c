#include "models/collective/library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/math.h"
#include "sim/text.h"

const char *const library_algorithm_names[] = {"tree", "ring", "nvls", "nvls_tree", "pat", NULL};
const char *const library_protocol_names[] = {"LL", "LL128", "Simple", NULL};

/* --- Constants ------------------------------------------------------------------------------------------------------ */

double library_version(const char *text) {
    double number = 0, unit = 1e6;
    for (int part = 0; part < 3 && *text >= '0' && *text <= '9'; part++, unit /= 1000) {
        char *end;
        number += (double)strtoul(text, &end, 10) * unit;
        text = *end == '.' ? end + 1 : end;
    }
    return number;
}

/* Whether a row is of the library and holds for the version; *since: from which version on. */
static bool row_holds(const pw_table *table, size_t row, const char *library, double version, double *since) {
    *since = library_version(pw_table_text_of(table, row, "version"));
    return !strcasecmp(pw_table_text_of(table, row, "library"), library) && (*since <= version || version == 0);
}

static int index_of(const char *const *names, const char *text) {
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], text)) return i;
    return -1;
}

static pw_status bad_cell(const pw_table *table, size_t row, const char *column, pw_error *error) {
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "docs/models/collectives.md names the columns",
                   "column '%s' cannot be '%s'", column, pw_table_text_of(table, row, column));
}

static pw_status load_latencies(const pw_catalogue *catalogue, const char *library, double version, library_constants *to,
                                pw_error *error) {
    static const char *const items[] = {"base", "nvlink", "pcie", "network", NULL};
    const pw_table *table;
    double newest[4][LIBRARY_ALGORITHMS];
    PW_TRY(pw_catalogue_need(catalogue, "collective-library-latency", &table, error));
    for (int i = 0; i < 4; i++)
        for (int a = 0; a < LIBRARY_ALGORITHMS; a++) newest[i][a] = -1;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double since;
        int item = index_of(items, pw_table_text_of(table, row, "item"));
        int algorithm = index_of(library_algorithm_names, pw_table_text_of(table, row, "algorithm"));
        if (item < 0) return bad_cell(table, row, "item", error);
        if (algorithm < 0) return bad_cell(table, row, "algorithm", error);
        if (!row_holds(table, row, library, version, &since) || since <= newest[item][algorithm]) continue;
        newest[item][algorithm] = since;
        double *const values[] = {to->base[algorithm], to->nvlink[algorithm], to->pcie[algorithm], to->network[algorithm]};
        for (int p = 0; p < LIBRARY_PROTOCOLS; p++) values[item][p] = pw_table_number_of(table, row, library_protocol_names[p]);
    }
    return PW_OK;
}

static pw_status read_numbers(const pw_table *table, size_t row, const char *column, double unit, double *to, int most,
                             int *count, pw_error *error) {
    const char *text = pw_table_text_of(table, row, column);
    for (*count = 0; *text; ++*count) {
        double value;
        const char *end;
        if (*count == most || !pw_text_number(text, &end, &value) || (*end && *end != ' ')) return bad_cell(table, row, column, error);
        to[*count] = value * unit;
        text = *end ? end + 1 : end;
    }
    return PW_OK;
}

/* "Blackwell Ultra" is of the generation "Blackwell"; "any" stands in for a generation without a row. */
static bool generation_holds(const char *generation, const char *arch, bool *own) {
    size_t length = strlen(generation);
    *own = !strncasecmp(arch, generation, length) && (arch[length] == '\0' || arch[length] == ' ');
    return *own || !strcmp(generation, "any");
}

/* The newest row of the architecture's generation, else of any; -1: none. */
static int64_t find_generation(const pw_table *table, const char *library, double version, const char *arch) {
    int64_t found = -1;
    double newest = -1;
    bool own = false;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double since;
        bool is_own;
        if (!row_holds(table, row, library, version, &since) ||
            !generation_holds(pw_table_text_of(table, row, "generation"), arch, &is_own))
            continue;
        if (found >= 0 && (own > is_own || (own == is_own && since <= newest))) continue;
        found = (int64_t)row;
        newest = since;
        own = is_own;
    }
    return found;
}

static void read_caps(const pw_table *table, size_t row, const char *name, double *to) {
    static const char *const nodes[] = {"one", "two", "more"};
    for (int n = 0; n < 3; n++) {
        char column[32];
        snprintf(column, sizeof column, "%s_%s", name, nodes[n]);
        to[n] = pw_table_number_of(table, row, column);
    }
}

static pw_status load_generation(const pw_catalogue *catalogue, const char *library, double version, const char *arch,
                                 library_constants *to, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "collective-library-generations", &table, error));
    int64_t found = find_generation(table, library, version, arch);
    if (found < 0 && *to->version) /* what the user said is at fault, not the table */
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, "leave communication.version out: the newest constants on file are taken",
                       "communication.version: there are no constants of the library '%s' %s or older for %s", library, to->version, arch);
    if (found < 0)
        return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, "nccl and rccl have constants; another needs rows of its own",
                       "there are no constants of the library '%s'%s%s for %s", library, *to->version ? " " : "", to->version, arch);
    size_t row = (size_t)found;
    read_caps(table, row, "ll", to->ll_Bps);
    read_caps(table, row, "ring_ll128", to->ring_ll128_Bps);
    read_caps(table, row, "tree_ll128", to->tree_ll128_Bps);
    read_caps(table, row, "tree", to->tree_Bps);
    read_caps(table, row, "nvls_tree", to->nvls_tree_Bps);
    /* Between nodes the library takes the cap of LL by the maker of the CPU, not by the GPU: a row of another generation. */
    for (int host = 0; host < 2; host++) {
        const char *stands_for = pw_table_text_of(table, row, host ? "ll_amd_host" : "ll_host");
        int64_t other = *stands_for ? find_generation(table, library, version, stands_for) : found;
        if (other < 0) return bad_cell(table, row, host ? "ll_amd_host" : "ll_host", error);
        double caps[3];
        read_caps(table, (size_t)other, "ll", caps);
        to->ll_network_Bps[host][0] = caps[1];
        to->ll_network_Bps[host][1] = caps[2];
    }
    to->link_Bps = pw_table_number_of(table, row, "link");
    to->pcie_share = pw_table_number_of(table, row, "pcie_share");
    to->sms = pw_table_number_of(table, row, "sms");
    to->nvls_sms = pw_table_number_of(table, row, "nvls_sms");
    to->sm_bytes = pw_table_number_of(table, row, "sm_bytes");
    to->p2p_channels = pw_table_number_of(table, row, "p2p_channels");
    to->p2p_least_bytes = pw_table_number_of(table, row, "p2p_least");
    to->p2p_most_bytes = pw_table_number_of(table, row, "p2p_most");
    to->nvls_efficiency = pw_table_number_of(table, row, "nvls_efficiency");
    snprintf(to->generation, sizeof to->generation, "%s", pw_table_text_of(table, row, "generation"));
    int count;
    PW_TRY(read_numbers(table, row, "intra_speeds", 1e9, to->intra_Bps, LIBRARY_SPEEDS - 1, &count, error));
    PW_TRY(read_numbers(table, row, "inter_speeds", 1e9, to->inter_Bps, LIBRARY_SPEEDS - 1, &count, error));
    static const char *const ratios[2][2] = {{"tree_ratio", "tree_ratio_more"}, {"ring_ratio", "ring_ratio_more"}};
    for (int a = LIBRARY_TREE; a <= LIBRARY_RING; a++)
        for (int more = 0; more < 2; more++) {
            PW_TRY(read_numbers(table, row, ratios[a][more], 1, to->ratio[a][more], LIBRARY_PROTOCOLS, &count, error));
            if (count != 0 && count != LIBRARY_PROTOCOLS) return bad_cell(table, row, ratios[a][more], error);
            to->has_ratio = to->has_ratio || count > 0;
        }
    return PW_OK;
}

static pw_status load_tree_factors(const pw_catalogue *catalogue, const char *library, double version, library_constants *to,
                                   pw_error *error) {
    const pw_table *table;
    double newest[LIBRARY_PROTOCOLS] = {-1, -1, -1};
    PW_TRY(pw_catalogue_need(catalogue, "collective-library-tree", &table, error));
    for (int p = 0; p < LIBRARY_PROTOCOLS; p++)
        for (int i = 0; i < LIBRARY_TREE_SIZES; i++) to->tree_factor[p][i] = 1;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double since;
        int count, protocol = index_of(library_protocol_names, pw_table_text_of(table, row, "protocol"));
        if (protocol < 0) return bad_cell(table, row, "protocol", error);
        if (!row_holds(table, row, library, version, &since) || since <= newest[protocol]) continue;
        newest[protocol] = since;
        PW_TRY(read_numbers(table, row, "factors", 1, to->tree_factor[protocol], LIBRARY_TREE_SIZES, &count, error));
        if (count != LIBRARY_TREE_SIZES) return bad_cell(table, row, "factors", error);
    }
    return PW_OK;
}

pw_status library_load(const pw_catalogue *catalogue, const char *library, const char *version, const char *arch,
                       library_constants *constants, pw_error *error) {
    *constants = (library_constants){0};
    for (int a = 0; a < LIBRARY_ALGORITHMS; a++)
        for (int p = 0; p < LIBRARY_PROTOCOLS; p++)
            constants->base[a][p] = constants->nvlink[a][p] = constants->pcie[a][p] = constants->network[a][p] = NAN;
    snprintf(constants->name, sizeof constants->name, "%s", library);
    snprintf(constants->version, sizeof constants->version, "%s", version);
    double number = library_version(version);
    PW_TRY(load_generation(catalogue, library, number, arch, constants, error));
    PW_TRY(load_latencies(catalogue, library, number, constants, error));
    return load_tree_factors(catalogue, library, number, constants, error);
}

/* --- Channels ------------------------------------------------------------------------------------------------------- */

/* What the graph search finds for rings: channels of one speed. Inside a node every channel passes every GPU once; between
 * nodes every channel takes a port, and a port carries several where its rate allows. The most bytes win, the faster channel
 * on a tie. Channels of 25 GB/s and more are doubled at half the speed. */
typedef struct graph {
    uint32_t channels;
    double intra_Bps, inter_Bps; /* per channel */
    double intra_room_Bps;       /* what a channel could take inside a node */
} graph;

static const double doubled_from_Bps = 25e9;
enum { MOST_CHANNELS = 32 };

/* The fastest speed that it tries within `room`; room when all are faster. */
static double fastest(const double *speeds, double room) {
    for (int i = 0; speeds[i] > 0; i++)
        if (speeds[i] <= room * (1 + 1e-9)) return speeds[i];
    return room;
}

static graph find_graph(const library_constants *k, const library_group *g) {
    double total = g->links > 0 ? g->links * k->link_Bps : g->pcie_Bps * k->pcie_share;
    const double *speeds = g->nodes > 1 ? k->inter_Bps : k->intra_Bps;
    graph best = {1, total, total, total};
    double most = 0;
    if (g->per_node < 2) total = INFINITY;
    for (int i = 0; speeds[i] > 0; i++) {
        double speed = speeds[i], channels = g->per_node < 2 ? MOST_CHANNELS : floor(total / speed * (1 + 1e-9));
        if (g->nodes > 1) channels = fmin(channels, g->nics * floor(g->nic_Bps / speed * (1 + 1e-9)));
        channels = fmin(channels, MOST_CHANNELS);
        if (channels < 1 || channels * speed <= most) continue;
        most = channels * speed;
        best = (graph){(uint32_t)channels, speed, speed, total / channels};
    }
    if (most == 0 && g->nodes > 1) best = (graph){1, g->nic_Bps, g->nic_Bps, fmin(total, g->nic_Bps)};
    if (g->nodes > 1 && g->per_node > 1) best.intra_Bps = fmin(best.intra_room_Bps, 2 * best.inter_Bps);
    if (best.intra_Bps >= doubled_from_Bps && best.channels * 2 <= MOST_CHANNELS) {
        best.channels *= 2;
        best.intra_Bps /= 2;
        best.inter_Bps /= 2;
        best.intra_room_Bps /= 2;
    }
    return best;
}

/* --- Estimates ------------------------------------------------------------------------------------------------------ */

static int row_of_nodes(uint32_t nodes) { return nodes > 2 ? 2 : (int)nodes - 1; }

static double floor_log2(uint32_t value) {
    double log = 0;
    while (value >>= 1) log++;
    return log;
}

/* Steps of a ring, and those between nodes. */
static double ring_steps(pw_collective_kind kind, uint32_t members) {
    return kind == PW_COLLECTIVE_ALL_REDUCE ? 2.0 * (members - 1) : kind == PW_COLLECTIVE_BROADCAST ? members : members - 1.0;
}

static double latency_of(const library_constants *k, const library_group *g, pw_collective_kind kind, library_algorithm a,
                         library_protocol p) {
    double inside = g->links > 0 ? k->nvlink[a][p] : k->pcie[a][p], base = k->base[a][p];
    double between = k->network[a == LIBRARY_RING && g->per_node == 1 ? LIBRARY_TREE : a][p];
    double post = p == LIBRARY_SIMPLE ? 3e-6 : 1e-6; /* of a message to the network, least time of a step */
    double n = g->ranks, per_node = g->per_node;
    bool several = g->nodes > 1;
    switch (a) {
        case LIBRARY_RING: {
            double s = ring_steps(kind, g->ranks), i = several ? ring_steps(kind, g->nodes) : 0;
            if (kind == PW_COLLECTIVE_BROADCAST) return base + s * (p == LIBRARY_SIMPLE ? k->nvlink[LIBRARY_TREE][p] : inside);
            return base + (s - i) * (several ? fmax(inside, post) : inside) + (several ? i * between : 0);
        }
        case LIBRARY_TREE: return base + 2 * ((per_node - 1) * inside + (several ? floor_log2(g->nodes) * between : 0));
        case LIBRARY_NVLS: return inside;
        case LIBRARY_NVLS_TREE: return inside + 2 * floor_log2(g->nodes) * between;
        case LIBRARY_PAT: return base + floor_log2(g->nodes) * (between / 3.5) + 2.8e-6 * n;
        default: return NAN;
    }
}

/* Bandwidth of the bytes on the bus, then of the algorithm; 0: it does not apply. */
static double bandwidth_of(const library_constants *k, const library_group *g, const graph *found, pw_collective_kind kind,
                           library_algorithm a, library_protocol p) {
    int row = row_of_nodes(g->nodes);
    double ll_cap = g->nodes == 1 ? k->ll_Bps[0] : k->ll_network_Bps[g->amd_host][row - 1];
    double c = found->channels, speed = g->nodes <= 2 && a == LIBRARY_TREE ? found->intra_Bps : found->inter_Bps;
    double bus = c * speed, n = g->ranks, ratio = a == LIBRARY_RING ? n / ring_steps(kind, g->ranks) : 0.5;
    if (g->nodes == 1) bus = c * found->intra_Bps;
    if (k->has_ratio && (a == LIBRARY_RING || a == LIBRARY_TREE)) return bus * k->ratio[a][g->nodes > 2][p] * ratio;
    switch (a) {
        case LIBRARY_RING:
            if (p == LIBRARY_LL) bus = fmin(bus * 0.5, ll_cap);
            if (p == LIBRARY_LL128) bus = fmin(bus * 0.92, c * k->ring_ll128_Bps[row]);
            break;
        case LIBRARY_TREE:
            bus = fmin(bus * 0.92, c * k->tree_Bps[row]);
            if (p == LIBRARY_LL) bus = fmin(bus / 3.8, ll_cap);
            if (p == LIBRARY_LL128) bus = fmin(bus * (g->nodes == 1 ? 7.0 / 9 : 120.0 / 128), c * k->tree_ll128_Bps[row]);
            break;
        case LIBRARY_NVLS:
        case LIBRARY_NVLS_TREE: {
            double heads = g->per_node, speed_of_head = fastest(k->intra_Bps, found->intra_room_Bps * c / heads);
            double per = speed_of_head * k->nvls_efficiency * (heads - 1) / heads *
                         (kind == PW_COLLECTIVE_ALL_REDUCE ? 2 : (g->per_node - 1.0) / g->per_node);
            if (a == LIBRARY_NVLS_TREE) {
                double inter = found->inter_Bps * c / heads * (g->nodes == 2 ? 2 : 1);
                per = fmin(per, fmin(inter, k->nvls_tree_Bps[row]));
            }
            bus = per * heads;
            ratio = kind == PW_COLLECTIVE_ALL_REDUCE ? n / (2.0 * (n - 1)) : 1;
            break;
        }
        case LIBRARY_PAT: bus *= 0.75; ratio = n / ring_steps(kind, g->ranks); break;
        default: return 0;
    }
    return bus * ratio;
}

static bool applies(const library_constants *k, const library_group *g, pw_collective_kind kind, library_algorithm a,
                    library_protocol p) {
    bool reduce = kind == PW_COLLECTIVE_ALL_REDUCE, half = kind == PW_COLLECTIVE_ALL_GATHER || kind == PW_COLLECTIVE_REDUCE_SCATTER;
    if (p == LIBRARY_LL128 && g->links == 0) return false;
    if (isnan((g->links > 0 ? k->nvlink : k->pcie)[a][p]) && g->per_node > 1) return false;
    switch (a) {
        case LIBRARY_RING: return reduce || half || kind == PW_COLLECTIVE_BROADCAST;
        case LIBRARY_TREE: return reduce;
        case LIBRARY_NVLS: return (reduce || half) && g->multicast && g->nodes == 1 && g->ranks > 2 && p == LIBRARY_SIMPLE && k->nvls_efficiency > 0;
        case LIBRARY_NVLS_TREE: return reduce && g->multicast && g->nodes > 1 && g->per_node > 1 && p == LIBRARY_SIMPLE && k->nvls_efficiency > 0;
        case LIBRARY_PAT: return half && g->nodes > 1 && g->per_node == 1 && p == LIBRARY_SIMPLE;
        default: return false;
    }
}

bool library_choose(const library_constants *k, const library_group *g, pw_collective_kind kind, double bytes,
                    library_choice *choice) {
    bool found = false;
    graph channels = find_graph(k, g);
    if (g->ranks < 2) return false;
    for (int a = 0; a < LIBRARY_ALGORITHMS; a++)
        for (int p = 0; p < LIBRARY_PROTOCOLS; p++) {
            if (!applies(k, g, kind, (library_algorithm)a, (library_protocol)p)) continue;
            double latency = latency_of(k, g, kind, (library_algorithm)a, (library_protocol)p);
            double bandwidth = bandwidth_of(k, g, &channels, kind, (library_algorithm)a, (library_protocol)p);
            if (a == LIBRARY_TREE) {
                double size = floor(pw_log2(fmax(bytes / 64, 1)));
                if (size < LIBRARY_TREE_SIZES - 1) bandwidth *= k->tree_factor[p][(int)size];
            }
            if (a == LIBRARY_RING && p == LIBRARY_SIMPLE && g->nodes > 1 && kind == PW_COLLECTIVE_ALL_REDUCE &&
                bytes / channels.channels / g->ranks >= 64)
                latency *= k->link_Bps <= 20e9 && strcmp(k->generation, "Volta") == 0 ? 1.9 : 1.4;
            double time = latency + bytes / bandwidth;
            if (isnan(time) || !(bandwidth > 0) || (found && time >= choice->time_s)) continue;
            *choice = (library_choice){(library_algorithm)a, (library_protocol)p, channels.channels, time};
            found = true;
        }
    return found;
}

/* --- Point to point -------------------------------------------------------------------------------------------------- */

/* Messages that the busiest of all channels carries, when each of the peers uses `channels`. */
static double turns(double total, double members, uint32_t peers, double channels) {
    if (peers < 2 || channels * members <= total) return 1;
    return channels >= total ? peers : ceil(channels * members / total);
}

double library_p2p_part(const library_constants *k, uint32_t members, uint32_t peers, double bytes) {
    double total = k->p2p_channels, least = total, n = members;
    while (least * n > total && least > 1) least /= 2;
    double channels = fmax(1, fmin(least, bytes / k->p2p_least_bytes)), before = 0;
    while (channels >= least && channels < total && bytes / channels > k->p2p_most_bytes) {
        before = fmax(before, turns(total, n, peers, channels) * k->p2p_most_bytes); /* it stands still until it has caught up */
        channels *= 2;
    }
    return fmax(before, turns(total, n, peers, channels) * bytes / channels);
}
