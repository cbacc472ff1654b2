/* Fitted kernel parameters in the catalogue: reading a row, and choosing the row for a device that may have none.
 *
 * Order of choice, for a device and a precision:
 *   1. its own row at the precision (fp16 and bf16 are one: they take the same units)
 *   2. the row of the most alike device of its architecture
 *   3. the row of the architecture's kin (table kernel-fallback; for kernels that move memory, of its traffic_device)
 *   4. steps 1 to 3 with the 16-bit row; the device's own peak at the precision still sets the speed
 * "Most alike" is the least sum of |log ratio| of 16-bit peak, bandwidth and SM count. The text says which step it was.
 */
#ifndef PW_MODELS_GPU_PARAMETERS_H
#define PW_MODELS_GPU_PARAMETERS_H

#include "models/gpu/attention.h"
#include "models/gpu/convolution.h"
#include "models/gpu/gemm.h"
#include "models/gpu/traffic.h"

#define PW_TABLE_GEMM "kernel-gemm-parameters"
#define PW_TABLE_ATTENTION "kernel-attention-parameters"
#define PW_TABLE_TRAFFIC "kernel-traffic-parameters"
#define PW_TABLE_FALLBACK "kernel-fallback"
#define PW_TABLE_CONVOLUTION "kernel-convolution"
#define PW_TABLE_LAUNCH "kernel-launch"
#define PW_TABLE_ALIGNMENT "kernel-gemm-alignment"

typedef struct pw_parameter_choice {
    size_t row;
    double flop_efficiency, memory_efficiency; /* NaN, or what the fallback table states in place of the row's */
    bool other_precision;   /* a 16-bit row for another precision */
    char text[240];         /* for people: where the parameters come from */
} pw_parameter_choice;

/* 16-bit peak of a device; another one where it has none, or one that is slower than 32 bits; NaN when it has none at all. */
double pw_device_peak16(const pw_device *device);

/* The row of a fitted table that serves a device at a precision: its own; the most alike device of its architecture; the kin of
 * kernel-fallback.csv. PW_NOT_FOUND when nothing serves it; file:line on a bad cell. */
pw_status pw_parameter_choose(const pw_catalogue *catalogue, const pw_table *table, const pw_device *device,
                              pw_precision precision, pw_parameter_choice *choice, pw_error *error);

/* Each fails with file:line when a column is missing, a cell is no number or lies outside its limits. */
pw_status pw_gemm_parameters_read(const pw_table *table, size_t row, pw_gemm_parameters *parameters, pw_error *error);
pw_status pw_attention_parameters_read(const pw_table *table, size_t row, pw_attention_parameters *parameters,
                                       pw_error *error);
pw_status pw_traffic_parameters_read(const pw_table *table, size_t row, pw_traffic_parameters *parameters,
                                     pw_error *error);

/* slowdown[i]: of the arithmetic of a multiply whose rows are whole multiples of 2^i bytes only; rows of the device's
 * architecture go before those for any ("*"). Fails when neither knows an alignment, or on a value below 1. */
enum { PW_ALIGNMENTS = 4 };
pw_status pw_alignment_read(const pw_catalogue *catalogue, const pw_device *device, double slowdown[PW_ALIGNMENTS],
                            pw_error *error);

/* The row of kernel-convolution.csv; file:line on a cell out of range. */
pw_status pw_convolution_parameters_read(const pw_catalogue *catalogue, pw_convolution_parameters *parameters, pw_error *error);

/* Text of a named column; fails when the column is missing. */
pw_status pw_parameter_text(const pw_table *table, size_t row, const char *column, const char **text, pw_error *error);

#endif
