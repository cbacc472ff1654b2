/* What a node of a Chakra trace means, in whichever form it was written. Source: MLCommons Chakra 1.0, et_def.proto, and the
 * attributes that ASTRA-sim reads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/replay/trace.h"

static const char *const type_names[] = {"INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE",
                                         "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
enum { INVALID, METADATA, MEM_LOAD, MEM_STORE, COMP, COMM_SEND, COMM_RECV, COMM_COLL, TYPES };

void chakra_begin(chakra_node *node) {
    *node = (chakra_node){.id = -1, .type = -1, .duration_us = NAN, .comm_type = -1, .source = -1, .destination = -1,
                          .comm_bytes = NAN};
}

void chakra_attribute(chakra_node *node, const char *name, double value) {
    int64_t whole = fabs(value) < 9e15 ? (int64_t)value : -1;
    if (strcmp(name, "is_cpu_op") == 0) node->is_cpu = value != 0;
    else if (strcmp(name, "num_ops") == 0) node->operations = value;
    else if (strcmp(name, "tensor_size") == 0) node->tensor_bytes = value;
    else if (strcmp(name, "comm_type") == 0) node->comm_type = whole;
    else if (strcmp(name, "comm_size") == 0) node->comm_bytes = value;
    else if (strcmp(name, "comm_src") == 0) node->source = whole;
    else if (strcmp(name, "comm_dst") == 0) node->destination = whole;
    else if (strcmp(name, "comm_tag") == 0) node->tag = whole;
    else if (strcmp(name, "runtime") == 0 && isnan(node->duration_us)) node->duration_us = value;
}

static pw_status read_type(const trace *t, const trace_node *at, chakra_node *node) {
    for (int64_t i = 0; node->type < 0 && node->type_name && i < TYPES; i++)
        if (strcmp(node->type_name, type_names[i]) == 0) node->type = i;
    if (node->type > INVALID && node->type < TYPES) return PW_OK;
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)node->type);
    return trace_fail(t, at, PW_UNSUPPORTED, "METADATA, MEM_LOAD, MEM_STORE, COMP, COMM_SEND, COMM_RECV and COMM_COLL are known",
                      "rank %u: node %lld is of the unknown type '%s'", at->rank, (long long)node->id,
                      node->type_name ? node->type_name : number);
}

/* comm_size counts, as in ASTRA-sim, what one rank puts in; podwright counts the blocks of all members of an all_gather
 * and a gather, and the root of a scatter puts them all in. The root is the first member of the group. */
static pw_status collective(trace *t, const chakra_node *node, trace_node *made) {
    static const pw_collective_kind kinds[] = {
        PW_COLLECTIVE_ALL_REDUCE, PW_COLLECTIVE_REDUCE,     PW_COLLECTIVE_ALL_GATHER,     PW_COLLECTIVE_GATHER,
        PW_COLLECTIVE_SCATTER,    PW_COLLECTIVE_BROADCAST,  PW_COLLECTIVE_ALL_TO_ALL,     PW_COLLECTIVE_REDUCE_SCATTER,
        PW_COLLECTIVE_REDUCE_SCATTER, /* in blocks */       PW_COLLECTIVE_BARRIER};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const char *name = node->group && *node->group && strcmp(node->group, "0") != 0 ? node->group : NULL;
    made->other = name ? trace_group_find(t, name) : 0;
    if (made->other == PW_NONE)
        return trace_fail(t, made, PW_BAD_INPUT, "give the file of process groups: groups = \"groups.json\"",
                          "rank %u: node %lld is of the process group '%s', which is not known", made->rank, (long long)node->id,
                          name);
    if (node->comm_type < 0 || node->comm_type >= KINDS)
        return trace_fail(t, made, PW_UNSUPPORTED, "the kinds of the schema are 0 to 9",
                          "rank %u: node %lld is a collective of kind %lld, which is not modelled", made->rank,
                          (long long)node->id, (long long)node->comm_type);
    made->kind = TRACE_COLLECTIVE;
    pw_collective_kind kind = kinds[node->comm_type];
    made->collective = (uint8_t)kind;
    made->bytes = kind == PW_COLLECTIVE_BARRIER && isnan(node->comm_bytes) ? 0 : node->comm_bytes;
    if (kind == PW_COLLECTIVE_ALL_GATHER || kind == PW_COLLECTIVE_GATHER) made->bytes *= t->groups[made->other].count;
    return PW_OK;
}

static pw_status message(trace *t, const chakra_node *node, trace_node *made, bool sends) {
    int64_t peer = sends ? node->destination : node->source;
    made->kind = sends ? TRACE_SEND : TRACE_RECV;
    made->bytes = node->comm_bytes;
    made->tag = node->tag;
    if (peer < 0 || peer >= t->ranks || peer == made->rank)
        return trace_fail(t, made, PW_BAD_INPUT, NULL, "rank %u: node %lld %s rank %lld; there are %u ranks", made->rank,
                          (long long)node->id, sends ? "sends to" : "receives from", (long long)peer, t->ranks);
    made->other = (uint32_t)peer;
    return PW_OK;
}

pw_status chakra_add(trace *t, uint32_t rank, const chakra_node *given, trace_node **added) {
    chakra_node node = *given;
    trace_node *made = *added = trace_add(t, rank);
    if (!made) return trace_no_memory(t);
    made->id = node.id;
    made->line = node.line;
    if (node.id < 0) return trace_fail(t, made, PW_BAD_INPUT, NULL, "rank %u: a node has no id", rank);
    PW_TRY(read_type(t, made, &node));
    if (node.duration_us < 0 || node.operations < 0 || node.tensor_bytes < 0 || node.comm_bytes < 0)
        return trace_fail(t, made, PW_BAD_INPUT, NULL, "rank %u: node %lld has a negative duration or size", rank, (long long)node.id);
    if (node.type == METADATA) return PW_OK;
    if (node.type == COMM_SEND || node.type == COMM_RECV) PW_TRY(message(t, &node, made, node.type == COMM_SEND));
    else if (node.type == COMM_COLL) PW_TRY(collective(t, &node, made));
    else {
        made->kind = TRACE_COMPUTE;
        made->resource = node.type == COMP ? (node.is_cpu ? TRACE_HOST : TRACE_GPU) : TRACE_MEMORY;
        made->seconds = node.duration_us * 1e-6;
        made->operations = node.operations;
        made->bytes = node.tensor_bytes;
        bool is_given = node.duration_us > 0 || node.operations > 0 || node.tensor_bytes > 0;
        if (isnan(node.duration_us) && !is_given) made->seconds = 0;
        if (node.duration_us == 0 && node.operations > 0) made->seconds = NAN;
    }
    if (made->kind != TRACE_COMPUTE && isnan(made->bytes))
        return trace_fail(t, made, PW_BAD_INPUT, NULL, "rank %u: node %lld has no comm_size", rank, (long long)node.id);
    return PW_OK;
}
