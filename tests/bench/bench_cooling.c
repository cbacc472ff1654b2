/* Temperatures of 16,384 GPUs over an hour of seconds, and a year of a plant by the hour.
 *
 * The load of every node changes each 10 s, so that fans move all the time. Printed: nanoseconds per GPU and second with fans under control, of the
 * thermal networks alone, of a step of unequal length and of a crossing; CPU seconds of a facility's year; exit code 1 above 40 ns per GPU and
 * second or 1 s a year. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "models/cooling/cooling.h"
#include "models/cooling/plant.h"
#include "models/cooling/thermal.h"

enum { NODES = 2048, GPUS = 8, SECONDS = 3600 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void row(const char *what, double value, const char *unit) {
    const char *commit = getenv("PODWRIGHT_COMMIT"), *machine = getenv("PODWRIGHT_MACHINE");
    time_t seconds = time(NULL);
    char date[16];
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&seconds));
    printf("csv: %s,%s,%s,cooling: %s,%.4g,%s\n", date, commit ? commit : "", machine ? machine : "", what, value, unit);
}

static void must(pw_status status, const pw_error *error) {
    if (status == PW_OK) return;
    printf("%s\n", error->what);
    exit(1);
}

static uint64_t state = 1;
static double draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static double hour_of_nodes(const pw_catalogue *catalogue, const char *gpu) {
    const pw_device *device;
    pw_cooling_desc desc;
    pw_cooling *c;
    pw_error error = {0};
    pw_arena *arena = pw_arena_create(NULL);
    must(pw_catalogue_device(catalogue, gpu, &device, &error), &error);
    must(pw_description_defaults(&pw_cooling_kind, &desc, arena, &error), &error);
    must(pw_cooling_create(NULL, catalogue, &desc, device, GPUS, NODES, &c, &error), &error);
    double spent = 0, hottest = 0;
    for (int s = 0; s < SECONDS; s++) {
        if (s % 10 == 0)
            for (uint32_t i = 0; i < NODES * GPUS; i++) pw_cooling_set_gpu(c, i, device->tdp_W * (0.3 + 0.7 * draw()), NAN);
        double t0 = now();
        pw_cooling_advance(c, 0, NODES, 1);
        spent += now() - t0;
        if (pw_cooling_die_C(c)[s] > hottest) hottest = pw_cooling_die_C(c)[s];
    }
    printf("%d %s for an hour of seconds: %.2f CPU-s, hottest seen %.1f degrees\n", NODES * GPUS, gpu, spent, hottest);
    pw_cooling_destroy(c);
    pw_arena_destroy(arena);
    return spent / ((double)NODES * GPUS * SECONDS) * 1e9;
}

static void networks(void) {
    pw_thermal_network d = {.nodes = 3, .boundaries = 1, .heated = 2, .capacity_JpK = {30, 12, 1600}};
    d.between_WpK[0][2] = 80, d.between_WpK[1][2] = 8, d.outside_WpK[2][0] = 50;
    pw_thermal network;
    pw_thermal_step step;
    pw_error error = {0};
    enum { PARTS = NODES * GPUS };
    static double t[3 * PARTS], heat[2 * PARTS], air[PARTS];
    must(pw_thermal_init(&network, &d, &error), &error);
    for (int i = 0; i < PARTS; i++) heat[i] = 800 * draw(), heat[PARTS + i] = 100 * draw(), air[i] = 25, t[i] = t[PARTS + i] = t[2 * PARTS + i] = 25;
    pw_thermal_make_step(&network, 1, &step);
    double t0 = now(), sum = 0;
    for (int s = 0; s < 500; s++) pw_thermal_advance(&step, PARTS, PARTS, t, heat, air, NULL);
    row("advance of a network of 3 nodes", (now() - t0) / (500.0 * PARTS) * 1e9, "ns");
    t0 = now();
    for (int s = 0; s < 100000; s++) {
        pw_thermal_make_step(&network, 1 + s * 1e-6, &step);
        sum += step.keep[0][0];
    }
    row("making a step of another length", (now() - t0) / 1e5 * 1e9, "ns");
    t0 = now();
    for (int s = 0; s < 20000; s++) {
        double part[3] = {30, 30, 28}, heats[2] = {700 + draw(), 80}, outside = 25;
        sum += pw_thermal_time_to(&network, part, heats, &outside, 0, 44, 1e4);
    }
    row("finding a crossing", (now() - t0) / 2e4 * 1e9, "ns");
    if (sum == 12345) printf("%g %g\n", sum, t[0]);
}

static double year_of_a_plant(const pw_catalogue *catalogue, const char *type) {
    pw_arena *arena = pw_arena_create(NULL);
    pw_plant_desc desc;
    pw_plant *plant;
    pw_weather *weather;
    pw_error error = {0};
    must(pw_description_defaults(&pw_plant_kind, &desc, arena, &error), &error);
    desc.type = type;
    double t0 = now(), total = 0;
    must(pw_plant_create(NULL, catalogue, &desc, 0.8e6, 0.2e6, &plant, &error), &error);
    must(pw_weather_load(NULL, catalogue, "continental", &weather, &error), &error);
    double t1 = now();
    for (size_t h = 0; h < 8760; h++) {
        pw_weather_point point = pw_weather_at(weather, h);
        pw_plant_state s;
        must(pw_plant_step(plant, 0.7e6, 0.15e6, &point, &s, &error), &error);
        total += s.total_W;
    }
    double t2 = now();
    printf("a year of '%s': weather %.3f, steps %.3f CPU-s, mean %.1f kW\n", type, t1 - t0, t2 - t1, total / 8760e3);
    pw_plant_destroy(plant);
    pw_weather_destroy(weather);
    pw_arena_destroy(arena);
    return t2 - t0;
}

int main(void) {
    pw_catalogue *catalogue;
    pw_error error = {0};
    must(pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &catalogue, &error), &error);
    networks();
    double air = hour_of_nodes(catalogue, "b200"), liquid = hour_of_nodes(catalogue, "gb200"), year = year_of_a_plant(catalogue, "warm-water towers");
    row("a GPU for a second, air with fans under control", air, "ns");
    row("a GPU for a second, cold plate", liquid, "ns");
    row("a year of a plant with towers and chillers", year, "CPU-s");
    pw_catalogue_destroy(catalogue);
    return air > 40 || liquid > 40 || year > 1;
}
