/* A sweep as JSON in the shape of nccl-tests' report, version 3, and as CSV. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/parts.h"
#include "scenarios/sweep/sweep.h"
#include "sim/json.h"

static void put_devices(pw_json *json, const pw_sweep_report *r) {
    const pw_cluster *cluster = r->config->cluster;
    pw_json_array(json, "devices");
    for (uint32_t rank = 0; rank < r->config->groups.count * r->config->groups.size; rank++) {
        char text[64];
        uint32_t gpu = r->config->groups.gpus[rank];
        pw_sweep_place at = pw_sweep_place_of(cluster, gpu);
        pw_json_object(json, NULL);
        pw_json_integer(json, "rank", rank);
        pw_json_integer(json, "group", rank / r->config->groups.size);
        pw_json_integer(json, "pid", 1 + (int64_t)gpu);
        snprintf(text, sizeof text, "node%04u", at.node);
        pw_json_text(json, "hostname", text);
        pw_json_integer(json, "device", at.device);
        snprintf(text, sizeof text, "0000:%02x:00", at.device + 1);
        pw_json_text(json, "device_hex", text);
        pw_json_text(json, "device_info", at.gpu);
        pw_json_end(json);
    }
    pw_json_end(json);
}

static void put_config(pw_json *json, const pw_sweep_report *r) {
    pw_json_object(json, "config");
    pw_json_integer(json, "nthreads", 1);
    pw_json_integer(json, "ngpus", 1);
    pw_json_integer(json, "minimum_bytes", r->range.least);
    pw_json_integer(json, "maximum_bytes", r->range.most);
    if (r->range.factor) pw_json_integer(json, "step_factor", r->range.factor);
    else pw_json_integer(json, "step_bytes", r->range.step);
    pw_json_integer(json, "warmup_iters", 0);
    pw_json_integer(json, "iterations", 1);
    pw_json_integer(json, "aggregated_iterations", 1);
    pw_json_integer(json, "validation", 0);
    pw_json_integer(json, "graph", pw_cluster_communication(r->config->cluster)->launch == PW_LAUNCH_GRAPH);
    pw_json_text(json, "blocking_collectives", "false");
    pw_json_text(json, "per_iter_timing", "false");
    pw_json_integer(json, "per_iter_skip", 0);
    pw_json_text(json, "parallel_init", "false");
    put_devices(json, r);
    pw_json_end(json);
}

static void put_half(pw_json *json, const char *half, double time_s, double rate_Bps, double factor) {
    pw_json_object(json, half);
    pw_json_number(json, "time", time_s * 1e6);
    pw_json_number(json, "alg_bw", rate_Bps / 1e9);
    pw_json_number(json, "bus_bw", rate_Bps / 1e9 * factor);
    pw_json_null(json, "nwrong");
    pw_json_end(json);
}

static void put_own(pw_json *json, const pw_sweep_report *r, const pw_part_names *names, const pw_sweep_row *row) {
    char name[64];
    pw_json_object(json, "podwright");
    pw_json_text(json, "algorithm", pw_collectives_algorithm_name(r->config->collectives, row->cost.algorithm));
    if (row->cost.protocol) pw_json_text(json, "protocol", row->cost.protocol);
    if (row->cost.parameter_line) pw_json_integer(json, "parameter_line", row->cost.parameter_line);
    pw_json_number(json, "latency_s", row->cost.alpha_s);
    pw_json_number(json, "alone_s", row->cost.total_s);
    pw_json_number(json, "cut_bound_s", row->cost.floor_s);
    pw_json_number(json, "fastest_group_s", row->fastest_s);
    pw_json_number(json, "slowest_group_s", row->slowest_s);
    if (row->library.algorithm) {
        pw_json_object(json, "library_expects");
        pw_json_number(json, "time_s", row->library.time_s);
        pw_json_text(json, "algorithm", row->library.algorithm);
        pw_json_text(json, "protocol", row->library.protocol);
        pw_json_integer(json, "channels", row->library.channels);
        pw_json_end(json);
    }
    pw_json_text(json, "limit", pw_sweep_limit_names[row->limit]);
    if (row->link != PW_NONE) {
        const pw_link_info *link = pw_fabric_link(pw_cluster_fabric(r->config->cluster), row->link);
        pw_json_object(json, "busiest_link");
        pw_json_text(json, "kind", pw_link_kind_names[link->kind]);
        pw_json_text(json, "from", pw_part_name(names, link->from, name, sizeof name));
        pw_json_text(json, "to", pw_part_name(names, link->to, name, sizeof name));
        pw_json_integer(json, "alike", row->alike);
        pw_json_number(json, "bandwidth_Bps", link->bandwidth_Bps);
        pw_json_number(json, "utilisation", row->busy);
        pw_json_end(json);
    }
    pw_json_end(json);
}

static void put_result(pw_json *json, const pw_sweep_report *r, const pw_part_names *names, const pw_sweep_row *row) {
    const pw_sweep_test *test = pw_sweep_test_of(r->config->kind);
    uint32_t members = r->config->groups.size;
    double rate = pw_sweep_rate_Bps(row), factor = pw_collective_bus_factor(r->config->kind, members);
    char root[16];
    snprintf(root, sizeof root, "%6d", test->root);
    pw_json_object(json, NULL);
    pw_json_integer(json, "size", row->bytes);
    pw_json_integer(json, "count", row->bytes / r->type.bytes / (test->parts ? members : 1));
    pw_json_text(json, "type", r->type.name);
    pw_json_text(json, "redop", test->redop);
    pw_json_text(json, "root", root);
    put_half(json, "out_of_place", row->time_s, rate, factor);
    put_half(json, "in_place", row->time_s, rate, factor);
    pw_json_integer(json, "actual_iterations", 1);
    pw_json_text(json, "experiment_name", "");
    put_own(json, r, names, row);
    pw_json_end(json);
}

pw_status pw_sweep_json(const pw_sweep_report *r, pw_arena *arena, pw_file *file, pw_error *error) {
    pw_part_names names;
    pw_json json;
    PW_TRY(pw_part_names_make(r->config->cluster, arena, &names, error));
    pw_json_begin(&json, file);
    pw_json_object(&json, NULL);
    pw_json_integer(&json, "version", 3);
    pw_json_object(&json, "podwright");
    pw_json_text(&json, "schema", "podwright.collective/1");
    pw_json_text(&json, "version", r->version);
    pw_json_text(&json, "cluster", r->title);
    pw_json_integer(&json, "nodes", pw_cluster_nodes(r->config->cluster));
    pw_json_integer(&json, "groups", r->config->groups.count);
    pw_json_integer(&json, "ranks_per_group", r->config->groups.size);
    pw_json_bool(&json, "messages", r->config->messages);
    pw_json_text(&json, "parameters", pw_collectives_provenance(r->config->collectives));
    pw_json_end(&json);
    pw_json_array(&json, "args");
    pw_json_text(&json, NULL, pw_sweep_test_of(r->config->kind)->program);
    pw_json_end(&json);
    pw_json_array(&json, "env");
    pw_json_end(&json);
    put_config(&json, r);
    pw_json_array(&json, "results");
    for (uint32_t i = 0; i < r->config->size_count; i++) put_result(&json, r, &names, &r->result->rows[i]);
    pw_json_end(&json);
    pw_json_object(&json, "out_of_bounds");
    pw_json_integer(&json, "count", 0);
    pw_json_text(&json, "okay", "true");
    pw_json_end(&json);
    pw_json_object(&json, "average_bus_bandwidth");
    pw_json_number(&json, "bandwidth", pw_sweep_mean_bus_Bps(r) / 1e9);
    pw_json_text(&json, "okay", "unchecked");
    pw_json_end(&json);
    pw_json_array(&json, "errors");
    pw_json_end(&json);
    pw_json_end(&json);
    return PW_OK;
}

pw_status pw_sweep_csv(const pw_sweep_report *r, pw_arena *arena, pw_file *file, pw_error *error) {
    static const char *const columns[] = {"collective", "ranks", "groups", "size_bytes", "time_s", "algbw_Bps", "busbw_Bps",
                                          "algorithm", "latency_s", "alone_s", "cut_bound_s", "slowest_group_s", "limit",
                                          "link_kind", "link_from", "link_to", "links_alike", "link_Bps", "utilisation", "library_algorithm", "library_protocol", "library_s", "protocol"};
    const pw_fabric *fabric = pw_cluster_fabric(r->config->cluster);
    double factor = pw_collective_bus_factor(r->config->kind, r->config->groups.size);
    pw_part_names names;
    PW_TRY(pw_part_names_make(r->config->cluster, arena, &names, error));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) pw_file_csv_text(file, columns[i]);
    pw_file_csv_end(file);
    for (uint32_t i = 0; i < r->config->size_count; i++) {
        const pw_sweep_row *row = &r->result->rows[i];
        double rate = pw_sweep_rate_Bps(row);
        char name[64];
        pw_file_csv_text(file, pw_collective_names[r->config->kind]);
        pw_file_csv_integer(file, r->config->groups.size);
        pw_file_csv_integer(file, r->config->groups.count);
        pw_file_csv_integer(file, row->bytes);
        pw_file_csv_number(file, row->time_s);
        pw_file_csv_number(file, rate);
        pw_file_csv_number(file, rate * factor);
        pw_file_csv_text(file, pw_collectives_algorithm_name(r->config->collectives, row->cost.algorithm));
        pw_file_csv_number(file, row->cost.alpha_s);
        pw_file_csv_number(file, row->cost.total_s);
        pw_file_csv_number(file, row->cost.floor_s);
        pw_file_csv_number(file, row->slowest_s);
        pw_file_csv_text(file, pw_sweep_limit_names[row->limit]);
        const pw_link_info *link = row->link == PW_NONE ? NULL : pw_fabric_link(fabric, row->link);
        pw_file_csv_text(file, link ? pw_link_kind_names[link->kind] : "");
        pw_file_csv_text(file, link ? pw_part_name(&names, link->from, name, sizeof name) : "");
        pw_file_csv_text(file, link ? pw_part_name(&names, link->to, name, sizeof name) : "");
        pw_file_csv_integer(file, row->alike);
        pw_file_csv_number(file, link ? link->bandwidth_Bps : 0);
        pw_file_csv_number(file, row->busy);
        pw_file_csv_text(file, row->library.algorithm ? row->library.algorithm : "");
        pw_file_csv_text(file, row->library.algorithm ? row->library.protocol : "");
        pw_file_csv_number(file, row->library.algorithm ? row->library.time_s : NAN);
        pw_file_csv_text(file, row->cost.protocol ? row->cost.protocol : "");
        pw_file_csv_end(file);
    }
    return PW_OK;
}
