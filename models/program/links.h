/* Loads on links and classes of equal links, for folding. Internal to this folder. */
#ifndef PW_MODELS_PROGRAM_LINKS_H
#define PW_MODELS_PROGRAM_LINKS_H

#include "models/program/fold.h"

/* 128 bits stand for a tuple of any length; equal tuples have equal digests, unequal ones differ but for one chance in
 * 2^100. The same on every machine. */
typedef struct digest {
    uint64_t a, b;
} digest;
static inline uint64_t mix64(uint64_t h) {
    h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
    return h ^ (h >> 31);
}
static inline digest digest_add(digest d, uint64_t value) { /* in order */
    return (digest){mix64(d.a ^ (value + UINT64_C(0x9e3779b97f4a7c15))), mix64(d.b + value * UINT64_C(0xd6e8feb86659fd93) + 1)};
}
static inline digest digest_sum(digest d, digest part) { /* in any order */
    return (digest){d.a + part.a, d.b + part.b};
}
digest digest_number(digest d, double value);

/* Numbers digests 0, 1, ... by first appearance. */
typedef struct numbering {
    const pw_allocator *allocator;
    digest *keys;      /* by number */
    size_t count, capacity;
    uint32_t *table, size;
} numbering;
void numbering_clear(numbering *n);
uint32_t numbering_of(numbering *n, digest key); /* PW_NONE when memory is out */
void numbering_free(numbering *n);

/* What a byte between a GPU and a placed store puts on links (store.c); latency of the farthest host's way. */
pw_status plan_store_loads(const pw_cluster *cluster, const pw_store *store, uint32_t gpu, bool write, pw_link_load_fn *add,
                           void *object, double *latency_s, pw_error *error);

typedef struct link_load {
    pw_link link;
    double load; /* bytes per byte of the flow */
} link_load;

/* Something that loads links: a group with one kind and algorithm, a rank's sends in a role, a rank's copies one way. Those of
 * a job follow each other. */
typedef struct carrier {
    flow_kind kind;
    uint32_t unit;   /* group, numbered over all roles; rank */
    uint32_t detail;
    int algorithm;
    size_t first;    /* its loads */
    uint32_t count;
    uint32_t flow;   /* its flow class */
} carrier;

typedef struct link_table {
    const pw_allocator *allocator;
    carrier *carriers;
    size_t carrier_count, carrier_capacity;
    link_load *loads;
    size_t load_count, load_capacity;
    uint32_t link_total; /* of the fabric */
    double *sum;         /* [links] scratch, zero between uses */
    pw_link *touched;
    size_t touched_count, touched_capacity;
    bool failed;         /* memory ran out */

    uint32_t *node_of_link; /* [links]: state of the refinement; PW_NONE: untouched */
    struct link_node { uint32_t parent, flow; double load; } *nodes; /* parent PW_NONE: a kind and bandwidth */
    size_t node_count, node_capacity;
    numbering numbers;
} link_table;

pw_status link_table_create(const pw_allocator *allocator, const pw_fabric *fabric, link_table *table, pw_error *error);
void link_table_free(link_table *table);
/* Begins a carrier; link_table_add (a pw_link_load_fn) adds its loads, link_table_end closes it. */
void link_table_begin(link_table *table, flow_kind kind, uint32_t unit, uint32_t detail, int algorithm);
void link_table_add(void *table, pw_link link, double load);
void link_table_end(link_table *table);

/* Refines links by the loads of all carriers; carriers[].flow is set (0 .. flow_count - 1). Fills f's link classes, with
 * dominated ones marked, and the uses of f->flows (flow_count of them, made by the caller). */
pw_status link_table_classify(link_table *table, const pw_cluster *cluster, pw_arena *arena, link_classes *f, pw_error *error);
/* What the carrier meets: its loads by link class, dominated ones left out. */
digest link_table_signature(const link_table *table, const link_classes *f, const carrier *one);

#endif
