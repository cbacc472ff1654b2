/* Circuit breakers with a thermal element (I^2 t) and an instantaneous one.
 *
 * A bimetal strip that carries the current heats with its square and cools towards the surroundings. With s = current over rating and
 * theta = heat over that of the rating for ever,
 *
 *     theta' = (s^2 - theta) / tau,     it trips at theta = pickup^2.
 *
 * Between two changes of current theta goes on exponentially, so it is advanced exactly, and the time of the trip is known when the
 * current changes: t = tau ln((s^2 - theta) / (s^2 - pickup^2)) for s > pickup, never below. For large s this is I^2 t = tau pickup^2. At the
 * instantaneous share the magnetic element opens it within its clearing time.
 *
 *   pw_breaker breaker; PW_TRY(pw_breaker_make(catalogue, "standard", 17300, &breaker, error));
 *   pw_breaker_load(&breaker, 0, 12000);             // from 0 s on
 *   double when = pw_breaker_load(&breaker, 30, 20000); // trips at `when` unless the load changes before: schedule it
 *
 * A breaker only sees load; power stands for current at the rated voltage. Plain values. Units: W, s.
 */
#ifndef PW_MODELS_POWER_BREAKER_H
#define PW_MODELS_POWER_BREAKER_H

#include "models/catalogue/catalogue.h"

#define PW_TABLE_BREAKERS "breakers"

typedef struct pw_breaker {
    const char *name, *provenance, *source;    /* as long as the catalogue */
    double rated_W;
    double pickup, tau_s, instantaneous, clearing_s, continuous;
    double share, theta, since_s;              /* theta at since_s, share from then on */
    double trips_s;                            /* when it opens if nothing changes; infinite: never */
    bool open;
} pw_breaker;
/* A row of breakers; closed, cold, without load at 0 s. PW_NOT_FOUND lists the known ones. */
pw_status pw_breaker_make(const pw_catalogue *catalogue, const char *name, double rated_W, pw_breaker *breaker, pw_error *error);
/* The load from now_s on, which is not before the last change. Returns when it trips (trips_s). A breaker that is open carries nothing. */
double pw_breaker_load(pw_breaker *breaker, double now_s, double load_W);
/* Opens it: call at trips_s, or to switch it by hand. Closing needs the strip to have cooled below the pickup: else PW_BAD_INPUT. */
void pw_breaker_open(pw_breaker *breaker, double now_s);
pw_status pw_breaker_close(pw_breaker *breaker, double now_s, pw_error *error);
double pw_breaker_theta(const pw_breaker *breaker, double now_s);
/* What may hang on it for hours. */
double pw_breaker_continuous_W(const pw_breaker *breaker);
/* From a heat that a load of share_before for ever left, to the trip at share; infinite: never. */
double pw_breaker_trip_time_s(const pw_breaker *breaker, double share_before, double share);

#endif
