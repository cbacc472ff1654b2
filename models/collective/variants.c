/* Algorithms with options of their own, numbered after those of the table. */
#include <math.h>

#include "models/collective/collectives_internal.h"
#include "models/collective/custom.h"

#define WRONG(hint, ...) pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, __VA_ARGS__)

static bool has_pieces(int algorithm) {
    if (algorithm == PW_ALGORITHM_AUTO) return true;
    bool (*applies)(pw_collective_kind, const pw_group_shape *, bool) = pw_algorithm_table[algorithm].applies;
    return applies == ring_applies || applies == tree_applies || applies == nvls_applies || applies == nvls_tree_applies ||
           applies == chain_applies;
}

static pw_status check_options(int algorithm, const pw_collective_options *options, pw_error *error) {
    const char *name = pw_algorithm_names[algorithm + 1];
    if (options->pieces && !has_pieces(algorithm))
        return WRONG("ring, tree, nvls and chain do", "the algorithm %s does not cut its messages into pieces", name);
    if (options->dimensions && algorithm != PW_ALGORITHM_AUTO && pw_algorithm_table[algorithm].applies != hierarchical_applies)
        return WRONG("hierarchical has", "the algorithm %s has no dimensions", name);
    if ((options->custom != NULL) !=
        (algorithm != PW_ALGORITHM_AUTO && pw_algorithm_table[algorithm].applies == custom_applies))
        return WRONG("custom takes steps, and needs them", "the algorithm %s and steps of a scenario do not go together", name);
    if (options->pieces > 4096) return WRONG(NULL, "a message is cut into 4,096 pieces at most, not %u", options->pieces);
    if (options->dimensions > PW_COLLECTIVE_DIMENSIONS)
        return WRONG(NULL, "a collective has %d dimensions at most, not %u", PW_COLLECTIVE_DIMENSIONS, options->dimensions);
    for (uint32_t i = 0; i < options->dimensions; i++)
        if (options->extents[i] < 1) return WRONG(NULL, "dimension %u of a collective has no members", i + 1);
    if (options->imbalance != 0 && !(options->imbalance >= 1 && !isinf(options->imbalance)))
        return WRONG("the busiest receiver's share over the mean", "an imbalance of %g is none", options->imbalance);
    if (options->imbalance != 0 && options->matrix)
        return WRONG("give one of them", "an uneven exchange has a matrix or an imbalance");
    return PW_OK;
}

static pw_status add_variant(pw_collectives *collectives, int algorithm, const pw_collective_options *options, pw_error *error) {
    if (pw_grow(collectives->allocator, (void **)&collectives->variants, &collectives->variant_capacity,
                collectives->variant_count + 1, sizeof *collectives->variants))
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the collectives of the cluster");
    algorithm_variant *made = pw_alloc(collectives->allocator, sizeof *made);
    if (!made) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the collectives of the cluster");
    *made = (algorithm_variant){algorithm, *options};
    collectives->variants[collectives->variant_count++] = made;
    return PW_OK;
}

pw_status pw_collectives_variant(pw_collectives *collectives, int algorithm, const pw_collective_options *options,
                                 int *variant, pw_error *error) {
    if (algorithm < PW_ALGORITHM_AUTO || algorithm >= algorithm_count())
        return WRONG(NULL, "no such algorithm: %d", algorithm);
    PW_TRY(check_options(algorithm, options, error));
    *variant = algorithm_count() + (int)collectives->variant_count;
    PW_TRY(add_variant(collectives, algorithm, options, error));
    /* What auto finds is a variant too: those of all rows follow. */
    for (int row = 0; algorithm == PW_ALGORITHM_AUTO && row < algorithm_count(); row++)
        PW_TRY(add_variant(collectives, row, options, error));
    return PW_OK;
}

void variants_free(pw_collectives *collectives) {
    for (size_t i = 0; i < collectives->variant_count; i++)
        pw_free(collectives->allocator, collectives->variants[i], sizeof *collectives->variants[i]);
    pw_free(collectives->allocator, collectives->variants, collectives->variant_capacity * sizeof *collectives->variants);
}

pw_status variant_fits(const pw_collectives *collectives, int algorithm, pw_collective_kind kind, const pw_group_shape *shape,
                       pw_error *error) {
    const pw_collective_options *options = shape->options;
    const algorithm_variant *variant = variant_of(collectives, algorithm);
    if (!options) return PW_OK;
    bool chains = kind == PW_COLLECTIVE_BROADCAST || kind == PW_COLLECTIVE_REDUCE, sums = is_all_reduce(kind);
    bool ring = variant && variant->algorithm >= 0 && pw_algorithm_table[variant->algorithm].applies == ring_applies;
    if (options->pieces && !(chains || (sums && !ring)))
        return WRONG("broadcast and reduce do, and trees of all_reduce", "%s%s does not cut its messages into pieces",
                     ring ? "the ring of " : "", pw_collective_names[kind]);
    if (options->dimensions && variant && variant->algorithm == PW_ALGORITHM_AUTO)
        return WRONG("say --algorithm hierarchical", "auto does not think of dimensions");
    if ((options->imbalance != 0 || options->matrix) && kind != PW_COLLECTIVE_ALL_TO_ALL_V)
        return WRONG("all_to_all_v is", "%s is not uneven", pw_collective_names[kind]);
    if (options->imbalance > shape->members)
        return WRONG("the number of ranks is the most: all bytes to one", "no member of %u gets %g times the mean", shape->members, options->imbalance);
    size_t n = shape->members;
    double sent = 0;
    for (size_t i = 0; options->matrix && i < n * n; i++) {
        if (!(options->matrix[i] >= 0)) return WRONG(NULL, "member %zu cannot send member %zu %g of S", i / n, i % n, options->matrix[i]);
        if (i / n != i % n) sent += options->matrix[i];
    }
    if (options->matrix && !(sent > 0)) return WRONG(NULL, "a matrix of all_to_all_v in which nobody sends anything");
    return PW_OK;
}

const algorithm_variant *variant_of(const pw_collectives *collectives, int algorithm) {
    int at = algorithm - algorithm_count();
    return at >= 0 && (size_t)at < collectives->variant_count ? collectives->variants[at] : NULL;
}

const pw_algorithm *pw_collectives_algorithm(const pw_collectives *collectives, int algorithm, pw_group_shape *shape) {
    const algorithm_variant *variant = variant_of(collectives, algorithm);
    if (variant) shape->options = &variant->options;
    int row = variant ? variant->algorithm : algorithm;
    return row >= 0 && row < algorithm_count() ? &pw_algorithm_table[row] : NULL;
}

const char *pw_collectives_algorithm_name(const pw_collectives *collectives, int algorithm) {
    const algorithm_variant *variant = variant_of(collectives, algorithm);
    if (variant && variant->options.custom) return variant->options.custom->name;
    int row = variant ? variant->algorithm : algorithm;
    return row >= PW_ALGORITHM_AUTO && row < algorithm_count() ? pw_algorithm_names[row + 1] : "?";
}
