/* What a user may say of the communication library of a cluster. Inert: models/collective reads it. */
#include <stddef.h>

#include "models/node/cluster.h"

const char *const pw_launch_names[] = {"process_per_gpu", "threads", "process_for_all", "graph", "kernel_only", "xla", NULL};
const char *const pw_choice_names[] = {"fastest", "library", NULL};

static const pw_field fields[] = {
    {"library", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_communication_desc, library), 0, 0, "", NULL, NULL,
     "\"nccl\" or \"rccl\"; left out: that of the GPU's maker"},
    {"version", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_communication_desc, version), 0, 0, "", NULL, NULL,
     "its version, e.g. \"2.27.3\": the newest constants that are not newer make the library's choice; the times on file are of 2.18 to "
     "2.30; left out: the newest"},
    {"choice", PW_FIELD_CHOICE, PW_UNIT_NONE, offsetof(pw_communication_desc, choice), 0, 0, "fastest", pw_choice_names, NULL,
     "who picks algorithm and protocol where a collective names none: the least time, or the library's own cost model"},
    {"launch", PW_FIELD_CHOICE, PW_UNIT_NONE, offsetof(pw_communication_desc, launch), 0, 0, "process_per_gpu", pw_launch_names, NULL,
     "how the host starts operations: it adds to every start, and decides where point-to-point messages change protocol"},
    {"stack", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(pw_communication_desc, stack), 0, 0, "", NULL, NULL,
     "software below the library between nodes, a row of network-stacks (\"rdma\", \"efa\", \"tcpxo\", \"socket\"); left out: that of the "
     "node's ports"},
    {NULL, PW_FIELD_NUMBER, PW_UNIT_NONE, 0, 0, 0, NULL, NULL, NULL, NULL},
};
const pw_kind pw_communication_kind = {"communication", "The communication library of a cluster", sizeof(pw_communication_desc), fields,
                                       NULL};
