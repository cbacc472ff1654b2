/* What the search and the cut share. */
#ifndef PW_MODELS_FABRIC_TABLE_INTERNAL_H
#define PW_MODELS_FABRIC_TABLE_INTERNAL_H

#include "models/fabric/table.h"

typedef struct attachment { /* a cable of a port */
    uint32_t edge;          /* of the switch at its other end */
    pw_link up, down;
} attachment;

struct path_table {
    uint32_t switches, ports, edges; /* edges: switches with ports */
    uint32_t *first;                 /* [switches + 1]: into out and to */
    pw_link *out;                    /* trunks that are alive */
    uint32_t *to;                    /* switches at their ends */
    uint32_t trunks;
    uint32_t *port_first; /* [ports + 1]: into attached */
    attachment *attached;
    uint32_t attachments;
    uint32_t *edge_switch; /* [edges] */
    uint8_t *hops;         /* [edge][switch]: trunks between them; UNREACHED */
    uint32_t longest;
};
enum { UNREACHED = UINT8_MAX };

#endif
