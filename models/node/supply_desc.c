#include "models/node/supply_desc.h"

#include <math.h>
#include <string.h>

static const char *const guard_names[] = {"rated", "draw", NULL};
const char *const pw_after_brake_names[] = {"cap", "stay", NULL};

#define AT(field) offsetof(pw_supplies_desc, field)
static const pw_field supplies_fields[] = {
    {"units", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(units), 0, 64, "0", NULL, NULL, "Power supplies of a node; 0: as the catalogue has them."},
    {"unit_power", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(unit_W), 1, 1e6, "", NULL, NULL, "Rated output of one; left out: as the catalogue has it."},
    {"redundancy", PW_FIELD_TEXT, PW_UNIT_NONE, AT(redundancy), 0, 0, "", NULL, NULL,
     "\"N\", \"N+1\", \"2N\", or \"4+2\": four of six are needed; left out: as the catalogue has it."},
    {"feeds", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(feeds), 0, 4, "0", NULL, NULL,
     "Feeds that the supplies hang on, in blocks of equal size; 0: two, or one for a single supply."},
    {"kind", PW_FIELD_TEXT, PW_UNIT_NONE, AT(kind), 0, 0, "server", NULL, NULL, "A row of supply-units: hold-up, overload, brake."},
    {"efficiency", PW_FIELD_TEXT, PW_UNIT_NONE, AT(efficiency), 0, 0, "", NULL, NULL, "A curve of supply-efficiency; left out: that of the kind."},
    {"cold_share", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(cold_share), 0, 1, "0", NULL, NULL,
     "Cold redundancy: supplies stand by while the others stay below this load share; 0: all share the load."},
    {"node_power", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(node_W), 1, 1e7, "", NULL, NULL,
     "The most that a node may draw; left out: the server's rated power."},
    {"guard", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(guard), 0, 0, "rated", guard_names, NULL,
     "What must be left for a node to go on unbraked: rated: the most that it may draw, as firmware checks it; draw: what it draws."},
    {"after_brake", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(after_brake), 0, 0, "cap", pw_after_brake_names, NULL,
     "What follows the power brake: cap: caps of the GPUs that fit into what is left; stay: the brake, until everything is back."},
    {"settle", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(settle_s), 0, 1e4, "", NULL, NULL, "From the brake to the caps; left out: that of the kind."},
    {"restore", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(restore_s), 0, 1e4, "", NULL, NULL,
     "From the return of input to full clocks; left out: that of the kind."},
    {NULL}};
#undef AT
const pw_kind pw_supplies_kind = {"supplies", "The power supplies of a node", sizeof(pw_supplies_desc), supplies_fields, NULL};

#define AT(field) offsetof(pw_breaker_desc, field)
static const pw_field breaker_fields[] = {
    {"kind", PW_FIELD_TEXT, PW_UNIT_NONE, AT(kind), 0, 0, "standard", NULL, NULL, "A row of breakers: its trip curve."},
    {"power", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(rated_W), 1, 1e9, NULL, NULL, NULL, "Rated power."},
    {"nodes", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(nodes), 1, 1 << 20, NULL, NULL, NULL, "Nodes of a rack, which hang on one breaker of each feed."},
    {NULL}};
#undef AT
const pw_kind pw_breaker_kind = {"breaker", "The breaker that a rack has on each feed", sizeof(pw_breaker_desc), breaker_fields, NULL};

#define AT(field) offsetof(pw_battery_desc, field)
static const pw_field battery_fields[] = {
    {"kind", PW_FIELD_TEXT, PW_UNIT_NONE, AT(kind), 0, 0, "li-ion", NULL, NULL, "A row of power-batteries: store, start of generators."},
    {"power", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(rated_W), 1, 1e10, NULL, NULL, NULL, "Rated output, of all nodes on one feed."},
    {NULL}};
#undef AT
const pw_kind pw_battery_kind = {"battery", "The battery of the uninterruptible supply of each feed", sizeof(pw_battery_desc), battery_fields, NULL};

const char *const pw_power_policy_names[] = {"uniform", "proportional", "priority", "highest_first", NULL};

#define AT(field) offsetof(pw_power_budget_desc, field)
static const pw_field budget_fields[] = {
    {"rack", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(rack_W), 1, 1e9, NULL, NULL, NULL, "What the nodes of a rack may draw together, at the wall."},
    {"nodes", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(nodes), 1, 1 << 20, NULL, NULL, NULL, "Nodes of a rack."},
    {"row", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(row_W), 1, 1e10, "", NULL, NULL, "What all racks may draw together; left out: the sum of theirs."},
    {"policy", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(policy), 0, 0, "highest_first", pw_power_policy_names, NULL,
     "uniform: one cap for all; proportional: by what each wants; priority: nodes in their order, the first gets all it wants; highest_first: "
     "the highest draws are cut to one level."},
    {NULL}};
#undef AT
const pw_kind pw_power_budget_kind = {"power_budget", "Watts of racks and of a row, divided into caps of nodes", sizeof(pw_power_budget_desc),
                                      budget_fields, NULL};

#define AT(field) offsetof(pw_power_event_desc, field)
static const pw_field event_fields[] = {
    {"what", PW_FIELD_TEXT, PW_UNIT_NONE, AT(what), 0, 0, NULL, NULL, NULL,
     "\"feed a\", \"supply 3\", \"breaker b\", \"mains\" or \"mains a\"."},
    {"at", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(at_s), 0, 1e6, NULL, NULL, NULL, "When it goes, from the start of the run."},
    {"lasts", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(lasts_s), 0, 1e6, "", NULL, NULL, "How long it is away; left out: for good."},
    {"node", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(node), -1, 1 << 20, "-1", NULL, NULL,
     "The first node that it takes away from, counted from 0; -1: all nodes. A breaker is that of the node's rack."},
    {"nodes", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(nodes), 1, 1 << 20, "1", NULL, NULL, "How many nodes from that one on."},
    {NULL}};
#undef AT

static pw_status check_event(const void *description, const char *file, int line, pw_error *error) {
    const pw_power_event_desc *d = description;
    if (d->node < 0 && d->nodes != 1)
        return pw_fail(error, PW_BAD_INPUT, file, line, "say from which node on: node = 0", "power_event.nodes is given without power_event.node");
    if (d->node >= 0 && d->what && !strncmp(d->what, "mains", 5))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave power_event.node out", "the mains are lost for all nodes");
    if (d->lasts_s == 0) return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "power_event.lasts is 0 s");
    return PW_OK;
}

const pw_kind pw_power_event_kind = {"power_event", "A part of the power supply that is away for a while", sizeof(pw_power_event_desc), event_fields,
                                     check_event};
const pw_kind *const pw_power_event_kinds[] = {&pw_power_event_kind, NULL};
