/* For the program that fits parameters: puts trial values into collectives, so that it fits the very functions that are simulated. */
#ifndef PW_MODELS_COLLECTIVE_FITTING_H
#define PW_MODELS_COLLECTIVE_FITTING_H

#include "models/collective/library.h"
#include "models/collective/parameters.h"

/* Takes these rows in place of those of the catalogue; they are read at every call, so their owner may change them, and must
 * outlive the object or give other rows. */
void collectives_try_rows(pw_collectives *collectives, parameter_row *rows, size_t count);
void collectives_try_stack(pw_collectives *collectives, const parameter_stack *stack);
void collectives_try_launch(pw_collectives *collectives, double added_s, double added_exchange_s);
const library_constants *collectives_library(const pw_collectives *collectives);

#endif
