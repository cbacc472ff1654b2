/* Training with parameter servers: description, lowering to programs, one call that runs it, and staleness from its events.
 *
 * Weights lie on servers, striped evenly over the memory of `servers` places of the cluster. A worker (one per GPU) pulls the
 * weights, computes the gradient of its batch and pushes it. Pushes and pulls take the fabric's links and the servers' rate of
 * applying updates, so contention at the servers' ports comes out of the run. Modes say who waits for whom:
 *
 *   synchronous   every step all workers meet; the update is the mean over all
 *   asynchronous  nobody waits (Downpour: pushes and pulls every so many steps)
 *   bounded       no worker is more than a number of steps ahead of the last (stale synchronous parallel)
 *   backup        the first workers - backup_workers gradients of a step count; later ones are dropped when they arrive, and
 *                 their worker goes on with the newest weights
 *   all_reduce    no servers: for comparison
 *
 * A fully connected layer may send what its gradient is made of (Project Adam, Chilimbi et al. 2014): K (inputs + outputs)
 * activations and error gradients of its K examples in place of inputs x outputs values; the servers then multiply them.
 *
 * Staleness of a push: updates of other workers between the pull that its gradient is based on and its arrival.
 */
#ifndef PW_MODELS_PARAMETER_SERVER_H
#define PW_MODELS_PARAMETER_SERVER_H

#include "models/gpu/cpu.h"
#include "models/workload/session.h"

typedef enum pw_exchange { PW_EXCHANGE_AUTO, PW_EXCHANGE_GRADIENTS, PW_EXCHANGE_ACTIVATIONS } pw_exchange;
typedef struct pw_fully_connected_desc {
    int64_t inputs, outputs;
    int exchange; /* pw_exchange */
} pw_fully_connected_desc;
extern const pw_kind pw_fully_connected_kind;

typedef enum pw_server_mode {
    PW_SERVER_SYNCHRONOUS,
    PW_SERVER_ASYNCHRONOUS,
    PW_SERVER_BOUNDED,
    PW_SERVER_BACKUP,
    PW_SERVER_ALL_REDUCE
} pw_server_mode;
typedef enum pw_spread { PW_SPREAD_LOGNORMAL, PW_SPREAD_EXPONENTIAL } pw_spread;

typedef struct pw_parameter_server_desc {
    const char *name;
    int mode;                     /* pw_server_mode */
    int64_t workers, servers;
    int64_t server_nodes;         /* the last nodes of the cluster hold the servers alone; 0: they lie beside the workers */
    double weights;               /* bytes; NaN: of the layers */
    pw_list layers;               /* of pw_one_of: pw_fully_connected_kind */
    int64_t batch;                /* examples per worker and step; 0: not said */
    double compute_s;             /* of a step of a worker; NaN: of the layers' kernels */
    const char *device;           /* CPU that computes the layers; NULL: the node's GPU */
    int precision;                /* pw_precision of layers and what is sent */
    int distribution;             /* pw_spread */
    double spread;                /* deviation of a step's compute time over its mean; 0: none */
    int64_t slow_workers;
    double slow_factor;           /* their compute time over the others' */
    int64_t push_every, fetch_every; /* steps; asynchronous */
    int64_t staleness_bound;      /* steps; bounded */
    int64_t backup_workers;       /* backup */
    double apply_Bps;             /* pushed bytes that one server applies per second; NaN: server_device or no limit */
    const char *server_device;    /* CPU that applies updates; NULL: apply_Bps or no limit */
    int64_t steps;                /* simulated, of each worker */
} pw_parameter_server_desc;
extern const pw_kind pw_parameter_server_kind;

/* Exchange of one layer: bytes pushed for K examples, and the cheaper way by bytes. Closed forms, as tests want them. */
double pw_exchange_bytes(pw_exchange exchange, double inputs, double outputs, double examples, double element_bytes);
/* Examples below which activations are fewer bytes: inputs x outputs / (inputs + outputs). */
double pw_exchange_break_even(double inputs, double outputs);

typedef struct pw_server_options {
    uint64_t seed;
    bool unfolded;
    const volatile int *interrupt;
    const pw_sink *sinks;
    uint32_t sink_count;
    const pw_session_runner *runner; /* takes the place of the run; NULL: none */
} pw_server_options;

typedef struct pw_staleness {
    uint64_t updates;           /* pushes that were counted: while all workers ran */
    double mean, slow_mean, fast_mean; /* of all; of slow workers and the others (NaN: none) */
    uint32_t median, p90, largest;
    const uint64_t *histogram;  /* [largest + 1] */
} pw_staleness;

typedef struct pw_parameter_server_result {
    double step_s;              /* of the job; of a worker where nobody waits */
    double updates_per_s;       /* pushes that changed weights */
    double examples_per_s;      /* NaN without a batch */
    double push_bytes, pull_bytes; /* of one push or pull of one worker; all_reduce: 0 */
    double compute_s;           /* of a step, mean of a worker that is not slow, as described */
    double apply_s;             /* of one push at the servers; 0: no limit */
    double dropped_share;       /* backup: of pushes */
    uint32_t activation_layers; /* that send activations and error gradients */
    bool has_staleness;
    pw_staleness staleness;
    const pw_device *device;
    const char *collectives;    /* provenance */
    const char *compute_source; /* where the compute time is from, in words */
    pw_session_result session;
    const char *const *row_names; /* [2]: programs summed up: workers, slow workers */
    pw_program_result rows[2];
    uint32_t row_count;
} pw_parameter_server_result;

/* Results live in arena. file/line: where the user wrote the job, for messages. */
pw_status pw_parameter_server_run(const pw_allocator *allocator, const pw_catalogue *catalogue, const pw_cluster_desc *cluster,
                                  const pw_parameter_server_desc *desc, const pw_server_options *options, const char *file,
                                  int line, pw_arena *arena, pw_parameter_server_result *result, pw_error *error);

#endif
