/* The names under which models report what an operator would see: quantities of record levels (sim/record.h), on tracks called
 * "site", "rack 3", "node 12", "gpu 98" (a number in the cluster) or "gpus CLASS" (equal GPUs that stand for many: their number is the
 * level PW_LEVEL_MEMBERS). A level holds from its time on. Monitors, meters and alarms are sinks that know these names and nothing of who reports.
 *
 * Times of one quantity on one track do not fall; between tracks there is no order. */
#ifndef PW_MODELS_POWER_LEVELS_H
#define PW_MODELS_POWER_LEVELS_H

#define PW_LEVEL_POWER "power_W"                            /* GPUs: at the board, of one; others: at the wall */
#define PW_LEVEL_UTILIZATION "utilization"                  /* share of the time in which a kernel is resident */
#define PW_LEVEL_CLOCK "clock_Hz"
#define PW_LEVEL_TEMPERATURE "temperature_C"                /* of the die; nodes, racks: of the hottest */
#define PW_LEVEL_MEMORY_TEMPERATURE "memory_temperature_C"
#define PW_LEVEL_CLOCK_REASONS "clock_reasons"              /* bits as NVML has them (pw_clock_reason_bits) */
#define PW_LEVEL_TENSOR "tensor_use"                        /* share of the tensor units' peak */
#define PW_LEVEL_MEMORY "memory_use"                        /* share of memory bandwidth */
#define PW_LEVEL_LINK "link_Bps"                            /* bytes/s over NVLink, one direction */
#define PW_LEVEL_FAN "fan_share"                            /* of full speed */
#define PW_LEVEL_MEMBERS "members"                          /* GPUs that a track "gpus CLASS" stands for */

#endif
