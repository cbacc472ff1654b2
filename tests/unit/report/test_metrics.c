/* Metrics and alarms: readings against what was reported, the files' grammar, times of alarms. */
#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "scenarios/report/alarms.h"
#include "tests/harness/check.h"

static pw_error error;
#define OK(call) PW_EXPECT_INT((call), PW_OK)
#define S(x) ((pw_time)((x) * 1e9))

/* Two GPUs in one node for 10 s: watts 100 until 2.5 s, then 300; the second is silent. */
static pw_recorder *report(const pw_sink *sink) {
    pw_recorder *r;
    OK(pw_recorder_create(NULL, &r, &error));
    pw_name power = pw_record_name(r, PW_LEVEL_POWER); /* known before the sink listens */
    OK(pw_recorder_attach(r, sink));
    pw_track site = pw_record_track(r, 0, "site"), rack = pw_record_track(r, site, "rack 2"), node = pw_record_track(r, rack, "node 9");
    pw_track gpu = pw_record_track(r, node, "gpu 72");
    pw_record_track(r, node, "gpu 73");
    pw_record_track(r, 0, "stream 5");
    pw_name temperature = pw_record_name(r, PW_LEVEL_TEMPERATURE), other = pw_record_name(r, "something else");
    pw_record_level(r, gpu, power, 0, 100);
    pw_record_level(r, site, power, 0, 1000);
    pw_record_level(r, gpu, other, 0, 77);
    for (int t = 0; t <= 10; t++) pw_record_level(r, gpu, temperature, S(t), 30 + t);
    pw_record_level(r, gpu, power, S(2.5), 300); /* earlier than what another quantity has told */
    pw_record_level(r, site, power, S(4), 2000);
    pw_recorder_close(r, S(10));
    return r;
}

static char *text_of(const pw_metrics *m, void (*write)(const pw_metrics *metrics, pw_file *file)) {
    char path[] = "/tmp/podwright-metrics-XXXXXX", *text = NULL;
    int descriptor = mkstemp(path);
    size_t size;
    pw_file *file;
    OK(pw_file_create(path, NULL, &file, &error));
    write(m, file);
    OK(pw_file_commit(file, &error));
    OK(pw_file_read(path, 1 << 20, pw_allocator_default(), &text, &size, &error));
    close(descriptor);
    remove(path);
    return text;
}

static pw_metrics *listen(double interval_s, unsigned of) {
    pw_metrics *m;
    OK(pw_metrics_create(pw_allocator_default(), &(pw_metrics_options){interval_s, of, 1e9, "H100 \"SXM\""}, &m, &error));
    pw_sink sink = pw_metrics_sink(m);
    pw_recorder_destroy(report(&sink));
    return m;
}

PW_TEST(means_temperatures_and_energies_are_those_reported) {
    pw_metrics *m = listen(2, 15);
    char *csv = text_of(m, pw_metrics_csv);
    bool heard;
    OK(pw_metrics_check(m, &heard, &error));
    PW_EXPECT(heard);
    PW_EXPECT_CONTAINS(csv, "time_s,of,rack,node,gpu,energy_J,power_W,");
    PW_EXPECT_CONTAINS(csv, "\n2,site,,,,2000,1000,");
    PW_EXPECT_CONTAINS(csv, "\n10,site,,,,16000,2000,");
    PW_EXPECT_CONTAINS(csv, "\n2,gpu,2,9,0,200,100,,,32,");
    PW_EXPECT_CONTAINS(csv, "\n4,gpu,2,9,0,700,250,,,34,"); /* 0.5 s of 100 W and 1.5 s of 300 W */
    PW_EXPECT_CONTAINS(csv, "\n10,gpu,2,9,0,2500,300,,,40,");
    PW_EXPECT(!strstr(csv, "gpu,2,9,1"));
    const pw_signal *site = pw_metrics_site(m);
    PW_EXPECT(site && fabs(pw_signal_energy_J(site, 0, 10) - 16000) < 1e-6);
    pw_metrics_destroy(m);
}

/* The rules of OpenMetrics 1.0 that a writer can break: families in one piece, TYPE before samples, units as suffixes, counters with _total,
 * escaped labels, metrics of a family in one piece with rising times, # EOF at the end and nothing behind it. */
static int check_openmetrics(char *text) {
    char family[128] = "", type[16] = "", labels[512] = "", seen[64][128];
    int families = 0, samples = 0;
    double last_time = -1;
    bool ended = false;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char name[128], word[128], rest[512];
        PW_EXPECT(!ended);
        if (!strcmp(line, "# EOF")) {
            ended = true;
            continue;
        }
        if (line[0] == '#') {
            if (sscanf(line, "# %127s %127s %511[^\n]", word, name, rest) != 3) PW_FAILED("bad line %s", line);
            if (!strcmp(word, "TYPE")) {
                for (int i = 0; i < families; i++) PW_EXPECT(strcmp(seen[i], name) != 0);
                strcpy(seen[families++], name);
                strcpy(family, name);
                snprintf(type, sizeof type, "%.15s", rest);
                PW_EXPECT(!strcmp(rest, "gauge") || !strcmp(rest, "counter"));
                labels[0] = '\0';
                last_time = -1;
            } else if (!strcmp(word, "UNIT")) {
                size_t length = strlen(name), unit = strlen(rest);
                PW_EXPECT(!strcmp(name, family) && length > unit + 1 && name[length - unit - 1] == '_' && !strcmp(name + length - unit, rest));
            } else PW_EXPECT(!strcmp(word, "HELP") && !strcmp(name, family));
            continue;
        }
        size_t length = strcspn(line, "{ ");
        char *at = line + length, here[512] = "", *end;
        snprintf(name, sizeof name, "%.*s", (int)length, line);
        for (size_t i = 0; i < length; i++) PW_EXPECT(isalnum((unsigned char)name[i]) || name[i] == '_');
        snprintf(word, sizeof word, "%s%s", family, !strcmp(type, "counter") ? "_total" : "");
        PW_EXPECT_TEXT(name, word);
        if (*at == '{') {
            bool quoted = false;
            char *from = at;
            for (at++; *at && (quoted || *at != '}'); at++) {
                if (*at == '\\') at++;
                else if (*at == '"') quoted = !quoted;
            }
            PW_EXPECT(*at == '}');
            at++;
            snprintf(here, sizeof here, "%.*s", (int)(at - from), from);
        }
        if (strcmp(here, labels)) last_time = -1;
        strcpy(labels, here);
        PW_EXPECT(*at == ' ');
        strtod(at + 1, &end);
        PW_EXPECT(end > at + 1 && *end == ' ');
        double time = strtod(end + 1, &at);
        PW_EXPECT(*at == '\0' && time > last_time);
        last_time = time;
        samples++;
    }
    PW_EXPECT(ended);
    return samples;
}

PW_TEST(openmetrics_keeps_to_its_grammar) {
    pw_metrics *m = listen(2, 15);
    char *text = text_of(m, pw_metrics_openmetrics);
    PW_EXPECT_CONTAINS(text, "# TYPE DCGM_FI_DEV_POWER_USAGE gauge\n");
    PW_EXPECT_CONTAINS(text, "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",modelName=\"H100 \\\"SXM\\\"\",Hostname=\"node9\",rack=\"2\"} 250 4\n");
    PW_EXPECT_CONTAINS(text, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total{gpu=\"0\"");
    PW_EXPECT_CONTAINS(text, "} 2500000 10\n"); /* mJ */
    PW_EXPECT_CONTAINS(text, "# UNIT podwright_site_power_watts watts\n");
    PW_EXPECT_CONTAINS(text, "podwright_site_energy_joules_total 16000 10\n");
    PW_EXPECT_INT(check_openmetrics(text), 5 * 5); /* site: power, energy; GPU: power, temperature, energy */
    pw_metrics_destroy(m);
}

PW_TEST(what_is_not_asked_for_is_not_kept) {
    pw_metrics *m = listen(2, 1);
    char *csv = text_of(m, pw_metrics_csv);
    PW_EXPECT(strstr(csv, "site") && !strstr(csv, "gpu,2"));
    pw_metrics_destroy(m);
    pw_metrics *none = listen(2, 0);
    PW_EXPECT(pw_metrics_site(none) != NULL);
    pw_metrics_destroy(none);
}

typedef struct log {
    int raised, cleared;
    double raised_s[4], cleared_s[4], value;
    int fail_at;
} log_of;

static pw_status hook(void *object, const pw_alarm_event *event, pw_error *e) {
    log_of *l = object;
    if (event->raised && l->raised < 4) l->raised_s[l->raised] = event->time_s, l->value = event->value;
    if (!event->raised && l->cleared < 4) l->cleared_s[l->cleared] = event->time_s;
    if (event->raised) l->raised++;
    else l->cleared++;
    if (l->fail_at && l->raised == l->fail_at) return pw_fail(e, PW_BAD_INPUT, "x.lua", 7, NULL, "no more");
    return PW_OK;
}

static pw_alarm_count watch(pw_alarm_desc desc, log_of *l, volatile int *stop, pw_status wanted) {
    const pw_one_of items[] = {{&pw_alarm_kind, &desc}};
    pw_alarms *a;
    bool heard;
    OK(pw_alarms_create(pw_allocator_default(), (pw_list){items, 1}, 1e9, hook, l, stop, &a, &error));
    pw_sink sink = pw_alarms_sink(a);
    pw_recorder_destroy(report(&sink));
    PW_EXPECT_INT(pw_alarms_check(a, &heard, &error), wanted);
    pw_alarm_count count = pw_alarms_count(a, 0);
    if (count.raised) count.first = strcmp(count.first, "site") ? "gpu 72" : "site";
    pw_alarms_destroy(a);
    return count;
}

PW_TEST(an_alarm_is_raised_when_its_condition_has_held_long_enough) {
    log_of l = {0};
    pw_alarm_count c = watch((pw_alarm_desc){"hot", PW_METRIC_TEMPERATURE, PW_METRIC_OF_GPU, 33.5, NAN, 2.5}, &l, NULL, PW_OK);
    PW_EXPECT_INT((int)c.raised, 1);
    PW_EXPECT_NEAR(l.raised_s[0], 4 + 2.5, 1e-12); /* above from 4 s on */
    PW_EXPECT_NEAR(l.value, 36, 1e-12);            /* what it was then, not at the next report */
    PW_EXPECT_NEAR(c.seconds, 10 - 6.5, 1e-12);
    PW_EXPECT_NEAR(c.worst, 40, 1e-12);
    PW_EXPECT_INT((int)c.entities, 1);
    c = watch((pw_alarm_desc){"never", PW_METRIC_TEMPERATURE, PW_METRIC_OF_GPU, 33.5, NAN, 6.5}, &l, NULL, PW_OK);
    PW_EXPECT_INT((int)c.raised, 0);
}

PW_TEST(an_alarm_is_cleared_when_its_condition_ends) {
    log_of l = {0};
    pw_alarm_count c = watch((pw_alarm_desc){"low", PW_METRIC_POWER, PW_METRIC_OF_SITE, NAN, 1500, 1}, &l, NULL, PW_OK);
    PW_EXPECT_INT((int)c.raised, 1);
    PW_EXPECT_INT(l.cleared, 1);
    PW_EXPECT_NEAR(l.raised_s[0], 1, 1e-12);
    PW_EXPECT_NEAR(l.cleared_s[0], 4, 1e-12);
    PW_EXPECT_NEAR(c.seconds, 3, 1e-12);
    PW_EXPECT_TEXT(c.first, "site");
}

PW_TEST(a_hook_that_fails_stops_the_run_with_its_own_words) {
    log_of l = {.fail_at = 1};
    volatile int stop = 0;
    watch((pw_alarm_desc){"hot", PW_METRIC_TEMPERATURE, PW_METRIC_OF_GPU, 30.5, NAN, 0}, &l, &stop, PW_BAD_INPUT);
    PW_EXPECT_INT(stop, 1);
    PW_EXPECT_TEXT(error.file, "x.lua");
    PW_EXPECT_INT(l.raised, 1);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
