/* Several chunks over several dimensions: a chunk waits for a place in the dimension of its next phase, of which active_chunks run at
 * once, so that chunks follow each other through the phases. */
#include "models/compat/astra_internal.h"
#include "sim/event.h"

typedef struct line {
    pw_sim *sim;
    const astra_stage *stages;
    uint32_t stage_count;
    int64_t places; /* in a dimension */
    bool newest_first;
    int64_t running[PW_ASTRA_DIMENSIONS];
    uint32_t *waiting[PW_ASTRA_DIMENSIONS]; /* stages that wait; chunks are alike */
    uint64_t first[PW_ASTRA_DIMENSIONS], last[PW_ASTRA_DIMENSIONS];
    int64_t done_ns;
} line;

static void finish(pw_sim *sim, void *object, uint64_t stage);

static void begin(line *l, int dimension) {
    while (l->running[dimension] < l->places && l->first[dimension] < l->last[dimension]) {
        uint32_t stage = l->newest_first ? l->waiting[dimension][--l->last[dimension]] : l->waiting[dimension][l->first[dimension]++];
        l->running[dimension]++;
        pw_event_after(l->sim, l->stages[stage].ns, finish, l, stage);
    }
}

static void finish(pw_sim *sim, void *object, uint64_t stage) {
    line *l = object;
    int here = l->stages[stage].dimension;
    l->running[here]--;
    l->done_ns = pw_sim_now(sim);
    if (stage + 1 < l->stage_count) {
        int next = l->stages[stage + 1].dimension;
        l->waiting[next][l->last[next]++] = (uint32_t)stage + 1;
        if (next != here) begin(l, next);
    }
    begin(l, here);
}

static pw_status run(const astra_stage *stages, uint32_t count, const pw_astra_system *system, bool newest_first, int64_t *ns, pw_error *error) {
    line l = {.stages = stages, .stage_count = count, .places = system->active_chunks, .newest_first = newest_first};
    size_t room = (size_t)system->splits * count; /* of a queue that only grows, or of a stack */
    pw_sim_config config = {.ticks_per_second = 1e9};
    pw_status status = pw_sim_create(&config, &l.sim, error);
    for (int d = 0; status == PW_OK && d < PW_ASTRA_DIMENSIONS; d++)
        if (!(l.waiting[d] = pw_alloc(NULL, room * sizeof(uint32_t)))) status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    if (status == PW_OK) {
        for (int64_t c = 0; c < system->splits; c++) l.waiting[stages[0].dimension][l.last[stages[0].dimension]++] = 0;
        begin(&l, stages[0].dimension);
        status = pw_sim_run(l.sim, PW_TIME_MAX);
        if (status != PW_OK && error) *error = *pw_sim_error(l.sim);
        *ns = l.done_ns;
    }
    for (int d = 0; d < PW_ASTRA_DIMENSIONS; d++) pw_free(NULL, l.waiting[d], room * sizeof(uint32_t));
    pw_sim_destroy(l.sim);
    return status;
}

pw_status astra_chunks(const astra_stage *stages, uint32_t count, const pw_astra_system *system, int64_t *ns, pw_error *error) {
    int64_t newest = 0;
    PW_TRY(run(stages, count, system, false, ns, error));
    PW_TRY(run(stages, count, system, true, &newest, error));
    if (newest == *ns) return PW_OK;
    return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "as many active-chunks-per-dimension as preferred-dataset-splits leave no order to choose",
                   "the time depends on which chunk a dimension takes first (%lld or %lld ns), which is not modelled", (long long)*ns, (long long)newest);
}
