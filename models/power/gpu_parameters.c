#include "models/power/gpu_parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/gpu/parameters.h"
#include "models/power/gpu_power.h"
#include "sim/math.h"

static const double unit_slack = 1e-12; /* a limit written in another unit may lose its last bit */

pw_status pw_gpu_power_parameters_read(const pw_table *table, size_t row, pw_gpu_power_parameters *parameters,
                                       pw_error *error) {
#define READ(field, column, low, high, text)                                                                          \
    {                                                                                                                  \
        double value = pw_table_number_of(table, row, column);                                                         \
        if (!(value >= (low) * (1 - unit_slack) && value <= (high) * (1 + unit_slack)))                                \
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row),                       \
                           "podwright-fit writes this file", "%s is \"%s\"; it must be a number from %g to %g (SI)",   \
                           column, pw_table_text_of(table, row, column), (double)(low), (double)(high));               \
        parameters->field = value;                                                                                     \
    }
    PW_GPU_POWER_MAP(READ)
#undef READ
    parameters->tensor_J[PW_PRECISION_FP16] = parameters->tensor_J[PW_PRECISION_BF16];
    return PW_OK;
}

/* The row of `device` itself (least 0), else that of the most alike one of its architecture; -1: none. */
static pw_status find_row(const pw_catalogue *catalogue, const pw_table *table, const pw_device *device, int *row,
                          const pw_device **of, pw_error *error) {
    double least = INFINITY;
    *row = -1;
    for (size_t i = 0; i < pw_table_rows(table); i++) {
        const pw_device *other;
        PW_TRY(pw_catalogue_device(catalogue, pw_table_text_of(table, i, "device"), &other, error));
        bool self = !strcmp(other->name, device->name);
        if (!self && strcmp(other->arch, device->arch) != 0) continue;
        double ratio = other->sm_count > 0 && device->sm_count > 0 ? other->sm_count / device->sm_count : 1;
        double memory = other->memory_Bps > 0 && device->memory_Bps > 0 ? other->memory_Bps / device->memory_Bps : 1;
        double distance = self ? -1 : fabs(pw_log(ratio)) + fabs(pw_log(memory));
        if (distance >= least) continue;
        least = distance;
        *row = (int)i;
        *of = other;
    }
    return PW_OK;
}

static double ratio_or_1(double a, double b) { return a > 0 && b > 0 ? a / b : 1; }

void pw_gpu_power_parameters_scale(pw_gpu_power_parameters *p, const pw_device *device, const pw_device *from) {
    double size = ratio_or_1(device->sm_count, from->sm_count);
    p->static_W *= size;
    p->active_W *= size * ratio_or_1(device->boost_Hz, from->boost_Hz);
    p->load_Hz *= ratio_or_1(device->boost_Hz, from->boost_Hz);
    p->memory_Hz *= ratio_or_1(device->boost_Hz, from->boost_Hz);
}

/* Another process: full load is the same share of TDP. */
static void scale_by_tdp(pw_gpu_power_parameters *p, const pw_device *device, const pw_device *from) {
    double power = ratio_or_1(device->tdp_W, from->tdp_W);
    double work = power / ratio_or_1(pw_device_peak16(device), pw_device_peak16(from));
    double boost = ratio_or_1(device->boost_Hz, from->boost_Hz);
    p->static_W *= power;
    p->active_W *= power;
    for (int i = 0; i < PW_PRECISION_COUNT; i++) p->tensor_J[i] *= work;
    p->vector_J *= power / ratio_or_1(device->vector_flops, from->vector_flops);
    p->load_Hz *= boost;
    p->memory_Hz *= boost;
    p->min_Hz *= boost;
}

pw_status pw_gpu_power_parameters_choose(const pw_catalogue *catalogue, const pw_device *device,
                                         pw_gpu_power_parameters *parameters, char *text, size_t size, pw_error *error) {
    const pw_table *table, *fallback;
    const pw_device *from = NULL, *kin;
    int row;
    PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_GPU_POWER, &table, error));
    PW_TRY(find_row(catalogue, table, device, &row, &from, error));
    bool of_arch = row >= 0;
    if (!of_arch) {
        PW_TRY(pw_catalogue_need(catalogue, PW_TABLE_FALLBACK, &fallback, error));
        int line = pw_table_find_row(fallback, device->arch);
        if (line < 0) line = pw_table_find_row(fallback, "*");
        if (line < 0)
            return pw_fail(error, PW_BAD_INPUT, pw_table_file(fallback), 0, NULL,
                           "there is no row for architecture \"%s\" and none named \"*\"", device->arch);
        PW_TRY(pw_catalogue_device(catalogue, pw_table_text_of(fallback, (size_t)line, "device"), &kin, error));
        PW_TRY(find_row(catalogue, table, kin, &row, &from, error));
        if (row < 0)
            return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, "podwright-fit writes this file",
                           "no row serves %s, architecture %s", device->name, device->arch);
    }
    PW_TRY(pw_gpu_power_parameters_read(table, (size_t)row, parameters, error));
    bool own = !strcmp(from->name, device->name);
    if (!own && of_arch) pw_gpu_power_parameters_scale(parameters, device, from);
    if (!own && !of_arch) scale_by_tdp(parameters, device, from);
    parameters->idle_W = device->idle_W > 0   ? device->idle_W
                         : from->idle_W > 0 ? from->idle_W * device->tdp_W / from->tdp_W
                                            : NAN;
    if (!(parameters->idle_W >= 0))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row),
                       "give the device idle watts in the table of accelerators", "%s has a row here but no idle watts",
                       from->name);
    if (own)
        snprintf(text, size, "%s: %s", from->name, pw_table_text_of(table, (size_t)row, "provenance"));
    else if (of_arch)
        snprintf(text, size, "from %s (same architecture %s), by SMs and clock", from->name, device->arch);
    else
        snprintf(text, size, "from %s (no measurements of architecture %s), by TDP", from->name, device->arch);
    return PW_OK;
}
