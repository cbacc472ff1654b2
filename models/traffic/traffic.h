/* Traffic: a list of flows made from a description, the same for every way of simulating them.
 *
 * A flow takes bytes from one end to another from a time on. Ends are numbers; whoever runs the flows says what they number (network
 * ports, GPUs). A pattern with random draws (permutation, random) takes them from the named stream "traffic" of the seed, so
 * the same description and seed give the same flows. Flows may wait for others (after): that is how the messages of a
 * collective's step graph become traffic.
 */
#ifndef PW_MODELS_TRAFFIC_H
#define PW_MODELS_TRAFFIC_H

#include "models/collective/collective.h"
#include "sim/registry.h"

typedef struct pw_flow {
    uint32_t from, to;  /* different ends */
    double bytes;       /* > 0 */
    double start_s;     /* >= 0; of a flow that waits for others: the earliest start */
} pw_flow;

/* Flows in the order in which they were made. Flow f starts once the flows before_list[before[f]] .. before_list[before[f + 1] - 1]
 * have arrived; before NULL: none waits. All memory is the arena's. */
typedef struct pw_traffic {
    pw_flow *flows;
    uint32_t count;
    uint32_t *before, *before_list; /* [count + 1]; flow numbers smaller than the one that waits */
    double bytes;                   /* of all flows */
} pw_traffic;

#define PW_TRAFFIC_PATTERN_MAP(X)      \
    X(PERMUTATION, "permutation")      \
    X(INCAST, "incast")                \
    X(ALL_TO_ALL, "all_to_all")        \
    X(RING, "ring")                    \
    X(RANDOM, "random")                \
    X(LIST, "list")
typedef enum pw_traffic_pattern {
#define PW_TRAFFIC_ENUM(NAME, name) PW_TRAFFIC_##NAME,
    PW_TRAFFIC_PATTERN_MAP(PW_TRAFFIC_ENUM)
#undef PW_TRAFFIC_ENUM
    PW_TRAFFIC_PATTERN_COUNT
} pw_traffic_pattern;
extern const char *const pw_traffic_pattern_names[]; /* NULL-terminated */

/* One flow as a user writes it. */
typedef struct pw_flow_desc {
    int64_t from, to;
    double bytes, start_s;
} pw_flow_desc;
extern const pw_kind pw_flow_kind; /* "flow" in the registry */

/* A pattern as a user writes it. The fields are listed by PW_TRAFFIC_FIELDS, so that a kind that embeds a pattern can list
 * them as its own. */
typedef struct pw_pattern_desc {
    int pattern;         /* pw_traffic_pattern */
    int64_t ends;        /* taking part: 0 .. ends - 1; 0: all */
    double bytes;        /* of each flow; NaN with LIST */
    int64_t target;      /* INCAST: who receives */
    int64_t count;       /* RANDOM: how many flows */
    int64_t repeats;     /* the pattern is laid down so often, drawn anew each time */
    double interval_s;   /* RANDOM: mean time between starts (exponential); others: from one repeat to the next */
    double start_s;      /* of the first */
    pw_list flows;       /* LIST: pw_one_of of pw_flow_kind */
} pw_pattern_desc;

/* The fields of a pattern_desc at `offset` inside the describing struct; for use in a pw_field table. */
extern const pw_field pw_traffic_flow_item;
#define PW_TRAFFIC_FIELDS(offset)                                                                                             \
    {"pattern", PW_FIELD_CHOICE, PW_UNIT_NONE, (offset) + offsetof(pw_pattern_desc, pattern), 0, 0, "permutation",            \
     pw_traffic_pattern_names, NULL,                                                                                          \
     "Who sends to whom: permutation (each to one other, random), incast (all to target), all_to_all, ring (each to the next), " \
     "random (count flows between random ends), list (flows)."},                                                              \
    {"ends", PW_FIELD_INTEGER, PW_UNIT_NONE, (offset) + offsetof(pw_pattern_desc, ends), 0, 1 << 20, "0", NULL, NULL,         \
     "Ends that take part: 0 to ends - 1; 0 takes all."},                                                                     \
    {"bytes", PW_FIELD_NUMBER, PW_UNIT_BYTES, (offset) + offsetof(pw_pattern_desc, bytes), 1, 1e15, "", NULL, NULL,           \
     "Bytes of each flow; not with pattern list, whose flows say theirs."},                                                   \
    {"target", PW_FIELD_INTEGER, PW_UNIT_NONE, (offset) + offsetof(pw_pattern_desc, target), 0, 1 << 20, "0", NULL, NULL,     \
     "The end that receives in an incast."},                                                                                  \
    {"count", PW_FIELD_INTEGER, PW_UNIT_NONE, (offset) + offsetof(pw_pattern_desc, count), 0, 1e8, "0", NULL, NULL,           \
     "Flows of pattern random."},                                                                                             \
    {"repeats", PW_FIELD_INTEGER, PW_UNIT_NONE, (offset) + offsetof(pw_pattern_desc, repeats), 1, 1e6, "1", NULL, NULL,       \
     "How often the pattern is laid down, drawn anew each time."},                                                            \
    {"interval", PW_FIELD_NUMBER, PW_UNIT_SECONDS, (offset) + offsetof(pw_pattern_desc, interval_s), 0, 1e6, "0 s", NULL, NULL, \
     "Time from one repeat to the next; of pattern random the mean time between starts, exponentially distributed."},         \
    {"start", PW_FIELD_NUMBER, PW_UNIT_SECONDS, (offset) + offsetof(pw_pattern_desc, start_s), 0, 1e6, "0 s", NULL, NULL,     \
     "When the first flow starts."},                                                                                          \
    {"flows", PW_FIELD_LIST, PW_UNIT_NONE, (offset) + offsetof(pw_pattern_desc, flows), 1, PW_LIST_MOST, "", NULL, NULL,      \
     "The flows of pattern list.", NULL, &pw_traffic_flow_item}

/* What no single field can say; kind is the name in messages ("traffic"). ends 0: not known yet. */
pw_status pw_pattern_check(const pw_pattern_desc *desc, const char *kind, uint32_t ends, const char *file, int line, pw_error *error);
/* Makes the flows among `ends` ends (the whole set; desc->ends may take part of it). kind as above. */
pw_status pw_traffic_make(const pw_pattern_desc *desc, const char *kind, uint32_t ends, uint64_t seed, pw_arena *arena,
                          pw_traffic *traffic, pw_error *error);
/* The messages of a collective of S = bytes over `members` ends (member m is end m): a message waits for all messages of the
 * earlier rounds of its sender and of its receiver (collective.h). shape: of the group. Messages of no bytes are left out. */
pw_status pw_traffic_of_collective(const pw_algorithm *algorithm, pw_collective_kind kind, const pw_group_shape *shape, double bytes,
                                   pw_arena *arena, pw_traffic *traffic, pw_error *error);
/* Turns "waits for" around: after_list[after[f]] .. after_list[after[f + 1] - 1] wait for flow f. after has count + 2 entries, all zero
 * before; after_list as many as before_list. traffic->before is not NULL. */
void pw_traffic_turn(const pw_traffic *traffic, uint32_t *after, uint32_t *after_list);

#endif
