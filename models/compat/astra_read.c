/* The two files that a user of ASTRA-sim 2 writes. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "models/compat/astra.h"
#include "sim/file.h"
#include "sim/json_read.h"
#include "sim/registry.h"
#include "sim/text.h"

enum { LARGEST_FILE = 1 << 20, LARGEST_NPUS = 1 << 24, LARGEST_SPLITS = 1 << 16 };

const char *const pw_astra_topology_names[] = {"Ring", "FullyConnected", "Switch", NULL};
const char *const pw_astra_collective_names[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", NULL};
const char *const pw_astra_algorithm_names[] = {"ring", "direct", "halvingDoubling", "doubleBinaryTree", NULL};

static int find(const char *const *names, const char *name) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

/* ---- Network ---- */

typedef struct yaml_file {
    const char *path;
    yaml_document_t document;
    pw_error *error;
} yaml_file;

static int line_of(const yaml_node_t *node) { return (int)node->start_mark.line + 1; }

static pw_status read_scalar(yaml_file *f, const yaml_node_t *node, const char *key, const char **text) {
    if (node->type != YAML_SCALAR_NODE || strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
        return pw_fail(f->error, PW_BAD_INPUT, f->path, line_of(node), NULL, "an item of %s is a plain value", key);
    *text = (const char *)node->data.scalar.value;
    return PW_OK;
}

static pw_status set_item(yaml_file *f, const yaml_node_t *node, const char *key, pw_astra_dimension *dimension) {
    const char *text = NULL, *end;
    double number = 0;
    PW_TRY(read_scalar(f, node, key, &text));
    if (strcmp(key, "topology") == 0) {
        int topology = find(pw_astra_topology_names, text);
        const char *near = pw_nearest(pw_astra_topology_names, text);
        char hint[100];
        snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "it is Ring, FullyConnected or Switch", near);
        if (topology < 0) return pw_fail(f->error, PW_BAD_INPUT, f->path, line_of(node), hint, "there is no topology '%.60s'", text);
        dimension->topology = (pw_astra_topology)topology;
        return PW_OK;
    }
    if (!pw_text_number(text, &end, &number) || *end)
        return pw_fail(f->error, PW_BAD_INPUT, f->path, line_of(node), NULL, "%s takes numbers, not '%.60s'", key, text);
    bool is_count = strcmp(key, "npus_count") == 0, is_rate = strcmp(key, "bandwidth") == 0;
    if (is_count ? !(number >= 2 && number <= LARGEST_NPUS && number == floor(number)) : is_rate ? !(number >= 1e-6 && number <= 1e9) : !(number >= 0 && number <= 1e12))
        return pw_fail(f->error, PW_BAD_INPUT, f->path, line_of(node), is_count ? "a dimension has two NPUs or more" : NULL, "%s is out of range: %.60s", key, text);
    if (is_count) dimension->npus = (int64_t)number;
    else if (is_rate) dimension->bandwidth_GBps = number;
    else dimension->latency_ns = number;
    return PW_OK;
}

static pw_status read_list(yaml_file *f, const char *key, const yaml_node_t *list, pw_astra_network *network) {
    if (list->type != YAML_SEQUENCE_NODE) return pw_fail(f->error, PW_BAD_INPUT, f->path, line_of(list), "write [ Ring, Switch ]", "%s is a list, one item a dimension", key);
    int count = (int)(list->data.sequence.items.top - list->data.sequence.items.start);
    if (count < 1 || count > PW_ASTRA_DIMENSIONS)
        return pw_fail(f->error, PW_BAD_INPUT, f->path, line_of(list), NULL, "%s has %d items; 1 to %d dimensions are read", key, count, PW_ASTRA_DIMENSIONS);
    if (network->count && network->count != count)
        return pw_fail(f->error, PW_BAD_INPUT, f->path, line_of(list), NULL, "%s has %d items, another list has %d", key, count, network->count);
    network->count = count;
    for (int i = 0; i < count; i++)
        PW_TRY(set_item(f, yaml_document_get_node(&f->document, list->data.sequence.items.start[i]), key, &network->dimensions[i]));
    return PW_OK;
}

static pw_status read_network(yaml_file *f, pw_astra_network *network) {
    static const char *const keys[] = {"topology", "npus_count", "bandwidth", "latency", NULL};
    const yaml_node_t *root = yaml_document_get_root_node(&f->document);
    bool seen[4] = {false, false, false, false};
    if (!root || root->type != YAML_MAPPING_NODE)
        return pw_fail(f->error, PW_BAD_INPUT, f->path, 0, "it has the lists topology, npus_count, bandwidth and latency", "this is no network of ASTRA-sim");
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&f->document, pair->key);
        const char *name = NULL;
        PW_TRY(read_scalar(f, key, "the file", &name));
        int at = find(keys, name);
        if (at < 0 || seen[at]) {
            const char *near = pw_nearest(keys, name);
            char hint[100];
            snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "it has topology, npus_count, bandwidth and latency", near);
            return pw_fail(f->error, PW_BAD_INPUT, f->path, line_of(key), at < 0 ? hint : NULL, at < 0 ? "a network has no key '%.60s'" : "%.60s stands twice", name);
        }
        seen[at] = true;
        PW_TRY(read_list(f, keys[at], yaml_document_get_node(&f->document, pair->value), network));
    }
    for (int i = 0; i < 4; i++)
        if (!seen[i]) return pw_fail(f->error, PW_BAD_INPUT, f->path, 0, NULL, "the list '%s' is missing", keys[i]);
    network->npus = 1;
    for (int i = 0; i < network->count; i++) {
        network->npus *= network->dimensions[i].npus;
        if (network->npus > LARGEST_NPUS) return pw_fail(f->error, PW_BAD_INPUT, f->path, 0, NULL, "more than %d NPUs are not read", LARGEST_NPUS);
    }
    return PW_OK;
}

/* Where the parser stopped; at the end of a file it says the line after the last. */
static int problem_line(const yaml_parser_t *parser, const char *text) {
    int line = (int)parser->problem_mark.line + 1, last = 1;
    for (const char *at = text; *at; at++) last += *at == '\n' && at[1];
    return line < last ? line : last;
}

pw_status pw_astra_network_read(const char *path, pw_astra_network *network, pw_error *error) {
    char *text;
    size_t size;
    yaml_parser_t parser;
    yaml_file f = {.path = path, .error = error};
    *network = (pw_astra_network){0};
    PW_TRY(pw_file_read(path, LARGEST_FILE, NULL, &text, &size, error));
    pw_status status = PW_OK;
    if (!yaml_parser_initialize(&parser)) {
        pw_free(NULL, text, size + 1);
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    if (!yaml_parser_load(&parser, &f.document)) {
        status = parser.error == YAML_MEMORY_ERROR ? pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left")
                                                   : pw_fail(error, PW_BAD_INPUT, path, problem_line(&parser, text), NULL, "this is no YAML: %s", parser.problem ? parser.problem : "");
    } else {
        status = read_network(&f, network);
        yaml_document_delete(&f.document);
    }
    yaml_parser_delete(&parser);
    pw_free(NULL, text, size + 1);
    return status;
}

/* ---- System ---- */

typedef struct system_file {
    const char *path;
    const pw_astra_network *network;
    pw_astra_system *system;
    pw_error *error;
} system_file;

static pw_status bad(const system_file *f, const char *hint, const char *key, const char *what) {
    return pw_fail(f->error, PW_BAD_INPUT, f->path, 0, hint, "%.100s %s", key, what);
}

static pw_status read_whole(const system_file *f, const char *key, const json_t *value, int64_t least, int64_t most, int64_t *number) {
    double given = json_is_number(value) ? json_number_value(value) : (double)NAN;
    if (!(given >= (double)least && given <= (double)most) || given != floor(given)) return bad(f, NULL, key, "is out of range or no whole number");
    *number = (int64_t)given;
    return PW_OK;
}

static pw_status read_algorithms(const system_file *f, const char *key, const json_t *value, pw_astra_collective kind) {
    size_t index;
    json_t *item;
    if (!json_is_array(value) || json_array_size(value) != (size_t)f->network->count)
        return bad(f, "write [\"ring\", \"direct\"]", key, "is a list with one algorithm for each dimension of the network");
    json_array_foreach(value, index, item) {
        const char *name = json_string_value(item);
        int algorithm = name ? find(pw_astra_algorithm_names, name) : -1;
        if (algorithm < 0)
            return pw_fail(f->error, PW_UNSUPPORTED, f->path, 0, "ring, direct, halvingDoubling and doubleBinaryTree are", "%s '%.60s' is not modelled", key,
                           name ? name : "");
        f->system->algorithms[kind][index] = (pw_astra_algorithm)algorithm;
    }
    f->system->given[kind] = f->network->count;
    return PW_OK;
}

/* Keys that say nothing about the time of one collective alone. */
static bool is_idle(const char *key) {
    static const char *const idle[] = {"scheduling-policy", "peak-perf", "roofline-enabled", "replay-only", "trace-enabled", "track-local-mem",
                                       "local-mem-trace-filename", "intra-dimension-scheduling", "inter-dimension-scheduling", "boost-mode",
                                       "L", "o", "g", "G", "local-reduction-delay", NULL};
    return find(idle, key) >= 0;
}

static pw_status read_key(const system_file *f, const char *key, const json_t *value) {
    static const char *const implementations[] = {"all-reduce-implementation", "all-gather-implementation", "reduce-scatter-implementation",
                                                  "all-to-all-implementation", NULL};
    pw_astra_system *system = f->system;
    int kind = find(implementations, key);
    if (kind >= 0) return read_algorithms(f, key, value, (pw_astra_collective)kind);
    if (strcmp(key, "endpoint-delay") == 0) return read_whole(f, key, value, 0, 1000000000, &system->endpoint_delay_ns);
    if (strcmp(key, "preferred-dataset-splits") == 0) return read_whole(f, key, value, 1, LARGEST_SPLITS, &system->splits);
    if (strcmp(key, "active-chunks-per-dimension") == 0) return read_whole(f, key, value, 1, LARGEST_SPLITS, &system->active_chunks);
    if (strcmp(key, "local-mem-bw") == 0) {
        system->memory_GBps = json_is_number(value) ? json_number_value(value) : 0;
        return system->memory_GBps >= 1e-6 && system->memory_GBps <= 1e9 ? PW_OK : bad(f, NULL, key, "is out of range");
    }
    if (strcmp(key, "collective-optimization") == 0) {
        const char *text = json_string_value(value);
        system->local_bw_aware = text && strcmp(text, "localBWAware") == 0;
        return text && (system->local_bw_aware || strcmp(text, "baseline") == 0) ? PW_OK : bad(f, NULL, key, "is baseline or localBWAware");
    }
    if (strcmp(key, "model-shared-bus") == 0)
        return json_is_number(value) && json_number_value(value) == 0 ? PW_OK : pw_fail(f->error, PW_UNSUPPORTED, f->path, 0, "set it to 0", "model-shared-bus is not modelled");
    if (is_idle(key)) return PW_OK;
    return pw_fail(f->error, PW_UNSUPPORTED, f->path, 0, "if it changes no time of a collective, take it out", "the key '%.100s' is not modelled", key);
}

pw_status pw_astra_system_read(const char *path, const pw_astra_network *network, const pw_allocator *allocator, pw_astra_system *system,
                               pw_error *error) {
    json_t *root, *value;
    const char *key;
    system_file f = {path, network, system, error};
    *system = (pw_astra_system){.endpoint_delay_ns = -1, .splits = 1, .active_chunks = 1};
    PW_TRY(pw_json_load(path, LARGEST_FILE, allocator, &root, error));
    pw_status status = json_is_object(root) ? PW_OK : pw_fail(error, PW_BAD_INPUT, path, 0, NULL, "this is no system of ASTRA-sim");
    json_object_foreach(root, key, value) {
        if (status == PW_OK) status = read_key(&f, key, value);
    }
    if (status == PW_OK && system->endpoint_delay_ns < 0) status = bad(&f, "ASTRA-sim's examples have 10", "endpoint-delay", "is missing");
    if (status == PW_OK && !(system->memory_GBps > 0)) status = bad(&f, "ASTRA-sim's examples have 1600", "local-mem-bw", "is missing");
    json_decref(root);
    return status;
}
