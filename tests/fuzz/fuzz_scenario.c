/* Any text as a scenario is a description that passed its checks, or an error inside the file; with --set on its first
 * line ("--set PATH=VALUE") an override too; so is any text as a description full of lists. Nothing stays behind. */
#include <string.h>

#include "scenarios/host/scenario.h"
#include "tests/fuzz/input.h"
#include "tests/harness/net_kinds.h"

static pw_catalogue *catalogue;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    pw_error error = {0};
    need(pw_catalogue_load(NULL, NULL, &catalogue, &error), &error);
    return 0;
}

/* Takes "--set ..." off the front; NULL when there is none. */
static const char *take_override(const unsigned char **data, size_t *size, char *text, size_t text_size) {
    static const char option[] = "--set ";
    const size_t length = sizeof option - 1;
    if (*size < length || memcmp(*data, option, length) != 0) return NULL;
    const unsigned char *start = *data + length, *end = memchr(start, '\n', *size - length);
    size_t used = end ? (size_t)(end - start) : *size - length;
    snprintf(text, text_size, "%.*s", (int)(used < text_size ? used : text_size - 1), (const char *)start);
    *size -= length + used + (end != NULL);
    *data = start + used + (end != NULL);
    return text;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char path[INPUT_PATH], text[512];
    const char *override = take_override(&data, &size, text, sizeof text);
    int lines = 1, file = input_open(path);
    for (size_t i = 0; i < size; i++) lines += data[i] == '\n' || data[i] == '\r';
    input_write(file, data, size);
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    pw_arena *arena = pw_arena_create(&counting.allocator);
    if (!arena) abort();
    pw_scenario scenario;
    pw_error error = {0};
    const pw_scenario_options options = {.allocator = &counting.allocator, .catalogue = catalogue, .seed = 1,
                                         .overrides = &override, .override_count = override != NULL,
                                         .limits = {.memory_bytes = 4000000, .instructions = 200000, .seconds = -1}};
    pw_status status = pw_scenario_load(path, &options, arena, &scenario, &error);
    check_error(status, &error);
    if (status != PW_OK && strcmp(error.file, path) == 0 && error.line > lines) abort();
    if (status == PW_OK) {
        if (!scenario.desc.cluster || (scenario.desc.job.record && !pw_job_kind_of(scenario.desc.job.kind))) abort();
        if (pw_description_check(&pw_scenario_kind, &scenario.desc, NULL, 0, &error) != PW_OK) abort();
    }
    net net; /* the same text as a description full of lists */
    memset(&error, 0, sizeof error);
    status = pw_scenario_load_as(path, &options, &net_kind, &net, arena, &scenario, &error);
    check_error(status, &error);
    if (status != PW_OK && strcmp(error.file, path) == 0 && error.line > lines) abort();
    if (status == PW_OK && pw_description_check(&net_kind, &net, NULL, 0, &error) != PW_OK) abort();
    pw_arena_destroy(arena);
    if (counting.live_bytes) abort();
    close(file);
    return 0;
}
