/* The one table of algorithms: a new one adds functions and a row in ALGORITHM_MAP. */
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
#define ALGORITHM_ENTRY(algorithm, words, functions, forms) {.name = #algorithm, .text = words, ALGORITHM_LIST functions},
    ALGORITHM_MAP(ALGORITHM_ENTRY)
#undef ALGORITHM_ENTRY
    {.name = NULL}};

const char *const pw_algorithm_names[] = {
    "auto",
#define ALGORITHM_NAME(algorithm, words, functions, forms) #algorithm,
    ALGORITHM_MAP(ALGORITHM_NAME)
#undef ALGORITHM_NAME
    NULL};

const char *const pw_algorithm_choices[] = {
    "auto",
#define ALGORITHM_CHOICE(algorithm, words, functions, forms) #algorithm,
    ALGORITHM_READY_MAP(ALGORITHM_CHOICE)
#undef ALGORITHM_CHOICE
    NULL};

const algorithm_form algorithm_forms[] = {
#define ALGORITHM_FORM(algorithm, words, functions, forms) {ALGORITHM_LIST forms},
    ALGORITHM_MAP(ALGORITHM_FORM)
#undef ALGORITHM_FORM
};

int algorithm_count(void) {
    return (int)(sizeof algorithm_forms / sizeof *algorithm_forms);
}
