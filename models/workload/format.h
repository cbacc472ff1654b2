/* Number formats of a training run: rows of the catalogue's table `training-formats`. Any workload that multiplies on tensor
 * units reads one: the format of the multiplies, of the rest, and the bytes that tensors take and casts move.
 */
#ifndef PW_MODELS_WORKLOAD_FORMAT_H
#define PW_MODELS_WORKLOAD_FORMAT_H

#include "models/catalogue/catalogue.h"

/* Names for a choice field; the first PW_PRECISION_COUNT are those of pw_precision, then the mixed ones. */
extern const char *const pw_format_names[];
enum { PW_FORMAT_FP16_AMP = PW_PRECISION_COUNT, PW_FORMAT_BF16_AMP, PW_FORMAT_COUNT };

typedef struct pw_format {
    const char *name, *text, *source;
    pw_precision matrix, other;         /* of linear layers or convolutions; of attention, output layer and the rest */
    double element_bytes, wide_bytes;   /* an activation; one of norms, residuals and softmax */
    double weight_bytes, copy_bytes;    /* kept per weight; a cast copy of those that multiply */
    double gradient_bytes, wire_bytes;  /* kept and sent per weight; NaN: as the software stack does */
    double cast_weight, cast_gradient;  /* moved per weight and micro-batch to cast it, and its gradient back */
} pw_format;

/* Reads the row of pw_format_names[index]. Fails with PW_UNSUPPORTED for a format that no row describes, with file:line on
 * a cell out of range. */
pw_status pw_format_read(const pw_catalogue *catalogue, int index, pw_format *format, const char *file, int line,
                         pw_error *error);

/* Fails with PW_BAD_INPUT when the device lacks the units for either part. */
pw_status pw_format_check(const pw_format *format, const pw_device *device, const char *file, int line, pw_error *error);

#endif
