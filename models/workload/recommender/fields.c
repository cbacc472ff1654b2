/* Fields of recommenders for the registry, presets, and the row of a stack. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/recommender/plan.h"
#include "models/workload/stack.h"

static const pw_field width_item = {"width", PW_FIELD_INTEGER, PW_UNIT_NONE, 0, 1, 1048576, .text = "Width of a layer."};

#define AT(field) offsetof(pw_recommender_model_desc, field)
static const pw_field model_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the model, for reports."},
    {"tables", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(tables), 1, 100000, NULL, NULL, NULL, "Embedding tables: categorical features."},
    {"rows", PW_FIELD_NUMBER, PW_UNIT_NONE, AT(rows), 1, 1e15, NULL, NULL, NULL, "Rows of all tables together."},
    {"width", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(width), 1, 65536, NULL, NULL, NULL, "Width of a row."},
    {"lookups", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(lookups), 1, 100000, "1", NULL, NULL,
     "Rows that a sample takes from each table; they are summed."},
    {"dense", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(dense), 1, 1048576, NULL, NULL, NULL, "Dense features of a sample."},
    {"bottom", PW_FIELD_LIST, PW_UNIT_NONE, AT(bottom), 1, 100, NULL, .item = &width_item,
     .text = "Layers of the perceptron of the dense features; the last is as wide as a row."},
    {"top", PW_FIELD_LIST, PW_UNIT_NONE, AT(top), 1, 100, NULL, .item = &width_item,
     .text = "Layers of the perceptron behind the interaction."},
    {NULL}};
#undef AT

static pw_status check_model(const void *description, const char *file, int line, pw_error *error) {
    const pw_recommender_model_desc *model = description;
    int64_t last = ((const int64_t *)model->bottom.items)[model->bottom.count - 1];
    if (last == model->width) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, "its vector meets the tables' in the interaction",
                   "recommender_model.bottom ends with a width of %lld, a row has %lld", (long long)last, (long long)model->width);
}
const pw_kind pw_recommender_model_kind = {"recommender_model", "A recommender with embedding tables and dot interaction (DLRM).",
                                           sizeof(pw_recommender_model_desc), model_fields, check_model};

#define AT(field) offsetof(pw_recommender_desc, field)
static const pw_field recommender_fields[] = {
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, AT(name), 0, 0, "", NULL, NULL, "Name of the job, for reports."},
    {"model", PW_FIELD_POINTER, PW_UNIT_NONE, AT(model), 0, 0, NULL, NULL, &pw_recommender_model_kind, "The model to train."},
    {"batch", PW_FIELD_INTEGER, PW_UNIT_NONE, AT(batch), 1, 1e12, NULL, NULL, NULL, "Samples per step, over all GPUs."},
    {"precision", PW_FIELD_CHOICE, PW_UNIT_NONE, AT(precision), 0, 0, "fp16", pw_precision_names, NULL,
     "Number format of tables, vectors and multiplies; the perceptrons' weights are updated in fp32."},
    {"stack", PW_FIELD_TEXT, PW_UNIT_NONE, AT(stack), 0, 0, "", NULL, NULL,
     "Software stack, a row of the table recommender-stacks; without one, the newest."},
    {NULL}};
#undef AT

static pw_status check_recommender(const void *description, const char *file, int line, pw_error *error) {
    const pw_recommender_desc *desc = description;
    if (desc->precision != PW_PRECISION_FP8 && desc->precision != PW_PRECISION_FP4) return PW_OK;
    return pw_fail(error, PW_UNSUPPORTED, file, line, "choose fp32, tf32, fp16 or bf16",
                   "recommender.precision: recommenders in %s are not modelled", pw_precision_names[desc->precision]);
}
const pw_kind pw_recommender_kind = {"recommender", "Training of a recommender: tables dealt out, perceptrons data parallel.",
                                     sizeof(pw_recommender_desc), recommender_fields, check_recommender};

static pw_status unknown(const pw_table *table, const char *what, const char *name, const char *file, int line, pw_error *error) {
    char hint[500];
    pw_table_names(table, "on file:", hint, sizeof hint);
    return pw_fail(error, PW_NOT_FOUND, file, line, hint, "no %s is called '%s'", what, name);
}

/* Cells hold what --set takes; the widths of a perceptron are separated by spaces. */
pw_status pw_recommender_preset(const pw_catalogue *catalogue, const char *name, pw_recommender_model_desc *model,
                                pw_arena *arena, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "recommenders", &table, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) return unknown(table, "recommender", name, NULL, 0, error);
    PW_TRY(pw_description_defaults(&pw_recommender_model_kind, model, arena, error));
    const char *file = pw_table_file(table);
    int line = pw_table_line(table, (size_t)row);
    for (const pw_field *field = model_fields; field->name; field++) {
        char text[400];
        snprintf(text, sizeof text, "%s", pw_table_text_of(table, (size_t)row, field->name));
        if (!*text) continue;
        for (char *c = text; field->type == PW_FIELD_LIST && *c; c++)
            if (*c == ' ') *c = ',';
        PW_TRY(pw_field_parse(&pw_recommender_model_kind, field, model, text, arena, file, line, error));
    }
    return pw_description_check(&pw_recommender_model_kind, model, file, line, error);
}

pw_status pw_recommender_stack_read(const pw_catalogue *catalogue, const char *name, pw_recommender_stack *stack,
                                    const char *file, int line, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "recommender-stacks", &table, error));
    bool named = name && *name;
    int found = named ? pw_table_find_row(table, name) : (int)pw_table_rows(table) - 1; /* rows are in order of years */
    if (found < 0) return unknown(table, "software stack of recommenders", named ? name : "(newest)", file, line, error);
    size_t row = (size_t)found;
    stack->name = pw_table_text_at(table, row, 0);
    stack->text = pw_table_text_of(table, row, "text");
    stack->source = pw_table_text_of(table, row, "source");
#define READ_NUMBER(column) PW_TRY(pw_table_amount_of(table, row, #column, &stack->column, error));
    PW_RECOMMENDER_NUMBER_MAP(READ_NUMBER)
#undef READ_NUMBER
    return pw_stack_factor(catalogue, stack->name, &stack->kernel_time_factor, error);
}
