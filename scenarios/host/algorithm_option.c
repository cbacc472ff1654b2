/* --algorithm and what goes with it: one of the table, of the scenario, or auto, with options of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/collective/description.h"
#include "scenarios/host/commands.h"
#include "sim/text.h"

static pw_status unknown(const char *name, pw_list own, pw_error *error) {
    char hint[512] = "these are known:";
    const pw_one_of *items = own.items;
    for (int i = 0; pw_algorithm_names[i]; i++) {
        size_t used = strlen(hint);
        if (strcmp(pw_algorithm_names[i], "custom") != 0)
            snprintf(hint + used, sizeof hint - used, "%s %s", i ? "," : "", i ? pw_algorithm_names[i] : "auto, library, fastest");
    }
    for (uint32_t i = 0; i < own.count; i++) {
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, ", %s", ((const pw_algorithm_desc *)items[i].record)->name);
    }
    const char *near = pw_nearest(pw_algorithm_names, name);
    if (near) snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "there is no algorithm '%.100s'", name);
}

/* "8x4": members along each dimension, the first varying fastest. */
static pw_status read_dimensions(const char *text, pw_collective_options *options, pw_error *error) {
    const char *at = text;
    int64_t extent = 0;
    while (pw_text_integer(at, &at, &extent) && extent >= 1 && extent <= INT32_MAX && options->dimensions < PW_COLLECTIVE_DIMENSIONS) {
        options->extents[options->dimensions++] = (uint32_t)extent;
        if (*at == '\0') return PW_OK;
        if (*at++ != 'x') break;
    }
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --dimensions 8x4", "--dimensions takes up to %d numbers, not '%.100s'",
                   PW_COLLECTIVE_DIMENSIONS, text);
}

static pw_status read_options(const pw_arguments *arguments, pw_collective_options *options, pw_error *error) {
    const char *pieces = pw_arguments_value(arguments, "pieces", NULL), *end;
    const char *imbalance = pw_arguments_value(arguments, "imbalance", NULL);
    const char *dimensions = pw_arguments_value(arguments, "dimensions", NULL);
    int64_t count = 0;
    if (pieces && (!pw_text_integer(pieces, &end, &count) || *end || count < 1 || count > 4096))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --pieces 16", "--pieces takes a whole number from 1 to 4096, not '%.100s'", pieces);
    options->pieces = (uint32_t)count;
    if (pieces && !pw_arguments_has(arguments, "messages") && strcmp(pw_arguments_value(arguments, "algorithm", "auto"), "chain") != 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "add --messages, or take --algorithm chain",
                       "--pieces changes nothing here: but for chains, the time of one flow is that of many pieces");
    if (imbalance) {
        char *stop;
        options->imbalance = strtod(imbalance, &stop);
        if (stop == imbalance || *stop || !(options->imbalance >= 1) || isinf(options->imbalance))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --imbalance 2: the busiest rank gets twice the mean",
                           "--imbalance takes a number of at least 1, not '%.100s'", imbalance);
    }
    return dimensions ? read_dimensions(dimensions, options, error) : PW_OK;
}

pw_status pw_command_algorithm(const pw_arguments *arguments, const pw_scenario *scenario, pw_collectives *collectives, pw_arena *arena,
                               int *algorithm, pw_error *error) {
    const char *name = pw_arguments_value(arguments, "algorithm", "auto");
    pw_collective_options options = {0};
    if (strcmp(name, "library") == 0 || strcmp(name, "fastest") == 0) name = "auto"; /* pw_command_load_cluster has set who chooses */
    PW_TRY(read_options(arguments, &options, error));
    int row = 0, custom = 0;
    while (pw_algorithm_names[row] && (strcmp(pw_algorithm_names[row], name) != 0 || strcmp(name, "custom") == 0)) row++;
    while (pw_algorithm_names[custom] && strcmp(pw_algorithm_names[custom], "custom") != 0) custom++;
    const pw_one_of *own = scenario->desc.algorithms.items;
    for (uint32_t i = 0; !pw_algorithm_names[row] && i < scenario->desc.algorithms.count; i++) {
        if (strcmp(((const pw_algorithm_desc *)own[i].record)->name, name) != 0) continue;
        pw_custom_algorithm *made = pw_arena_alloc(arena, sizeof *made);
        if (!made) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for an algorithm");
        PW_TRY(pw_algorithm_from_desc(own[i].record, arena, made, error));
        options.custom = made;
        row = custom;
    }
    if (!pw_algorithm_names[row]) return unknown(name, scenario->desc.algorithms, error);
    *algorithm = row - 1;
    if (!options.custom && !options.pieces && options.imbalance == 0 && !options.dimensions) return PW_OK;
    return pw_collectives_variant(collectives, row - 1, &options, algorithm, error);
}
