/* Blocks and masking as in FlashAttention-2 (Dao 2023, section 3.3); flops as its section 4.1 counts them, except that
 * a causal mask leaves exactly the pairs it leaves, not half. */
#include "models/gpu/attention.h"

#include <math.h>

static const double block_queries = 128;
static const double least_rows = 16;        /* rows of the matrix unit's smallest operand */
static const double backward_flops = 2.5;   /* five products of q x k size against two */
static const double backward_traffic = 2;   /* q, k, v, o and their gradients */

/* Sums of the row blocks' keys and of all queries' keys, each at most a window (a block: and its own queries, in whole
 * blocks). The first queries see less than the window, as under the plain mask. */
static void windowed(double window, double queries, double keys, double rows, double *seen, double *pairs, double *longest) {
    double most = rows * ceil(window / rows) + rows, row_blocks = ceil(queries / rows), sum = 0;
    double before = rows * ceil((keys - queries) / rows);
    double growing = fmin(row_blocks, fmax(0, floor((most - before) / rows))); /* blocks that the window does not cut */
    sum = growing * before + rows * growing * (growing + 1) / 2 + (row_blocks - growing) * most;
    *seen = fmin(*seen, sum);
    *longest = fmin(*longest, most);
    double short_queries = fmin(queries, fmax(0, window - (keys - queries))); /* see all that is before them */
    *pairs = short_queries * (keys - queries) + short_queries * (short_queries + 1) / 2 + (queries - short_queries) * window;
}

pw_attention_shape pw_attention_shape_of(const pw_kernel *kernel) {
    int64_t value_dim = kernel->attention.value_dim ? kernel->attention.value_dim : kernel->attention.head_dim;
    return (pw_attention_shape){.batch = (double)kernel->attention.batch,
                                .queries = (double)kernel->attention.queries,
                                .keys = (double)kernel->attention.keys,
                                .heads = (double)kernel->attention.heads,
                                .kv_heads = (double)kernel->attention.kv_heads,
                                .head_dim = (double)kernel->attention.head_dim,
                                .causal = kernel->attention.causal,
                                .backward = kernel->attention.backward,
                                .window = (double)kernel->attention.window,
                                .value_dim = (double)value_dim,
                                .slowdown = kernel->attention.slowdown};
}

void pw_attention_cost(const pw_attention_parameters *parameters, const pw_attention_machine *machine,
                       const pw_attention_shape *shape, double clock_ratio, double sms, pw_kernel_cost *cost) {
    const pw_attention_parameters *p = parameters;
    /* queries above the diagonal's first key see nothing */
    double queries = shape->causal ? fmin(shape->queries, shape->keys) : shape->queries, keys = shape->keys;
    double rows = fmin(block_queries, least_rows * ceil(queries / least_rows));
    double row_blocks = ceil(queries / rows), all_keys = rows * ceil(keys / rows);
    /* sum over row blocks of the keys that they see, in whole blocks */
    double seen = row_blocks * all_keys, pairs = queries * keys;
    if (shape->causal) {
        double before = rows * ceil((keys - queries) / rows), most = row_blocks - 1; /* keys that every query sees */
        seen = most * before + rows * most * (most + 1) / 2 + all_keys; /* the last block sees all */
        pairs -= queries * (queries - 1) / 2;
    }
    if (shape->window > 0 && shape->window < keys) windowed(shape->window, queries, keys, rows, &seen, &pairs, &all_keys);
    double groups = shape->batch * shape->heads, blocks = groups * row_blocks;
    double per_key = rows * (2 * (shape->head_dim + shape->value_dim) + p->softmax_flops) / (p->flop_efficiency * machine->peak_flops / machine->sms);
    double work = groups * seen * per_key, longest = all_keys * per_key;
    /* short queries: the keys of one head are spread over the idle SMs */
    if (row_blocks == 1 && blocks < sms) longest = work / sms;
    double compute = (work / sms + p->tail * longest + blocks / sms * p->block) / clock_ratio;
    double bytes = machine->element_bytes * shape->batch * (shape->head_dim + shape->value_dim) *
                   (shape->queries * shape->heads + shape->keys * shape->kv_heads);
    double flops = 2 * groups * (shape->head_dim + shape->value_dim) * pairs, extra = p->preparation;
    if (shape->slowdown > 0) compute *= shape->slowdown;
    if (shape->backward) {
        compute *= backward_flops / p->backward_efficiency;
        flops *= backward_flops;
        bytes *= backward_traffic;
        extra = 0;
    }
    double memory = bytes / machine->memory_Bps, c2 = compute * compute, m2 = memory * memory;
    cost->start_s = p->start;
    cost->compute_s = compute;
    cost->memory_s = memory * (1 + extra);
    cost->total_s = p->start + sqrt(sqrt(c2 * c2 + m2 * m2)) + extra * memory;
    cost->flops = flops;
    cost->hbm_bytes = bytes * (1 + extra);
}
