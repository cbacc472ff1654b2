/* What a node draws at the wall, from its parts.
 *
 *   output = GPUs + (1 + board loss) x (CPUs + memory + switches + adapters + optics + PCIe + drives + boards + pumps) + fans
 *   wall   = output + loss of the supplies at their load share (supply.h)
 *
 * A part draws idle + activity x (active - idle), between the figures of node-parts.csv. Fans: power at full speed x speed^3. At full speed a
 * box moves the air that its rated power needs; air flow goes with heat, pressure with the square of flow over cross-section: so fans at full
 * speed draw `fan constant` kW x (rated power / 1 kW)^3 / (height in rack units)^2, unless the row says what they draw. Whoever
 * simulates temperatures gives the speed; else speed follows heat: from `fan speed at rest` without heat, linearly, to 1 at rated power.
 *
 * What all servers share (seven figures of node-power-parameters.csv) is fitted over measured nodes of all types: no line per type.
 * A node is what node-power.csv says of it. A model is immutable and may be shared between threads; evaluating allocates nothing and takes
 * under a microsecond.
 *
 *   pw_node_watts watts = pw_node_power_at(model, &(pw_node_load){.gpu_W = 8 * 700, .host = PW_NODE_HOST_FEEDS, .fan_speed = NAN});
 *   // watts.part[PW_NODE_PART_FAN], watts.wall_W
 */
#ifndef PW_MODELS_POWER_NODE_POWER_H
#define PW_MODELS_POWER_NODE_POWER_H

#include "models/power/parts.h"
#include "models/power/supply.h"
#include "sim/event.h"

#define PW_TABLE_NODE_POWER "node-power"
#define PW_TABLE_NODE_PARAMETERS "node-power-parameters"

/* X(field, row of node-power-parameters.csv, lowest, highest): SI and ratios. */
#define PW_NODE_POWER_MAP(X)                                                                                        \
    X(cpu_idle, "cpu idle", 0.1, 2)                  /* of the figure without work of node-parts.csv */              \
    X(host_activity, "host activity", 0, 1)          /* of CPUs and memory that feed GPUs */                         \
    X(switch_idle, "switch idle", 0, 1)              /* of full power, for scale-up switches without traffic */      \
    X(board_loss, "board loss", 0, 0.5)              /* of what parts of the host draw */                            \
    X(fan_rest, "fan speed at rest", 0.05, 0.95)     /* of full speed, without heat */                               \
    X(fan_constant, "fan constant", 0.001, 1)        /* kW at full speed of a box of 1 kW in one rack unit */        \
    X(cap_draw, "cap draw", 0.5, 1.1)                /* mean power over the cap, of GPUs that a cap holds */

typedef struct pw_node_parameters {
#define PW_NODE_PARAMETER(field, name, low, high) double field;
    PW_NODE_POWER_MAP(PW_NODE_PARAMETER)
#undef PW_NODE_PARAMETER
} pw_node_parameters;
/* From the catalogue; PW_BAD_INPUT with file:line for a value outside of its limits, PW_NOT_FOUND for a missing row. */
pw_status pw_node_parameters_read(const pw_catalogue *catalogue, pw_node_parameters *parameters, pw_error *error);

typedef struct pw_node_power pw_node_power;
/* The server of a row of node-power.csv. PW_NOT_FOUND names the nearest; file:line on a bad cell. The catalogue must outlive it. */
pw_status pw_node_power_create(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *server, pw_node_power **model,
                               pw_error *error);
void pw_node_power_destroy(pw_node_power *model);
/* With other parameters than the catalogue's, for fits; the values of the old ones are lost. */
void pw_node_power_set_parameters(pw_node_power *model, const pw_node_parameters *parameters);

const char *pw_node_power_server(const pw_node_power *model);
const char *pw_node_power_gpu(const pw_node_power *model);       /* a row of accelerators */
int pw_node_power_gpus(const pw_node_power *model);
double pw_node_power_rated_W(const pw_node_power *model);        /* at the wall, as its maker says */
double pw_node_power_fans_W(const pw_node_power *model);         /* at full speed; 0: no fans */
const pw_node_part *pw_node_power_parts(const pw_node_power *model, int *count);
const pw_node_parameters *pw_node_power_parameters(const pw_node_power *model);

#define PW_NODE_HOST_FEEDS (-1.0) /* pw_node_load.host: hosts that feed GPUs, as measured */

typedef struct pw_node_load {
    double gpu_W;     /* all GPUs of the node together, as NVML means it: module or card */
    double host;      /* activity of CPUs and memory: 0 nothing runs, 1 all cores at rated power */
    double scaleup;   /* traffic of the scale-up switches over their bandwidth, 0 .. 1 */
    double network;   /* traffic of the network ports over their rate, 0 .. 1 */
    double drives;    /* 0 .. 1 */
    double optics_W;  /* transceivers in the ports, all together */
    double fan_speed; /* of full speed; NaN: the steady relation to heat */
    pw_supply_state supplies; /* what is lost of them */
} pw_node_load;

typedef struct pw_node_watts {
    double part[PW_NODE_PART_COUNT]; /* W, by pw_node_part_kind */
    double output_W;                 /* sum of part */
    double supply_loss_W, wall_W;    /* wall = output + loss */
    double fan_speed;
    pw_supply_flow flow;             /* shares of supplies and feeds; zero when they stand outside */
} pw_node_watts;
/* Numbers outside of their range are taken to its ends. With no supply left everything but fan_speed and flow is 0. */
pw_node_watts pw_node_power_at(const pw_node_power *model, const pw_node_load *load);

/* Energy of a node, or of many, by part. Each span is added part by part and at the wall; the law says that both agree. */
typedef struct pw_node_energy {
    double part_J[PW_NODE_PART_COUNT], supply_loss_J, wall_J, span_s;
} pw_node_energy;
/* `times` nodes at these watts for a span. The law is asserted every time: |wall - parts - losses| <= 1e-9 wall, else the
 * simulation ends. */
void pw_node_energy_add(pw_sim *sim, pw_node_energy *energy, const pw_node_watts *watts, double span_s, double times);
double pw_node_energy_gap(const pw_node_energy *energy); /* |wall - parts - losses| / wall; 0 for no energy */

/* A switch box of links.csv: from its typical power, which it draws with its ports connected and little traffic, to its highest.
 * traffic: 0 .. 1. PW_NOT_FOUND for an unknown box, PW_UNSUPPORTED when the row has no typical power. */
pw_status pw_node_switch_W(const pw_catalogue *catalogue, const char *box, double traffic, double *watts, pw_error *error);
/* A rack: nodes and switches as a sum. wall of `nodes` alike nodes and `switches` boxes. */
typedef struct pw_rack_watts {
    double nodes_W, switches_W, wall_W;
} pw_rack_watts;
pw_rack_watts pw_rack_sum(const pw_node_watts *node, int nodes, double switch_W, int switches);

#endif
