/* The table of nccl-tests 2.19.6: header, rows, footer, columns and the way numbers shrink (src/util.cu there). Nothing was
 * checked for wrong values, hence N/A in that column. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scenarios/report/parts.h"
#include "scenarios/sweep/sweep.h"

enum { DEVICES_SHOWN = 256 };

/* Two decimals where they fit into width, else one, else none, else an exponent. */
static const char *number(double value, int width, char *text, size_t size) {
    int digits = 0;
    for (double power = 1; value >= power; power *= 10) digits++;
    int decimals = digits < width - 2 ? 2 : digits < width - 1 ? 1 : 0;
    if (digits <= width) snprintf(text, size, "%*.*f", width, decimals, value);
    else snprintf(text, size, "%*.*e", width, width >= 7 ? 1 : 0, value);
    return text;
}

static void put_head(const pw_sweep_report *r, const pw_sweep_test *test, pw_file *file) {
    const pw_cluster *cluster = r->config->cluster;
    const pw_sweep_range *range = &r->range;
    pw_cluster_facts facts = pw_cluster_get_facts(cluster);
    pw_file_print(file, "# podwright %s: simulated, in the form of nccl-tests 2.19.6\n", r->version);
    pw_file_print(file, "# Cluster: %.200s, %u nodes, %u GPUs %s%s, %u ranks%s\n", r->title, facts.nodes, facts.gpus, facts.gpu,
                  pw_cluster_parts(cluster) > 1 ? " and others" : "",
                  r->config->groups.count * r->config->groups.size, r->config->messages ? ", message by message" : "");
    if (r->config->groups.count > 1)
        pw_file_print(file, "# Groups: %u of %u ranks, at once\n", r->config->groups.count, r->config->groups.size);
    pw_file_print(file, "# Collective test starting: %s\n", test->program);
    pw_file_print(file, "# nThread 1 nGpus 1 minBytes %" PRId64 " maxBytes %" PRId64 " step: %" PRId64 "(%s) ", range->least,
                  range->most, range->factor ? range->factor : range->step, range->factor ? "factor" : "bytes");
    pw_file_print(file, "warmup iters: 0 iters: 1 agg iters: 1 validation: 0 graph: %d unalign: 0\n#\n# Using devices\n",
                  pw_cluster_communication(cluster)->launch == PW_LAUNCH_GRAPH);
    uint32_t ranks = r->config->groups.count * r->config->groups.size;
    uint32_t shown = r->all_devices || ranks <= DEVICES_SHOWN ? ranks : DEVICES_SHOWN;
    for (uint32_t rank = 0; rank < shown; rank++) {
        uint32_t gpu = r->config->groups.gpus[rank];
        pw_sweep_place at = pw_sweep_place_of(cluster, gpu);
        char host[32];
        snprintf(host, sizeof host, "node%04u", at.node);
        pw_file_print(file, "#  Rank %2u Group %2u Pid %6u on %10s device %2u [0000:%02x:00] %s\n", rank,
                      rank / r->config->groups.size, 1 + gpu, host, at.device, at.device + 1, at.gpu);
    }
    if (shown < ranks) pw_file_print(file, "#  Rank ... %u more; --all-devices lists them\n", ranks - shown);
    pw_file_print(file,
                  "#\n# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n"
                  "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s    algorithm    limit, and the busiest link\n"
                  "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s\n",
                  "", "", "", "", "", "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw",
                  "busbw", "#wrong", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

/* "latency", "nic 3 -> leaf 0 (x 16) 97 %", "protocol; nic 3 -> leaf 0 91 %"; a link that is hardly busy is left out. */
static void put_limit(const pw_sweep_report *r, const pw_part_names *names, const pw_sweep_row *row, pw_file *file) {
    char from[64], to[64];
    if (row->limit != PW_SWEEP_LINK) pw_file_text(file, pw_sweep_limit_names[row->limit]);
    if (row->link == PW_NONE || row->busy < 0.01) return;
    const pw_link_info *link = pw_fabric_link(pw_cluster_fabric(r->config->cluster), row->link);
    pw_file_print(file, "%s%s -> %s", row->limit != PW_SWEEP_LINK ? "; " : "", pw_part_name(names, link->from, from, sizeof from),
                  pw_part_name(names, link->to, to, sizeof to));
    if (row->alike > 1) pw_file_print(file, " (x %u)", row->alike);
    pw_file_print(file, " %.0f %%", 100 * row->busy);
}

static void put_row(const pw_sweep_report *r, const pw_part_names *names, const pw_sweep_test *test, const pw_sweep_row *row,
                    pw_file *file) {
    char time[32], algbw[32], busbw[32];
    uint32_t members = r->config->groups.size;
    int64_t count = row->bytes / r->type.bytes / (test->parts ? members : 1);
    double rate = pw_sweep_rate_Bps(row) / 1e9;
    pw_file_print(file, "%12" PRId64 "  %12" PRId64 "  %8s  %6s  %6d", row->bytes, count, r->type.name, test->redop, test->root);
    number(row->time_s * 1e6, 7, time, sizeof time);
    number(rate, 6, algbw, sizeof algbw);
    number(rate * pw_collective_bus_factor(r->config->kind, members), 6, busbw, sizeof busbw);
    for (int half = 0; half < 2; half++) pw_file_print(file, "  %7s  %6s  %6s    N/A", time, algbw, busbw);
    char chosen[64];
    snprintf(chosen, sizeof chosen, "%.40s%s%s", pw_collectives_algorithm_name(r->config->collectives, row->cost.algorithm),
             row->cost.protocol ? "/" : "", row->cost.protocol ? row->cost.protocol : "");
    pw_file_print(file, "  # %-11s  ", chosen);
    put_limit(r, names, row, file);
    pw_file_text(file, "\n");
}

double pw_sweep_mean_bus_Bps(const pw_sweep_report *r) {
    double sum = 0, factor = pw_collective_bus_factor(r->config->kind, r->config->groups.size);
    for (uint32_t i = 0; i < r->config->size_count; i++)
        sum += pw_sweep_rate_Bps(&r->result->rows[i]) * factor;
    return sum / r->config->size_count;
}

pw_status pw_sweep_text(const pw_sweep_report *r, pw_arena *arena, pw_file *file, pw_error *error) {
    const pw_sweep_test *test = pw_sweep_test_of(r->config->kind);
    pw_part_names names;
    PW_TRY(pw_part_names_make(r->config->cluster, arena, &names, error));
    put_head(r, test, file);
    for (uint32_t i = 0; i < r->config->size_count; i++) put_row(r, &names, test, &r->result->rows[i], file);
    pw_file_print(file, "# %-20s : 0 OK\n# %-20s : %g \n#\n# Collective test concluded: %s\n", "Out of bounds values",
                  "Avg bus bandwidth", pw_sweep_mean_bus_Bps(r) / 1e9, test->program);
    const char *source = pw_collectives_provenance(r->config->collectives);
    pw_file_print(file, "#\n# Times: %.*s\n", (int)strcspn(source, ";"), source);
    return PW_OK;
}
