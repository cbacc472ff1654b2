/* The protobuf form of Chakra, where protobuf-c was there when podwright was built: messages behind their lengths, unpacked one by one. */
#include <math.h>
#include <string.h>

#include "models/workload/replay/trace.h"

#ifdef PW_HAVE_PROTOBUF_C
#include "chakra.pb-c.h"
#include "sim/file.h"

bool pw_replay_reads_protobuf(void) { return true; }

typedef Podwright__Chakra__Attribute attribute;
typedef Podwright__Chakra__Node message;

static const size_t largest_file = (size_t)4 << 30;

/* Value of whatever kind; NaN for texts. */
static double value_of(const attribute *a) {
    switch (a->value_case) {
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_DOUBLE_VALUE: return a->double_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_FLOAT_VALUE: return (double)a->float_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_INT32_VALUE: return a->int32_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_INT64_VALUE: return (double)a->int64_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_UINT32_VALUE: return a->uint32_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_UINT64_VALUE: return (double)a->uint64_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_SINT32_VALUE: return a->sint32_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_SINT64_VALUE: return (double)a->sint64_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_FIXED32_VALUE: return a->fixed32_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_FIXED64_VALUE: return (double)a->fixed64_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_SFIXED32_VALUE: return a->sfixed32_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_SFIXED64_VALUE: return (double)a->sfixed64_value;
    case PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_BOOL_VALUE: return a->bool_value;
    default: return NAN;
    }
}

static pw_status add_needs(trace *t, trace_node *made, const uint64_t *ids, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!trace_need_add(t, made, (int64_t)(ids[i] & INT64_MAX), false)) return trace_no_memory(t);
    return PW_OK;
}

static pw_status read_node(trace *t, uint32_t rank, const message *m) {
    chakra_node node;
    trace_node *made;
    chakra_begin(&node);
    node.id = (int64_t)(m->id & INT64_MAX);
    node.type = m->type;
    if (m->duration_micros) node.duration_us = (double)m->duration_micros; /* 0 and absent are the same here */
    for (size_t i = 0; i < m->n_attr; i++) {
        const attribute *a = m->attr[i];
        if (a->value_case == PODWRIGHT__CHAKRA__ATTRIBUTE__VALUE_STRING_VALUE && strcmp(a->name, "pg_name") == 0)
            node.group = a->string_value;
        double value = value_of(a);
        if (!isnan(value)) chakra_attribute(&node, a->name, value);
    }
    PW_TRY(chakra_add(t, rank, &node, &made));
    PW_TRY(add_needs(t, made, m->ctrl_deps, m->n_ctrl_deps));
    return add_needs(t, made, m->data_deps, m->n_data_deps);
}

/* Length at *at; false when the file ends in it or it is out of range. */
static bool read_length(const uint8_t *bytes, size_t size, size_t *at, size_t *length) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (*at == size) return false;
        uint8_t byte = bytes[(*at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte & 128) continue;
        *length = (size_t)value;
        return value <= size - *at;
    }
    return false;
}

static pw_status read_messages(trace *t, const char *path, uint32_t rank, const uint8_t *bytes, size_t size) {
    size_t at = 0, length = 0;
    for (size_t number = 0; at < size; number++) {
        if (!read_length(bytes, size, &at, &length))
            return pw_fail(t->error, PW_BAD_INPUT, path, 0, "each message stands behind its length", "message %zu has no end", number + 1);
        if (number > 0) { /* the first is the metadata */
            message *m = podwright__chakra__node__unpack(NULL, length, bytes + at);
            if (!m) return pw_fail(t->error, PW_BAD_INPUT, path, 0, NULL, "message %zu is no node of Chakra", number + 1);
            pw_status status = read_node(t, rank, m);
            podwright__chakra__node__free_unpacked(m, NULL);
            PW_TRY(status);
        }
        at += length;
    }
    return PW_OK;
}

pw_status trace_read_chakra_et(trace *t, const char *path, uint32_t rank) {
    char *text;
    size_t size;
    PW_TRY(pw_file_read(path, largest_file, t->allocator, &text, &size, t->error));
    pw_status status = read_messages(t, path, rank, (const uint8_t *)text, size);
    pw_free(t->allocator, text, size + 1);
    return status;
}

#else

bool pw_replay_reads_protobuf(void) { return false; }

pw_status trace_read_chakra_et(trace *t, const char *path, uint32_t rank) {
    (void)rank;
    return pw_fail(t->error, PW_UNSUPPORTED, path, 0, "convert it with chakra_jsonizer, or build podwright where protobuf-c is installed",
                   "this build does not read the protobuf form of Chakra traces");
}

#endif
