/* Random numbers: named streams that depend on nothing but (seed, name, number).
 *
 * Every use has a stream of its own ("failures of node", 17), so that a what-if that adds a draw in one place sees the
 * same draws everywhere else. The generator is xoshiro256++ (Blackman and Vigna 2018), period 2^256 - 1, 32 bytes by value,
 * nothing to release. Variates go through sim/math.h: the same bits everywhere. sim/random_gsl.h lends a stream to GSL,
 * for distributions that are not here (those bits are the platform's).
 *
 *   pw_random random = pw_random_stream(pw_sim_seed(sim), "failures of node", node);
 *   double next_s = pw_random_exponential(&random, mtbf_s);
 */
#ifndef PW_SIM_RANDOM_H
#define PW_SIM_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct pw_random {
    uint64_t state[4];
} pw_random;

pw_random pw_random_stream(uint64_t seed, const char *name, uint64_t number);

uint64_t pw_random_bits(pw_random *random);
double pw_random_uniform(pw_random *random);                   /* [0, 1), multiples of 2^-53 */
uint64_t pw_random_below(pw_random *random, uint64_t limit);   /* 0 .. limit - 1, each equally likely; limit > 0 */
double pw_random_exponential(pw_random *random, double mean);
double pw_random_normal(pw_random *random, double mean, double deviation);
double pw_random_lognormal(pw_random *random, double mean_of_log, double deviation_of_log);
double pw_random_weibull(pw_random *random, double shape, double scale);
double pw_random_gamma(pw_random *random, double shape, double scale); /* shape > 0 */
uint64_t pw_random_poisson(pw_random *random, double mean);    /* cost grows with the mean, which is below 2^53 */
void pw_random_shuffle(pw_random *random, uint32_t *items, size_t count);

#endif
