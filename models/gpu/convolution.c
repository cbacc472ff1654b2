/* Implicit GEMM as in Chetlur et al. 2014, cuDNN: Efficient Primitives for Deep Learning (arXiv:1410.0759), section 3; the
 * phases of a strided data gradient as in CUTLASS. Winograd's minimal filtering: Lavin and Gray 2015, Fast Algorithms for
 * Convolutional Neural Networks (arXiv:1509.09308), section 4. */
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

/* What a kernel on the vector units takes, if it is faster than what was found. */
static void take_faster(pw_kernel_cost *cost, const pw_gemm_model *model, double compute, double memory, double bytes) {
    double c2 = compute * compute, m2 = memory * memory, total = model->parameters.start + sqrt(sqrt(c2 * c2 + m2 * m2));
    if (total >= cost->total_s) return;
    cost->start_s = model->parameters.start;
    cost->compute_s = compute;
    cost->memory_s = memory;
    cost->total_s = total;
    cost->hbm_bytes = bytes;
}

/* One thread an output. */
static void try_direct(const pw_gemm_model *model, const pw_convolution *c, double vector_flops, double clock_ratio, double sms,
                       pw_kernel_cost *cost) {
    const pw_gemm_machine *machine = &model->machine;
    double share = sms / machine->sms, bytes = machine->element_bytes * pw_convolution_elements(c);
    double bandwidth = model->parameters.memory_efficiency * machine->memory_Bps * fmin(1, model->parameters.saturation * share);
    take_faster(cost, model, pw_convolution_flops(c) / (vector_flops * share * clock_ratio), bytes / bandwidth, bytes);
}

/* F(2 x 2, 3 x 3), transforms inside the kernel: 32 additions for a 4 x 4 input tile and channel, once for every block of 64
 * output channels, and 24 for an output tile and channel. A weight gradient swaps the roles of output and window. */
static void try_winograd(const pw_gemm_model *model, const pw_convolution_parameters *parameters, const pw_convolution *c,
                         double vector_flops, double clock_ratio, double sms, pw_kernel_cost *cost) {
    const double products = 16, block = 64, into = 32, out_of = 24;
    double tiles = (double)c->batch * ceil(c->out_height / 2.0) * ceil(c->out_width / 2.0);
    double in = c->in_channels, out = c->out_channels;
    double bytes = model->machine.element_bytes * pw_convolution_elements(c);
    pw_gemm_shape shape = {products, tiles, out, in, bytes, PW_GEMM_SPLITS};
    if (c->pass == PW_CONVOLUTION_DATA) shape.n = in, shape.k = out;
    if (c->pass == PW_CONVOLUTION_WEIGHT) shape = (pw_gemm_shape){products, out, in, tiles, bytes, PW_GEMM_SPLITS_LONG};
    pw_kernel_cost products_cost;
    pw_gemm_shape_cost(model, &shape, clock_ratio, sms, &products_cost);
    double from = c->pass == PW_CONVOLUTION_DATA ? out : in, to = c->pass == PW_CONVOLUTION_DATA ? in : out;
    double transforms = tiles * (into * from * ceil(to / block) + out_of * to);
    double compute = products_cost.compute_s / parameters->winograd_efficiency + transforms / (vector_flops * sms / model->machine.sms * clock_ratio);
    take_faster(cost, model, compute, products_cost.memory_s, products_cost.hbm_bytes);
}

void pw_convolution_cost(const pw_gemm_model *model, const pw_convolution_parameters *parameters, pw_precision precision,
                         double vector_flops, const pw_convolution *convolution, double clock_ratio, double sms, pw_kernel_cost *cost) {
    pw_gemm_shape shape = implicit_multiply(convolution, precision, model->machine.element_bytes);
    pw_gemm_shape_cost(model, &shape, clock_ratio, sms, cost);
    cost->flops = pw_convolution_flops(convolution);
    if (!(vector_flops > 0)) return;
    bool square = convolution->kernel_height == 3 && convolution->kernel_width == 3 && convolution->stride == 1;
    if (convolution->groups > 1) try_direct(model, convolution, vector_flops, clock_ratio, sms, cost);
    else if (square && precision == PW_PRECISION_FP32)
        try_winograd(model, parameters, convolution, vector_flops, clock_ratio, sms, cost);
}
