#include "sim/registry.h"

#include "tests/harness/check.h"

typedef struct engine {
    double bandwidth_Bps;
    int64_t lanes;
} engine;
typedef struct wheel {
    double radius;
    const engine *engine;
} wheel;
typedef struct car {
    int64_t doors;
    double range_bytes, note;
    bool open;
    const char *name;
    int colour;
    wheel wheel;
    engine *engine, *spare;
    int64_t extra, memory;
} car;

static const char *const colours[] = {"red", "green", "blue", NULL};
static const pw_field engine_fields[] = {
    {"bandwidth", PW_FIELD_NUMBER, PW_UNIT_BYTES_PER_SECOND, offsetof(engine, bandwidth_Bps), 1, 1e15, "400 Gbps", NULL, NULL, "How fast."},
    {"lanes", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(engine, lanes), 1, 16, NULL, NULL, NULL, "How many lanes."},
    {NULL}};
static const pw_kind engine_kind = {"engine", "What drives it.", sizeof(engine), engine_fields, NULL};
static const pw_field wheel_fields[] = {
    {"radius", PW_FIELD_NUMBER, PW_UNIT_NONE, offsetof(wheel, radius), 0, (double)INFINITY, "0.5", NULL, NULL, "Size."},
    {NULL}};
static pw_status check_wheel(const void *description, const char *file, int line, pw_error *error) {
    const wheel *it = description;
    if (it->radius != 13) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, file, line, NULL, "13 is unlucky");
}
static const pw_kind wheel_kind = {"wheel", "Round.", sizeof(wheel), wheel_fields, check_wheel};
static const pw_field car_fields[] = {
    {"doors", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(car, doors), 1, 8, NULL, NULL, NULL, "Number of doors."},
    {"range", PW_FIELD_NUMBER, PW_UNIT_BYTES, offsetof(car, range_bytes), 0, 0, "80 GB", NULL, NULL, "Size of the map."},
    {"note", PW_FIELD_NUMBER, PW_UNIT_NONE, offsetof(car, note), 0, 0, "", NULL, NULL, "Optional."},
    {"open", PW_FIELD_BOOL, PW_UNIT_NONE, offsetof(car, open), 0, 0, "true", NULL, NULL, "No roof."},
    {"name", PW_FIELD_TEXT, PW_UNIT_NONE, offsetof(car, name), 0, 0, "beetle", NULL, NULL, "Its name."},
    {"colour", PW_FIELD_CHOICE, PW_UNIT_NONE, offsetof(car, colour), 0, 0, "green", colours, NULL, "Paint."},
    {"wheel", PW_FIELD_RECORD, PW_UNIT_NONE, offsetof(car, wheel), 0, 0, NULL, NULL, &wheel_kind, "All four."},
    {"engine", PW_FIELD_POINTER, PW_UNIT_NONE, offsetof(car, engine), 0, 0, NULL, NULL, &engine_kind, "Its engine."},
    {"spare", PW_FIELD_POINTER, PW_UNIT_NONE, offsetof(car, spare), 0, 0, "", NULL, &engine_kind, "Another."},
    {"extra", PW_FIELD_INTEGER, PW_UNIT_NONE, offsetof(car, extra), 4, 9, "", NULL, NULL, "Optional."},
    {"memory", PW_FIELD_INTEGER, PW_UNIT_BYTES, offsetof(car, memory), 0, 1e12, "2 MiB", NULL, NULL, "A buffer."},
    {NULL}};
static const pw_kind car_kind = {"car", "Drives.", sizeof(car), car_fields, NULL};

static pw_arena *arena;
static pw_error error;

static car make(void) {
    car it;
    if (!arena) arena = pw_arena_create(NULL);
    PW_EXPECT_INT(pw_description_defaults(&car_kind, &it, arena, &error), PW_OK);
    return it;
}

PW_TEST(defaults_fill_every_field_and_required_ones_show) {
    car it = make();
    PW_EXPECT(it.doors == INT64_MIN && it.range_bytes == 80e9 && isnan(it.note) && it.open);
    PW_EXPECT_TEXT(it.name, "beetle");
    PW_EXPECT(it.colour == 1 && it.wheel.radius == 0.5 && !it.engine && !it.spare && it.extra == 0);
    PW_EXPECT_INT(it.memory, 2 << 20);
}

PW_TEST(the_check_finds_missing_fields_bad_values_and_inner_records) {
    car it = make();
    engine motor = {5e10, 4};
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "car.doors is missing");
    PW_EXPECT(error.line == 3 && strcmp(error.file, "a.lua") == 0);
    it.doors = 4;
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "car.engine is missing");
    it.engine = &motor;
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, "a.lua", 3, &error), PW_OK);
    motor.lanes = 17;
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "engine.lanes is 17, must be between 1 and 16");
    motor.lanes = 4;
    it.wheel.radius = 13;
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, "a.lua", 9, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "13 is unlucky");
    it.wheel.radius = 1;
    it.extra = 3; /* 0 is "not given", 3 is out of range */
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, NULL, 0, &error), PW_BAD_INPUT);
    it.extra = 4;
    it.colour = 3;
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, NULL, 0, &error), PW_BAD_INPUT);
    it.colour = 2;
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, NULL, 0, &error), PW_OK);
}

PW_TEST(a_field_with_a_default_is_never_absent) {
    car it = make();
    engine motor = {5e10, 4};
    it.doors = 4;
    it.engine = &motor;
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, NULL, 0, &error), PW_OK);
    it.colour = -1;
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "car.colour is missing");
    it.colour = 0;
    it.range_bytes = (double)NAN;
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "car.range is missing");
    it.range_bytes = 1;
    it.note = (double)NAN; /* optional, without a default */
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, NULL, 0, &error), PW_OK);
}

static pw_status set(car *it, const char *path, const char *text) {
    return pw_description_set_path(&car_kind, it, path, text, arena, &error);
}

PW_TEST(paths_set_any_scalar) {
    car it = make();
    PW_EXPECT_INT(set(&it, "doors", "5"), PW_OK);
    PW_EXPECT_INT(set(&it, "range", "1.5 TB"), PW_OK);
    PW_EXPECT_INT(set(&it, "memory", "64KiB"), PW_OK);
    PW_EXPECT_INT(set(&it, "open", "false"), PW_OK);
    PW_EXPECT_INT(set(&it, "name", "a long name"), PW_OK);
    PW_EXPECT_INT(set(&it, "colour", "blue"), PW_OK);
    PW_EXPECT_INT(set(&it, "wheel.radius", "2.5"), PW_OK);
    PW_EXPECT(it.doors == 5 && it.range_bytes == 1.5e12 && it.memory == 65536 && !it.open && it.colour == 2 && it.wheel.radius == 2.5);
    PW_EXPECT_TEXT(it.name, "a long name");
}

PW_TEST(an_override_does_not_change_a_shared_preset) {
    engine preset = {5e10, 4};
    car one = make(), two = make();
    one.engine = two.engine = &preset;
    PW_EXPECT_INT(set(&one, "engine.bandwidth", "800 Gbps"), PW_OK);
    PW_EXPECT(one.engine->bandwidth_Bps == 1e11 && one.engine->lanes == 4);
    PW_EXPECT(two.engine->bandwidth_Bps == 5e10 && preset.bandwidth_Bps == 5e10);
}

PW_TEST(an_override_makes_a_record_that_was_left_out) {
    car it = make();
    PW_EXPECT_INT(set(&it, "spare.lanes", "4"), PW_OK);
    PW_EXPECT(it.spare && it.spare->lanes == 4 && it.spare->bandwidth_Bps == 5e10);
    it = make();
    it.doors = 4;
    PW_EXPECT_INT(set(&it, "engine.bandwidth", "1 Gbps"), PW_OK);
    PW_EXPECT_INT(pw_description_check(&car_kind, &it, "a.lua", 3, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "engine.lanes is missing"); /* what has no default is still asked for */
}

static void expect_error(car *it, const char *path, const char *text, const char *what, const char *hint) {
    car before = *it;
    PW_EXPECT_INT(set(it, path, text), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, what);
    PW_EXPECT_CONTAINS(error.hint, hint);
    PW_EXPECT(memcmp(&before, it, sizeof before) == 0);
}

PW_TEST(a_refused_override_leaves_no_record_behind) {
    car it = make();
    it.spare = NULL;
    expect_error(&it, "spare.lanes", "many", "lanes", "");
    expect_error(&it, "spare.lnaes", "4", "no field 'lnaes'", "lanes");
    PW_EXPECT(it.spare == NULL);
}

PW_TEST(errors_say_what_is_allowed_and_what_was_meant) {
    car it = make();
    expect_error(&it, "door", "4", "car has no field 'door'", "did you mean 'doors'?");
    expect_error(&it, "quux", "4", "no field 'quux'", "doors, range, note");
    expect_error(&it, "wheel.raduis", "4", "wheel.raduis: wheel has no field 'raduis'", "did you mean 'radius'?");
    expect_error(&it, "wheel", "4", "car.wheel is a group", "radius");
    expect_error(&it, "doors.x", "4", "car.doors is one value", "");
    expect_error(&it, "", "4", "not a path", "field.field");
    expect_error(&it, "wheel.", "4", "not a path", "");
    expect_error(&it, "doors", "0", "car.doors is 0, must be between 1 and 8", "Number of doors.");
    expect_error(&it, "doors", "2.5", "whole number, not 2.5", "");
    expect_error(&it, "doors", "4 GB", "takes a plain number, not bytes", "write for example 8");
    expect_error(&it, "doors", "four", "'four' is not a number", "write for example 8");
    expect_error(&it, "doors", "99999999999999999999", "car.doors is 100000000000000000000, must be between 1 and 8", "");
    expect_error(&it, "doors", "9223372036854775807", "car.doors is 9223372036854775807, must", "");
    expect_error(&it, "doors", "-9223372036854775808", "car.doors is -9223372036854775808, must", "");
    expect_error(&it, "doors", "1e18", "car.doors is 1000000000000000000, must be between 1 and 8", "");
    expect_error(&it, "doors", "1e300", "car.doors is 1e+300, must be between 1 and 8", "");
    expect_error(&it, "memory", "9 EB", "there is no unit 'EB'", "");
    expect_error(&it, "range", "80", "car.range needs a unit of bytes", "write for example 80 GB");
    expect_error(&it, "range", "80 Gbps", "car.range is in bytes, not in bytes/s", "write for example 80 GB");
    expect_error(&it, "range", "80 Gb", "there is no unit 'Gb'", "did you mean 'GB'?");
    expect_error(&it, "range", "80 parsec", "there is no unit 'parsec'", "units of bytes are B, kB");
    expect_error(&it, "open", "maybe", "true or false, not 'maybe'", "");
    expect_error(&it, "colour", "gren", "car.colour has no choice 'gren'", "did you mean 'green'?");
    expect_error(&it, "colour", "violet", "no choice 'violet'", "choose one of: red, green, blue");
}

PW_TEST(setters_check_type_and_unit) {
    car it = make();
    const pw_field *doors = pw_kind_field(&car_kind, "doors"), *range = pw_kind_field(&car_kind, "range");
    const pw_field *name = pw_kind_field(&car_kind, "name"), *open = pw_kind_field(&car_kind, "open");
    PW_EXPECT(pw_kind_field(&car_kind, "nothing") == NULL);
    PW_EXPECT_INT(pw_field_set_number(&car_kind, doors, &it, 4, false, PW_UNIT_NONE, "a.lua", 8, &error), PW_OK);
    PW_EXPECT_INT(it.doors, 4);
    PW_EXPECT_INT(pw_field_set_number(&car_kind, range, &it, 4, false, PW_UNIT_NONE, "a.lua", 8, &error), PW_BAD_INPUT);
    char text[2048];
    PW_EXPECT_TEXT(pw_error_text(&error, text, sizeof text), "a.lua:8: car.range needs a unit of bytes\nhint: write for example 80 * u.GB");
    PW_EXPECT_INT(pw_field_set_number(&car_kind, range, &it, NAN, true, PW_UNIT_BYTES, "a.lua", 8, &error), PW_BAD_INPUT);
    PW_EXPECT_INT(pw_field_set_number(&car_kind, name, &it, 4, false, PW_UNIT_NONE, "a.lua", 8, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "car.name takes a text, not a number");
    PW_EXPECT_INT(pw_field_set_text(&car_kind, doors, &it, "four", arena, "a.lua", 8, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "car.doors takes a whole number, not the text 'four'");
    PW_EXPECT_INT(pw_field_set_bool(&car_kind, doors, &it, true, "a.lua", 8, &error), PW_BAD_INPUT);
    PW_EXPECT_INT(pw_field_set_bool(&car_kind, open, &it, false, "a.lua", 8, &error), PW_OK);
    PW_EXPECT(!it.open);
}

PW_TEST(whole_numbers_keep_all_64_bits) {
    static const pw_field field = {"big", PW_FIELD_INTEGER, PW_UNIT_NONE, 0, 0, 0, NULL, NULL, NULL, ""};
    int64_t value;
    PW_EXPECT_INT(pw_field_parse(&car_kind, &field, &value, "9007199254740993", NULL, NULL, 0, &error), PW_OK);
    PW_EXPECT_INT(value, 9007199254740993);
    PW_EXPECT_INT(pw_field_parse(&car_kind, &field, &value, "1e6", NULL, NULL, 0, &error), PW_OK);
    PW_EXPECT_INT(value, 1000000);
}

static void expect_unit(const char *text, pw_unit want, double value) {
    double got;
    bool has_unit;
    pw_unit unit;
    PW_EXPECT_INT(pw_unit_parse(text, want, &got, &has_unit, &unit, &error), PW_OK);
    if (got != value || unit != want || !has_unit) PW_FAILED("'%s' is %.17g of unit %d", text, got, unit);
}

PW_TEST(units_are_read_in_every_spelling) {
    expect_unit("400 Gbps", PW_UNIT_BYTES_PER_SECOND, 50e9);
    expect_unit("  450GB/s ", PW_UNIT_BYTES_PER_SECOND, 450e9);
    expect_unit("3.35 TBps", PW_UNIT_BYTES_PER_SECOND, 3.35 * 1e12);
    expect_unit("989 TFLOP/s", PW_UNIT_FLOPS, 989e12);
    expect_unit("989 TFLOPs", PW_UNIT_FLOPS, 989e12);
    expect_unit("1 FLOP/s", PW_UNIT_FLOPS, 1);
    expect_unit("2 h", PW_UNIT_SECONDS, 7200);
    expect_unit("10 \xc2\xb5s", PW_UNIT_SECONDS, 10 * 1e-6);
    expect_unit("-5 degC", PW_UNIT_CELSIUS, -5);
    for (const pw_unit_name *name = pw_unit_names(); name->name; name++) {
        char text[64];
        snprintf(text, sizeof text, "3 %s", name->name);
        expect_unit(text, name->unit, 3 * name->factor);
        PW_EXPECT(name->text && name->factor > 0);
    }
}

PW_TEST(a_number_that_its_unit_makes_infinite_is_refused) {
    for (const pw_unit_name *name = pw_unit_names(); name->name; name++)
        for (int negative = 0; negative < 2; negative++) {
            char text[64];
            double value;
            bool has_unit;
            pw_unit unit;
            error = (pw_error){0};
            snprintf(text, sizeof text, "%s1.7e308 %s", negative ? "-" : "", name->name);
            pw_status status = pw_unit_parse(text, name->unit, &value, &has_unit, &unit, &error);
            PW_EXPECT_INT(status, name->factor > 1.05 ? PW_BAD_INPUT : PW_OK);
            if (status != PW_OK) PW_EXPECT_CONTAINS(error.what, "too large");
        }
}

static void expect_shown(double value, pw_unit unit, const char *shown) {
    char text[64];
    PW_EXPECT_TEXT(pw_unit_format(value, unit, text, sizeof text), shown);
}

PW_TEST(values_are_shown_with_a_readable_prefix) {
    expect_shown(450e9, PW_UNIT_BYTES_PER_SECOND, "450 GB/s");
    expect_shown(0.0123, PW_UNIT_SECONDS, "12.3 ms");
    expect_shown(80e9, PW_UNIT_BYTES, "80 GB");
    expect_shown(999.9e6, PW_UNIT_BYTES, "1 GB");
    expect_shown(1e-12, PW_UNIT_SECONDS, "1 ps");
    expect_shown(600, PW_UNIT_SECONDS, "10 min");
    expect_shown(3 * 86400, PW_UNIT_SECONDS, "3 days");
    expect_shown(3.2 * 3600, PW_UNIT_SECONDS, "3.2 h");
    expect_shown(1.98e9, PW_UNIT_HERTZ, "1.98 GHz");
    expect_shown(989e12, PW_UNIT_FLOPS, "989 TFLOP/s");
    expect_shown(700, PW_UNIT_WATTS, "700 W");
    expect_shown(25.5, PW_UNIT_CELSIUS, "25.5 degC");
    expect_shown(0, PW_UNIT_BYTES, "0 B");
    expect_shown(0.5, PW_UNIT_BYTES, "0.5 B");
    expect_shown(-2e6, PW_UNIT_WATTS, "-2 MW");
    expect_shown(8, PW_UNIT_NONE, "8");
    expect_shown(123456, PW_UNIT_NONE, "123456");
    expect_shown(NAN, PW_UNIT_BYTES, "unknown");
    expect_shown(INFINITY, PW_UNIT_BYTES, "unlimited");
}

/* Every value that is shown can be read back, within the three digits. */
PW_TEST(what_is_shown_can_be_typed_in_again) {
    for (int unit = PW_UNIT_BYTES; unit < PW_UNIT_COUNT; unit++)
        for (double value = 1.234; value < 1e19; value *= 7.7) {
            char text[64];
            double back;
            bool has_unit;
            pw_unit read;
            pw_unit_format(value, (pw_unit)unit, text, sizeof text);
            if (pw_unit_parse(text, (pw_unit)unit, &back, &has_unit, &read, &error) != PW_OK || read != (pw_unit)unit ||
                fabs(back - value) > 0.006 * value)
                PW_FAILED("%g is shown as '%s', read as %g", value, text, back);
        }
}

PW_TEST(ranges_read_as_text) {
    char text[128];
    PW_EXPECT_TEXT(pw_field_range_text(pw_kind_field(&car_kind, "doors"), text, sizeof text), "between 1 and 8");
    PW_EXPECT_TEXT(pw_field_range_text(pw_kind_field(&engine_kind, "bandwidth"), text, sizeof text), "between 1 B/s and 1 PB/s");
    PW_EXPECT_TEXT(pw_field_range_text(pw_kind_field(&wheel_kind, "radius"), text, sizeof text), "at least 0");
    PW_EXPECT_TEXT(pw_field_range_text(pw_kind_field(&car_kind, "range"), text, sizeof text), "");
}

PW_TEST(the_nearest_name_is_found_or_none) {
    static const char *const names[] = {"tensor_parallel", "pipeline_parallel", "micro_batch", "bandwidth_Bps", "tp", NULL};
    PW_EXPECT_TEXT(pw_nearest(names, "tensor_paralel"), "tensor_parallel");
    PW_EXPECT_TEXT(pw_nearest(names, "mirco_batch"), "micro_batch");
    PW_EXPECT_TEXT(pw_nearest(names, "Micro_Batch"), "micro_batch");
    PW_EXPECT_TEXT(pw_nearest(names, "bandwidth"), "bandwidth_Bps");
    PW_EXPECT_TEXT(pw_nearest(names, "pt"), "tp");
    PW_EXPECT(pw_nearest(names, "zzz") == NULL);
    PW_EXPECT(pw_nearest(names, "") == NULL);
    PW_EXPECT_TEXT(pw_kind_nearest(&car_kind, "color"), "colour");
}

PW_TEST(each_failing_allocation_is_reported) {
    for (unsigned long long fail_at = 1; fail_at <= 8; fail_at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        pw_arena *small = pw_arena_create(&counting.allocator);
        char name[3000];
        memset(name, 'n', sizeof name);
        name[sizeof name - 1] = '\0';
        counting.fail_at = counting.calls + fail_at;
        car it;
        engine motor = {5e10, 4};
        pw_status status = pw_description_defaults(&car_kind, &it, small, &error);
        it.engine = &motor;
        for (int i = 0; status == PW_OK && i < 10; i++) {
            status = pw_description_set_path(&car_kind, &it, "name", name, small, &error);
            for (int j = 0; status == PW_OK && j < 50; j++)
                status = pw_description_set_path(&car_kind, &it, "engine.lanes", "2", small, &error);
        }
        PW_EXPECT(status == PW_NO_MEMORY || counting.calls < counting.fail_at);
        if (fail_at == 1) PW_EXPECT_INT(status, PW_NO_MEMORY);
        pw_arena_destroy(small);
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
}

int main(int argc, char **argv) {
    int failed = pw_run_tests(argc, argv);
    pw_arena_destroy(arena);
    return failed;
}
