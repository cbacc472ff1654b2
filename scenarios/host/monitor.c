#include "scenarios/host/monitor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/power/meter.h"
#include "models/power/node_power.h"
#include "scenarios/report/layout.h"

bool pw_monitor_is_asked(const pw_arguments *arguments, const pw_scenario *scenario) {
    return pw_arguments_has(arguments, "metrics-csv") || pw_arguments_has(arguments, "openmetrics") || scenario->desc.meter || scenario->desc.alarms.count;
}

static pw_status read_interval(const pw_arguments *arguments, double *interval_s, pw_error *error) {
    const char *text = pw_arguments_value(arguments, "metrics-interval", NULL);
    bool has_unit;
    pw_unit unit;
    *interval_s = 1;
    if (!text) return PW_OK;
    PW_TRY(pw_unit_parse(text, PW_UNIT_SECONDS, interval_s, &has_unit, &unit, error));
    if (has_unit && unit == PW_UNIT_SECONDS && *interval_s >= 1e-6 && *interval_s <= 1e7) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --metrics-interval \"1 s\"", "--metrics-interval takes a time from 1 us on, not '%.100s'", text);
}

static pw_status read_of(const pw_arguments *arguments, unsigned *of, pw_error *error) {
    const char *text = pw_arguments_value(arguments, "metrics-of", "site,rack,node,gpu");
    *of = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        unsigned found = 0;
        for (int k = 0; pw_metric_of_names[k]; k++)
            if (strlen(pw_metric_of_names[k]) == length && strncmp(pw_metric_of_names[k], at, length) == 0) found = 1u << k;
        if (!found)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --metrics-of site,rack,node,gpu, or some of them", "--metrics-of does not know '%.*s'", (int)length, at);
        *of |= found;
        at += length;
        if (*at) at++;
    }
    if (*of) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --metrics-of rack, say", "--metrics-of names nothing");
}

static pw_status begin_metrics(const pw_host *host, const pw_arguments *arguments, double ticks_per_second, pw_monitor *m, pw_error *error) {
    pw_metrics_options options = {.ticks_per_second = ticks_per_second};
    m->csv = pw_arguments_value(arguments, "metrics-csv", NULL);
    m->openmetrics = pw_arguments_value(arguments, "openmetrics", NULL);
    if (m->csv && m->openmetrics && strcmp(m->csv, m->openmetrics) == 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "give them two names", "--metrics-csv and --openmetrics name one file");
    PW_TRY(read_interval(arguments, &options.interval_s, error));
    PW_TRY(read_of(arguments, &options.of, error));
    if (!m->csv && !m->openmetrics) options.of = 0;
    PW_TRY(pw_metrics_create(host->allocator, &options, &m->metrics, error));
    m->sinks[m->sink_count++] = pw_metrics_sink(m->metrics);
    return PW_OK;
}

static pw_status check_alone(const pw_arguments *arguments, const pw_monitor *m, pw_error *error) {
    const char *const options[] = {"metrics-interval", "metrics-of"};
    for (int i = 0; i < 2; i++)
        if (pw_arguments_has(arguments, options[i]) && !m->csv && !m->openmetrics)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "add --metrics-csv FILE", "--%s changes nothing without --metrics-csv or --openmetrics", options[i]);
    return PW_OK;
}

pw_status pw_monitor_begin(const pw_host *host, const pw_arguments *arguments, const pw_scenario *scenario, const pw_job_kind *kind, pw_job_call *call,
                           pw_monitor *m, pw_error *error) {
    double ticks_per_second = kind->ticks_per_second > 0 ? kind->ticks_per_second : PW_TICKS_PER_SECOND_STEP;
    const pw_scenario_desc *desc = &scenario->desc;
    *m = (pw_monitor){.hooks = {.scenario = scenario}};
    if (pw_arguments_has(arguments, "metrics-csv") || pw_arguments_has(arguments, "openmetrics") || desc->meter)
        PW_TRY(begin_metrics(host, arguments, ticks_per_second, m, error));
    PW_TRY(check_alone(arguments, m, error));
    if (desc->alarms.count) {
        bool calls = desc->on.function[PW_HOOK_ALARM] && scenario->script;
        /* A hook that fails ends the run as Ctrl-C does; what it said is told instead. */
        PW_TRY(pw_alarms_create(host->allocator, desc->alarms, ticks_per_second, calls ? pw_hook_alarm : NULL, &m->hooks, (volatile int *)(uintptr_t)host->interrupt,
                                &m->alarms, error));
        m->hooks.alarms = m->alarms;
        m->sinks[m->sink_count++] = pw_alarms_sink(m->alarms);
    }
    call->sinks = m->sinks;
    call->sink_count = m->sink_count;
    return PW_OK;
}

void pw_monitor_end(pw_monitor *m) {
    pw_metrics_destroy(m->metrics);
    pw_alarms_destroy(m->alarms);
    *m = (pw_monitor){0};
}

pw_status pw_monitor_explain(const pw_monitor *m, pw_status status, pw_error *error) {
    bool heard;
    pw_error hook = {0};
    if (!m->alarms || status != PW_INTERRUPTED || pw_alarms_check(m->alarms, &heard, &hook) == PW_OK) return status;
    if (error) *error = hook;
    return hook.status;
}

/* ---- Into the result ---- */

static const char *watts(double value, char text[64]) { return pw_unit_format(value, PW_UNIT_WATTS, text, 64); }

/* What nobody reports would never raise an alarm, and look safe. */
static pw_status check_alarms(const pw_monitor *m, const pw_scenario *scenario, pw_error *error) {
    const pw_one_of *items = scenario->desc.alarms.items;
    for (uint32_t i = 0; i < scenario->desc.alarms.count; i++) {
        const pw_alarm_desc *d = items[i].record;
        if (!pw_alarms_count(m->alarms, i).heard)
            return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "--metrics-csv FILE shows what there is", "alarm \"%.40s\": nobody reports %s of a %s here", d->name,
                           pw_metric_columns[d->metric], pw_metric_of_names[d->of]);
    }
    return PW_OK;
}

static void put_alarms(const pw_monitor *m, const pw_scenario *scenario, pw_run_result *result) {
    const pw_one_of *items = scenario->desc.alarms.items;
    char name[160];
    for (uint32_t i = 0; i < scenario->desc.alarms.count; i++) {
        const pw_alarm_desc *d = items[i].record;
        pw_alarm_count c = pw_alarms_count(m->alarms, i);
        const char *column = pw_metric_columns[d->metric];
        if (!c.raised) pw_result_answer(result, "alarm", "%.40s: never", d->name);
        else
            pw_result_answer(result, "alarm", "%.40s: %" PRIu64 " time%s at %u %s%s, first at %.6g s at %s, farthest %s %.5g", d->name, c.raised, c.raised == 1 ? "" : "s",
                             c.entities, pw_metric_of_names[d->of], c.entities == 1 ? "" : "s", c.first_s, c.first, column, c.worst);
        snprintf(name, sizeof name, "alarm_%u_raised", i + 1);
        pw_result_figure(result, name, (double)c.raised, "");
        snprintf(name, sizeof name, "alarm_%u_s", i + 1);
        pw_result_figure(result, name, c.seconds, "s");
    }
}

static void put_side(const pw_meter_report *r, const pw_meter_side *side, const char *label, const char *before, pw_run_result *result) {
    char a[64], b[64], c[64], d[64], e[64], name[160];
    for (uint32_t i = 0; i < r->instrument_count; i++) {
        const pw_reading_summary *s = &side->readings[i];
        char bias[64] = "";
        if (fabs(s->bias) > 0.0005) snprintf(bias, sizeof bias, "; %+.2f %% of the true mean", 100 * s->bias);
        const char *instrument = r->instruments[i].name;
        if (!side->has_reading[i]) {
            pw_result_answer(result, label, "%s: no reading: the signal is shorter than %g s", instrument, r->instruments[i].every_s);
            continue;
        }
        pw_result_answer(result, label, "%s: mean %s, 95th percentile %s, %s to %s; from one reading to the next up %s, down %s%s", instrument, watts(s->mean_W, a), watts(s->p95_W, b),
                         watts(s->least_W, c), watts(s->most_W, d), watts(s->rise_W, e), watts(s->fall_W, name), bias);
        const struct {
            const char *what;
            double value;
        } figures[] = {{"mean", s->mean_W}, {"p95", s->p95_W}, {"least", s->least_W}, {"most", s->most_W}, {"rise", s->rise_W}, {"fall", s->fall_W}};
        for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
            snprintf(name, sizeof name, "%s%s_%s_W", before, instrument, figures[k].what);
            pw_result_figure(result, name, figures[k].value, "W");
        }
        snprintf(name, sizeof name, "%s%s_bias", before, instrument);
        pw_result_figure(result, name, s->bias, "");
    }
    if (side->has_ramp) {
        snprintf(name, sizeof name, "%sramp_up_Wps", before);
        pw_result_figure(result, name, side->ramp.up_Wps, "W/s");
        snprintf(name, sizeof name, "%sramp_down_Wps", before);
        pw_result_figure(result, name, side->ramp.down_Wps, "W/s");
    }
}

/* "ramp up per s 31 % of 2 % (40 kW, at 30 s)" */
static void put_grid(const pw_grid_report *grid, const char *label, const char *before, pw_run_result *result) {
    char text[900] = "", a[64], name[160];
    size_t used = 0;
    if (!grid->count) return;
    for (size_t i = 0; i < grid->count; i++) {
        const pw_grid_finding *f = &grid->findings[i];
        snprintf(name, sizeof name, "%sgrid_%zu", before, i + 1);
        pw_result_figure(result, name, f->value, "");
        if (isnan(f->limit) || used >= sizeof text) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.3g %% %s %.3g %% (%s)", used ? "; " : "", f->name, 100 * f->value,
                                 f->broken ? "BREAKS" : "within", 100 * f->limit, watts(f->watts, a));
    }
    pw_result_answer(result, "grid", "%s%s of %s: %s", label, grid->broken ? "not kept" : "kept", watts(grid->connection_W, a), used ? text : "no limits");
    snprintf(name, sizeof name, "%sgrid_broken", before);
    pw_result_figure(result, name, (double)grid->broken, "");
}

static void put_cost(const pw_smoothing_result *c, pw_run_result *result) {
    char a[64], b[64], d[64], e[64];
    pw_result_answer(result, "smoothing", "costs %s (%.2f %%): burned %s, lost in the store %s; the load ends %.3g s later at most (%s held back)",
                     pw_unit_format(c->burned_J + c->lost_J, PW_UNIT_JOULES, a, sizeof a), 100 * (c->burned_J + c->lost_J) / c->load_J,
                     pw_unit_format(c->burned_J, PW_UNIT_JOULES, b, sizeof b), pw_unit_format(c->lost_J, PW_UNIT_JOULES, d, sizeof d), c->delay_s,
                     pw_unit_format(c->held_back_J, PW_UNIT_JOULES, e, sizeof e));
    const struct {
        const char *name;
        double value;
        const char *unit;
    } figures[] = {{"smoothing_burned_J", c->burned_J, "J"}, {"smoothing_lost_J", c->lost_J, "J"}, {"smoothing_held_back_J", c->held_back_J, "J"},
                   {"smoothing_delay_s", c->delay_s, "s"}, {"smoothing_least_store", c->least_store, ""}, {"smoothing_most_store", c->most_store, ""}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!isnan(figures[i].value)) pw_result_figure(result, figures[i].name, figures[i].value, figures[i].unit);
}

/* What the wall sees of a job that says its GPUs' watts alone: every node has its share of them, its parts and its supplies. */
static pw_status site_of_gpus(const pw_job_call *call, const pw_run_result *result, pw_signal *site, pw_error *error) {
    const pw_power_shape *shape = &result->gpu_power;
    const char *server = call->cluster->node.server;
    pw_node_power *model;
    double nodes = (double)call->cluster->nodes;
    if (!server || !*server || call->cluster->more.count)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "name the server, and one kind of node", "scenario.meter: what the nodes draw beside their GPUs is not on file");
    PW_TRY(pw_node_power_create(call->allocator, call->catalogue, server, &model, error));
    pw_signal_init(site, call->allocator);
    pw_status status = PW_OK;
    for (uint32_t i = 0; status == PW_OK && i < shape->count; i++) {
        pw_node_watts watts = pw_node_power_at(model, &(pw_node_load){.gpu_W = shape->watts[i] / nodes, .host = PW_NODE_HOST_FEEDS, .fan_speed = NAN});
        status = pw_signal_put(site, i * shape->bin_s, watts.wall_W * nodes, error);
    }
    if (status == PW_OK) status = pw_signal_end(site, shape->span_s, error);
    pw_node_power_destroy(model);
    if (status != PW_OK) pw_signal_free(site);
    return status;
}

static pw_status put_meter(const pw_monitor *m, const pw_scenario *scenario, const pw_job_kind *kind, const pw_job_call *call, pw_run_result *result, pw_error *error) {
    const pw_signal *heard = pw_metrics_site(m->metrics), *site = heard;
    pw_signal made;
    pw_meter_report *r = pw_arena_alloc(result->arena, sizeof *r);
    if (!r) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a meter");
    if (!heard && !result->gpu_power.count)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave scenario.meter out", "a job of the kind o.%s reports no power of the site here", kind->kind->name);
    if (!heard) {
        PW_TRY(site_of_gpus(call, result, &made, error));
        site = &made;
        pw_result_note(result, "the meter sees fans at rest with their heat, hosts that feed GPUs, and no traffic of switches");
    }
    pw_status status = pw_meter_read(call->catalogue, scenario->desc.meter, site, (uint32_t)call->cluster->nodes, (uint32_t)result->gpus, call->seed, r, error);
    if (!heard) pw_signal_free(&made);
    PW_TRY(status);
    put_side(r, &r->plain, "meter", "", result);
    put_grid(&r->plain.grid, "", "", result);
    if (!r->is_smooth) return PW_OK;
    put_side(r, &r->smooth, "smoothed", "smooth_", result);
    put_grid(&r->smooth.grid, "smoothed: ", "smooth_", result);
    put_cost(&r->cost, result);
    return PW_OK;
}

static pw_status write(pw_host *host, const char *path, const pw_metrics *metrics, void (*writer)(const pw_metrics *metrics, pw_file *file), pw_error *error) {
    pw_file *file;
    if (!path) return PW_OK;
    PW_TRY(pw_host_open(host, path, &file, error));
    writer(metrics, file);
    return pw_host_close(file, PW_OK, error);
}

pw_status pw_monitor_take(pw_monitor *m, pw_host *host, const pw_scenario *scenario, const pw_job_kind *kind, const pw_job_call *call, pw_run_result *result,
                          pw_error *error) {
    bool heard = true, heard_alarms = true;
    if (m->alarms) PW_TRY(pw_alarms_check(m->alarms, &heard_alarms, error));
    if (m->metrics) PW_TRY(pw_metrics_check(m->metrics, &heard, error));
    bool has_shape = result->gpu_power.count && !m->csv && !m->openmetrics; /* a meter alone is content with that */
    if ((!heard && !has_shape) || !heard_alarms)
        return pw_fail(error, PW_UNSUPPORTED, NULL, 0, kind->draws_power ? "training reports power with power = o.power {} in the cluster, clocks and temperatures with mode = \"dynamic\""
                                                                         : "leave --metrics-csv, --openmetrics, meter and alarms out",
                       "a job of the kind o.%s reports no clocks, watts or temperatures here", kind->kind->name);
    if (m->alarms) PW_TRY(check_alarms(m, scenario, error));
    if (m->metrics) pw_metrics_set_model(m->metrics, result->device ? result->device->name : NULL);
    if (scenario->desc.meter) PW_TRY(put_meter(m, scenario, kind, call, result, error));
    if (m->alarms) put_alarms(m, scenario, result);
    PW_TRY(write(host, m->csv, m->metrics, pw_metrics_csv, error));
    PW_TRY(write(host, m->openmetrics, m->metrics, pw_metrics_openmetrics, error));
    return pw_result_finish(result, error);
}
