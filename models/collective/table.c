/* The one table of algorithms: a new one adds a file and a line in ALGORITHM_MAP. */
#include "models/collective/algorithm.h"

const char *const pw_collective_names[] = {
#define COLLECTIVE_NAME(NAME, name) name,
    PW_COLLECTIVE_MAP(COLLECTIVE_NAME)
#undef COLLECTIVE_NAME
    NULL};

double pw_collective_bus_factor(pw_collective_kind kind, uint32_t members) {
    double others = members < 2 ? 0 : (members - 1.0) / members;
    switch (kind) {
    case PW_COLLECTIVE_ALL_REDUCE:
    case PW_COLLECTIVE_BARRIER: return 2 * others;
    case PW_COLLECTIVE_BROADCAST:
    case PW_COLLECTIVE_REDUCE:
    case PW_COLLECTIVE_SEND_RECV: return 1;
    default: return others;
    }
}

const pw_algorithm pw_algorithm_table[] = {
#define ALGORITHM_ENTRY(algorithm, words)                                                                \
    {.name = #algorithm, .text = words, .applies = algorithm##_applies, .rounds = algorithm##_rounds,     \
     .steps = algorithm##_steps, .edges = algorithm##_edges, .touches = algorithm##_touches},
    ALGORITHM_MAP(ALGORITHM_ENTRY)
#undef ALGORITHM_ENTRY
    {.name = NULL}};

const char *const pw_algorithm_names[] = {
    "auto",
#define ALGORITHM_NAME(algorithm, words) #algorithm,
    ALGORITHM_MAP(ALGORITHM_NAME)
#undef ALGORITHM_NAME
    NULL};

const algorithm_form algorithm_forms[] = {
#define ALGORITHM_FORM(algorithm, words) {algorithm##_load, algorithm##_hops},
    ALGORITHM_MAP(ALGORITHM_FORM)
#undef ALGORITHM_FORM
};
