/* Power budgets: how watts that are fewer than the plates' sum are divided.
 *
 * A budget (of a rack, a row, a feed that is left) is divided into caps, one for each consumer, by a policy. Whatever the policy, caps lie
 * between a consumer's least and rated power, and their sum is at most the budget: consumers that keep to their caps keep the
 * budget. Only when the least powers alone exceed it no division helps; then caps are the least ones and `short_W` says how much is missing.
 *
 *   uniform        one cap for all
 *   proportional   caps in proportion to what each wants
 *   priority       the higher priority gets all it wants first; equals get one cap
 *   highest_first  the highest draws are cut to one level, the others keep what they draw
 *
 * Every policy is one or more passes of the same step: find the level at which the sum of clipped amounts meets what is left, exactly,
 * from its break points. What is left when all wants are met is dealt to all up to their rated power.
 *
 * Units: W, s. O(n log n) for n consumers; priority: times the number of priorities.
 */
#ifndef PW_MODELS_POWER_BUDGET_H
#define PW_MODELS_POWER_BUDGET_H

#include "sim/event.h"
#include "sim/registry.h"

#define PW_BUDGET_POLICY_MAP(X)                                                                  \
    X(UNIFORM, uniform, "one cap for all")                                                       \
    X(PROPORTIONAL, proportional, "caps in proportion to what each wants")                       \
    X(PRIORITY, priority, "a higher priority gets all it wants before a lower one")              \
    X(HIGHEST_FIRST, highest_first, "the highest draws are cut to one level first")

typedef enum pw_budget_policy {
#define PW_BUDGET_POLICY_ENUM(NAME, name, text) PW_BUDGET_##NAME,
    PW_BUDGET_POLICY_MAP(PW_BUDGET_POLICY_ENUM)
#undef PW_BUDGET_POLICY_ENUM
    PW_BUDGET_POLICY_COUNT
} pw_budget_policy;
extern const char *const pw_budget_policy_names[]; /* NULL-terminated */
extern const char *const pw_budget_policy_texts[];

typedef struct pw_consumer {
    double least_W, rated_W;  /* caps lie between them; 0 <= least <= rated */
    double wants_W;           /* what it would draw without a cap */
    int priority;             /* higher is served first; read by policy priority alone */
} pw_consumer;

typedef struct pw_division {
    double caps_W;            /* their sum */
    double short_W;           /* least powers above the budget; 0: the budget holds */
    uint32_t cut;             /* consumers that get less than they want */
} pw_division;
/* caps_W: [count], filled. budget_W at least 0. Fails with PW_NO_MEMORY, or PW_BAD_INPUT for powers that are not 0 <= least <= rated, finite. */
pw_status pw_budget_divide(const pw_allocator *allocator, pw_budget_policy policy, double budget_W, const pw_consumer *consumers, uint32_t count,
                           double *caps_W, pw_division *division, pw_error *error);
/* The law of a division: caps within their limits, and their sum at most the budget (but for least powers), to 1e-9. */
void pw_budget_check(pw_sim *sim, double budget_W, const pw_consumer *consumers, uint32_t count, const double *caps_W, const pw_division *division);
/* Rated power over budget: 1.25 is 25 % more plates than power. */
double pw_budget_oversubscription(double budget_W, const pw_consumer *consumers, uint32_t count);

/* Two levels: the budget of a row among racks, each with a limit of its own, and that of each rack among its nodes. rack_of: [count], below racks.
 * A rack wants the sum of its nodes' wants; its priority is that of its most important node. rack_caps_W: [racks]. */
pw_status pw_budget_divide_row(const pw_allocator *allocator, pw_budget_policy policy, double row_W, const double *rack_limit_W, uint32_t racks,
                               const pw_consumer *nodes, const uint32_t *rack_of, uint32_t count, double *rack_caps_W, double *caps_W,
                               pw_division *division, pw_error *error);

#endif
