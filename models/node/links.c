/* Figures of links: rows of protocol-efficiency and latencies, and which switch goes with a port. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "models/node/node_internal.h"

pw_status node_latency(const pw_catalogue *catalogue, const char *name, double *latency_s, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "latencies", &table, error));
    int row = pw_table_find_row(table, name);
    *latency_s = row < 0 ? NAN : pw_table_number_of(table, (size_t)row, "value");
    if (*latency_s >= 0) return PW_OK;
    return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, NULL, "no value for '%s'", name);
}

/* Fills the link from a row. */
static pw_status take_row(const pw_table *table, size_t row, node_link *link, pw_error *error) {
    *link = (node_link){table, row, pw_table_number_of(table, row, "efficiency")};
    if (link->efficiency > 0 && link->efficiency <= 1) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), NULL,
                   "column 'efficiency': not between 0 and 1");
}

/* The row with the longest name that begins text: "RoCE 400G" before "RoCE". */
pw_status node_find_link(const pw_catalogue *catalogue, const char *text, node_link *link, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "protocol-efficiency", &table, error));
    size_t longest = 0, found = 0;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        const char *name = pw_table_text_at(table, row, 0);
        size_t length = strlen(name);
        if (length <= longest || strncasecmp(name, text, length) || (text[length] && text[length] != ' ')) continue;
        longest = length;
        found = row;
    }
    if (longest) return take_row(table, found, link, error);
    return pw_fail(error, PW_UNSUPPORTED, pw_table_file(table), 0,
                   "take hardware with other links, or add a row with the payload of these",
                   "links of kind '%s' are not modelled", text);
}

pw_status node_find_protocol(const pw_catalogue *catalogue, const char *name, node_link *link, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "protocol-efficiency", &table, error));
    int row = pw_table_find_row(table, name);
    bool is_network = row >= 0 && !strcmp(pw_table_text_of(table, (size_t)row, "kind"), "network");
    if (is_network) return take_row(table, (size_t)row, link, error);
    char hint[512] = "these are known:";
    for (size_t i = 0; i < pw_table_rows(table); i++) {
        size_t used = strlen(hint);
        if (!strcmp(pw_table_text_of(table, i, "kind"), "network"))
            snprintf(hint + used, sizeof hint - used, "%s %s", hint[used - 1] == ':' ? "" : ",", pw_table_text_at(table, i, 0));
    }
    return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "node.nic_protocol is '%s'", name);
}

pw_status node_port_link(const pw_catalogue *catalogue, const node_wiring *wiring, double port_Bps, node_link *link,
                         pw_error *error) {
    const char *protocol = pw_table_text_of(wiring->table, wiring->row, "nic_protocol");
    if (wiring->port_link.table) return *link = wiring->port_link, PW_OK;
    if (*protocol && port_Bps == pw_table_number_of(wiring->table, wiring->row, "nic_rate"))
        return node_find_link(catalogue, protocol, link, error);
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "protocol-efficiency", &table, error));
    double nearest = INFINITY;
    size_t found = pw_table_rows(table);
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double line = pw_table_number_of(table, row, "line_rate");
        if (strcmp(pw_table_text_of(table, row, "kind"), "network") || !(line > 0)) continue;
        double distance = fmax(line / port_Bps, port_Bps / line);
        if (distance < nearest) nearest = distance, found = row;
    }
    if (found < pw_table_rows(table)) return take_row(table, found, link, error);
    return pw_fail(error, PW_NOT_FOUND, pw_table_file(table), 0, NULL, "no row of kind network");
}

int64_t node_switch_radix(const pw_catalogue *catalogue, const node_wiring *wiring, double port_Bps) {
    const pw_table *table = pw_catalogue_table(catalogue, "links");
    if (!table) return 0;
    const char *own = wiring->port_link.table ? pw_table_text_of(wiring->port_link.table, wiring->port_link.row, "switch")
                      : port_Bps == pw_table_number_of(wiring->table, wiring->row, "nic_rate")
                          ? pw_table_text_of(wiring->table, wiring->row, "network_switch")
                          : "";
    int found = *own ? pw_table_find_row(table, own) : -1;
    double best_rate = INFINITY;
    for (size_t row = 0; found < 0 && row < pw_table_rows(table); row++) {
        const char *kind = pw_table_text_of(table, row, "kind");
        double rate = pw_table_number_of(table, row, "port_rate");
        if (!strstr(kind, "switch") || !strncmp(kind, "scale-up", 8) || !(rate >= port_Bps) || rate >= best_rate) continue;
        best_rate = rate;
    }
    for (size_t row = 0; found < 0 && row < pw_table_rows(table); row++) {
        const char *kind = pw_table_text_of(table, row, "kind");
        if (strstr(kind, "switch") && strncmp(kind, "scale-up", 8) && pw_table_number_of(table, row, "port_rate") == best_rate)
            found = (int)row;
    }
    if (found < 0) return 0;
    double ports = pw_table_number_of(table, (size_t)found, "ports") *
                   floor(pw_table_number_of(table, (size_t)found, "port_rate") / port_Bps); /* faster ports are split */
    return ports >= 4 && ports <= 4096 ? (int64_t)ports : 0;
}
