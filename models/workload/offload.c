/* Offload to host memory, in events. Gradients leave over the host link as they are reduced; the CPUs update the optimizer layer
 * by layer (bounded by host memory, which the GPUs of a node share) and each updated layer goes back at once. Parameters come
 * from the host before they are gathered. A layer's activations leave when it is done, two layers at most wait to leave; going
 * back they come one layer ahead. GPUs that share a host link contend for it in the executor. (Ren et al. 2021, ZeRO-Offload;
 * Rajbhandari et al. 2021, ZeRO-Infinity.) */
#include "models/workload/offload.h"

#include <math.h>
#include <string.h>

#include "models/workload/lower.h"
#include "sim/text.h"

/* "2x EPYC 7742": sockets and name. */
static double sockets_of(const char *text, const char **name) {
    const char *end;
    double count;
    *name = text;
    if (!pw_text_number(text, &end, &count) || *end != 'x' || !(count >= 1)) return 2;
    end++;
    while (*end == ' ') end++;
    *name = end;
    return count;
}

pw_status pw_host_update_rate(const pw_catalogue *catalogue, const char *server, int64_t gpus_per_node, double *Bps,
                              pw_error *error) {
    const pw_table *cpus, *servers = pw_catalogue_table(catalogue, "servers");
    PW_TRY(pw_catalogue_need(catalogue, "cpus", &cpus, error));
    const char *name = "";
    double sockets = 2, gpus = (double)gpus_per_node;
    int row = servers && server && *server ? pw_table_find_row(servers, server) : -1, cpu = -1;
    if (row >= 0) {
        sockets = sockets_of(pw_table_text_of(servers, (size_t)row, "cpus"), &name);
        cpu = pw_table_find_row(cpus, name);
        double own = pw_table_number_of(servers, (size_t)row, "gpus");
        if (cpu >= 0 && own > gpus) gpus = own; /* a rack's row counts all its CPUs and GPUs */
    }
    if (cpu < 0) cpu = pw_table_find_row(cpus, "other");
    double memory = cpu < 0 ? NAN : pw_table_number_of(cpus, (size_t)cpu, "memory_bandwidth"),
           share = cpu < 0 ? NAN : pw_table_number_of(cpus, (size_t)cpu, "update_efficiency");
    if (!(memory > 0) || !(share > 0 && share <= 1))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(cpus), cpu < 0 ? 0 : pw_table_line(cpus, (size_t)cpu),
                       "a bandwidth above 0 and an efficiency up to 1; a row 'other' for CPUs that are not on file",
                       "the host memory of server '%s' is unknown", server ? server : "");
    *Bps = sockets * memory * share / gpus;
    return PW_OK;
}

pw_status pw_plan_offload(pw_plan *plan, const char *file, int line, pw_error *error) {
    const pw_train_desc *desc = plan->desc;
    if (desc->offload_parameters && plan->sharding != PW_SHARDING_ZERO3)
        return pw_fail(error, PW_BAD_INPUT, file, line, "use sharding = \"zero3\", which gathers parameters for each use",
                       "train.offload_parameters needs sharding zero3, not %s", pw_sharding_names[desc->sharding]);
    if (desc->offload_parameters && !desc->offload_optimizer)
        return pw_fail(error, PW_BAD_INPUT, file, line, "set offload_optimizer as well",
                       "train.offload_parameters without offload_optimizer: the update would run where the parameters are not");
    if (desc->offload_optimizer && plan->sharding == PW_SHARDING_ZERO3 && !plan->reshard)
        return pw_fail(error, PW_UNSUPPORTED, file, line, "leave reshard out",
                       "offload_optimizer with reshard = \"off\" is not modelled");
    plan->update_Bps = INFINITY;
    return PW_OK;
}

double pw_plan_update_bytes(const pw_plan *plan) {
    double scaled = plan->gradient_wire_bytes + 4 * plan->gradient_bytes; /* arrives, is widened, scaled and read */
    return scaled + 2 * plan->optimizer_bytes + plan->parameter_wire_bytes;
}

double pw_plan_own(const pw_plan *plan, double parameters, double experts) {
    double over = plan->sharding == PW_SHARDING_NONE || !(experts > 0) ? 1 : (double)plan->experts.data;
    return parameters / (double)plan->shards + experts / over;
}

static void copy_add(lowering *low, list *ops, bool to_host, double bytes, uint32_t category, int16_t wait, int16_t signal) {
    pw_op *op = op_add(low, ops, PW_OP_COPY, to_host ? STREAM_TO_HOST : STREAM_TO_DEVICE, category);
    op->copy.bytes = bytes;
    op->copy.to_host = to_host;
    op->waits[0] = wait;
    op->signal = signal;
}

void offload_gradients(lowering *low, list *ops, double parameters, double experts, int16_t wait) {
    const pw_plan *plan = low->plan;
    if (!plan->desc->offload_optimizer) return;
    copy_add(low, ops, true, pw_plan_own(plan, parameters, experts) * plan->gradient_wire_bytes, CATEGORY_OFFLOAD, wait,
             SLOT_OFFLOADED);
}

void fetch_parameters(lowering *low, list *ops, double parameters, double experts) {
    copy_add(low, ops, false, pw_plan_own(low->plan, parameters, experts) * low->plan->parameter_wire_bytes, CATEGORY_OFFLOAD,
             SLOT_FREED, SLOT_FETCHED);
}

void update_on_host(lowering *low, list *ops, double parameters, double experts, int64_t layers) {
    const pw_plan *plan = low->plan;
    double pieces = layers > 0 ? (double)layers : 1, own = pw_plan_own(plan, parameters, experts) / pieces;
    pw_op *start = op_add(low, ops, PW_OP_DELAY, STREAM_HOST, CATEGORY_OPTIMIZER);
    start->waits[0] = SLOT_REDUCED;
    start->waits[1] = SLOT_OFFLOADED;
    start->waits[2] = SLOT_NORM;
    start->waits[3] = SLOT_COMPUTE;
    bool returns = !plan->desc->offload_parameters;
    pw_op *loop = op_add(low, ops, PW_OP_LOOP, 0, 0);
    loop->loop.count = (uint32_t)pieces;
    loop->loop.length = returns ? 2 : 1;
    pw_op *update = op_add(low, ops, PW_OP_DELAY, STREAM_HOST, CATEGORY_OPTIMIZER);
    update->delay.seconds = own * pw_plan_update_bytes(plan) / plan->update_Bps;
    update->signal = SLOT_UPDATED;
    if (returns) copy_add(low, ops, false, own * plan->parameter_wire_bytes, CATEGORY_OFFLOAD, SLOT_UPDATED, SLOT_FETCHED);
    pw_op *end = op_add(low, ops, PW_OP_DELAY, STREAM_COMPUTE, CATEGORY_OPTIMIZER);
    end->waits[0] = SLOT_UPDATED;
    end->waits[1] = SLOT_FETCHED;
    end->signal = SLOT_COMPUTE;
}

/* --- Activations ---------------------------------------------------------------------------------------------------- */

void offload_layer(lowering *low, list *ops, int64_t layer, uint32_t template_index, bool backward) {
    const pw_plan *plan = low->plan;
    double bytes = pw_plan_layer_activations(plan, pw_model_layer_kind(plan->model, layer), plan->desc->recompute);
    int16_t parity = (int16_t)(SLOT_STORED_EVEN + layer % 2);
    if (!backward) { /* the layer before the last must have left */
        wait_add(low, ops, parity, CATEGORY_OFFLOAD);
        call_add(low, ops, template_index, 1);
        copy_add(low, ops, true, bytes, CATEGORY_OFFLOAD, SLOT_COMPUTE, parity);
        return;
    }
    copy_add(low, ops, false, bytes, CATEGORY_OFFLOAD, SLOT_STARTED, SLOT_FETCHED);
    pw_op *copy = (pw_op *)ops->items + ops->count - 1;
    copy->waits[1] = SLOT_STORED_EVEN;
    copy->waits[2] = SLOT_STORED_ODD;
    pw_op *start = op_add(low, ops, PW_OP_DELAY, STREAM_COMPUTE, CATEGORY_OFFLOAD);
    start->waits[0] = SLOT_FETCHED;
    start->signal = SLOT_STARTED;
    call_add(low, ops, template_index, 1);
}
