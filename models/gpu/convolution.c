/* Implicit GEMM as in Chetlur et al. 2014, cuDNN: Efficient Primitives for Deep Learning (arXiv:1410.0759), section 3; the
 * phases of a strided data gradient as in CUTLASS. */
#include "models/gpu/convolution.h"

#include <math.h>

bool pw_convolution_is_valid(const pw_convolution *c) {
    return c->batch >= 1 && c->in_height >= 1 && c->in_width >= 1 && c->in_channels >= 1 && c->out_height >= 1 &&
           c->out_width >= 1 && c->out_channels >= 1 && c->kernel_height >= 1 && c->kernel_width >= 1 && c->stride >= 1 &&
           c->groups >= 1 && c->in_channels % c->groups == 0 && c->out_channels % c->groups == 0 &&
           c->pass >= PW_CONVOLUTION_FORWARD && c->pass <= PW_CONVOLUTION_WEIGHT;
}

static double output_pixels(const pw_convolution *c) { return (double)c->batch * c->out_height * c->out_width; }
static double taps(const pw_convolution *c) { return (double)c->kernel_height * c->kernel_width; }

double pw_convolution_flops(const pw_convolution *c) {
    return 2 * output_pixels(c) * c->out_channels * taps(c) * (c->in_channels / c->groups);
}

/* Share of x that a forward pass or a weight gradient reads. */
static double read_share(const pw_convolution *c) {
    double rows = fmin(1, (double)c->kernel_height / c->stride), columns = fmin(1, (double)c->kernel_width / c->stride);
    return rows * columns;
}

double pw_convolution_elements(const pw_convolution *c) {
    double x = (double)c->batch * c->in_height * c->in_width * c->in_channels;
    double w = (double)c->out_channels * (c->in_channels / c->groups) * taps(c), y = output_pixels(c) * c->out_channels;
    return (c->pass == PW_CONVOLUTION_DATA ? x : x * read_share(c)) + w + y; /* every pixel of a gradient is written */
}

/* Operands are fetched 16 bytes at a time by tensor units, one element at a time by vector units. */
static double padded(double channels, pw_precision precision, double element_bytes) {
    double multiple = precision == PW_PRECISION_FP32 ? 1 : 16 / element_bytes;
    return ceil(channels / multiple) * multiple;
}

static pw_gemm_shape implicit_multiply(const pw_convolution *c, pw_precision precision, double element_bytes) {
    double in = padded(c->in_channels / c->groups, precision, element_bytes);
    double out = padded(c->out_channels / c->groups, precision, element_bytes);
    double phases = (double)(c->kernel_height < c->stride ? c->kernel_height : c->stride) *
                    (c->kernel_width < c->stride ? c->kernel_width : c->stride);
    pw_gemm_shape shape = {.bytes = element_bytes * pw_convolution_elements(c), .splits = PW_GEMM_SPLITS};
    switch (c->pass) {
        case PW_CONVOLUTION_FORWARD:
            shape.batch = c->groups, shape.m = output_pixels(c), shape.n = out, shape.k = in * taps(c);
            break;
        case PW_CONVOLUTION_DATA:
            shape.batch = c->groups * phases, shape.m = output_pixels(c), shape.n = in, shape.k = out * taps(c) / phases;
            break;
        default:
            shape.batch = c->groups, shape.m = out, shape.n = in * taps(c), shape.k = output_pixels(c);
            shape.splits = PW_GEMM_SPLITS_LONG;
    }
    return shape;
}

/* One thread an output, on the vector units. */
static double direct_time(const pw_gemm_model *model, double vector_flops, const pw_convolution *c, double clock_ratio,
                          double sms, double *compute, double *memory) {
    const pw_gemm_machine *machine = &model->machine;
    double share = sms / machine->sms;
    *compute = pw_convolution_flops(c) / (vector_flops * share * clock_ratio);
    *memory = machine->element_bytes * pw_convolution_elements(c) /
              (model->parameters.memory_efficiency * machine->memory_Bps * fmin(1, model->parameters.saturation * share));
    double c2 = *compute * *compute, m2 = *memory * *memory;
    return model->parameters.start + sqrt(sqrt(c2 * c2 + m2 * m2));
}

void pw_convolution_cost(const pw_gemm_model *model, pw_precision precision, double vector_flops,
                         const pw_convolution *convolution, double clock_ratio, double sms, pw_kernel_cost *cost) {
    pw_gemm_shape shape = implicit_multiply(convolution, precision, model->machine.element_bytes);
    pw_gemm_shape_cost(model, &shape, clock_ratio, sms, cost);
    cost->flops = pw_convolution_flops(convolution);
    if (convolution->groups == 1 || !(vector_flops > 0)) return;
    double compute, memory, total = direct_time(model, vector_flops, convolution, clock_ratio, sms, &compute, &memory);
    if (total >= cost->total_s) return;
    cost->start_s = model->parameters.start;
    cost->compute_s = compute;
    cost->memory_s = memory;
    cost->total_s = total;
    cost->hbm_bytes = shape.bytes;
}
