/* What a run says of power, in the words of a report. */
#include <math.h>
#include <stdio.h>

#include "models/workload/power_events.h"
#include "scenarios/jobs/jobs.h"
#include "scenarios/report/layout.h"

pw_status pw_job_check_power(const pw_job_kind *kind, const pw_cluster_desc *cluster, pw_error *error) {
    if (!cluster->power || kind->draws_power) return PW_OK;
    return pw_fail(error, PW_UNSUPPORTED, NULL, 0, "leave it out",
                   "cluster.power is not for jobs of the kind o.%s: what it does draws no power here", kind->kind->name);
}

static const char *energy_text(double joules, char *text, size_t size) {
    if (joules >= 3.6e6) snprintf(text, size, "%.4g kWh", joules / 3.6e6);
    else if (joules >= 1e3) snprintf(text, size, "%.4g kJ", joules / 1e3);
    else snprintf(text, size, "%.4g J", joules);
    return text;
}

static void put_clocks(const pw_power_result *power, pw_run_result *result) {
    char reasons[200] = "";
    size_t used = 0;
    pw_clock_reason most = PW_CLOCK_REASON_NONE;
    for (int r = 0; r < PW_CLOCK_REASON_COUNT; r++) {
        if (power->by_reason[r] > power->by_reason[most]) most = (pw_clock_reason)r;
        if (!power->by_reason[r] || used >= sizeof reasons) continue;
        used += (size_t)snprintf(reasons + used, sizeof reasons - used, "%s%s on %u", used ? ", " : "", pw_clock_reason_names[r], power->by_reason[r]);
    }
    pw_result_answer(result, "clock", "%.0f MHz in the mean, slowest %.0f MHz; held by: %s", power->clock_ratio * power->reference_Hz / 1e6,
                     power->lowest_ratio * power->reference_Hz / 1e6, reasons);
    pw_result_figure(result, "gpu_clock", power->clock_ratio * power->reference_Hz, "Hz");
    pw_result_figure(result, "gpu_clock_lowest", power->lowest_ratio * power->reference_Hz, "Hz");
    pw_result_figure(result, "gpu_clock_ratio", power->clock_ratio, "");
    pw_result_word(result, "clock_reason", pw_clock_reason_names[most]);
}

static void put_nodes(const pw_power_result *power, const char *per, double count, pw_run_result *result) {
    char a[64], b[64] = "";
    if (!power->node_server) return;
    if (per) snprintf(b, sizeof b, ", %.4g J per %s", power->wall_J / count, per);
    pw_result_answer(result, "node power", "%.0f W in the mean at the wall, p95 %.0f W over %g s, %.0f W behind the supplies; %s for all nodes%s",
                     power->node_mean_W, power->node_p95_W, power->node_sample_s, power->node_dc_W, energy_text(power->wall_J, a, sizeof a), b);
    pw_result_figure(result, "node_power_mean", power->node_mean_W, "W");
    pw_result_figure(result, "node_power_p95", power->node_p95_W, "W");
    pw_result_figure(result, "node_power_dc", power->node_dc_W, "W");
    pw_result_figure(result, "wall_energy", power->wall_J, "J");
    if (!per) return;
    char name[64];
    snprintf(name, sizeof name, "wall_energy_per_%s", per);
    pw_result_figure(result, name, power->wall_J / count, "J");
}

/* Means over the groups of GPUs of one program. */
static void put_row(const pw_power_result *power, const char *program, pw_run_result *result, pw_result_row *row) {
    double gpus = 0, watts = 0, clock = 0;
    for (uint32_t g = 0; g < power->group_count; g++) {
        const pw_power_group *of = &power->groups[g];
        if (of->program != program) continue;
        gpus += of->gpus;
        watts += of->gpus * of->watts.total;
        clock += of->gpus * of->clock_ratio * power->reference_Hz;
    }
    if (gpus == 0) return;
    pw_row_figure(result, row, "gpu_power", watts / gpus, "W");
    pw_row_figure(result, row, "gpu_clock", clock / gpus, "Hz");
}

/* The run with what happened to supplies, against the run without. */
static void put_events(const pw_power_events *events, double reference_Hz, pw_run_result *result) {
    char a[64], b[64];
    const pw_supply_flow *flow = &events->flow;
    pw_result_answer(result, "supplies", "%d of %.4g kW (%d needed) on %d feed%s, each at %.0f %%: a node draws %.4g kW, %.4g kW at the wall, and may draw %.4g kW",
                     events->group.units, events->group.unit_W / 1e3, events->group.needed, events->group.feeds, events->group.feeds == 1 ? "" : "s",
                     100 * flow->share, flow->output_W / 1e3, flow->input_W / 1e3, events->node_W / 1e3);
    pw_result_figure(result, "node_power", flow->output_W, "W");
    pw_result_figure(result, "node_wall_power", flow->input_W, "W");
    pw_result_figure(result, "node_braked_power", events->braked_W, "W");
    pw_result_figure(result, "supply_share", flow->share, "");
    if (!isnan(events->oversubscription)) pw_result_figure(result, "oversubscription", events->oversubscription, "");
    if (!events->effect_count) return;
    pw_result_answer(result, "events", "%s longer than the %s without them; %.4g GPU-s under the power brake, %.4g GPU-s slowed by caps of their nodes",
                     pw_layout_seconds(events->run_s - events->calm_s, a, sizeof a), pw_layout_seconds(events->calm_s, b, sizeof b), events->braked_gpu_s,
                     events->capped_gpu_s);
    pw_result_figure(result, "calm_s", events->calm_s, "s");
    pw_result_figure(result, "lost_to_events", events->run_s - events->calm_s, "s");
    pw_result_figure(result, "hw_power_brake_gpu_s", events->braked_gpu_s, "s");
    pw_result_figure(result, "sw_power_cap_gpu_s", events->capped_gpu_s, "s");
    pw_result_note(result, "Power and clocks above are those of the run without the events; beside GPUs: %s.", events->draw_source);
    pw_happening *h = pw_result_happenings(result, "power_events", events->effect_count);
    for (uint32_t i = 0; h && i < events->effect_count; i++) {
        const pw_power_effect *e = &events->effects[i];
        h[i] = (pw_happening){.at_s = e->at_s, .what = e->what, .effect = e->effect, .first_node = e->first_node, .nodes = e->nodes,
                              .figures = {{"supplies_left", e->left_W, "W", NULL}}};
        if (isnan(e->clock_ratio)) continue;
        h[i].figures[1] = (pw_figure){"gpu_clock", e->clock_ratio * reference_Hz, "Hz", NULL};
        h[i].figures[2] = (pw_figure){"clock_reason", 0, "", pw_clock_reason_names[e->reason]};
    }
}

void pw_job_put_power(const pw_power_result *power, const char *per, double count, pw_run_result *result, pw_result_row *rows,
                      uint32_t row_count) {
    char a[64], b[64] = "";
    if (!power) return;
    result->gpu_power = (pw_power_shape){power->bins_W, power->bin_count, power->bin_s, power->span_s};
    if (per) snprintf(b, sizeof b, ", %.4g J per %s", power->energy_J / count, per);
    pw_result_answer(result, "GPU power", "%.0f W in the mean, p95 %.0f W, peak %.0f W over %g ms; %s for all GPUs%s", power->mean_W, power->p95_W,
                     power->peak_W, power->sample_s * 1e3, energy_text(power->energy_J, a, sizeof a), b);
    put_clocks(power, result);
    put_nodes(power, per, count, result);
    if (power->cooling) {
        pw_result_answer(result, "GPU temperature", "%.1f degC in the mean, hottest %.1f degC; cooled by \"%s\"", power->temperature_C, power->hottest_C, power->cooling);
        pw_result_figure(result, "gpu_temperature_mean", power->temperature_C, "degC");
        pw_result_figure(result, "gpu_temperature_hottest", power->hottest_C, "degC");
        pw_result_word(result, "cooling", power->cooling);
    }
    pw_result_figure(result, "gpu_power_mean", power->mean_W, "W");
    pw_result_figure(result, "gpu_power_p95", power->p95_W, "W");
    pw_result_figure(result, "gpu_power_peak", power->peak_W, "W");
    pw_result_figure(result, "gpu_energy", power->energy_J, "J");
    if (per) {
        char name[64];
        snprintf(name, sizeof name, "gpu_energy_per_%s", per);
        pw_result_figure(result, name, power->energy_J / count, "J");
    }
    if (power->events) put_events(power->events, power->reference_Hz, result);
    const char *last = NULL;
    for (uint32_t g = 0, row = 0; rows && g < power->group_count && row < row_count; g++) {
        if (power->groups[g].program == last) continue;
        last = power->groups[g].program;
        put_row(power, last, result, &rows[row++]);
    }
}
