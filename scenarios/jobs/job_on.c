/* Fields of jobs on nodes and of failures; names of links; failures as changes of capacity. */
#include "scenarios/jobs/job_on.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/text.h"

#define DECLARE(job, registry) extern const pw_kind registry;
PW_JOB_KINDS(DECLARE)

#define AT(member) offsetof(pw_job_on_desc, member)

static const char *const placements[] = {"packed", "spread", "fragmented", "strided", NULL};
static const pw_field node_item = {"node", PW_FIELD_INTEGER, PW_UNIT_NONE, 0, 0, 1 << 20, .text = "Number of a node, from 0."};

static const pw_field job_on_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "What reports call it; without one, its kind and number."},
    {"job", PW_FIELD_ONE_OF, PW_UNIT_NONE, AT(job), 0, 0, NULL, .kinds = pw_job_registry_kinds, .text = "What runs."},
    {"nodes", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(nodes), 0, 1 << 20, "0", NULL, NULL,
     "How many nodes it gets, all of their GPUs; 0: all that no other job has."},
    {"first_node", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(first_node), -1, 1 << 20, "-1", NULL, NULL,
     "Where its nodes begin; -1: at the first free one."},
    {"placement", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(placement), 0, 0, "packed", placements, NULL,
     "packed: free nodes in order; spread: dealt over the leaf switches; fragmented: drawn from all free ones, in order; strided: "
     "every stride-th."},
    {"stride", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(stride), 1, 1 << 20, "1", NULL, NULL, "Distance of nodes with placement strided."},
    {"node_list", PW_FIELD_LIST, PW_UNIT_NONE, AT(node_list), 1, 1 << 20, "", .item = &node_item,
     .text = "Exactly these nodes, in this order, instead of all that."},
    {"start", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(start_s), 0, 1e6, "0 s", NULL, NULL, "When it starts."},
    {"steps", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(steps), 1, 1e6, "1", NULL, NULL,
     "How often the job runs, one step of training each time; the next begins when all ranks have ended."},
    {"gap", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(gap_s), 0, 1e6, "0 s", NULL, NULL, "Time between the end of a step and the next."},
    {"forever", PW_FIELD_BOOL, PW_UNIT_NONE, AT(forever), 0, 0, "false", NULL, NULL,
     "It goes on until the jobs that are to end have ended (a noisy neighbour)."},
    {NULL}};

static pw_status check_job_on(const void *description, const char *file, int line, pw_error *error) {
    const pw_job_on_desc *d = description;
    bool list = d->node_list.items != NULL;
    if (list && (d->nodes || d->first_node >= 0 || d->placement != PW_PLACE_PACKED))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave out nodes, first_node and placement",
                       "job_on.node_list says exactly which nodes");
    if (d->stride != 1 && d->placement != PW_PLACE_STRIDED)
        return pw_fail(error, PW_BAD_INPUT, file, line, "add placement = \"strided\"", "job_on.stride changes nothing with this placement");
    if (d->first_node >= 0 && (d->placement == PW_PLACE_FRAGMENTED || d->placement == PW_PLACE_SPREAD))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave it out", "job_on.first_node changes nothing with this placement");
    if (d->forever && d->steps != 1)
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave out one of them", "job_on.forever and job_on.steps exclude each other");
    return PW_OK;
}

const pw_kind pw_job_on_kind = {"job_on", "A job and the nodes it runs on, beside other jobs.", sizeof(pw_job_on_desc), job_on_fields,
                                check_job_on};

#define REGISTRY(job, registry) &registry,
const pw_kind *const pw_job_list_kinds[] = {&pw_job_on_kind, PW_JOB_KINDS(REGISTRY) NULL};

#undef AT
#define AT(member) offsetof(pw_fail_desc, member)

static const pw_field fail_fields[] = {
    {"from", PW_FIELD_TEXT, PW_UNIT_NONE, AT(from), 0, 0, "", NULL, NULL, "One end of the cable that fails: \"leaf 3\", \"nic 12\"."},
    {"to", PW_FIELD_TEXT, PW_UNIT_NONE, AT(to), 0, 0, "", NULL, NULL, "The other end: \"spine 1\"."},
    {"switch", PW_FIELD_TEXT, PW_UNIT_NONE, AT(switch_name), 0, 0, "", NULL, NULL, "Or the switch that fails: \"spine 1\"."},
    {"at", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(at_s), 0, 1e6, NULL, NULL, NULL, "When."},
    {"repaired", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(repaired_s), 0, 1e6, "", NULL, NULL, "When it is whole again; left out: never."},
    {"capacity", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(capacity), 0, 1, "0", NULL, NULL, "Share of its bandwidth that is left meanwhile."},
    {NULL}};

static pw_status check_fail(const void *description, const char *file, int line, pw_error *error) {
    const pw_fail_desc *d = description;
    bool cable = d->from && *d->from && d->to && *d->to, half = (d->from && *d->from) != (d->to && *d->to);
    bool is_switch = d->switch_name && *d->switch_name;
    if (half || cable == is_switch)
        return pw_fail(error, PW_BAD_INPUT, file, line, "write from = \"leaf 3\", to = \"spine 1\", or switch = \"spine 1\"",
                       "fail takes the two ends of a cable, or a switch");
    if (d->repaired_s <= d->at_s)
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "fail.repaired is not after fail.at");
    return PW_OK;
}

const pw_kind pw_fail_kind = {"fail", "A cable or switch that loses capacity while jobs run.", sizeof(pw_fail_desc), fail_fields, check_fail};
const pw_kind *const pw_event_kinds[] = {&pw_fail_kind, NULL};

/* --- Names -------------------------------------------------------------------------------------------------------- */

static pw_status no_memory(pw_error *error) {
    return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the names of links");
}

static pw_status find_vertex(const pw_part_names *names, const char *what, pw_vertex *found, pw_error *error) {
    const char *space = strrchr(what, ' '), *end;
    int64_t number;
    uint32_t of_kind = 0;
    char hint[160];
    *found = PW_NONE;
    const pw_network *network = pw_cluster_network(names->cluster);
    for (uint32_t i = 0; network && i < pw_network_switches(network); i++) { /* as reports name switches: by tier, or by their own name */
        char name[64];
        pw_vertex vertex = pw_network_switch(network, i).vertex;
        if (strcmp(pw_part_name(names, vertex, name, sizeof name), what) == 0) return *found = vertex, PW_OK;
    }
    bool good = space && pw_text_integer(space + 1, &end, &number) && !*end && number >= 0;
    size_t length = space ? (size_t)(space - what) : 0, used = (size_t)snprintf(hint, sizeof hint, "kinds of parts here:");
    for (int kind = 0; kind < PW_VERTEX_KIND_COUNT; kind++) {
        uint32_t here = 0;
        bool named = good && strlen(pw_part_kind((pw_vertex_kind)kind)) == length &&
                     strncmp(what, pw_part_kind((pw_vertex_kind)kind), length) == 0;
        for (pw_vertex v = 0; v < pw_fabric_vertices(names->fabric); v++) {
            if ((int)pw_fabric_vertex_kind(names->fabric, v) != kind) continue;
            if (named && here == number) *found = v;
            here++;
        }
        if (here) used += (size_t)snprintf(hint + used, used < sizeof hint ? sizeof hint - used : 0, " %s 0-%" PRIu32,
                                         pw_part_kind((pw_vertex_kind)kind), here - 1);
        if (used >= sizeof hint) used = sizeof hint - 1;
        if (named) of_kind = here;
    }
    if (*found != PW_NONE) return PW_OK;
    if (of_kind == 1) snprintf(hint, sizeof hint, "there is only %.*s 0", (int)length, what);
    else if (of_kind) snprintf(hint, sizeof hint, "there are %.*s 0 to %" PRIu32, (int)length, what, of_kind - 1);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "the cluster has no '%.100s'", what);
}

/* --- Events ------------------------------------------------------------------------------------------------------- */

typedef struct change {
    double at_s, part;
    uint32_t item, order; /* which event; in order of writing */
    bool ends;
} change;

static int compare_changes(const void *left, const void *right) {
    const change *a = left, *b = right;
    if (a->at_s != b->at_s) return a->at_s < b->at_s ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

typedef struct ends { pw_vertex a, b; } ends; /* b PW_NONE: all links of a */

static bool is_part(const pw_fabric *fabric, pw_link link, ends of) {
    const pw_link_info *info = pw_fabric_link(fabric, link);
    if (of.b == PW_NONE) return info->from == of.a || info->to == of.a;
    return (info->from == of.a && info->to == of.b) || (info->from == of.b && info->to == of.a);
}

static pw_twins twins_of(const pw_cluster *cluster, pw_link link) {
    const pw_network *network = pw_cluster_network(cluster);
    return network ? pw_network_twins(network, link) : (pw_twins){link, 1};
}

static pw_status find_ends(const pw_part_names *names, pw_list events, ends *of, pw_error *error) {
    const pw_one_of *items = events.items;
    for (uint32_t i = 0; i < events.count; i++) {
        const pw_fail_desc *d = items[i].record;
        char text[400];
        bool is_switch = d->switch_name && *d->switch_name;
        of[i].b = PW_NONE;
        pw_status status = find_vertex(names, is_switch ? d->switch_name : d->from, &of[i].a, error);
        if (status == PW_OK && !is_switch) status = find_vertex(names, d->to, &of[i].b, error);
        bool any = false;
        for (pw_link l = 0; status == PW_OK && l < pw_fabric_links(names->fabric) && !any; l++) any = is_part(names->fabric, l, of[i]);
        if (status == PW_OK && !any)
            status = pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "no cable joins '%.60s' and '%.60s'", is_switch ? d->switch_name : d->from,
                             is_switch ? "anything" : d->to);
        if (status == PW_OK) continue;
        snprintf(text, sizeof text, "%.300s (scenario.events[%u])", error->what, i + 1);
        snprintf(error->what, sizeof error->what, "%s", text);
        return status;
    }
    return PW_OK;
}

/* A failure of a link that lasts; the worst of those of one link counts. */
typedef struct lasting {
    double lost;
    uint32_t item;
    struct lasting *next;
} lasting;

typedef struct making {
    const pw_cluster *cluster;
    const pw_fabric *fabric;
    pw_arena *arena;
    lasting **failed; /* [links] */
    double *lost;    /* [links]: share that failures take now, each link by itself */
    double *pool;    /* [links], by first of twins: sum of lost */
    uint32_t *last;  /* [links]: 1 + index of the last change of the pool */
    pw_link_event *made;
    size_t count, capacity;
} making;

static bool put(making *m, const change *c, pw_link first, const char *name) {
    if (m->count == m->capacity) { /* the old array stays in the arena */
        size_t grown = m->capacity ? 2 * m->capacity : 64;
        pw_link_event *made = pw_arena_alloc(m->arena, grown * sizeof *made);
        if (!made) return false;
        if (m->count) memcpy(made, m->made, m->count * sizeof *made);
        m->made = made;
        m->capacity = grown;
    }
    double part = 1 - m->pool[first] / twins_of(m->cluster, first).count;
    m->made[m->count++] = (pw_link_event){.at_s = c->at_s, .link = first, .part = part < 1e-12 ? 0 : part, .name = name};
    m->last[first] = (uint32_t)m->count;
    return true;
}

/* What the failures of a link that last after this change take; -1: no memory. */
static double lost_after(making *m, const change *c, pw_link link) {
    if (c->ends) {
        for (lasting **at = &m->failed[link]; *at; at = &(*at)->next)
            if ((*at)->item == c->item) {
                *at = (*at)->next;
                break;
            }
    } else {
        lasting *one = pw_arena_alloc(m->arena, sizeof *one);
        if (!one) return -1;
        *one = (lasting){1 - c->part, c->item, m->failed[link]};
        m->failed[link] = one;
    }
    double lost = 0;
    for (const lasting *one = m->failed[link]; one; one = one->next)
        if (one->lost > lost) lost = one->lost;
    return lost;
}

static bool apply(making *m, const change *c, ends of, const char *name) {
    uint32_t links = pw_fabric_links(m->fabric), *changed = pw_arena_alloc(m->arena, (links + (size_t)1) * sizeof *changed), count = 0;
    if (!changed) return false;
    for (pw_link l = 0; l < links; l++) {
        if (!is_part(m->fabric, l, of)) continue;
        double lost = lost_after(m, c, l);
        pw_link first = twins_of(m->cluster, l).first;
        if (lost < 0) return false;
        if (m->lost[l] == lost) continue;
        m->pool[first] += lost - m->lost[l];
        m->lost[l] = lost;
        uint32_t i = 0;
        while (i < count && changed[i] != first) i++;
        if (i == count) changed[count++] = first;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!put(m, c, changed[i], name)) return false;
    return true;
}

pw_status pw_events_make(const pw_cluster *cluster, const pw_part_names *names, pw_list events, pw_arena *arena,
                         pw_link_event **made, uint32_t *count, pw_error *error) {
    uint32_t links = pw_fabric_links(names->fabric), changes = 0;
    *made = NULL;
    *count = 0;
    if (events.count == 0) return PW_OK;
    making m = {.cluster = cluster, .fabric = names->fabric, .arena = arena};
    ends *of = pw_arena_alloc(arena, events.count * sizeof *of);
    change *all = pw_arena_alloc(arena, 2 * events.count * sizeof *all);
    m.failed = pw_arena_alloc(arena, (links + (size_t)1) * sizeof *m.failed);
    m.lost = pw_arena_alloc(arena, (links + (size_t)1) * sizeof *m.lost);
    m.pool = pw_arena_alloc(arena, (links + (size_t)1) * sizeof *m.pool);
    m.last = pw_arena_alloc(arena, (links + (size_t)1) * sizeof *m.last);
    if (!of || !all || !m.failed || !m.lost || !m.pool || !m.last) return no_memory(error);
    PW_TRY(find_ends(names, events, of, error));
    const pw_one_of *items = events.items;
    for (uint32_t i = 0; i < events.count; i++) {
        const pw_fail_desc *d = items[i].record;
        all[changes] = (change){d->at_s, d->capacity, i, changes, false};
        changes++;
        if (isnan(d->repaired_s)) continue;
        all[changes] = (change){d->repaired_s, 1, i, changes, true};
        changes++;
    }
    qsort(all, changes, sizeof *all, compare_changes);
    for (uint32_t c = 0; c < changes; c++) {
        const pw_fail_desc *d = items[all[c].item].record;
        char name[160];
        if (d->switch_name && *d->switch_name) snprintf(name, sizeof name, "%.100s", d->switch_name);
        else snprintf(name, sizeof name, "the cable from %.50s to %.50s", d->from, d->to);
        const char *kept = pw_arena_text(arena, name);
        if (!kept || !apply(&m, &all[c], of[all[c].item], kept)) return no_memory(error);
    }
    for (size_t e = 0; e < m.count; e++) m.made[e].last = m.last[m.made[e].link] == e + 1;
    *made = m.made;
    *count = (uint32_t)m.count;
    return PW_OK;
}
