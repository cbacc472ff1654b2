#include "models/workload/session.h"

#include "models/workload/together.h"

pw_status pw_session_run(const pw_session_config *config, const pw_job *job, pw_arena *arena, pw_session_result *result,
                         pw_error *error) {
    if (config->runner) return config->runner->run(config->runner->object, config, job, arena, result, error);
    const pw_together_config alone = {.allocator = config->allocator};
    const pw_together_job one = {.config = config, .job = job, .arena = arena, .result = result};
    return pw_together_run(&alone, &one, 1, NULL, error);
}
