/* The parts of a server and what each of them draws: rows of node-parts.csv, and the list of parts of a row of node-power.csv. */
#ifndef PW_MODELS_POWER_PARTS_H
#define PW_MODELS_POWER_PARTS_H

#include "models/catalogue/catalogue.h"

#define PW_TABLE_NODE_PARTS "node-parts"

/* Kinds of parts: X(NAME, name, text). GPUs, optics, fans and conversion are no rows of the table. */
#define PW_NODE_PART_MAP(X)                                                          \
    X(GPU, "gpu", "GPUs")                                                            \
    X(CPU, "cpu", "CPUs")                                                            \
    X(MEMORY, "memory", "memory of the host")                                        \
    X(SWITCH, "switch", "scale-up switches")                                         \
    X(NIC, "nic", "network adapters")                                                \
    X(OPTICS, "optics", "transceivers in the ports")                                 \
    X(PCIE, "pcie", "PCIe switches and retimers")                                    \
    X(DRIVE, "drive", "drives")                                                      \
    X(BOARD, "board", "boards and management")                                       \
    X(PUMP, "pump", "pumps in the box")                                              \
    X(CONVERSION, "conversion", "converters on the boards of the host")                    \
    X(FAN, "fan", "fans")

typedef enum pw_node_part_kind {
#define PW_NODE_PART_ENUM(NAME, name, text) PW_NODE_PART_##NAME,
    PW_NODE_PART_MAP(PW_NODE_PART_ENUM)
#undef PW_NODE_PART_ENUM
    PW_NODE_PART_COUNT
} pw_node_part_kind;
extern const char *const pw_node_part_names[]; /* "gpu", ..., NULL */
extern const char *const pw_node_part_texts[]; /* "GPUs", ..., NULL */

typedef struct pw_node_part {
    const char *name, *provenance, *source; /* as long as the catalogue */
    pw_node_part_kind kind;
    int count;
    double idle_W, active_W; /* of one; idle NaN: unknown */
} pw_node_part;

enum { PW_NODE_PARTS = 24 };

/* Reads "2 EPYC 7742; 32 DDR4 RDIMM 64 GB" (counts from 1 to 1000); file and line are those of the text, for messages. */
pw_status pw_node_parts_read(const pw_catalogue *catalogue, const char *text, const char *file, int line,
                             pw_node_part parts[PW_NODE_PARTS], int *count, pw_error *error);

#endif
