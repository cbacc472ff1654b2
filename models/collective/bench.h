/* What the words of a published benchmark mean: a group of GPUs on a cluster with a communication library.
 *
 * A benchmark says "H100, 2 nodes of 8, 8x200G TCPXO"; a table of patterns says which server, ports and network stack that is.
 * Rows with the same words share one cluster.
 */
#ifndef PW_MODELS_COLLECTIVE_BENCH_H
#define PW_MODELS_COLLECTIVE_BENCH_H

#include "models/collective/collective.h"

/* The words, in this order. Empty nodes and groups: 1; empty ranks: nodes x gpus_per_node. */
#define PW_BENCH_COLUMNS(X)                                                                                                   \
    X(gpu) X(nodes) X(gpus_per_node) X(ranks) X(concurrent_groups) X(intra) X(inter) X(lib) X(lib_version) X(launch)
enum {
#define PW_BENCH_COUNT(name) PW_BENCH_##name,
    PW_BENCH_COLUMNS(PW_BENCH_COUNT)
#undef PW_BENCH_COUNT
    PW_BENCH_WORDS
};
extern const char *const pw_bench_columns[]; /* "gpu", ..., NULL */

typedef struct pw_bench {
    const char *why; /* not "": the reason why it cannot run; nothing else is set then */
    const char *words[PW_BENCH_WORDS];
    const char *stack; /* as the table says; "": by the ports */
    pw_cluster *cluster;
    pw_collectives *collectives;
    const uint32_t *gpus; /* [shape.members] */
    pw_group_shape shape;
    struct pw_bench *next;
} pw_bench;

typedef struct pw_benches pw_benches;
/* systems: a CSV file of patterns (tests/validation/collective-systems.csv); the first row counts whose columns before "server" are
 * empty or begin the word of their name. The catalogue must outlive the object. */
pw_status pw_benches_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *systems, pw_benches **benches,
                            pw_error *error);
void pw_benches_destroy(pw_benches *benches);
/* Builds what was not asked for before; the words are copied. A word that is no number where one is needed is PW_BAD_INPUT; a
 * cluster that cannot be is a bench with a reason. Not for several threads. */
pw_status pw_benches_add(pw_benches *benches, const char *const words[PW_BENCH_WORDS], const pw_bench **bench, pw_error *error);
/* The same for words that were added; NULL for others. For several threads. */
const pw_bench *pw_benches_find(const pw_benches *benches, const char *const words[PW_BENCH_WORDS]);

/* The kind that a benchmark calls so ("alltoall", "sendrecv", "all_reduce"); -1: none. */
int pw_bench_kind(const char *word);
/* Seconds of a collective of that size on the bench, alone. */
pw_status pw_bench_time(const pw_bench *bench, pw_collective_kind kind, double bytes, double *seconds, pw_error *error);

#endif
