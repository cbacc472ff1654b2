/* The fields of a question to a fabric, and what does not go together. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "models/packet/question.h"

#define PRESET_ROW "dcqcn-2015"
static const char *const between_names[] = {"ports", "gpus", NULL};
static const char *const mode_names[] = {"flow", "packet", "both", NULL};
static const char *const switch_names[] = {"cut_through", "store_and_forward", NULL};
static const char *const pfc_names[] = {"auto", "on", "off", NULL};

#define AT(field) offsetof(pw_question_desc, field)
#define BYTES_FIELD(name, field, text) {name, PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(field), 0, 1e15, "", NULL, NULL, text}
static const pw_field traffic_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the question, for reports."},
    PW_TRAFFIC_FIELDS(AT(pattern)),
    {"collective", PW_FIELD_TEXT, PW_UNIT_NONE, AT(collective), 0, 0, "", NULL, NULL,
     "In place of a pattern: the messages of this collective over the GPUs, each after those it waits for; bytes is its size."},
    {"algorithm", PW_FIELD_TEXT, PW_UNIT_NONE, AT(algorithm), 0, 0, "", NULL, NULL, "Algorithm of the collective; without one, ring."},
    {"between", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(between), 0, 0, "ports", between_names, NULL,
     "What an end is: a network port (node x ports + rail), or a GPU with its way through the node."},
    {"mode", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(mode), 0, 0, "both", mode_names, NULL,
     "flow: max-min fair shares; packet: packet by packet; both: side by side."},
    {"transport", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(transport), 0, 0, "credit", pw_transport_names, NULL,
     "How hosts send packets: line (at line rate), credit (paced by the receiver, trimmed packets are sent again), dcqcn (rates follow ECN marks)."},
    {"switches", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(switches), 0, 0, "cut_through", switch_names, NULL, "When a switch passes a packet on."},
    {"paths", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(paths), 1, 4096, "1", NULL, NULL,
     "1: a flow keeps one path, by hash (ECMP); more: it is spread over so many hashes (spray)."},
    {"packet", PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(packet_bytes), 64, 1 << 20, "4096 B", NULL, NULL, "A full packet with its header."},
    {"header", PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(header_bytes), 0, 4096, "0 B", NULL, NULL,
     "Header of a packet; 0 where the network's efficiency has paid for it."},
    BYTES_FIELD("queue", queue_bytes, "Limit of an output queue under transport credit, beyond which packets are trimmed; left out: 0.83 of bandwidth x round trip."),
    BYTES_FIELD("buffer", buffer_bytes, "Limit of all queues of one switch together; left out: none."),
    BYTES_FIELD("window", window_bytes, "Bytes of a flow under way under transport credit; left out: 1.5 of bandwidth x round trip."),
    {"pace", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(pace), 0.01, 1, "", NULL, NULL,
     "Share of its links that a receiver asks for under transport credit; left out: 0.99."},
    {"congestion_control", PW_FIELD_TEXT, PW_UNIT_NONE, AT(congestion_control), 0, 0, PRESET_ROW, NULL, NULL,
     "Row of the table congestion-control: DCQCN's parameters, marking and PFC thresholds."},
    BYTES_FIELD("mark_from", mark_from, "Queue at which ECN marking begins under dcqcn; left out: that of congestion_control."),
    BYTES_FIELD("mark_to", mark_to, "Queue from which every packet is marked; left out: that of congestion_control."),
    {"mark_probability", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(mark_probability), 0, 1, "", NULL, NULL,
     "Probability of a mark just below mark_to; left out: that of congestion_control."},
    {"pfc", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(pfc), 0, 0, "auto", pfc_names, NULL,
     "Pause frames (PFC); auto: on with line and dcqcn, off with credit. Off with line or dcqcn, queues have no limit."},
    BYTES_FIELD("pause", pause_bytes, "Bytes from one link in a switch above which it is paused; left out: that of congestion_control."),
    BYTES_FIELD("resume", resume_bytes, "Bytes at or below which it is resumed; left out: that of congestion_control."),
    BYTES_FIELD("headroom", headroom_bytes, "Room for what still comes after a pause; left out: what the link needs to lose nothing."),
    {"links", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(links), 0, 1000000, "8", NULL, NULL, "How many of the busiest links the result lists."},
    {NULL}};
#undef BYTES_FIELD
#undef AT

static pw_status check_traffic(const void *description, const char *file, int line, pw_error *error) {
    const pw_question_desc *d = description;
    bool credit = d->transport == PW_TRANSPORT_CREDIT, dcqcn = d->transport == PW_TRANSPORT_DCQCN, pfc = d->pfc == 1 || (d->pfc == 0 && !credit);
    const struct {
        const char *field;
        bool given, used;
        const char *with;
    } fields[] = {
        {"queue", !isnan(d->queue_bytes), credit, "transport credit"},     {"window", !isnan(d->window_bytes), credit, "transport credit"},
        {"pace", !isnan(d->pace), credit, "transport credit"},             {"mark_from", !isnan(d->mark_from), dcqcn, "transport dcqcn"},
        {"mark_to", !isnan(d->mark_to), dcqcn, "transport dcqcn"},         {"mark_probability", !isnan(d->mark_probability), dcqcn, "transport dcqcn"},
        {"pause", !isnan(d->pause_bytes), pfc, "pfc"},                     {"resume", !isnan(d->resume_bytes), pfc, "pfc"},
        {"headroom", !isnan(d->headroom_bytes), pfc, "pfc"},               {"buffer", !isnan(d->buffer_bytes), pfc || credit, "pfc or transport credit"},
        {"congestion_control", d->congestion_control && strcmp(d->congestion_control, PRESET_ROW), pfc || dcqcn, "pfc or transport dcqcn"},
        {"algorithm", d->algorithm && *d->algorithm, d->collective && *d->collective, "collective"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].given && !fields[i].used)
            return pw_fail(error, PW_BAD_INPUT, file, line, "leave it out", "traffic.%s goes with %s alone", fields[i].field, fields[i].with);
    if (d->header_bytes >= d->packet_bytes)
        return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "traffic.header is %g bytes of a packet of %g", d->header_bytes, d->packet_bytes);
    if (d->collective && *d->collective) {
        if (d->pattern.pattern != PW_TRAFFIC_PERMUTATION || d->pattern.flows.items || d->pattern.repeats > 1 || d->pattern.count || d->pattern.target)
            return pw_fail(error, PW_BAD_INPUT, file, line, "name the one or the other", "traffic.collective stands in place of a pattern");
        if (d->between != PW_QUESTION_GPUS)
            return pw_fail(error, PW_BAD_INPUT, file, line, "between = \"gpus\"", "traffic.collective runs between GPUs");
        if (isnan(d->pattern.bytes))
            return pw_fail(error, PW_BAD_INPUT, file, line, "say the size: bytes = 16 * u.MB", "traffic.bytes is missing");
        return PW_OK;
    }
    return pw_pattern_check(&d->pattern, "traffic", 0, file, line, error);
}
const pw_kind pw_traffic_kind = {"traffic", "A question to the network: flows between ports or GPUs, as fluid, packet by packet, or both.",
                                 sizeof(pw_question_desc), traffic_fields, check_traffic};
