/* What a run says of power, in the words of a report. */
#include <math.h>
#include <stdio.h>

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

void pw_job_put_power(const pw_power_result *power, const char *per, double count, pw_run_result *result, pw_result_row *rows,
                      uint32_t row_count) {
    char a[64], b[64] = "";
    if (!power) return;
    if (per) snprintf(b, sizeof b, ", %.4g J per %s", power->energy_J / count, per);
    pw_result_answer(result, "GPU power", "%.0f W in the mean, p95 %.0f W, peak %.0f W over %g ms; %s in all%s", power->mean_W, power->p95_W,
                     power->peak_W, power->sample_s * 1e3, energy_text(power->energy_J, a, sizeof a), b);
    put_clocks(power, result);
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
    const char *last = NULL;
    for (uint32_t g = 0, row = 0; rows && g < power->group_count && row < row_count; g++) {
        if (power->groups[g].program == last) continue;
        last = power->groups[g].program;
        put_row(power, last, result, &rows[row++]);
    }
}
