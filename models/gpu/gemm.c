/* Tile and wave counting as in NVIDIA's Matrix Multiplication Background (DU-09799-001, chapters on tile and wave
 * quantisation); the ramp in k, the operand feed, resident blocks, split-k and the smooth join of arithmetic and traffic are ours. */
#include "models/gpu/gemm.h"

#include <math.h>

#include "sim/math.h"

/* Rows and columns of the output one thread block makes. */
static const double tile_rows[PW_GEMM_TILES] = {256, 128, 128, 128, 64, 64, 32, 16};
static const double tile_columns[PW_GEMM_TILES] = {128, 256, 128, 64, 128, 64, 64, 64};
static const double splits_of_k[PW_GEMM_SPLITS_LONG] = {1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 256};
static const double partial_bytes = 4; /* partial sums of a split are fp32 */
static const double most_resident = 2; /* accumulators of two half-size tiles fill an SM's registers like one of 256 x 128 */

void pw_gemm_prepare(const pw_gemm_parameters *parameters, const pw_gemm_machine *machine, pw_gemm_model *model) {
    model->parameters = *parameters;
    model->machine = *machine;
    double largest = tile_rows[0] * tile_columns[0], best_reuse = largest / (tile_rows[0] + tile_columns[0]);
    double flops_per_sm = parameters->flop_efficiency * machine->peak_flops / machine->sms;
    double feed_per_sm = parameters->feed * machine->peak16_flops / machine->sms;
    for (int i = 0; i < PW_GEMM_TILES; i++) {
        double area = tile_rows[i] * tile_columns[i], edge = tile_rows[i] + tile_columns[i];
        double discount = pw_pow(area / edge / best_reuse, parameters->tile_discount);
        model->tile_s[i] = fmax(2 * area / (flops_per_sm * discount), edge * machine->element_bytes / feed_per_sm);
        model->resident[i] = fmin(most_resident, largest / area);
    }
}

void pw_gemm_shape_cost(const pw_gemm_model *model, const pw_gemm_shape *shape, double clock_ratio, double sms,
                        pw_kernel_cost *cost) {
    const pw_gemm_parameters *p = &model->parameters;
    const pw_gemm_machine *machine = &model->machine;
    double batch = shape->batch, m = shape->m, n = shape->n, k = shape->k, outputs = batch * m * n;
    double bandwidth = p->memory_efficiency * machine->memory_Bps, partials = p->split_traffic * partial_bytes * outputs;
    double best = INFINITY, best_compute = 0, best_memory = 0, best_bytes = 0, best_split = 0;
    for (int i = 0; i < PW_GEMM_TILES; i++) {
        double tiles = batch * ceil(m / tile_rows[i]) * ceil(n / tile_columns[i]), resident = model->resident[i];
        for (int j = 0; j < shape->splits; j++) {
            double split = splits_of_k[j], blocks = tiles * split;
            if (split > k) break;
            double whole = resident * ceil(blocks / (resident * sms)), shared = fmax(1, blocks / sms);
            double turns = p->quantisation * whole + (1 - p->quantisation) * shared;
            double compute = turns * model->tile_s[i] * (k / split + p->ramp_k) / clock_ratio;
            double memory = shape->bytes / (bandwidth * fmin(1, p->saturation * fmin(blocks, sms) / machine->sms));
            /* the reduction begins when the partial sums are there */
            double moved = j ? partials * (split + 1) : 0, reduction = moved / bandwidth, extra = j ? p->split : 0;
            if (fmax(compute, memory) + reduction + extra >= best) continue;
            double c2 = compute * compute, m2 = memory * memory, total = sqrt(sqrt(c2 * c2 + m2 * m2)) + reduction + extra;
            if (total >= best) continue;
            best = total;
            best_compute = compute;
            best_memory = memory + reduction;
            best_bytes = shape->bytes + moved;
            best_split = extra;
        }
    }
    cost->start_s = p->start + best_split;
    cost->compute_s = best_compute;
    cost->memory_s = best_memory;
    cost->total_s = p->start + best;
    cost->flops = 2 * outputs * k;
    cost->hbm_bytes = best_bytes;
}

void pw_gemm_cost(const pw_gemm_model *model, double batch, double m, double n, double k, double output_bytes, bool casts,
                  double clock_ratio, double sms, pw_kernel_cost *cost) {
    const pw_gemm_parameters *p = &model->parameters;
    const pw_gemm_machine *machine = &model->machine;
    pw_gemm_shape shape = {batch, m, n, k, machine->element_bytes * batch * (m + n) * k + output_bytes * (batch * m * n),
                           PW_GEMM_SPLITS};
    pw_gemm_shape_cost(model, &shape, clock_ratio, sms, cost);
    if (!casts) return;
    double cast_bytes = p->cast_traffic * batch * m * k, cast_s = cast_bytes / (p->memory_efficiency * machine->memory_Bps);
    cost->start_s += p->cast;
    cost->memory_s += cast_s;
    cost->total_s = cost->total_s + p->cast + cast_s;
    cost->hbm_bytes += cast_bytes;
}
