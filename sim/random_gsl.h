/* A stream as a GSL generator. Nothing is allocated and nothing global is touched (not GSL's default generator, not its
 * environment variables):
 *
 *   gsl_rng rng = pw_random_as_gsl(&random);
 *   unsigned failures = gsl_ran_negative_binomial(&rng, 0.3, 4);
 *
 * GSL ends the process on an error unless a program calls gsl_set_error_handler_off() when it starts, as podwright's do.
 */
#ifndef PW_SIM_RANDOM_GSL_H
#define PW_SIM_RANDOM_GSL_H

#include <gsl/gsl_rng.h>

#include "sim/random.h"

extern const gsl_rng_type *const pw_random_gsl; /* for gsl_rng_alloc; seeds through pw_random_stream(seed, "gsl", 0) */
gsl_rng pw_random_as_gsl(pw_random *random);    /* draws from *random, which must outlive it */

#endif
