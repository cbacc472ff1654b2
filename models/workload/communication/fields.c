#include <math.h>
#include <stddef.h>

#include "models/workload/communication/communication.h"

#define AT(member) offsetof(pw_collective_job_desc, member)

static const char *const groupings[] = {"consecutive", "strided", NULL};

static const pw_field collective_fields[] = {
    {"operation", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(operation), 0, 0, "all_reduce", pw_collective_names, NULL,
     "The collective that all groups run."},
    {"bytes", PW_FIELD_NUMBER, PW_UNIT_BYTES, AT(bytes), 0, 1e15, NULL, NULL, NULL,
     "Its size as nccl-tests counts it: all_reduce, broadcast, reduce: per rank; all_gather, reduce_scatter, gather, scatter: in "
     "total; all_to_all: per rank in total; send_recv: of each message."},
    {"algorithm", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(algorithm), 0, 0, "auto", pw_algorithm_choices, NULL,
     "The algorithm; auto takes the one that the library's model takes."},
    {"group_size", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(group_size), 0, 1 << 20, "0", NULL, NULL,
     "Ranks of each group; all groups run at once. 0: one group of all GPUs."},
    {"grouping", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(grouping), 0, 0, "consecutive", groupings, NULL,
     "consecutive: a group is GPUs side by side; strided: every n-th GPU, with n the number of groups (one per node and rail, say)."},
    {"repeats", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(repeats), 1, 1e6, "1", NULL, NULL, "How often it is issued, one after another."},
    {"gap", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(gap_s), 0, 1e6, "0 s", NULL, NULL,
     "Time from the end of one to the start of the next."},
    {NULL}};

const pw_kind pw_collective_job_kind = {"collective", "A collective over and over: communication without computation.",
                                        sizeof(pw_collective_job_desc), collective_fields, NULL};

#undef AT
#define AT(member) offsetof(pw_background_desc, member)

/* Fields of a pattern that say when flows start make no sense for flows that are always there. */
static pw_status check_background(const void *description, const char *file, int line, pw_error *error) {
    const pw_background_desc *d = description;
    const pw_pattern_desc *p = &d->pattern;
    if (isnan(d->load) == isnan(d->rate_Bps))
        return pw_fail(error, PW_BAD_INPUT, file, line, "write load = 0.3, or rate = 10 * u.Gbps",
                       "background takes either load or rate");
    if (p->repeats != 1 || p->interval_s != 0 || p->start_s != 0)
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave them out; o.job_on { start = ... } says when all of it starts",
                       "background.repeats, interval and start change nothing: its flows are always there");
    if (!isnan(p->bytes))
        return pw_fail(error, PW_BAD_INPUT, file, line, "leave it out", "background.bytes changes nothing: its flows never end");
    return PW_OK;
}

static const pw_field background_fields[] = {
    PW_TRAFFIC_FIELDS(AT(pattern)),
    {"load", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(load), 1e-6, 1, "", NULL, NULL,
     "Rate of each flow as a share of a network port's payload rate; or say rate."},
    {"rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, AT(rate_Bps), 1, 1e15, "", NULL, NULL,
     "Rate of each flow, where the fabric leaves it so much; or say load."},
    {NULL}};

const pw_kind pw_background_kind = {"background", "Traffic that goes on at a steady rate beside jobs, until they end.",
                                    sizeof(pw_background_desc), background_fields, check_background};
