/* Models by name: a row of the table convnets, and its layers in the order of the table convnet-layers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/workload/convnet/convnet.h"

static const struct { const char *name; const pw_kind *kind; } kinds[] = {
    {"conv", &pw_conv_kind}, {"max_pool", &pw_max_pool_kind}, {"mean_pool", &pw_mean_pool_kind}, {"dense", &pw_dense_kind},
    {"add", &pw_add_kind},   {"concat", &pw_concat_kind},     {"norm", &pw_norm_kind}};

/* Fields of a description from the cells of a row with the same names; an empty cell is the default. */
static pw_status read_fields(const pw_kind *kind, const pw_table *table, size_t row, const char *skip, void *description,
                             pw_arena *arena, pw_error *error) {
    PW_TRY(pw_description_defaults(kind, description, arena, error));
    const char *file = pw_table_file(table);
    int line = pw_table_line(table, row);
    for (const pw_field *field = kind->fields; field->name; field++) {
        if (pw_table_find_column(table, field->name) < 0 || !strcmp(field->name, skip)) continue;
        const char *text = pw_table_text_of(table, row, field->name);
        if (!*text) continue;
        if (field->type == PW_FIELD_BOOL)
            PW_TRY(pw_field_set_bool(kind, field, description, pw_table_number_of(table, row, field->name) != 0, file, line, error));
        else
            PW_TRY(pw_field_parse(kind, field, description, text, arena, file, line, error));
    }
    return PW_OK;
}

static pw_status read_layer(const pw_table *table, size_t row, const char *name, pw_arena *arena, pw_one_of *item,
                            pw_error *error) {
    const char *text = pw_table_text_of(table, row, "kind");
    size_t k = 0, count = sizeof kinds / sizeof *kinds;
    while (k < count && strcmp(kinds[k].name, text) != 0) k++;
    if (k == count)
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row),
                       "kinds: conv max_pool mean_pool dense add concat norm", "no kind of layer is called '%s'", text);
    pw_layer_desc *layer = pw_arena_alloc(arena, sizeof *layer);
    if (!layer) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a model");
    memset(layer, 0, sizeof *layer);
    PW_TRY(read_fields(kinds[k].kind, table, row, "name", layer, arena, error));
    layer->name = name;
    *item = (pw_one_of){kinds[k].kind, layer};
    return pw_description_check(kinds[k].kind, layer, pw_table_file(table), pw_table_line(table, row), error);
}

/* The name of a row of the layers that belongs to the model, behind the slash; NULL: it does not. */
static const char *layer_of(const pw_table *layers, size_t row, const char *model) {
    if (strcmp(pw_table_text_of(layers, row, "network"), model) != 0) return NULL;
    const char *name = pw_table_text_at(layers, row, 0), *slash = strchr(name, '/');
    return slash ? slash + 1 : name;
}

pw_status pw_image_model_preset(const pw_catalogue *catalogue, const char *name, pw_image_model_desc *model, pw_arena *arena,
                                pw_error *error) {
    const pw_table *table, *layers;
    PW_TRY(pw_catalogue_need(catalogue, "convnets", &table, error));
    PW_TRY(pw_catalogue_need(catalogue, "convnet-layers", &layers, error));
    int row = pw_table_find_row(table, name);
    if (row < 0) {
        char hint[500];
        pw_table_names(table, "convolutional networks:", hint, sizeof hint);
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, hint, "no image model is called '%s'", name);
    }
    PW_TRY(read_fields(&pw_image_model_kind, table, (size_t)row, "layers", model, arena, error));
    const char *own = pw_table_text_at(table, (size_t)row, 0);
    uint32_t count = 0;
    for (size_t i = 0; i < pw_table_rows(layers); i++) count += layer_of(layers, i, own) != NULL;
    pw_one_of *items = pw_arena_alloc(arena, (count + 1) * sizeof *items);
    if (!items) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a model");
    model->layers = (pw_list){items, 0};
    for (size_t i = 0; i < pw_table_rows(layers); i++) {
        const char *layer = layer_of(layers, i, own);
        if (layer) PW_TRY(read_layer(layers, i, layer, arena, &items[model->layers.count++], error));
    }
    return pw_description_check(&pw_image_model_kind, model, pw_table_file(table), pw_table_line(table, (size_t)row), error);
}
