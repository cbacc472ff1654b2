/* What watches a run: metrics for files and the meter, alarms and their hooks. Nothing is attached when nothing is asked for. */
#ifndef PW_HOST_MONITOR_H
#define PW_HOST_MONITOR_H

#include "scenarios/host/command.h"
#include "scenarios/host/hooks.h"
#include "scenarios/jobs/jobs.h"

#define PW_MONITOR_OPTIONS                                                                                                                       \
    {0, "metrics-csv", "FILE", false, "also write utilisation, clocks, temperatures and power over time to FILE"},                               \
        {0, "openmetrics", "FILE", false, "the same as OpenMetrics text, with the field names of DCGM"},                                         \
        {0, "metrics-interval", "TIME", false, "time between two readings in those files (default \"1 s\")"},                                    \
        {0, "metrics-of", "LIST", false, "whose: site, rack, node, gpu, with commas between (default all)"}

typedef struct pw_monitor {
    pw_metrics *metrics;
    pw_alarms *alarms;
    pw_hook_call hooks;
    pw_sink sinks[2];
    uint32_t sink_count;
    const char *csv, *openmetrics;
} pw_monitor;

/* Whether options or scenario ask for any of it. */
bool pw_monitor_is_asked(const pw_arguments *arguments, const pw_scenario *scenario);
/* Attaches to the call what is asked for. *monitor stays where it is until pw_monitor_end, which is called in every case. */
pw_status pw_monitor_begin(const pw_host *host, const pw_arguments *arguments, const pw_scenario *scenario, const pw_job_kind *kind, pw_job_call *call,
                           pw_monitor *monitor, pw_error *error);
/* After a run that ended well: puts meter and alarms into the result and writes the files. */
pw_status pw_monitor_take(pw_monitor *monitor, pw_host *host, const pw_scenario *scenario, const pw_job_kind *kind, const pw_job_call *call, pw_run_result *result,
                          pw_error *error);
/* After a run that did not: an error of a hook comes before what the run said of being stopped. Returns the status to go on with. */
pw_status pw_monitor_explain(const pw_monitor *monitor, pw_status status, pw_error *error);
void pw_monitor_end(pw_monitor *monitor);

#endif
