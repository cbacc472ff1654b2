/* Rows of cooling-plants, and what a user may say of a plant. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "models/cooling/plant_internal.h"

#define AT(field) offsetof(pw_plant_desc, field)
static const pw_field plant_fields[] = {
    {"type", PW_FIELD_TEXT, PW_UNIT_NONE, AT(type), 0, 0, NULL, NULL, NULL, "a plant of the catalogue (`podwright catalogue cooling-plants`), e.g. \"warm-water towers\""},
    {"liquid_supply", PW_FIELD_NUMBER, PW_UNIT_CELSIUS, AT(liquid_supply_C), 5, 60, "", NULL, NULL, "set point of the liquid that goes to racks; else the row's"},
    {"air_supply", PW_FIELD_NUMBER, PW_UNIT_CELSIUS, AT(air_supply_C), 10, 45, "", NULL, NULL, "set point of the air that goes to racks; else the row's"},
    {"design", PW_FIELD_NUMBER, PW_UNIT_WATTS, AT(design_W), 1e3, 1e11, "", NULL, NULL, "heat that the plant is built for; else the most that the site can make"},
    {"economiser", PW_FIELD_BOOL, PW_UNIT_NONE, AT(economiser), 0, 0, "true", NULL, NULL, "cool without chillers as far as the weather allows"},
    {NULL}};
const pw_kind pw_plant_kind = {"plant", "A cooling plant: what takes the heat of a site outside.", sizeof(pw_plant_desc), plant_fields, NULL};

const char *const pw_plant_part_names[] = {"cdu_pumps", "loop_pumps", "chilled_pumps", "condenser_pumps", "fans", "chillers", "air_fans", NULL};

static const char *const rejections[] = {"none", "tower", "dry", NULL}, *const airs[] = {"none", "air_handler", "rear_door", NULL},
                         *const frees[] = {"none", "water", "outside", NULL}, *const served[] = {"none", "air", "both", NULL};

static pw_status choice(const pw_table *table, size_t at, const char *column, const char *const *names, int *value, pw_error *error) {
    const char *text = pw_table_text_of(table, at, column);
    for (*value = 0; names[*value]; ++*value)
        if (!strcmp(names[*value], text)) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, at), NULL, "column '%s': '%s' is none of its words", column, text);
}

pw_status plant_find_row(const pw_catalogue *catalogue, const char *name, plant_row *row, pw_error *error) {
    const pw_table *table;
    char names[768];
    PW_TRY(pw_catalogue_need(catalogue, "cooling-plants", &table, error));
    int found = pw_table_find_row(table, name ? name : "");
    if (found < 0) return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "plants:", names, sizeof names), "there is no cooling plant '%s'", name ? name : "");
    size_t at = (size_t)found;
    *row = (plant_row){.name = pw_table_text_of(table, at, "name"), .text = pw_table_text_of(table, at, "text"), .provenance = pw_table_text_of(table, at, "provenance"),
                       .source = pw_table_text_of(table, at, "source"), .chiller = pw_table_text_of(table, at, "chiller")};
    int rejection, air, free_way, serves;
    PW_TRY(choice(table, at, "rejection", rejections, &rejection, error));
    PW_TRY(choice(table, at, "air", airs, &air, error));
    PW_TRY(choice(table, at, "free", frees, &free_way, error));
    PW_TRY(choice(table, at, "serves", served, &serves, error));
    row->rejection = (plant_rejection)rejection;
    row->air = (plant_air)air;
    row->free = (plant_free)free_way;
    row->serves = (plant_serves)serves;
    double liquid, shared;
    const struct { const char *column; double *value; } amounts[] = {
        {"liquid", &liquid}, {"liquid_supply", &row->liquid_supply_C}, {"rack_rise", &row->rack_rise_K}, {"cdu_effectiveness", &row->cdu_effectiveness},
        {"cdu_pump", &row->cdu_pump}, {"cdu_least", &row->cdu_least}, {"loop_rise", &row->loop_rise_K}, {"loop_pump", &row->loop_pump},
        {"loop_least", &row->loop_least}, {"exchanger", &row->exchanger}, {"condenser_pump", &row->condenser_pump},
        {"condenser_least", &row->condenser_least}, {"outside", &row->outside_C}, {"approach", &row->approach_K}, {"range", &row->range_K},
        {"air_per_water", &row->air_per_water}, {"fan", &row->fan}, {"natural", &row->natural}, {"outlet_least", &row->outlet_least_C}, {"cycles", &row->cycles},
        {"drift", &row->drift}, {"shared_loop", &shared}, {"air_supply", &row->air_supply_C}, {"air_rise", &row->air_rise_K}, {"air_fan", &row->air_fan},
        {"air_least", &row->air_least}, {"coil_approach", &row->coil_approach_K}, {"chilled_rise", &row->chilled_rise_K}, {"chilled_pump", &row->chilled_pump},
        {"chilled_least", &row->chilled_least}, {"adiabatic", &row->adiabatic}, {"chiller_size", &row->chiller_size}, {"mass", &row->mass_s}};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) PW_TRY(pw_table_amount_of(table, at, amounts[i].column, amounts[i].value, error));
    row->approach_set_K = pw_table_number_of(table, at, "approach_set");
    row->takes_liquid = liquid != 0;
    row->air_on_liquid_loop = shared != 0;
    bool rejects = row->rejection != REJECT_NONE, chills = *row->chiller != '\0';
    const char *wrong = !row->takes_liquid && row->air == AIR_NONE ? "it takes no heat"
                        : row->takes_liquid && !(row->rack_rise_K > 0 && row->loop_rise_K > 0 && row->cdu_effectiveness > 0 && row->cdu_effectiveness <= 1) ? "liquid needs rises and an effectiveness between 0 and 1"
                        : row->air != AIR_NONE && !(row->air_rise_K > 0 && row->chilled_rise_K > 0) ? "air needs rises"
                        : row->exchanger > 1 || row->adiabatic > 1 ? "a share is above 1"
                        : chills != (row->serves != SERVES_NONE) ? "a chiller needs someone to serve"
                        : row->takes_liquid && !rejects && row->serves != SERVES_BOTH ? "liquid has no way out"
                        : row->air != AIR_NONE && !rejects && !chills && row->free != FREE_OUTSIDE ? "air has no way out"
                        : row->free == FREE_WATER && !rejects ? "free cooling with water needs towers or dry coolers"
                        : row->rejection == REJECT_TOWER && !(row->cycles > 1) ? "cycles of concentration must be above 1"
                        : row->air_on_liquid_loop && !row->takes_liquid ? "a shared loop needs liquid" : NULL;
    if (wrong) return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, at), NULL, "plant '%s': %s", row->name, wrong);
    return PW_OK;
}
