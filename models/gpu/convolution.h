/* Convolution: the equation, free of any catalogue. Each of its three passes is a matrix multiply whose left matrix is
 * never written down (implicit GEMM), so tiles, waves, ramp and feed are gemm.h's; only the traffic differs: a pixel is
 * read once although the implicit matrix holds it kernel_height x kernel_width times.
 *
 *   pass          m                          n                       k                            batch
 *   forward       images x output pixels     output channels / g     input channels / g x taps    g
 *   data          images x output pixels     input channels / g      output channels / g x taps / phases   g x phases
 *   weight        output channels / g        input channels / g x taps   images x output pixels   g
 *
 * taps = kernel_height x kernel_width; g groups; phases = min(stride, kernel_height) x min(stride, kernel_width): with a
 * stride, each phase of the input's gradient meets its own share of the taps, so that no zeros are multiplied. Tensor
 * units take operands of 16 bytes, so channels are padded to that.
 *
 * Two more kernels run where they are faster, as libraries choose. Grouped convolutions have a direct one on the vector units
 * (depthwise ones are bound by traffic there). 3 x 3 windows of stride 1 in fp32 have Winograd's F(2 x 2, 3 x 3): 16 multiplies
 * of a quarter of the pixels in place of 36 taps for 4 pixels, that is 2.25 times less, and the transforms.
 */
#ifndef PW_MODELS_GPU_CONVOLUTION_H
#define PW_MODELS_GPU_CONVOLUTION_H

#include "models/gpu/gemm.h"

/* Sizes >= 1, groups divide both channel counts, a known pass, windows that meet the input. */
bool pw_convolution_is_valid(const pw_convolution *convolution);

/* 2 x multiply-adds of real channels; the same for all three passes. */
double pw_convolution_flops(const pw_convolution *convolution);
/* Tensors read and written once, in elements of the operands: x, w and y, or their gradients. A stride larger than the
 * window skips pixels of x. */
double pw_convolution_elements(const pw_convolution *convolution);

/* What convolutions need beyond the multiply's parameters: table kernel-convolution. */
typedef struct pw_convolution_parameters {
    double winograd_efficiency; /* rate of the products over a multiply's */
} pw_convolution_parameters;

/* Fills cost. vector_flops NaN or 0: no direct kernels. clock_ratio > 0, sms in (0, machine.sms]. */
void pw_convolution_cost(const pw_gemm_model *model, const pw_convolution_parameters *parameters, pw_precision precision,
                         double vector_flops, const pw_convolution *convolution, double clock_ratio, double sms, pw_kernel_cost *cost);

#endif
