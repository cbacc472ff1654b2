#include "models/workload/replay/trace.h"

/* Without protobuf-c there is no reader of the binary form. */
pw_status trace_read_chakra_et(trace *t, const char *path, uint32_t rank) {
    (void)rank;
    return pw_fail(t->error, PW_UNSUPPORTED, path, 0, "convert it with chakra_jsonizer, or build podwright with protobuf-c",
                   "this build does not read the protobuf form of Chakra traces");
}
