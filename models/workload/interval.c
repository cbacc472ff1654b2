#include "models/workload/interval.h"

#include <math.h>
#include <string.h>

#include "sim/math.h"

const char *const pw_step_class_names[] = {
#define NAME(NAME, name, text) name,
    PW_STEP_CLASS_MAP(NAME)
#undef NAME
    NULL};

static const double normal_quantile = 1.6448536269514722; /* of (1 + PW_INTERVAL_LEVEL) / 2 */

static void count_segment(const pw_job *job, uint32_t segment, double times, double *counts) {
    const pw_segment *s = &job->segments[segment];
    double rounds = times * (s->repeats ? s->repeats : 1);
    for (uint32_t i = 0; i < s->count; i++) counts[s->parts[i].kernel] += rounds * s->parts[i].repeats;
}

/* Operations first .. first + count - 1 of a template, each `times` times. Calls do not recurse (pw_job_check). */
static void count_ops(const pw_job *job, const pw_op *ops, uint32_t count, double times, double *counts) {
    for (uint32_t i = 0; i < count; i++) {
        const pw_op *op = &ops[i];
        if (op->kind == PW_OP_COMPUTE) {
            count_segment(job, op->compute.segment, times, counts);
        } else if (op->kind == PW_OP_CALL) {
            const pw_template *called = &job->templates[op->call.template_index];
            count_ops(job, called->ops, called->count, times, counts);
        } else if (op->kind == PW_OP_LOOP) {
            count_ops(job, op + 1, op->loop.length, times * op->loop.count, counts);
            i += op->loop.length;
        }
    }
}

void pw_job_count_kernels(const pw_job *job, uint32_t program, double factor, double *counts) {
    if (job->programs[program].source) return; /* nobody knows before it runs */
    const pw_template *start = &job->templates[job->programs[program].template_index];
    count_ops(job, start->ops, start->count, factor, counts);
}

static pw_status kernel_sd(const pw_catalogue *catalogue, const pw_device *device, const pw_job *job, uint32_t program,
                           double clock_ratio, pw_arena *arena, double *sd, pw_error *error) {
    double *counts = pw_arena_alloc(arena, (job->kernel_count + 1) * sizeof *counts);
    pw_kernel_count *kernels = pw_arena_alloc(arena, (job->kernel_count + 1) * sizeof *kernels);
    if (!counts || !kernels) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for an interval");
    pw_job_count_kernels(job, program, 1, counts);
    size_t used = 0;
    for (uint32_t i = 0; i < job->kernel_count; i++)
        if (counts[i] > 0) kernels[used++] = (pw_kernel_count){&job->kernels[i], counts[i]};
    return pw_gpu_time_sd(catalogue, device, kernels, used, clock_ratio, sd, error);
}

pw_status pw_step_interval(const pw_catalogue *catalogue, const pw_device *device, const pw_job *job, uint32_t program,
                           double clock_ratio, pw_step_class step_class, double step_s, double compute_s, pw_arena *arena,
                           pw_interval *interval, pw_error *error) {
    *interval = (pw_interval){.low_s = NAN, .high_s = NAN, .level = PW_INTERVAL_LEVEL,
                              .step_class = pw_step_class_names[step_class]};
    PW_TRY(kernel_sd(catalogue, device, job, program, clock_ratio, arena, &interval->kernel_sd, error));
    const pw_table *table = pw_catalogue_table(catalogue, PW_TABLE_INTERVALS);
    int row = table ? pw_table_find_row(table, interval->step_class) : -1;
    if (row < 0) return PW_OK;
    double low = pw_table_number_of(table, (size_t)row, "low"), high = pw_table_number_of(table, (size_t)row, "high");
    double rows = pw_table_number_of(table, (size_t)row, "rows"), families = pw_table_number_of(table, (size_t)row, "families");
    if (!(low > 0 && high >= low && rows >= 1 && families >= 1))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row),
                       "podwright calibrate intervals writes this file", "the interval of class '%s' is out of range",
                       interval->step_class);
    interval->rows = (int64_t)rows;
    interval->families = (int64_t)families;
    /* What is unexplained and what the parameters leave open are independent: widths add as squares about the middle. */
    double share = step_s > 0 ? fmin(1, compute_s / step_s) : 0, spread = normal_quantile * interval->kernel_sd * share;
    double middle = 0.5 * (pw_log(low) + pw_log(high)), half = 0.5 * (pw_log(high) - pw_log(low));
    half = sqrt(half * half + spread * spread);
    interval->low_s = step_s * pw_exp(middle - half);
    interval->high_s = step_s * pw_exp(middle + half);
    return PW_OK;
}
