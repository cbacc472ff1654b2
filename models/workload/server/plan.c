/* Bytes, times and places of a parameter server job. */
#include <math.h>
#include <stdio.h>

#include "models/workload/server/plan.h"
#include "sim/math.h"

double pw_exchange_bytes(pw_exchange exchange, double inputs, double outputs, double examples, double element_bytes) {
    double gradients = inputs * outputs * element_bytes, activations = examples * (inputs + outputs) * element_bytes;
    return exchange == PW_EXCHANGE_GRADIENTS ? gradients : exchange == PW_EXCHANGE_ACTIVATIONS ? activations
                                                                                              : fmin(gradients, activations);
}

double pw_exchange_break_even(double inputs, double outputs) { return inputs * outputs / (inputs + outputs); }

static bool given(const char *text) { return text && *text; }

/* --- Kernels -------------------------------------------------------------------------------------------------------- */

typedef struct machine { /* what computes: a CPU, else the GPU */
    bool has_cpu;
    pw_cpu cpu;
    const pw_gpu *gpu;
} machine;

static pw_status kernel_s(const machine *on, const pw_kernel *kernel, double *seconds, pw_error *error) {
    pw_kernel_cost cost;
    PW_TRY(on->has_cpu ? pw_cpu_kernel_cost(&on->cpu, kernel, 0, &cost, error)
                       : pw_gpu_kernel_cost(on->gpu, kernel, NULL, &cost, error));
    *seconds = cost.total_s;
    return PW_OK;
}

static pw_kernel multiply(int precision, int64_t m, int64_t n, int64_t k) {
    return (pw_kernel){.kind = PW_KERNEL_GEMM, .precision = (pw_precision)precision, .gemm = {.batch = 1, .m = m, .n = n, .k = k}};
}

/* One server's work for one push of a layer: reads what came, reads and writes its part of the weights, and multiplies. */
static pw_status layer_apply_s(const machine *server, const pw_parameter_server_desc *d, const pw_fully_connected_desc *layer,
                               bool activations, double *seconds, pw_error *error) {
    double part = (double)layer->inputs * (double)layer->outputs * pw_precision_bytes((pw_precision)d->precision) / (double)d->servers;
    pw_kernel update = {.kind = PW_KERNEL_OPTIMIZER, .precision = PW_PRECISION_FP32, .memory = {.bytes = 3 * part}};
    PW_TRY(kernel_s(server, &update, seconds, error));
    if (!activations) return PW_OK;
    int64_t columns = (layer->outputs + d->servers - 1) / d->servers;
    pw_kernel rebuild = multiply(d->precision, layer->inputs, columns, d->batch);
    double rebuild_s;
    PW_TRY(kernel_s(server, &rebuild, &rebuild_s, error));
    *seconds += rebuild_s;
    return PW_OK;
}

/* Seconds of a push of either kind per worker: on the wire at an equal share, at the servers, and what the worker computes. */
static pw_status choose(const machine *worker, const machine *server, const pw_cluster *cluster, const pw_parameter_server_desc *d,
                        const pw_fully_connected_desc *layer, bool *activations, pw_error *error) {
    double element = pw_precision_bytes((pw_precision)d->precision), seconds[2];
    *activations = layer->exchange == PW_EXCHANGE_ACTIVATIONS;
    if (layer->exchange != PW_EXCHANGE_AUTO || d->mode == PW_SERVER_ALL_REDUCE) return PW_OK;
    if (!server) {
        *activations = (double)d->batch < pw_exchange_break_even((double)layer->inputs, (double)layer->outputs);
        return PW_OK;
    }
    double port = pw_cluster_nic_Bps(cluster) * fmax(1, pw_cluster_ports_per_gpu(cluster));
    double share = fmin(port, (double)d->servers * port / (double)d->workers);
    for (int a = 0; a < 2; a++) {
        double bytes = pw_exchange_bytes(a ? PW_EXCHANGE_ACTIVATIONS : PW_EXCHANGE_GRADIENTS, (double)layer->inputs,
                                         (double)layer->outputs, (double)d->batch, element);
        PW_TRY(layer_apply_s(server, d, layer, a, &seconds[a], error));
        seconds[a] = fmax(bytes / share, seconds[a] * (double)d->workers);
    }
    pw_kernel gradient = multiply(d->precision, layer->inputs, layer->outputs, d->batch);
    double gradient_s;
    PW_TRY(kernel_s(worker, &gradient, &gradient_s, error));
    *activations = seconds[1] < seconds[0] + gradient_s;
    return PW_OK;
}

static pw_status plan_layers(const pw_cluster *cluster, const machine *worker, const machine *server, pw_arena *arena,
                             server_plan *plan, pw_error *error) {
    const pw_parameter_server_desc *d = plan->desc;
    const pw_one_of *layers = d->layers.items;
    double element = pw_precision_bytes((pw_precision)d->precision), sum_s = 0;
    pw_kernel *kernels = pw_arena_alloc(arena, (3 * (size_t)d->layers.count + 1) * sizeof *kernels);
    if (!kernels) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for layers");
    plan->push_bytes = plan->pull_bytes = 0;
    for (uint32_t i = 0; i < d->layers.count; i++) {
        const pw_fully_connected_desc *layer = layers[i].record;
        bool activations;
        double apply_s = 0;
        PW_TRY(choose(worker, server, cluster, d, layer, &activations, error));
        plan->activation_layers += activations;
        plan->push_bytes += pw_exchange_bytes(activations ? PW_EXCHANGE_ACTIVATIONS : PW_EXCHANGE_GRADIENTS, (double)layer->inputs,
                                              (double)layer->outputs, (double)d->batch, element);
        plan->pull_bytes += (double)layer->inputs * (double)layer->outputs * element;
        if (server) PW_TRY(layer_apply_s(server, d, layer, activations, &apply_s, error));
        plan->apply_s += apply_s;
        kernels[plan->kernel_count++] = multiply(d->precision, d->batch, layer->outputs, layer->inputs);
        if (i > 0) kernels[plan->kernel_count++] = multiply(d->precision, d->batch, layer->inputs, layer->outputs);
        if (!activations) kernels[plan->kernel_count++] = multiply(d->precision, layer->inputs, layer->outputs, d->batch);
    }
    plan->kernels = kernels;
    if (!isnan(d->compute_s)) return PW_OK;
    for (uint32_t i = 0; i < plan->kernel_count; i++) {
        double seconds;
        PW_TRY(kernel_s(worker, &kernels[i], &seconds, error));
        sum_s += seconds;
    }
    plan->compute_s = sum_s;
    plan->as_segment = !worker->has_cpu && d->spread == 0;
    char text[400];
    if (worker->has_cpu)
        snprintf(text, sizeof text, "layers on one socket of %s (%s)", worker->cpu.name, worker->cpu.source);
    else
        snprintf(text, sizeof text, "layers on the GPU at its reference clock: %s",
                 pw_gpu_provenance(worker->gpu, PW_KERNEL_GEMM, (pw_precision)d->precision));
    plan->compute_source = pw_arena_text(arena, text);
    return plan->compute_source ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for layers");
}

/* --- Places ---------------------------------------------------------------------------------------------------------- */

static pw_status place(const pw_cluster *cluster, const char *file, int line, pw_arena *arena, server_plan *plan, pw_error *error) {
    const pw_parameter_server_desc *d = plan->desc;
    uint32_t nodes = pw_cluster_nodes(cluster), gpus = pw_cluster_gpus_per_node(cluster);
    if (d->server_nodes >= nodes)
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave nodes for the workers",
                       "parameter_server.server_nodes: %lld of %u nodes", (long long)d->server_nodes, nodes);
    uint32_t room = (nodes - (uint32_t)d->server_nodes) * gpus;
    if (plan->workers > room)
        return pw_fail(error, PW_BAD_INPUT, file, line, "more nodes, or fewer workers",
                       "parameter_server.workers: %u workers, one per GPU, but the cluster has room for %u", plan->workers, room);
    if (d->mode == PW_SERVER_ALL_REDUCE) return PW_OK;
    uint32_t *hosts = pw_arena_alloc(arena, plan->servers * sizeof *hosts);
    if (!hosts) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for servers");
    uint32_t over = d->server_nodes > 0 ? (uint32_t)d->server_nodes : (plan->workers + gpus - 1) / gpus;
    uint32_t first = d->server_nodes > 0 ? nodes - over : 0, rounds = (plan->servers + over - 1) / over;
    for (uint32_t s = 0; s < plan->servers; s++) /* over nodes first, then over the GPUs' places of a node */
        hosts[s] = (first + s % over) * gpus + (uint32_t)((uint64_t)(s / over) * gpus / rounds);
    plan->hosts = hosts;
    return PW_OK;
}

pw_status server_plan_make(const pw_catalogue *catalogue, const pw_cluster *cluster, const pw_gpu *gpu,
                           const pw_parameter_server_desc *desc, const char *file, int line, pw_arena *arena, server_plan *plan,
                           pw_error *error) {
    *plan = (server_plan){.desc = desc, .workers = (uint32_t)desc->workers, .servers = (uint32_t)desc->servers,
                          .push_bytes = desc->weights, .pull_bytes = desc->weights, .compute_s = desc->compute_s,
                          .compute_source = "as described"};
    PW_TRY(place(cluster, file, line, arena, plan, error));
    machine worker = {.has_cpu = given(desc->device), .gpu = gpu}, server = {.has_cpu = given(desc->server_device)};
    pw_status status = PW_OK;
    if (worker.has_cpu) status = pw_cpu_find(catalogue, desc->device, &worker.cpu, error);
    if (status == PW_OK && server.has_cpu) status = pw_cpu_find(catalogue, desc->server_device, &server.cpu, error);
    if (status == PW_OK && desc->layers.count > 0)
        status = plan_layers(cluster, &worker, server.has_cpu ? &server : NULL, arena, plan, error);
    if (status != PW_OK) { /* of the catalogue or a device, which know no place */
        if (error && !error->file[0]) {
            snprintf(error->file, sizeof error->file, "%s", file ? file : "");
            error->line = line;
        }
        return status;
    }
    if (desc->layers.count == 0 && server.has_cpu) {
        pw_kernel update = {.kind = PW_KERNEL_OPTIMIZER, .precision = PW_PRECISION_FP32,
                            .memory = {.bytes = 3 * plan->push_bytes / plan->servers}};
        PW_TRY(kernel_s(&server, &update, &plan->apply_s, error));
    }
    if (!isnan(desc->apply_Bps)) plan->apply_s = plan->push_bytes / plan->servers / desc->apply_Bps;
    plan->drawn_s = pw_arena_alloc(arena, plan->workers * sizeof *plan->drawn_s);
    if (!plan->drawn_s) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for workers");
    plan->apart = desc->spread > 0 || desc->mode == PW_SERVER_ASYNCHRONOUS || (desc->mode == PW_SERVER_BOUNDED && desc->staleness_bound > 0);
    return PW_OK;
}

/* --- Times ----------------------------------------------------------------------------------------------------------- */

bool server_is_slow(const server_plan *plan, uint32_t worker) {
    return worker >= plan->workers - (uint32_t)plan->desc->slow_workers;
}

/* Where nobody waits, all run for about the same time. */
int64_t server_steps_of(const server_plan *plan, uint32_t worker) {
    const pw_parameter_server_desc *d = plan->desc;
    if (d->mode != PW_SERVER_ASYNCHRONOUS || !server_is_slow(plan, worker)) return d->steps;
    double steps = ceil((double)d->steps / d->slow_factor), least = (double)(d->push_every > d->fetch_every ? d->push_every : d->fetch_every);
    return (int64_t)fmax(2 * least, steps);
}

pw_random server_stream(uint64_t seed, uint32_t worker) { return pw_random_stream(seed, "parameter server step", worker); }

static double draw_s(const server_plan *plan, uint32_t worker, pw_random *random) {
    const pw_parameter_server_desc *d = plan->desc;
    double mean = plan->compute_s * (server_is_slow(plan, worker) ? d->slow_factor : 1), spread = d->spread;
    if (spread == 0) return mean;
    if (d->distribution == PW_SPREAD_EXPONENTIAL) return mean * (1 - spread + pw_random_exponential(random, spread));
    double variance = pw_log(1 + spread * spread);
    return mean * pw_random_lognormal(random, -variance / 2, sqrt(variance));
}

double server_draw_s(const server_plan *plan, uint32_t worker, pw_random *random) {
    double seconds = draw_s(plan, worker, random);
    plan->drawn_s[worker] += seconds;
    return seconds;
}
