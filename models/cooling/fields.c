/* What a user may say of the cooling of nodes, and the rows of cooling-devices. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "models/cooling/cooling_internal.h"

const char *const pw_cooling_way_names[] = {"auto", "air", "cold_plate", "immersion", "refrigerant", NULL};

#define AT(field) offsetof(pw_cooling_desc, field)
static const pw_field cooling_fields[] = {
    {"kind", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(way), 0, 0, "auto", pw_cooling_way_names, NULL,
     "how GPUs give off their heat; auto: as such GPUs are usually sold"},
    {"inlet", PW_FIELD_NUMBER, PW_UNIT_CELSIUS, AT(inlet_C), -20, 60, "", NULL, NULL, "air at the inlet of a node; else that of the row in cooling-devices"},
    {"coolant", PW_FIELD_NUMBER, PW_UNIT_CELSIUS, AT(coolant_C), 0, 70, "", NULL, NULL, "coolant at the inlet of a node; not with air"},
    {"slot_offset", PW_FIELD_NUMBER, PW_UNIT_CELSIUS, AT(slot_offset_K), 0, 30, "", NULL, NULL,
     "how much warmer the air is that reaches the second GPU of an air stream; else from the first one's watts and the airflow"},
    {"recirculation", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(recirculation), 0, 0.8, "0", NULL, NULL, "share of the inlet air that is the node's own exhaust"},
    {"fan_speed", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(fan_share), 0.05, 1, "", NULL, NULL,
     "fixed share of the fans' full speed; else they follow the hottest GPU and the inlet"},
    {"flow", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(flow), 0.05, 2, "", NULL, NULL, "flow of coolant over that of the row in cooling-devices; not with air"},
    {"capture", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(capture), 0.3, 1, "", NULL, NULL, "share of a node's heat that goes to the coolant, the rest to the air; not with air"},
    {NULL}};
const pw_kind pw_cooling_kind = {"cooling", "How the GPUs of a cluster are cooled.", sizeof(pw_cooling_desc), cooling_fields, NULL};

/* ---- rows ---- */

static pw_status amount(const pw_table *table, size_t row, const char *column, double *value, pw_error *error) {
    return pw_table_amount_of(table, row, column, value, error);
}

static pw_status read_row(const pw_table *table, size_t at, cooling_row *row, pw_error *error) {
    *row = (cooling_row){.name = pw_table_text_of(table, at, "name"), .provenance = pw_table_text_of(table, at, "provenance"),
                         .source = pw_table_text_of(table, at, "source")};
    const char *kind = pw_table_text_of(table, at, "kind");
    for (int way = PW_COOLING_AIR; pw_cooling_way_names[way]; way++)
        if (!strcmp(kind, pw_cooling_way_names[way])) row->way = (pw_cooling_way)way;
    if (row->way == PW_COOLING_AUTO)
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, at), "air, cold_plate, immersion, refrigerant", "column 'kind': no cooling '%s'", kind);
    double series;
    const struct { const char *column; double *value; } amounts[] = {
        {"die", &row->die_JpK}, {"memory", &row->memory_JpK}, {"sink", &row->sink_JpK}, {"die_to_sink", &row->die_sink_KpW},
        {"memory_to_sink", &row->memory_sink_KpW}, {"sink_base", &row->sink_base_KpW}, {"sink_flow", &row->sink_flow_KpW},
        {"flow_exponent", &row->flow_exponent}, {"stream", &row->stream_m3ps}, {"stream_heat", &row->stream_JpKm3}, {"rise_share", &row->rise_share},
        {"in_series", &series}, {"memory_share", &row->memory_share}, {"airflow", &row->airflow_m3ps}, {"fan", &row->fan_W},
        {"fan_floor", &row->fan_floor}, {"fan_from", &row->fan_from_C}, {"fan_full", &row->fan_full_C}, {"inlet_from", &row->inlet_from_C},
        {"inlet_full", &row->inlet_full_C}, {"air_rise", &row->air_rise_K}, {"control", &row->control_s}, {"inlet", &row->inlet_C},
        {"capture", &row->capture}};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) PW_TRY(amount(table, at, amounts[i].column, amounts[i].value, error));
    row->in_series = (uint32_t)series;
    row->coolant_C = pw_table_number_of(table, at, "coolant");
    bool liquid = row->way != PW_COOLING_AIR;
    const char *wrong = row->in_series < 1 || row->in_series > 2 ? "in_series must be 1 or 2"
                        : !(row->die_JpK > 0 && row->memory_JpK > 0 && row->sink_JpK > 0) ? "heat capacities must be above 0"
                        : !(row->die_sink_KpW > 0 && row->memory_sink_KpW > 0 && row->sink_base_KpW + row->sink_flow_KpW > 0) ? "resistances must be above 0"
                        : !(row->control_s > 0) || (!liquid && !(row->fan_full_C > row->fan_from_C)) || !(row->inlet_full_C > row->inlet_from_C) ? "the fan control has no range"
                        : row->memory_share >= 1 || row->capture > 1 || row->fan_floor > 1 ? "a share is above 1"
                        : liquid != isfinite(row->coolant_C) ? "coolant belongs to liquids, and every liquid has one" : NULL;
    if (wrong) return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, at), NULL, "row '%s': %s", row->name, wrong);
    return PW_OK;
}

/* Best of the rows that name the device, then its form factor, then any; with auto only those marked as usual. */
pw_status cooling_find_row(const pw_catalogue *catalogue, const pw_device *device, pw_cooling_way way, cooling_row *row, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "cooling-devices", &table, error));
    const char *wanted[] = {device->name, device->form_factor, "any"};
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++)
        for (size_t at = 0; at < pw_table_rows(table); at++) {
            if (strcasecmp(pw_table_text_of(table, at, "for"), wanted[w])) continue;
            if (way == PW_COOLING_AUTO ? pw_table_number_of(table, at, "usual") == 1 : !strcmp(pw_table_text_of(table, at, "kind"), pw_cooling_way_names[way]))
                return read_row(table, at, row, error);
        }
    char names[768];
    return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, pw_table_names(table, "rows:", names, sizeof names),
                   way == PW_COOLING_AUTO ? "no usual cooling is on file for %s (%s); say cooling.kind" : "no such cooling is on file for %s (%s)",
                   device->name, device->form_factor);
}
