/* The file of accuracy that `run` quotes: one row per suite and group, written by `podwright validate SUITE --accuracy FILE`.
 */
#ifndef PW_HOST_ACCURACY_FILE_H
#define PW_HOST_ACCURACY_FILE_H

#include "scenarios/validation/validation.h"

/* Replaces the suite's rows in the file (columns suite,group,n,bias_pct,median_pct,p90_pct,source) and keeps the others.
 * Only check rows count: those that shaped no parameter. Groups are "all", and each generation of GPU ("Hopper") and each
 * GPU by its full name with at least PW_ACCURACY_LEAST check rows; of suites whose rows have classes, the same for each class:
 * "experts", "experts, Hopper", "experts, H100-SXM5-80GB" (pw_accuracy_group). */
enum { PW_ACCURACY_LEAST = 5 };
pw_status pw_accuracy_record(const char *path, const pw_validation *validation, const pw_catalogue *catalogue,
                             pw_arena *arena, pw_error *error);

#endif
