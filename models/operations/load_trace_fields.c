#include <math.h>
#include <stddef.h>

#include "models/operations/load_trace.h"

#define SHARE(name, field, most, text) {name, PW_FIELD_NUMBER, PW_UNIT_NONE, AT(field), 0, most, "0", NULL, NULL, text}
#define AT(field) offsetof(pw_load_phase_desc, field)
static const pw_field phase_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "A row of the table load-phases, whose figures the other fields replace."},
    {"lasts", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(lasts_s), 1e-3, 1e8, "60 s", NULL, NULL, "How long the phase lasts."},
    SHARE("tensor", tensor, 1, "Matrix arithmetic, as a share of the peak at this precision."),
    {"precision", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(precision), 0, 0, "bf16", pw_precision_names, NULL, "Precision of the matrix arithmetic."},
    SHARE("vector", vector, 1, "Other arithmetic, as a share of the peak at fp32 without matrix units."),
    SHARE("memory", memory, 1, "Traffic of the GPU's memory, as a share of its bandwidth."),
    SHARE("link", link, 1, "Traffic over NVLink (without it PCIe), as a share of the bandwidth of one direction."),
    SHARE("busy", busy, 1, "Share of the time in which a kernel is resident."),
    SHARE("compute", compute, 1, "Share of the time that arithmetic takes and a slower clock stretches; at most busy."),
    {NULL}};
#undef AT

static pw_status check_phase(const void *description, const char *file, int line, pw_error *error) {
    const pw_load_phase_desc *d = description;
    if (d->compute > d->busy)
        return pw_fail(error, PW_BAD_INPUT, file, line, "raise busy", "load_phase.compute is %g, above load_phase.busy, %g", d->compute, d->busy);
    if (d->busy == 0 && (d->tensor > 0 || d->vector > 0 || d->memory > 0))
        return pw_fail(error, PW_BAD_INPUT, file, line, "say busy = 1, or a row: o.load_phase \"training\"", "load_phase.busy is 0, but there is work");
    return PW_OK;
}
const pw_kind pw_load_phase_kind = {"load_phase", "A rate of work of a GPU for a while.", sizeof(pw_load_phase_desc), phase_fields, check_phase};

pw_status pw_load_phase_preset(const pw_catalogue *catalogue, const char *name, void *desc, pw_arena *arena, pw_error *error) {
    pw_load_phase_desc *d = desc;
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "load-phases", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, NULL, "no row of load-phases is called '%.100s'", name);
    const struct {
        const char *column;
        double *value;
    } numbers[] = {{"tensor", &d->tensor}, {"vector", &d->vector}, {"memory", &d->memory}, {"link", &d->link}, {"busy", &d->busy}, {"compute", &d->compute}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        PW_TRY(pw_table_amount_of(table, (size_t)row, numbers[i].column, numbers[i].value, error));
    d->name = pw_arena_text(arena, name);
    return d->name ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
}

#define AT(field) offsetof(pw_load_desc, field)
static const pw_kind *const phase_kinds[] = {&pw_load_phase_kind, NULL};
static const pw_field phase_item = {"phase", PW_FIELD_ONE_OF, .kinds = phase_kinds, .text = "A phase."};
static const pw_field load_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the load."},
    {"phases", PW_FIELD_LIST, PW_UNIT_NONE, AT(phases), 1, 1000, NULL, .item = &phase_item, .text = "What the GPUs do, one phase after the other, over and over."},
    {"first_node", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(first_node), 0, 1 << 20, "0", NULL, NULL, "First of its nodes, counted from 0."},
    {"nodes", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(nodes), 0, 1 << 20, "0", NULL, NULL, "How many nodes; 0: all from first_node on."},
    {"start", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(start_s), 0, 1e8, "0 s", NULL, NULL, "When it begins; before, the nodes are idle."},
    {"lasts", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(lasts_s), 1e-3, 1e8, "", NULL, NULL, "How long it lasts; left out: to the end."},
    {"shift", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(shift_s), 0, 1e8, "0 s", NULL, NULL, "It begins so far into its cycle of phases."},
    {NULL}};
#undef AT
const pw_kind pw_load_kind = {"load", "Phases of work over and over on some nodes.", sizeof(pw_load_desc), load_fields, NULL};

#define AT(field) offsetof(pw_random_jobs_desc, field)
static const pw_kind *const load_kinds[] = {&pw_load_kind, NULL};
static const pw_field load_item = {"load", PW_FIELD_ONE_OF, .kinds = load_kinds, .text = "A load."};
static const pw_field random_fields[] = {
    {"nodes", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(nodes), 1, 1 << 20, "8", NULL, NULL, "Nodes of a job: mean of a geometric distribution."},
    {"lasts", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(lasts_s), 1, 1e8, "600 s", NULL, NULL, "How long a job lasts: mean of an exponential distribution."},
    {"share", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(share), 0.01, 1, "0.9", NULL, NULL, "Share of the nodes in use at most."},
    {"mix", PW_FIELD_LIST, PW_UNIT_NONE, AT(mix), 1, 100, NULL, .item = &load_item, .text = "What a job may do, each as likely: phases of these loads."},
    {NULL}};
#undef AT
static pw_status check_random(const void *description, const char *file, int line, pw_error *error) {
    const pw_random_jobs_desc *d = description;
    const pw_one_of *mix = d->mix.items;
    for (uint32_t i = 0; i < d->mix.count; i++) {
        const pw_load_desc *load = mix[i].record;
        if (load->first_node || load->nodes || load->start_s > 0 || !isnan(load->lasts_s) || load->shift_s > 0)
            return pw_fail(error, PW_BAD_INPUT, file, line, "leave first_node, nodes, start, lasts and shift out",
                           "random_jobs.mix[%u] says where or when, which is drawn at random", (unsigned)i + 1);
    }
    return PW_OK;
}
const pw_kind pw_random_jobs_kind = {"random_jobs", "Jobs drawn at random: where, when and what.", sizeof(pw_random_jobs_desc), random_fields, check_random};

#define AT(field) offsetof(pw_load_trace_desc, field)
static const pw_field trace_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the trace, for reports."},
    {"lasts", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(lasts_s), 1e-2, 1e8, "1 hour", NULL, NULL, "How long it lasts."},
    {"aggregate", PW_FIELD_NUMBER, PW_UNIT_SECONDS, AT(aggregate_s), 1e-3, 3600, "1 s", NULL, NULL,
     "How often temperatures are looked at and nodes, racks and the site are summed."},
    {"rack_nodes", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(rack_nodes), 1, 1 << 20, "4", NULL, NULL, "Nodes in a rack."},
    {"loads", PW_FIELD_LIST, PW_UNIT_NONE, AT(loads), 1, 100000, "", .item = &load_item, .text = "Loads on given nodes."},
    {"file", PW_FIELD_TEXT, PW_UNIT_NONE, AT(file), 0, 0, "", NULL, NULL,
     "CSV of changes: time_s, node, nodes, phase (a row of load-phases), sorted by time; nodes keep a phase until the next row."},
    {"random", PW_FIELD_POINTER, PW_UNIT_NONE, AT(random), 0, 0, "", .record = &pw_random_jobs_kind, .text = "Jobs drawn at random, by --seed."},
    {"tolerance", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(tolerance_K), 0.01, 20, "1", NULL, NULL,
     "Kelvin by which a die may warm or cool before its clock and watts are settled again."},
    {"dies", PW_FIELD_BOOL, PW_UNIT_NONE, AT(dies), 0, 0, "true", NULL, NULL, "Dies differ in leakage and switching power, drawn by --seed; false: all are nominal."},
    {NULL}};
#undef AT
static pw_status check_trace(const void *description, const char *file, int line, pw_error *error) {
    const pw_load_trace_desc *d = description;
    int given = (d->loads.count != 0) + (d->file && *d->file) + (d->random != NULL);
    if (given == 1) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "give one of loads, file and random", "load_trace.%s %s",
                   !given ? "loads" : d->random ? "random" : "file", given ? "goes with no other source of changes" : "is missing: nothing changes");
}
const pw_kind pw_load_trace_kind = {"load_trace", "A changing load on the GPUs of a cluster over seconds to hours: clock, watts and heat of each.",
                                    sizeof(pw_load_trace_desc), trace_fields, check_trace};
