/* Any bytes as a network or topology of another simulator: a description that passes its checks, or an error with a line of the file. */
#include <string.h>

#include "models/compat/astra.h"
#include "models/import/import.h"
#include "tests/fuzz/input.h"

static pw_catalogue *catalogue;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    pw_error error = {0};
    need(pw_catalogue_load(NULL, NULL, &catalogue, &error), &error);
    return 0;
}

static pw_status read_as(unsigned which, const char *path, pw_arena *arena, pw_error *error) {
    static const pw_astra_network two = {.dimensions = {{PW_ASTRA_RING, 4, 50, 500}, {PW_ASTRA_SWITCH, 2, 50, 500}}, .count = 2, .npus = 8};
    pw_import_notes notes = {0};
    pw_import_topology topology;
    pw_cluster_desc cluster;
    pw_astra_system system;
    pw_status status;
    switch (which) {
    case 0:
        status = pw_import_nccl_topology(catalogue, path, &topology, arena, &notes, error);
        return status == PW_OK ? pw_description_check(&pw_node_kind, &topology.node, path, 0, error) : status;
    case 1: status = pw_import_astra_network(catalogue, path, "H100", &cluster, arena, &notes, error); break;
    case 2: status = pw_import_simai_topology(catalogue, path, &cluster, arena, &notes, error); break;
    default: {
        int64_t ns;
        status = pw_astra_system_read(path, &two, NULL, &system, error);
        if (status != PW_OK) return status;
        return pw_astra_unaware(&two, &system, PW_ASTRA_ALL_REDUCE, 1 << 20, &ns, error);
    }
    }
    return status == PW_OK ? pw_description_check(&pw_cluster_kind, &cluster, path, 0, error) : status;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char path[INPUT_PATH];
    if (!size) return 0;
    int lines = 1, file = input_open(path);
    input_write(file, (const char *)data + 1, size - 1); /* the first byte says the format */
    for (size_t i = 1; i < size; i++) lines += data[i] == '\n' || data[i] == '\r' || data[i] >= 0x80;
    pw_arena *arena = pw_arena_create(NULL);
    pw_error error = {0};
    if (!arena) abort();
    pw_status status = read_as(data[0] % 4, path, arena, &error);
    check_error(status, &error);
    if (status != PW_OK && strcmp(error.file, path) == 0 && error.line > lines) abort();
    pw_arena_destroy(arena);
    close(file);
    return 0;
}
