/* What lives in host memory instead of the GPU's: the optimizer (updated by the CPU), parameters, activations. */
#ifndef PW_MODELS_WORKLOAD_OFFLOAD_H
#define PW_MODELS_WORKLOAD_OFFLOAD_H

#include "models/node/cluster.h"
#include "models/workload/plan.h"

/* Bytes/s of host memory at which the CPUs of a server update the optimizer for one GPU: all GPUs of a node at once. server
 * "" or CPUs that are not on file: the row `other` of `cpus`, two sockets for the node's GPUs. */
pw_status pw_host_update_rate(const pw_catalogue *catalogue, const char *server, int64_t gpus_per_node, double *Bps,
                              pw_error *error);

/* Checks the combination; for pw_plan_make. */
pw_status pw_plan_offload(pw_plan *plan, const char *file, int line, pw_error *error);

/* Bytes of host memory for one update of a parameter: the gradient is read as it came, widened, scaled and read again; fp32 weight
 * and two moments are read and written, a weight for the GPU written. */
double pw_plan_update_bytes(const pw_plan *plan);
/* Share of a rank: its parameters of `parameters` and `experts` on the rank's stage. */
double pw_plan_own(const pw_plan *plan, double parameters, double experts);

#endif
