#include "models/workload/power_heat.h"

#include <math.h>

struct power_heat {
    pw_cooling *cooling; /* one node */
    pw_cooling_facts facts;
};

pw_status power_heat_create(const pw_allocator *allocator, const pw_cluster *cluster, pw_arena *arena, power_heat **heat, pw_error *error) {
    *heat = NULL;
    if (!pw_cluster_cooling(cluster)) return PW_OK;
    power_heat *made = pw_arena_alloc(arena, sizeof *made);
    if (!made) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the heat of a run");
    PW_TRY(pw_cluster_make_cooling(cluster, 0, 1, allocator, &made->cooling, error));
    made->facts = pw_cooling_get_facts(made->cooling);
    *heat = made;
    return PW_OK;
}

void power_heat_destroy(power_heat *heat) {
    if (heat) pw_cooling_destroy(heat->cooling);
}

uint32_t power_heat_seats(const power_heat *heat) { return heat ? heat->facts.in_series : 1; }
uint32_t power_heat_seat(const power_heat *heat, uint32_t place) { return place % power_heat_seats(heat); }
const char *power_heat_row(const power_heat *heat) { return heat->facts.row; }

pw_status power_heat_settle(power_heat *heat, const double *watts, double *die_C, double *fan_W, pw_error *error) {
    uint32_t places = heat->facts.gpus_per_node;
    for (uint32_t place = 0; place < places; place++) pw_cooling_set_gpu(heat->cooling, place, watts[place], NAN);
    PW_TRY(pw_cooling_settle(heat->cooling, 0, 1, error));
    for (uint32_t place = 0; place < places; place++) die_C[place] = pw_cooling_die_C(heat->cooling)[place];
    if (fan_W) *fan_W = pw_cooling_node(heat->cooling, 0).fan_W;
    return PW_OK;
}
