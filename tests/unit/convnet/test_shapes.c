/* Lists of layers: counts that others published, sizes, and what cannot be. */
#include "tests/unit/convnet/jobs.h"

PW_TEST(presets_have_the_published_weights_and_multiply_adds) {
    static const struct { const char *name; double parameters, multiply_adds; } published[] = {
        {"resnet18", 11689512, 1.814e9},   {"resnet50-v1.5", 25557032, 4.089e9}, {"resnet101-v1.5", 44549160, 7.801e9},
        {"vgg16", 138357544, 15.470e9},    {"alexnet", 61100840, 0.714e9},       {"mobilenet-v1", 4231976, 0.569e9}};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        pw_image_shape shape = shape_of(preset(published[i].name));
        PW_EXPECT_NEAR(shape.parameters, published[i].parameters, 0);
        PW_EXPECT_NEAR(shape.forward_flops, 2 * published[i].multiply_adds, 1e-3);
    }
}

PW_TEST(a_step_takes_three_forward_passes_less_the_gradient_of_the_images) {
    pw_image_shape shape = shape_of(preset("resnet50-v1.5"));
    double first = 2.0 * 112 * 112 * 64 * 147; /* 7 x 7 x 3 to 64 channels */
    PW_EXPECT(!shape.layers[0].wants_gradient && shape.layers[1].wants_gradient);
    PW_EXPECT_NEAR(shape.training_flops, 3 * shape.forward_flops - first, 1e-12);
}

PW_TEST(the_detector_says_four_coordinates_and_81_scores_for_8732_boxes) {
    pw_image_shape shape = shape_of(preset("ssd300-rn50"));
    PW_EXPECT_NEAR(pw_layer_outputs(&shape.layers[shape.count - 1]), 8732 * 85.0, 0);
}

PW_TEST(arrays_are_counted_one_by_one) {
    PW_EXPECT_NEAR(shape_of(preset("resnet50-v1.5")).tensors, 53 * 3 + 2, 0);
    PW_EXPECT_NEAR(shape_of(preset("vgg16")).tensors, 32, 0);
}

/* --- What cannot be ----------------------------------------------------------------------------------------------- */

static pw_status resolve(const pw_one_of *items, uint32_t count, pw_error *error) {
    const pw_image_model_desc model = {.height = 8, .width = 8, .channels = 4, .layers = {items, count}};
    pw_image_shape shape;
    *error = (pw_error){0};
    return pw_image_resolve(&model, arena(), "model.lua", 7, &shape, error);
}

PW_TEST(layers_that_do_not_fit_are_named) {
    pw_error error;
    pw_layer_desc conv = {.name = "a", .channels = 8, .kernel = 3, .stride = 1, .groups = 1};
    pw_layer_desc second = {.name = "b", .channels = 8, .kernel = 3, .stride = 2, .padding = 1, .groups = 1};
    pw_layer_desc add = {.with = "a"};
    const pw_one_of items[] = {{&pw_conv_kind, &conv}, {&pw_conv_kind, &second}, {&pw_add_kind, &add}};
    PW_EXPECT_INT(resolve(items, 3, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "image_model.layers[3].with: 6 x 6 x 8 cannot be added to 3 x 3 x 8");
    add.with = "c";
    PW_EXPECT_INT(resolve(items, 3, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "called \"c\"");
    add.with = "";
    PW_EXPECT_INT(resolve(items, 3, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "at least two");
    second.name = "a";
    PW_EXPECT_INT(resolve(items, 2, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "layer 1 is called \"a\" too");
    second.name = "b";
    second.groups = 3;
    PW_EXPECT_INT(resolve(items, 2, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "layers[2].groups");
    second.groups = 1;
    second.kernel = 11;
    PW_EXPECT_INT(resolve(items, 2, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "11 x 11 does not fit into 6 x 6");
    PW_EXPECT_INT(error.line, 7);
}

PW_TEST(an_output_that_nobody_takes_is_a_mistake) {
    pw_error error;
    pw_layer_desc one = {.name = "a", .channels = 8, .kernel = 1, .stride = 1, .groups = 1};
    pw_layer_desc lost = {.name = "b", .channels = 8, .kernel = 1, .stride = 1, .groups = 1};
    pw_layer_desc last = {.from = "a", .channels = 8, .kernel = 1, .stride = 1, .groups = 1};
    const pw_one_of items[] = {{&pw_conv_kind, &one}, {&pw_conv_kind, &lost}, {&pw_conv_kind, &last}};
    PW_EXPECT_INT(resolve(items, 3, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "layers[2]: nothing takes its output");
    pw_layer_desc pool = {.kernel = 2, .stride = 2};
    const pw_one_of untrained[] = {{&pw_max_pool_kind, &pool}};
    PW_EXPECT_INT(resolve(untrained, 1, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "trained");
}

PW_TEST(maps_of_one_size_are_put_side_by_side_and_others_flattened) {
    pw_layer_desc a = {.name = "a", .channels = 8, .kernel = 1, .stride = 1, .groups = 1};
    pw_layer_desc b = {.name = "b", .from = "a", .channels = 5, .kernel = 1, .stride = 1, .groups = 1};
    pw_layer_desc concat = {.with = "a"};
    const pw_one_of items[] = {{&pw_conv_kind, &a}, {&pw_conv_kind, &b}, {&pw_concat_kind, &concat}};
    const pw_image_model_desc model = {.height = 8, .width = 8, .channels = 4, .layers = {items, 3}};
    pw_image_shape shape = shape_of(&model);
    PW_EXPECT_INT(shape.layers[2].out_channels, 13);
    PW_EXPECT_INT(shape.layers[2].out_height, 8);
    PW_EXPECT_INT(shape.layers[0].uses, 2);
    b.stride = 2;
    shape = shape_of(&model);
    PW_EXPECT_INT(shape.layers[2].out_height, 1);
    PW_EXPECT_INT(shape.layers[2].out_channels, 64 * 8 + 16 * 5);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
