/* Units of column headers. A prefix is part of the name, so that "Gb/s" and "GB/s", "MB" and "MiB" cannot be mixed up. */
#include <string.h>

#include "models/catalogue/catalogue_internal.h"

#define KI 1024.0
static const catalogue_unit units[] = {
    {"B", "B", 1},
    {"kB", "B", 1e3},
    {"MB", "B", 1e6},
    {"GB", "B", 1e9},
    {"TB", "B", 1e12},
    {"KiB", "B", KI},
    {"MiB", "B", KI * KI},
    {"GiB", "B", KI * KI * KI},
    {"TiB", "B", KI * KI * KI * KI},
    {"B/s", "B/s", 1},
    {"MB/s", "B/s", 1e6},
    {"GB/s", "B/s", 1e9},
    {"TB/s", "B/s", 1e12},
    {"Mb/s", "B/s", 1e6 / 8},
    {"Gb/s", "B/s", 1e9 / 8},
    {"Tb/s", "B/s", 1e12 / 8},
    {"FLOP", "FLOP", 1},
    {"FLOP/s", "FLOP/s", 1},
    {"GFLOP/s", "FLOP/s", 1e9},
    {"TFLOP/s", "FLOP/s", 1e12},
    {"PFLOP/s", "FLOP/s", 1e15},
    {"GOP/s", "OP/s", 1e9},
    {"TOP/s", "OP/s", 1e12},
    {"FLOP/B", "FLOP/B", 1},
    {"Hz", "Hz", 1},
    {"1/s", "1/s", 1},
    {"kHz", "Hz", 1e3},
    {"MHz", "Hz", 1e6},
    {"GHz", "Hz", 1e9},
    {"W", "W", 1},
    {"kW", "W", 1e3},
    {"MW", "W", 1e6},
    {"J", "J", 1},
    {"kWh", "J", 3.6e6},
    {"s", "s", 1},
    {"ms", "s", 1e-3},
    {"us", "s", 1e-6},
    {"ns", "s", 1e-9},
    {"ps", "s", 1e-12},
    {"h", "s", 3600},
    {"degC", "degC", 1},
    {"m", "m", 1},
    {"CFM", "m^3/s", 0.3048 * 0.3048 * 0.3048 / 60},
    {"USD", "USD", 1},
    {"%", "", 0.01},
    {"count", "", 1},
    {"ratio", "", 1},
    {"year", "year", 1},
    {NULL, NULL, 0},
};

const catalogue_unit *catalogue_find_unit(const char *name) {
    for (const catalogue_unit *unit = units; unit->name; unit++)
        if (!strcmp(unit->name, name)) return unit;
    return NULL;
}

pw_status catalogue_bad_unit(const char *file, const char *column, const char *unit, pw_error *error) {
    char hint[512] = "known units:";
    size_t used = strlen(hint);
    for (const catalogue_unit *known = units; known->name && used + strlen(known->name) + 2 < sizeof hint; known++) {
        hint[used++] = ' ';
        strcpy(hint + used, known->name);
        used += strlen(known->name);
    }
    return pw_fail(error, PW_BAD_INPUT, file, 1, hint, "column '%s': unknown unit '%s'", column, unit);
}
