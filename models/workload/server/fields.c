/* The fields of a parameter server job, and what no single field can check. */
#include <math.h>
#include <string.h>

#include "models/workload/server/server.h"

#define AT(field) offsetof(pw_fully_connected_desc, field)
static const char *const exchanges[] = {"auto", "gradients", "activations", NULL};
static const pw_field layer_fields[] = {
    {"inputs", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(inputs), 1, 1e8, NULL, .text = "Values that enter the layer."},
    {"outputs", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(outputs), 1, 1e8, NULL, .text = "Values that leave it."},
    {"exchange", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(exchange), 0, 0, "auto", exchanges,
     .text = "What workers push: gradients (inputs x outputs values), activations (and error gradients of the batch: batch x (inputs "
             "+ outputs) values, which the servers multiply), or auto: the faster one."},
    {0}};
const pw_kind pw_fully_connected_kind = {.name = "fully_connected",
                                         .text = "A fully connected layer of a model on parameter servers.",
                                         .size = sizeof(pw_fully_connected_desc),
                                         .fields = layer_fields};
#undef AT

#define AT(field) offsetof(pw_parameter_server_desc, field)
static const char *const modes[] = {"synchronous", "asynchronous", "bounded", "backup", "all_reduce", NULL};
static const char *const spreads[] = {"lognormal", "exponential", NULL};
static const pw_kind *const layer_kinds[] = {&pw_fully_connected_kind, NULL};
static const pw_field layer = {"layer", PW_FIELD_ONE_OF, .kinds = layer_kinds, .text = "A layer."};

static const pw_field fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", .text = "Name in reports."},
    {"mode", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(mode), 0, 0, "synchronous", modes,
     .text = "Who waits for whom: synchronous (all meet every step), asynchronous (nobody waits), bounded (nobody is more than "
             "staleness_bound steps ahead), backup (the slowest backup_workers of a step are dropped), all_reduce (no servers)."},
    {"workers", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(workers), 1, 20000, NULL, .text = "Replicas of the model, one per GPU."},
    {"servers", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(servers), 1, 4096, "1",
     .text = "Servers over which the weights are striped evenly, each in the memory of one socket."},
    {"server_nodes", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(server_nodes), 0, 4096, "0",
     .text = "The last nodes of the cluster hold the servers and no workers; 0: servers lie on the workers' nodes."},
    {"weights", PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(weights), 1, 1e15, "", .text = "Size of the model; default: that of the layers."},
    {"layers", PW_FIELD_LIST, PW_UNIT_NONE, AT(layers), 1, 1000, "", .item = &layer,
     .text = "Fully connected layers, from the first to the last."},
    {"batch", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(batch), 0, 1e9, "0", .text = "Examples per worker and step; 0: not said."},
    {"compute", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(compute_s), 1e-9, 1e6, "",
     .text = "Time in which a worker computes the gradient of a step; default: of the layers' kernels."},
    {"device", PW_FIELD_TEXT, PW_UNIT_NONE, AT(device), 0, 0, "",
     .text = "CPU of the table cpus that computes the layers; default: the node's GPU."},
    {"precision", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(precision), 0, 0, "fp32", pw_precision_names,
     .text = "Number format of the layers, of what is pushed and pulled."},
    {"distribution", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(distribution), 0, 0, "lognormal", spreads,
     .text = "How the compute time of a step varies: lognormal, or exponential (a fixed part and an exponential rest)."},
    {"spread", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(spread), 0, 5, "0",
     .text = "Standard deviation of the compute time over its mean; the exponential one takes at most 1."},
    {"slow_workers", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(slow_workers), 0, 20000, "0", .text = "Workers that compute slower."},
    {"slow_factor", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(slow_factor), 1, 1000, "1", .text = "Their compute time over the others'."},
    {"push_every", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(push_every), 1, 10000, "1",
     .text = "Asynchronous: steps whose gradients are added up for one push."},
    {"fetch_every", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(fetch_every), 1, 10000, "1",
     .text = "Asynchronous: steps that are computed with the same pulled weights."},
    {"staleness_bound", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(staleness_bound), 0, 1000, "0",
     .text = "Bounded: steps that a worker may be ahead of the last one; 0 is synchronous."},
    {"backup_workers", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(backup_workers), 0, 20000, "0",
     .text = "Backup: workers whose gradient a step does not wait for."},
    {"apply", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, AT(apply_Bps), 1, 1e15, "",
     .text = "Pushed bytes that one server applies per second; default: as server_device does, else no limit."},
    {"server_device", PW_FIELD_TEXT, PW_UNIT_NONE, AT(server_device), 0, 0, "",
     .text = "CPU of the table cpus, one socket per server, that applies updates and multiplies exchanged activations."},
    {"steps", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(steps), 2, 10000, "20",
     .text = "Steps of each worker to simulate; asynchronous slow workers do fewer."},
    {0}};

#define REFUSE(field, hint, ...) \
    pw_fail(error, PW_BAD_INPUT, file, line, hint, "parameter_server." field ": " __VA_ARGS__)

static bool given(const char *text) { return text && *text; }

static pw_status check_model(const pw_parameter_server_desc *d, const char *file, int line, pw_error *error) {
    bool layered = d->layers.count > 0;
    if (layered == !isnan(d->weights))
        return REFUSE("weights", "give weights or layers", "the model has %s", layered ? "weights and layers" : "neither weights nor layers");
    if (!layered && isnan(d->compute_s))
        return REFUSE("compute", "write for example compute = 0.2 * u.s, or give layers", "nothing says how long a step computes");
    if (layered && d->batch < 1) return REFUSE("batch", "examples per worker and step", "layers need it");
    if (given(d->device) && (!layered || !isnan(d->compute_s)))
        return REFUSE("device", "leave it out", "it computes layers, but %s", layered ? "the time is given" : "there are none");
    if (d->precision != PW_PRECISION_FP32 && !layered)
        return REFUSE("precision", "leave it out", "weights are given in bytes; it is for layers");
    if (d->precision > PW_PRECISION_BF16)
        return REFUSE("precision", "choose fp32, tf32, fp16 or bf16", "updates in 8 bits and less are not modelled");
    return PW_OK;
}

static pw_status check_mode(const pw_parameter_server_desc *d, const char *file, int line, pw_error *error) {
    if (d->mode != PW_SERVER_ASYNCHRONOUS && (d->push_every > 1 || d->fetch_every > 1))
        return d->push_every > 1 ? REFUSE("push_every", "leave it out", "only asynchronous workers push so rarely")
                                 : REFUSE("fetch_every", "leave it out", "only asynchronous workers pull so rarely");
    if (d->mode == PW_SERVER_ASYNCHRONOUS && (d->push_every > d->steps || d->fetch_every > d->steps))
        return REFUSE("steps", "simulate more steps", "%lld end before a push or a second pull", (long long)d->steps);
    if (d->mode != PW_SERVER_BOUNDED && d->staleness_bound > 0)
        return REFUSE("staleness_bound", "mode = \"bounded\"", "only bounded mode has one");
    if ((d->mode == PW_SERVER_BACKUP) != (d->backup_workers > 0))
        return REFUSE("backup_workers", "mode = \"backup\" and at least one", "they come with backup mode, and it with them");
    if (d->backup_workers >= d->workers && d->backup_workers > 0)
        return REFUSE("backup_workers", "fewer than the workers", "%lld of %lld workers", (long long)d->backup_workers, (long long)d->workers);
    if (d->mode == PW_SERVER_ALL_REDUCE) {
        if (d->server_nodes > 0) return REFUSE("server_nodes", "leave it out", "an all-reduce has no servers");
        if (!isnan(d->apply_Bps)) return REFUSE("apply", "leave it out", "an all-reduce has no servers");
        if (given(d->server_device)) return REFUSE("server_device", "leave it out", "an all-reduce has no servers");
        for (uint32_t i = 0; i < d->layers.count; i++) {
            const pw_fully_connected_desc *one = ((const pw_one_of *)d->layers.items)[i].record;
            if (one->exchange != PW_EXCHANGE_ACTIVATIONS) continue;
            return pw_fail(error, PW_UNSUPPORTED, file, line, "exchange = \"gradients\"",
                           "parameter_server.layers[%u].exchange: an all-reduce adds up gradients, not activations", i + 1);
        }
    }
    return PW_OK;
}

static pw_status check(const void *description, const char *file, int line, pw_error *error) {
    const pw_parameter_server_desc *d = description;
    PW_TRY(check_model(d, file, line, error));
    PW_TRY(check_mode(d, file, line, error));
    if (d->slow_workers > d->workers)
        return REFUSE("slow_workers", "at most all", "%lld of %lld workers", (long long)d->slow_workers, (long long)d->workers);
    if ((d->slow_workers > 0) != (d->slow_factor > 1))
        return REFUSE("slow_factor", "slow_workers says how many, slow_factor above 1 how slow", "one comes with the other");
    if (d->distribution == PW_SPREAD_EXPONENTIAL && d->spread > 1)
        return REFUSE("spread", "at most 1, or distribution = \"lognormal\"", "an exponential time deviates at most by its mean");
    if (!isnan(d->apply_Bps) && given(d->server_device))
        return REFUSE("apply", "give one of them", "server_device says how fast updates are applied");
    return PW_OK;
}

const pw_kind pw_parameter_server_kind = {.name = "parameter_server",
                                          .text = "Training with parameter servers, or with an all-reduce for comparison.",
                                          .size = sizeof(pw_parameter_server_desc),
                                          .fields = fields,
                                          .check = check};
