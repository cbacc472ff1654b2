/* The spellings of units, and numbers with a readable prefix. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/registry.h"
#include "sim/text.h"

static const pw_unit_name names[] = {
    {"B", PW_UNIT_BYTES, 1, "byte"},
    {"kB", PW_UNIT_BYTES, 1e3, "10^3 bytes"},
    {"MB", PW_UNIT_BYTES, 1e6, "10^6 bytes"},
    {"GB", PW_UNIT_BYTES, 1e9, "10^9 bytes"},
    {"TB", PW_UNIT_BYTES, 1e12, "10^12 bytes"},
    {"PB", PW_UNIT_BYTES, 1e15, "10^15 bytes"},
    {"KiB", PW_UNIT_BYTES, 0x1p10, "2^10 bytes"},
    {"MiB", PW_UNIT_BYTES, 0x1p20, "2^20 bytes"},
    {"GiB", PW_UNIT_BYTES, 0x1p30, "2^30 bytes"},
    {"TiB", PW_UNIT_BYTES, 0x1p40, "2^40 bytes"},
    {"Bps", PW_UNIT_BYTES_PER_SECOND, 1, "byte/s"},
    {"kBps", PW_UNIT_BYTES_PER_SECOND, 1e3, "10^3 bytes/s"},
    {"MBps", PW_UNIT_BYTES_PER_SECOND, 1e6, "10^6 bytes/s"},
    {"GBps", PW_UNIT_BYTES_PER_SECOND, 1e9, "10^9 bytes/s"},
    {"TBps", PW_UNIT_BYTES_PER_SECOND, 1e12, "10^12 bytes/s"},
    {"PBps", PW_UNIT_BYTES_PER_SECOND, 1e15, "10^15 bytes/s"},
    {"Mbps", PW_UNIT_BYTES_PER_SECOND, 0.125e6, "10^6 bits/s"},
    {"Gbps", PW_UNIT_BYTES_PER_SECOND, 0.125e9, "10^9 bits/s"},
    {"Tbps", PW_UNIT_BYTES_PER_SECOND, 0.125e12, "10^12 bits/s"},
    {"ps", PW_UNIT_SECONDS, 1e-12, "10^-12 s"},
    {"ns", PW_UNIT_SECONDS, 1e-9, "10^-9 s"},
    {"us", PW_UNIT_SECONDS, 1e-6, "10^-6 s"},
    {"ms", PW_UNIT_SECONDS, 1e-3, "10^-3 s"},
    {"s", PW_UNIT_SECONDS, 1, "second"},
    {"min", PW_UNIT_SECONDS, 60, "60 s"},
    {"hour", PW_UNIT_SECONDS, 3600, "3,600 s"},
    {"day", PW_UNIT_SECONDS, 86400, "86,400 s"},
    {"Hz", PW_UNIT_HERTZ, 1, "1/s"},
    {"kHz", PW_UNIT_HERTZ, 1e3, "10^3 Hz"},
    {"MHz", PW_UNIT_HERTZ, 1e6, "10^6 Hz"},
    {"GHz", PW_UNIT_HERTZ, 1e9, "10^9 Hz"},
    {"FLOPs", PW_UNIT_FLOPS, 1, "floating point operation/s"},
    {"GFLOPs", PW_UNIT_FLOPS, 1e9, "10^9 operations/s"},
    {"TFLOPs", PW_UNIT_FLOPS, 1e12, "10^12 operations/s"},
    {"PFLOPs", PW_UNIT_FLOPS, 1e15, "10^15 operations/s"},
    {"EFLOPs", PW_UNIT_FLOPS, 1e18, "10^18 operations/s"},
    {"W", PW_UNIT_WATTS, 1, "watt"},
    {"kW", PW_UNIT_WATTS, 1e3, "10^3 W"},
    {"MW", PW_UNIT_WATTS, 1e6, "10^6 W"},
    {"GW", PW_UNIT_WATTS, 1e9, "10^9 W"},
    {"degC", PW_UNIT_CELSIUS, 1, "degree Celsius"},
    {"J", PW_UNIT_JOULES, 1, "joule"},
    {"kJ", PW_UNIT_JOULES, 1e3, "10^3 J"},
    {"MJ", PW_UNIT_JOULES, 1e6, "10^6 J"},
    {"GJ", PW_UNIT_JOULES, 1e9, "10^9 J"},
    {"Wh", PW_UNIT_JOULES, 3600, "3,600 J"},
    {"kWh", PW_UNIT_JOULES, 3.6e6, "3.6 x 10^6 J"},
    {"MWh", PW_UNIT_JOULES, 3.6e9, "3.6 x 10^9 J"},
    {NULL, PW_UNIT_NONE, 0, NULL},
};

static const struct {
    const char *text, *example, *shown; /* shown: base spelling in formatted numbers */
} units[PW_UNIT_COUNT] = {
    [PW_UNIT_NONE] = {"", "8", ""},
    [PW_UNIT_BYTES] = {"bytes", "80 * u.GB", "B"},
    [PW_UNIT_BYTES_PER_SECOND] = {"bytes/s", "400 * u.Gbps", "B/s"},
    [PW_UNIT_SECONDS] = {"s", "10 * u.us", "s"},
    [PW_UNIT_HERTZ] = {"Hz", "1.98 * u.GHz", "Hz"},
    [PW_UNIT_FLOPS] = {"flop/s", "989 * u.TFLOPs", "FLOP/s"},
    [PW_UNIT_WATTS] = {"W", "700 * u.W", "W"},
    [PW_UNIT_CELSIUS] = {"degC", "25 * u.degC", "degC"},
    [PW_UNIT_JOULES] = {"J", "65 * u.J", "J"},
};

const pw_unit_name *pw_unit_names(void) { return names; }
const char *pw_unit_text(pw_unit unit) { return (unsigned)unit < PW_UNIT_COUNT ? units[unit].text : ""; }
const char *pw_unit_example(pw_unit unit) { return (unsigned)unit < PW_UNIT_COUNT ? units[unit].example : ""; }

static const pw_unit_name *unit_named(const char *name, size_t length) {
    static const struct {
        const char *written, *meant;
    } aliases[] = {{"h", "hour"}, {"hours", "hour"}, {"days", "day"}, {"\xc2\xb5s", "us"}, {"\xce\xbcs", "us"}};
    char spelled[16];
    if (length == 0 || length >= sizeof spelled) return NULL;
    memcpy(spelled, name, length);
    spelled[length] = '\0';
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(spelled, aliases[i].written) == 0) strcpy(spelled, aliases[i].meant);
    if (length > 2 && strcmp(spelled + length - 2, "/s") == 0) /* GB/s is GBps, FLOP/s is FLOPs */
        strcpy(spelled + length - 2, length > 5 && strncmp(spelled + length - 6, "FLOP", 4) == 0 ? "s" : "ps");
    for (const pw_unit_name *each = names; each->name; each++)
        if (strcmp(each->name, spelled) == 0) return each;
    return NULL;
}

/* Three digits that matter, without an exponent: 0.0123 -> "0.0123", 12.34 -> "12.3", 1234 -> "1234". */
static void three_digits(double value, char *text, size_t size) {
    double large = fabs(value);
    if (large != 0 && (large < 1e-4 || large >= 1e15)) snprintf(text, size, "%.3g", value);
    else if (large >= 999.5) snprintf(text, size, "%.0f", value);
    else snprintf(text, size, "%.3g", value);
    for (char *c = text; *c; c++)
        if (*c == ',') *c = '.';
}

const char *pw_unit_format(double value, pw_unit unit, char *text, size_t size) {
    static const struct {
        const char *text;
        double factor;
    } prefixes[] = {{"p", 1e-12}, {"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"", 1},    {"k", 1e3},
                    {"M", 1e6},   {"G", 1e9},  {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};
    enum { PREFIXES = sizeof prefixes / sizeof *prefixes, NONE = -1 };
    char number[64];
    bool plain = unit == PW_UNIT_NONE || unit == PW_UNIT_CELSIUS || (unsigned)unit >= PW_UNIT_COUNT;
    if (plain || !isfinite(value) || value == 0) {
        if (isfinite(value)) three_digits(value, number, sizeof number);
        else snprintf(number, sizeof number, "%s", isnan(value) ? "unknown" : value > 0 ? "unlimited" : "-unlimited");
        const char *shown = (unsigned)unit < PW_UNIT_COUNT && isfinite(value) ? units[unit].shown : "";
        snprintf(text, size, "%s%s%s", number, *shown ? " " : "", shown);
        return text;
    }
    if (unit == PW_UNIT_SECONDS && fabs(value) >= 120) {
        double factor = fabs(value) < 7200 ? 60 : fabs(value) < 2 * 86400 ? 3600 : 86400;
        three_digits(value / factor, number, sizeof number);
        snprintf(text, size, "%s %s", number, factor == 60 ? "min" : factor == 3600 ? "h" : "days");
        return text;
    }
    /* the largest prefix that leaves 1 or more (999.5 prints as 1 of the next) and makes a unit that can be read */
    int chosen = NONE;
    for (int i = 0; i < PREFIXES; i++) {
        char spelled[16];
        int length = snprintf(spelled, sizeof spelled, "%s%s", prefixes[i].text, units[unit].shown);
        if (!unit_named(spelled, (size_t)length)) continue;
        if (chosen == NONE || fabs(value) >= prefixes[i].factor * 0.9995) chosen = i;
    }
    three_digits(value / prefixes[chosen].factor, number, sizeof number);
    snprintf(text, size, "%s %s%s", number, prefixes[chosen].text, units[unit].shown);
    return text;
}

static pw_status unknown_unit(const char *name, size_t length, pw_unit wanted, pw_error *error) {
    char hint[256] = "", spelled[32];
    const char *alike[sizeof names / sizeof *names];
    size_t count = 0;
    snprintf(spelled, sizeof spelled, "%.*s", (int)(length < 31 ? length : 31), name);
    for (const pw_unit_name *each = names; each->name; each++)
        if (each->unit == wanted || wanted == PW_UNIT_NONE) alike[count++] = each->name;
    alike[count] = NULL;
    const char *nearest = pw_nearest(alike, spelled);
    if (nearest) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    else if (wanted != PW_UNIT_NONE) {
        size_t used = (size_t)snprintf(hint, sizeof hint, "units of %s are", units[wanted].text);
        for (size_t i = 0; i < count && used < sizeof hint; i++)
            used += (size_t)snprintf(hint + used, sizeof hint - used, "%s %s", i ? "," : "", alike[i]);
    }
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "there is no unit '%s'", spelled);
}

pw_status pw_unit_parse(const char *text, pw_unit wanted, double *value, bool *has_unit, pw_unit *unit,
                        pw_error *error) {
    const char *at = text, *end;
    while (*at == ' ') at++;
    if (!pw_text_number(at, &end, value))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "'%.100s' is not a number", text);
    while (*end == ' ') end++;
    size_t length = strlen(end);
    while (length && end[length - 1] == ' ') length--;
    *has_unit = length > 0;
    *unit = PW_UNIT_NONE;
    if (!length) return PW_OK;
    const pw_unit_name *named = unit_named(end, length);
    if (!named) return unknown_unit(end, length, wanted, error);
    *unit = named->unit;
    *value *= named->factor;
    if (isinf(*value)) return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "'%.100s' is too large", text);
    return PW_OK;
}
