/* Units of column headers. A prefix is part of the name, so that "Gb/s" and "GB/s", "MB" and "MiB" cannot be mixed up. A
 * part of a unit is a divisor, not a factor, so that 100 ns is the double nearest to 1e-7. */
#include <string.h>

#include "models/catalogue/catalogue_internal.h"

#define KI 1024.0
static const catalogue_unit units[] = {
    {"B", "B", 1, 1},
    {"kB", "B", 1e3, 1},
    {"MB", "B", 1e6, 1},
    {"GB", "B", 1e9, 1},
    {"TB", "B", 1e12, 1},
    {"KiB", "B", KI, 1},
    {"MiB", "B", KI * KI, 1},
    {"GiB", "B", KI * KI * KI, 1},
    {"TiB", "B", KI * KI * KI * KI, 1},
    {"B/s", "B/s", 1, 1},
    {"MB/s", "B/s", 1e6, 1},
    {"GB/s", "B/s", 1e9, 1},
    {"TB/s", "B/s", 1e12, 1},
    {"Mb/s", "B/s", 1e6, 8},
    {"Gb/s", "B/s", 1e9, 8},
    {"Tb/s", "B/s", 1e12, 8},
    {"FLOP", "FLOP", 1, 1},
    {"FLOP/s", "FLOP/s", 1, 1},
    {"GFLOP/s", "FLOP/s", 1e9, 1},
    {"TFLOP/s", "FLOP/s", 1e12, 1},
    {"PFLOP/s", "FLOP/s", 1e15, 1},
    {"GOP/s", "OP/s", 1e9, 1},
    {"TOP/s", "OP/s", 1e12, 1},
    {"FLOP/B", "FLOP/B", 1, 1},
    {"Hz", "Hz", 1, 1},
    {"1/s", "1/s", 1, 1},
    {"kHz", "Hz", 1e3, 1},
    {"MHz", "Hz", 1e6, 1},
    {"GHz", "Hz", 1e9, 1},
    {"W", "W", 1, 1},
    {"kW", "W", 1e3, 1},
    {"MW", "W", 1e6, 1},
    {"J", "J", 1, 1},
    {"kWh", "J", 3.6e6, 1},
    {"pJ", "J", 1, 1e12},
    {"s", "s", 1, 1},
    {"ms", "s", 1, 1e3},
    {"us", "s", 1, 1e6},
    {"ns", "s", 1, 1e9},
    {"ps", "s", 1, 1e12},
    {"h", "s", 3600, 1},
    {"degC", "degC", 1, 1},
    {"Pa", "Pa", 1, 1},
    {"K", "K", 1, 1},
    {"J/K", "J/K", 1, 1},
    {"W/K", "W/K", 1, 1},
    {"kW/K", "W/K", 1e3, 1},
    {"K/W", "K/W", 1, 1},
    {"kJ/(m^3 K)", "J/(m^3 K)", 1e3, 1},
    {"kg/s", "kg/s", 1, 1},
    {"l/min", "m^3/s", 1, 60e3},
    {"m", "m", 1, 1},
    {"CFM", "m^3/s", 0.3048 * 0.3048 * 0.3048, 60},
    {"USD", "USD", 1, 1},
    {"kg", "kg", 1, 1},
    {"%", "", 1, 100},
    {"count", "", 1, 1},
    {"ratio", "", 1, 1},
    {"year", "year", 1, 1},
    {NULL, NULL, 0, 0},
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
