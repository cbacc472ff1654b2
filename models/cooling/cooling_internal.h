/* What the files of cooling devices share. For this folder alone. */
#ifndef PW_MODELS_COOLING_INTERNAL_H
#define PW_MODELS_COOLING_INTERNAL_H

#include "models/cooling/cooling.h"
#include "models/cooling/thermal.h"

enum { DIE, MEMORY, SINK, PART_NODES, LEVELS = 201 }; /* speeds and flows in steps of 1 %: 0 .. 2 */

/* A row of cooling-devices. */
typedef struct cooling_row {
    const char *name, *provenance, *source;
    pw_cooling_way way;
    double die_JpK, memory_JpK, sink_JpK;
    double die_sink_KpW, memory_sink_KpW, sink_base_KpW, sink_flow_KpW, flow_exponent; /* sink to coolant: base + flow / share^exponent */
    double stream_m3ps;        /* of coolant or air along the GPUs of one stream, at full speed */
    double stream_JpKm3;       /* heat capacity of that; 0: it boils */
    double rise_share;         /* of the coolant's rise over a GPU that counts as its temperature */
    uint32_t in_series;        /* GPUs in a stream */
    double memory_share;
    double airflow_m3ps, fan_W; /* of a node, per GPU, at full speed */
    double fan_floor, fan_from_C, fan_full_C, inlet_from_C, inlet_full_C, air_rise_K, control_s;
    double inlet_C, coolant_C, capture;
} cooling_row;

pw_status cooling_find_row(const pw_catalogue *catalogue, const pw_device *device, pw_cooling_way way, cooling_row *row, pw_error *error);

#endif
