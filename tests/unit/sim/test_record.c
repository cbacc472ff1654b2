#include "sim/record.h"

#include "tests/harness/check.h"

static char heard[8192];
#define HEAR(...) snprintf(heard + strlen(heard), sizeof heard - strlen(heard), __VA_ARGS__)
static void on_track(void *object, pw_track track, pw_track parent, const char *name) {
    HEAR("%s:track %u<%u %s;", (const char *)object, track, parent, name);
}
static void on_span(void *object, const pw_span *span) {
    HEAR("%s:span %d %d-%d;", (const char *)object, (int)span->id, (int)span->start, (int)span->end);
}
static void on_level(void *object, pw_track track, pw_name quantity, pw_time time, double value) {
    HEAR("%s:level %u %u %d %g;", (const char *)object, track, quantity, (int)time, value);
}
static void on_count(void *object, pw_track track, pw_name quantity, pw_time time, double amount) {
    HEAR("%s:count %u %u %d %g;", (const char *)object, track, quantity, (int)time, amount);
}
static void on_close(void *object, pw_time end) { HEAR("%s:close %d;", (const char *)object, (int)end); }

static pw_recorder *create(void) {
    pw_recorder *recorder = NULL;
    heard[0] = '\0';
    PW_EXPECT_INT(pw_recorder_create(NULL, &recorder, NULL), PW_OK);
    return recorder;
}

PW_TEST(every_sink_hears_every_report_in_order_of_attachment) {
    pw_recorder *recorder = create();
    pw_sink a = {"a", on_track, on_span, on_level, on_count, on_close}, b = {"b", NULL, on_span, NULL, NULL, on_close};
    pw_track node = pw_record_track(recorder, 0, "node0");
    PW_EXPECT(!pw_recorder_active(recorder));
    PW_EXPECT_INT(pw_recorder_attach(recorder, &a), PW_OK);
    PW_EXPECT_INT(pw_recorder_attach(recorder, &b), PW_OK);
    PW_EXPECT(pw_recorder_active(recorder));
    pw_track gpu = pw_record_track(recorder, node, "gpu0");
    pw_name power = pw_record_name(recorder, "power");
    pw_span span = {.track = gpu, .start = 3, .end = 9};
    PW_EXPECT_INT(pw_record_span(recorder, &span), 1);
    pw_record_level(recorder, gpu, power, 4, 700);
    pw_record_count(recorder, gpu, power, 5, 0.5);
    pw_recorder_close(recorder, 10);
    pw_recorder_close(recorder, 11);
    PW_EXPECT_TEXT(heard, "a:track 1<0 node0;a:track 2<1 gpu0;a:span 1 3-9;b:span 1 3-9;a:level 2 1 4 700;"
                          "a:count 2 1 5 0.5;a:close 10;b:close 10;");
    pw_recorder_destroy(recorder);
}

PW_TEST(spans_are_numbered_even_when_nobody_listens) {
    pw_recorder *recorder = create();
    pw_span span = {0};
    PW_EXPECT_INT(pw_record_span(recorder, &span), 1);
    PW_EXPECT_INT(pw_record_span(recorder, &span), 2);
    PW_EXPECT_INT(span.id, 2);
    pw_recorder_destroy(recorder);
}

PW_TEST(names_and_tracks_are_interned_by_value) {
    pw_recorder *recorder = create();
    char text[32];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 20000; i++) {
            snprintf(text, sizeof text, "name %d", i);
            PW_EXPECT_INT(pw_record_name(recorder, text), i + 1);
            snprintf(text, sizeof text, "track %d", i % 100);
            PW_EXPECT_INT(pw_record_track(recorder, (pw_track)(i / 100), text), i + 1);
        }
    PW_EXPECT_TEXT(pw_record_name_text(recorder, 20000), "name 19999");
    PW_EXPECT_TEXT(pw_record_track_text(recorder, 101), "track 0");
    PW_EXPECT_TEXT(pw_record_name_text(recorder, 0), "");
    PW_EXPECT_TEXT(pw_record_name_text(recorder, 20001), "");
    pw_recorder_destroy(recorder);
}

PW_TEST(no_recorder_is_a_quiet_recorder) {
    pw_span span = {0};
    PW_EXPECT(!pw_recorder_active(NULL));
    PW_EXPECT_INT(pw_record_track(NULL, 0, "x"), 0);
    PW_EXPECT_INT(pw_record_name(NULL, "x"), 0);
    PW_EXPECT_INT(pw_record_span(NULL, &span), 0);
    pw_record_level(NULL, 1, 1, 0, 0);
    pw_record_count(NULL, 1, 1, 0, 0);
    pw_recorder_close(NULL, 0);
    pw_recorder_destroy(NULL);
    PW_EXPECT_TEXT(pw_record_name_text(NULL, 1), "");
}

PW_TEST(each_failing_allocation_gives_zero_ids_and_no_leak) {
    int failures = 0;
    for (unsigned long long fail_at = 1; fail_at < 40; fail_at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        pw_recorder *recorder;
        pw_error error;
        pw_sink sink = {"s", on_track, on_span, on_level, on_count, on_close};
        if (pw_recorder_create(&counting.allocator, &recorder, &error) == PW_OK) {
            char text[200];
            int missing = pw_recorder_attach(recorder, &sink) != PW_OK;
            heard[0] = '\0';
            for (int i = 0; i < 300; i++) {
                snprintf(text, sizeof text, "%0*d", 150, i);
                pw_name name = pw_record_name(recorder, text);
                missing += name == 0 || pw_record_track(recorder, 0, text) == 0;
                if (name) PW_EXPECT_TEXT(pw_record_name_text(recorder, name), text);
            }
            PW_EXPECT(missing <= 1 && (missing == 1) == (counting.calls >= fail_at));
            failures += missing;
            pw_recorder_destroy(recorder);
        } else {
            PW_EXPECT_INT(error.status, PW_NO_MEMORY);
            failures++;
        }
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
    PW_EXPECT(failures > 10);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
