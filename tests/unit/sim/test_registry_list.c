/* Laws: a list is filled, checked, shown and overridden item by item, and a shared list is never changed. */
#include "sim/registry.h"

#include "tests/harness/check.h"

typedef struct conv {
    int64_t channels;
    double scale;
} conv;
typedef struct pool {
    int64_t size;
} pool;
typedef struct net {
    pw_list stages, rates, names, modes, layers, bare;
    pw_one_of head, tail;
} net;

static const pw_field conv_fields[] = {
    {"channels", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(conv, channels), 1, 4096, NULL, .text = "Channels out."},
    {"scale", PW_FIELD_NUMBER, PW_UNIT_NONE, offsetof(conv, scale), 0, 8, "1", .text = "Factor."},
    {NULL}};
static pw_status check_conv(const void *description, const char *file, int line, pw_error *error) {
    const conv *it = description;
    return it->channels == 13 ? pw_fail(error, PW_BAD_INPUT, file, line, NULL, "conv.channels 13 is unlucky") : PW_OK;
}
static const pw_kind conv_kind = {"conv", "A convolution.", sizeof(conv), conv_fields, check_conv};
static const pw_field pool_fields[] = {
    {"size", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(pool, size), 1, 9, "2", .text = "Size."}, {NULL}};
static const pw_kind pool_kind = {"pool", "A pooling.", sizeof(pool), pool_fields, NULL};
static const pw_kind norm_kind = {"norm", "Not allowed anywhere.", sizeof(pool), pool_fields, NULL};

static const char *const mode_names[] = {"fast", "exact", NULL};
static const pw_kind *const layer_kinds[] = {&conv_kind, &pool_kind, NULL};
static const pw_field stage = {"stage", PW_FIELD_INTEGER, PW_UNIT_NONE, 0, 1, 100, .text = "Layers of a stage."};
static const pw_field rate = {"rate", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, 0, 0, 1e12, .text = "Rate of a rail."};
static const pw_field name = {"name", PW_FIELD_TEXT, .text = "A name."};
static const pw_field mode = {"mode", PW_FIELD_CHOICE, .choices = mode_names, .text = "A mode."};
static const pw_field layer = {"layer", PW_FIELD_ONE_OF, .kinds = layer_kinds, .text = "A layer."};
#define LIST(field, low, high, preset, of) \
    {#field, PW_FIELD_LIST, PW_UNIT_NONE, offsetof(net, field), low, high, preset, .item = of, .text = "The " #field "."}
static const pw_field net_fields[] = {
    LIST(stages, 1, 4, "", &stage), LIST(rates, 0, 0, "400 Gbps, 200 Gbps", &rate), LIST(names, 0, 0, "", &name),
    LIST(modes, 0, 0, "exact,fast", &mode), LIST(layers, 1, 100, NULL, &layer), LIST(bare, 0, 0, "", &stage),
    {"head", PW_FIELD_ONE_OF, PW_UNIT_NONE, offsetof(net, head), 0, 0, NULL, .kinds = layer_kinds, .text = "The first."},
    {"tail", PW_FIELD_ONE_OF, PW_UNIT_NONE, offsetof(net, tail), 0, 0, "", .kinds = layer_kinds, .text = "The last."},
    {NULL}};
static const pw_kind net_kind = {"net", "A network.", sizeof(net), net_fields, NULL};

static pw_arena *arena;
static pw_error error;
static conv first = {64, 1}, second = {128, 2};
static pool third = {2};

static net make(void) {
    static pw_one_of shared[3];
    net it;
    error = (pw_error){0};
    PW_EXPECT_INT(pw_description_defaults(&net_kind, &it, arena, &error), PW_OK);
    shared[0] = (pw_one_of){&conv_kind, &first};
    shared[1] = (pw_one_of){&conv_kind, &second};
    shared[2] = (pw_one_of){&pool_kind, &third};
    it.layers = (pw_list){shared, 3};
    it.head = shared[0];
    return it;
}
static pw_status set(net *it, const char *path, const char *text) {
    return pw_description_set_path(&net_kind, it, path, text, arena, &error);
}
static int64_t whole_at(pw_list list, uint32_t i) { return ((const int64_t *)list.items)[i]; }

PW_TEST(a_list_has_a_default_or_none) {
    net it = make();
    PW_EXPECT(it.stages.items == NULL && it.stages.count == 0);
    PW_EXPECT_INT(it.rates.count, 2);
    PW_EXPECT_NEAR(((const double *)it.rates.items)[1], 25e9, 0);
    PW_EXPECT(((const int *)it.modes.items)[0] == 1 && ((const int *)it.modes.items)[1] == 0);
    PW_EXPECT_INT(pw_description_check(&net_kind, &it, "a.lua", 3, &error), PW_OK);
    it.layers = (pw_list){NULL, 0};
    PW_EXPECT_INT(pw_description_check(&net_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.layers is missing");
    it = make();
    it.head = (pw_one_of){NULL, NULL};
    PW_EXPECT_INT(pw_description_check(&net_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.head is missing");
}
PW_TEST(a_list_is_set_as_text) {
    net it = make();
    PW_EXPECT_INT(set(&it, "stages", "12,14, 14 ,12"), PW_OK);
    PW_EXPECT_INT(it.stages.count, 4);
    PW_EXPECT(whole_at(it.stages, 0) == 12 && whole_at(it.stages, 2) == 14 && whole_at(it.stages, 3) == 12);
    PW_EXPECT_INT(set(&it, "names", "a, b c"), PW_OK);
    PW_EXPECT_TEXT(((const char *const *)it.names.items)[1], "b c");
    PW_EXPECT_INT(set(&it, "rates", "1 GB/s"), PW_OK);
    PW_EXPECT_INT(it.rates.count, 1);
    PW_EXPECT_INT(set(&it, "modes", "fast"), PW_OK);
    PW_EXPECT_INT(set(&it, "stages", ""), PW_OK); /* optional: not given again */
    PW_EXPECT(it.stages.items == NULL);
}
PW_TEST(items_are_counted_from_one) {
    net it = make();
    PW_EXPECT_INT(set(&it, "stages", "1,2,3"), PW_OK);
    pw_list before = it.stages;
    PW_EXPECT_INT(set(&it, "stages[3]", "9"), PW_OK);
    PW_EXPECT(whole_at(it.stages, 2) == 9 && whole_at(it.stages, 0) == 1 && whole_at(before, 2) == 3);
    PW_EXPECT_INT(set(&it, "stages[0]", "9"), PW_BAD_INPUT);
    PW_EXPECT_INT(set(&it, "stages[4]", "9"), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "stages[4]: net.stages has 3 items, none is [4]");
    PW_EXPECT_CONTAINS(error.hint, "counted from 1; the last is [3]");
}
PW_TEST(a_field_of_an_item_is_set_in_a_copy) {
    net it = make(), other = make();
    PW_EXPECT_INT(set(&it, "layers[2].channels", "256"), PW_OK);
    const pw_one_of *items = it.layers.items;
    PW_EXPECT_INT(((const conv *)items[1].record)->channels, 256);
    PW_EXPECT_NEAR(((const conv *)items[1].record)->scale, 2, 0);
    PW_EXPECT_INT(second.channels, 128);
    PW_EXPECT_INT(((const conv *)((const pw_one_of *)other.layers.items)[1].record)->channels, 128);
    PW_EXPECT_INT(set(&it, "layers[3].size", "3"), PW_OK);
    PW_EXPECT_INT(set(&it, "head.channels", "32"), PW_OK);
    PW_EXPECT_INT(((const conv *)it.head.record)->channels, 32);
    PW_EXPECT_INT(first.channels, 64);
}
PW_TEST(mistakes_name_the_item_and_change_nothing) {
    static const struct {
        const char *path, *text, *what, *hint;
    } cases[] = {
        {"stages", "12,0,14", "net.stages[2] is 0, must be between 1 and 100", "Layers of a stage."},
        {"stages", "12,x", "net.stages[2]: 'x' is not a number", "write for example 8"},
        {"stages", "12,,14", "net.stages[2]", ""},
        {"stages", "1,2,3,4,5", "net.stages has 5 items, must have between 1 and 4", "The stages."},
        {"rates", "400", "net.rates[1] needs a unit of bytes/s", "400 Gbps"},
        {"modes", "fast,exakt", "net.modes[2] has no choice 'exakt'", "did you mean 'exact'?"},
        {"layers", "3", "net.layers is a list of records, not one value", "layers[1].channels"},
        {"layers[1]", "3", "net.layers[1] is a group of fields", ""},
        {"layers.channels", "3", "net.layers is a list and has no fields", "say which item: layers[1]"},
        {"layers[1].chanels", "3", "conv has no field 'chanels'", "did you mean 'channels'?"},
        {"layers[3].channels", "3", "pool has no field 'channels'", ""},
        {"layers[9].size", "3", "net.layers has 3 items", ""},
        {"layers[1", "3", "not a path", "layers[3]"},
        {"layers[x].size", "3", "not a path", ""},
        {"layers[1]x", "3", "not a path", ""},
        {"layers[1].", "3", "not a path", ""},
        {"layers[1][2]", "3", "not a path", ""},
        {"head[1]", "3", "net.head is no list", ""},
        {"head", "3", "net.head is a group of fields", ""},
        {"tail.size", "3", "net.tail is not given", "say in the file which kind: tail = o."},
        {"stages[1]", "3", "net.stages has 0 items, none is [1]", "write the list in the file first"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        net it = make(), same = it;
        error = (pw_error){0};
        if (set(&it, cases[i].path, cases[i].text) != PW_BAD_INPUT) PW_FAILED("no error for %s", cases[i].path);
        PW_EXPECT_CONTAINS(error.what, cases[i].what);
        PW_EXPECT_CONTAINS(error.hint, cases[i].hint);
        same.layers.items = it.layers.items; /* may be a copy */
        PW_EXPECT(memcmp(&it, &same, sizeof it) == 0);
        PW_EXPECT(first.channels == 64 && third.size == 2);
    }
}
PW_TEST(the_check_goes_through_the_items) {
    net it = make();
    static const int64_t wrong[] = {1, 200};
    it.stages = (pw_list){wrong, 2};
    PW_EXPECT_INT(pw_description_check(&net_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.stages[2] is 200, must be between 1 and 100");
    static const int64_t missing[] = {INT64_MIN};
    it.stages = (pw_list){missing, 1};
    PW_EXPECT_INT(pw_description_check(&net_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.stages[1] is missing");
    it = make();
    conv unlucky = {13, 1};
    const pw_one_of items[] = {{&conv_kind, &first}, {&conv_kind, &unlucky}}, strange[] = {{&norm_kind, &third}}, none[] = {{NULL, NULL}};
    it.layers = (pw_list){items, 2};
    PW_EXPECT_INT(pw_description_check(&net_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "unlucky");
    it.layers = (pw_list){strange, 1};
    PW_EXPECT_INT(pw_description_check(&net_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.layers[1] cannot be a norm");
    it.layers = (pw_list){none, 1};
    PW_EXPECT_INT(pw_description_check(&net_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.layers[1] is missing");
    it.layers = (pw_list){items, 0}; /* given, but empty */
    PW_EXPECT_INT(pw_description_check(&net_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.layers has 0 items, must have between 1 and 100");
}
PW_TEST(setters_take_the_permitted_kinds_only) {
    net it = make();
    const pw_field *head = pw_kind_field(&net_kind, "head"), *stages = pw_kind_field(&net_kind, "stages");
    PW_EXPECT_INT(pw_field_set_record(&net_kind, head, &it, (pw_one_of){&norm_kind, &third}, "a.lua", 7, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.head takes a conv or pool, not a norm");
    PW_EXPECT_INT(pw_field_set_record(&net_kind, stages, &it, (pw_one_of){&conv_kind, &first}, "a.lua", 7, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.stages takes a list of whole numbers, not a conv");
    PW_EXPECT_INT(pw_field_set_number(&net_kind, stages, &it, 4, false, PW_UNIT_NONE, "a.lua", 7, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.stages takes a list of whole numbers, not a number");
    PW_EXPECT_CONTAINS(error.hint, "write stages = { 8, ... }");
    void *items;
    PW_EXPECT_INT(pw_field_set_list(&net_kind, head, &it, 2, arena, "a.lua", 7, &items, &error), PW_BAD_INPUT);
    PW_EXPECT_INT(pw_field_set_list(&net_kind, pw_kind_field(&net_kind, "bare"), &it, PW_LIST_MOST + 1, arena, "a.lua", 7,
                                    &items, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "net.bare has 1000001 items, must have between 0 and 1000000");
    PW_EXPECT_INT(pw_field_set_list(&net_kind, stages, &it, 2, arena, "a.lua", 7, &items, &error), PW_OK);
    PW_EXPECT(whole_at(it.stages, 1) == INT64_MIN); /* not given yet */
}
PW_TEST(ranges_and_wants_read_as_text) {
    char text[256];
    PW_EXPECT_TEXT(pw_field_range_text(pw_kind_field(&net_kind, "stages"), text, sizeof text),
                   "1 to 4 items, each between 1 and 100");
    PW_EXPECT_TEXT(pw_field_range_text(pw_kind_field(&net_kind, "bare"), text, sizeof text), "each between 1 and 100");
    PW_EXPECT_TEXT(pw_field_range_text(pw_kind_field(&net_kind, "layers"), text, sizeof text), "1 to 100 items");
    PW_EXPECT_TEXT(pw_field_range_text(pw_kind_field(&net_kind, "names"), text, sizeof text), "");
    PW_EXPECT_TEXT(pw_field_wanted_text(pw_kind_field(&net_kind, "layers"), text, sizeof text), "a list of a conv or pool");
}
PW_TEST(each_failing_allocation_is_reported) {
    for (unsigned long long fail_at = 1; fail_at <= 6; fail_at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        pw_arena *small = pw_arena_create(&counting.allocator);
        counting.fail_at = counting.calls + fail_at;
        net it = make();
        pw_status status = PW_OK;
        for (int i = 0; status == PW_OK && i < 3000; i++) {
            status = pw_description_set_path(&net_kind, &it, "layers[1].channels", "4", small, &error);
            if (status == PW_OK) status = pw_description_set_path(&net_kind, &it, "names", "a,b,c", small, &error);
        }
        PW_EXPECT(status == PW_NO_MEMORY || counting.calls < counting.fail_at);
        if (fail_at == 1) PW_EXPECT_INT(status, PW_NO_MEMORY);
        pw_arena_destroy(small);
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
}

int main(int argc, char **argv) {
    arena = pw_arena_create(NULL);
    int failed = pw_run_tests(argc, argv);
    pw_arena_destroy(arena);
    return failed;
}
