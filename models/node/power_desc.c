#include "models/node/power_desc.h"

#include <math.h>
#include <stddef.h>

static const char *const model_names[] = {"on", "off", NULL};
static const char *const governor_names[] = {"default", "fixed", "cap", "profile", NULL};
static const char *const mode_names[] = {"steady", "dynamic", NULL};
static const pw_field event_item = {"power_event", PW_FIELD_ONE_OF, .kinds = pw_power_event_kinds, .text = "An event."};
#define AT(field) offsetof(pw_power_desc, field)
static const pw_field fields[] = {
    {"model", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(model), 0, 0, "on", model_names, NULL,
     "on: clocks come from power and heat; off: they are the sustained clocks on file, and no power is reported."},
    {"governor", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(governor), 0, 0, "default", governor_names, NULL,
     "What holds the clock: default: the limit of the board; fixed: that and a clock; cap: a power cap; profile: a profile of the driver."},
    {"mode", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(mode), 0, 0, "steady", mode_names, NULL,
     "steady: one clock for each kind of GPU over the run; dynamic: the controller acts as the run goes."},
    {"cap", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(cap_W), 1, 1e5, "", NULL, NULL, "Power cap of each GPU; for governor = \"cap\"."},
    {"clock", PW_FIELD_NUMBER, PW_UNIT_HERTZ, AT(clock_Hz), 1e6, 1e10, "", NULL, NULL,
     "Highest clock of the GPUs; for governor = \"fixed\". The limit of the board still holds."},
    {"profile", PW_FIELD_TEXT, PW_UNIT_NONE, AT(profile), 0, 0, "", NULL, NULL,
     "A row of gpu-power-profiles, e.g. \"max-q-training\"; for governor = \"profile\"."},
    {"temperature", PW_FIELD_NUMBER, PW_UNIT_CELSIUS, AT(temperature_C), -20, 120, "", NULL, NULL,
     "Temperature of the GPU dies; left out: that at which their parameters were fitted."},
    {"die_classes", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(die_classes), 1, 16, "1", NULL, NULL,
     "Dies that differ, in so many classes, drawn from the seed; 1: all alike, and variability holds how much the slowest loses."},
    {"supplies", PW_FIELD_POINTER, PW_UNIT_NONE, AT(supplies), 0, 0, "", NULL, &pw_supplies_kind,
     "Power supplies of a node; left out: as the catalogue has them, when something happens to them."},
    {"breaker", PW_FIELD_POINTER, PW_UNIT_NONE, AT(breaker), 0, 0, "", NULL, &pw_breaker_kind, "The breaker of a rack on each feed; left out: none."},
    {"battery", PW_FIELD_POINTER, PW_UNIT_NONE, AT(battery), 0, 0, "", NULL, &pw_battery_kind, "The battery of each feed; left out: none."},
    {"budget", PW_FIELD_POINTER, PW_UNIT_NONE, AT(budget), 0, 0, "", NULL, &pw_power_budget_kind, "Power budget of racks; left out: none."},
    {"events", PW_FIELD_LIST, PW_UNIT_NONE, AT(events), 1, 64, "", .item = &event_item,
     .text = "What happens to feeds, supplies, breakers and mains in the run."},
    {NULL}};
#undef AT

/* A value that its governor does not read is an error, and so is a governor without its value. */
static pw_status check(const void *description, const char *file, int line, pw_error *error) {
    const pw_power_desc *d = description;
    const struct { const char *name; bool given; int governor; const char *hint; } values[] = {
        {"cap", !isnan(d->cap_W), PW_GOVERNOR_CAP, "set power.governor to \"cap\" too, or leave power.cap out"},
        {"clock", !isnan(d->clock_Hz), PW_GOVERNOR_FIXED, "set power.governor to \"fixed\" too, or leave power.clock out"},
        {"profile", d->profile && *d->profile, PW_GOVERNOR_PROFILE, "set power.governor to \"profile\" too, or leave power.profile out"}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        bool read = d->governor == values[i].governor;
        if (values[i].given && !read)
            return pw_fail(error, PW_BAD_INPUT, file, line, values[i].hint, "power.%s is given, but governor is \"%s\"; it takes \"%s\"",
                           values[i].name, governor_names[d->governor], governor_names[values[i].governor]);
        if (!values[i].given && read)
            return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "power.governor = \"%s\" needs power.%s", governor_names[d->governor],
                           values[i].name);
    }
    if (d->mode == PW_POWER_DYNAMIC && (d->supplies || d->breaker || d->battery || d->budget || d->events.count))
        return pw_fail(error, PW_BAD_INPUT, file, line, "take mode = \"steady\"",
                       "power.supplies, breaker, battery, budget and events need power.mode = \"steady\": what follows them is reckoned from means over a step");
    if (d->model == PW_POWER_OFF &&
        (d->governor != PW_GOVERNOR_DEFAULT || d->mode != PW_POWER_STEADY || !isnan(d->temperature_C) || d->die_classes != 1 ||
         d->supplies || d->breaker || d->battery || d->budget || d->events.count))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave the other fields out, or say model = \"on\"",
                       "power.model = \"off\" reads no other field");
    return PW_OK;
}

const pw_kind pw_power_kind = {"power", "Power of the GPUs: limits, governor, spread of dies", sizeof(pw_power_desc), fields, check};
