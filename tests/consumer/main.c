/* A program of somebody else: uses the installed library to run two events and share one link. */
#include <sim/event.h>
#include <sim/fluid.h>
#include <models/workload/train.h>

#include <stdio.h>

static void done(pw_sim *sim, void *object, uint64_t argument) {
    (void)argument;
    *(double *)object = pw_sim_seconds(sim);
}

int main(void) {
    pw_sim *sim = NULL;
    pw_fluid *fluid = NULL;
    double end[2] = {0, 0};
    if (pw_sim_create(NULL, &sim, NULL) != PW_OK || pw_fluid_create(sim, false, &fluid, NULL) != PW_OK) return 1;
    pw_use use = {pw_capacity_add(fluid, 100e9), 1};
    pw_route_id route = pw_fluid_route(fluid, &use, 1);
    for (int i = 0; i < 2; i++)
        pw_activity_start(fluid, route, &(pw_activity_config){.work = 50e9 * (i + 1), .done = done, .object = &end[i]});
    pw_status status = pw_sim_run(sim, PW_TIME_MAX);
    printf("%.3f s and %.3f s\n", end[0], end[1]);
    pw_fluid_destroy(fluid);
    pw_sim_destroy(sim);
    return !(status == PW_OK && end[0] == 1.0 && end[1] == 1.5 && pw_model_kind.fields != NULL);
}
