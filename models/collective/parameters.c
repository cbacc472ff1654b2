#include "models/collective/parameters.h"

#include "models/collective/library.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/math.h"

static const char *const table_kinds[] = {"collective-parameters", "collective-assumed"};
static const char any[] = "any";

static const double HUGE_BYTES = 1e30; /* no limit */

typedef struct row_reader {
    const pw_table *table;
    size_t row;
    pw_error *error;
} row_reader;

static pw_status bad_row(const row_reader *reader, const char *column, const char *text) {
    return pw_fail(reader->error, PW_BAD_INPUT, pw_table_file(reader->table), pw_table_line(reader->table, reader->row),
                   "docs/models/collectives.md names the columns and what they may hold", "column '%s' cannot be '%s'",
                   column, text);
}

static pw_status read_text(const row_reader *reader, const char *column, const char **text) {
    int index = pw_table_find_column(reader->table, column);
    if (index < 0)
        return pw_fail(reader->error, PW_BAD_INPUT, pw_table_file(reader->table), 1, NULL, "the column '%s' is missing",
                       column);
    *text = pw_table_text_at(reader->table, reader->row, (size_t)index);
    return PW_OK;
}

static pw_status read_choice(const row_reader *reader, const char *column, const char *const *names, int *choice) {
    const char *text = NULL;
    PW_TRY(read_text(reader, column, &text));
    for (*choice = 0; names[*choice]; ++*choice)
        if (!strcmp(names[*choice], text)) return PW_OK;
    return bad_row(reader, column, text);
}

/* A number at least `least`; an empty cell gives `preset`, which is an error when that is infinite. */
static pw_status read_number(const row_reader *reader, const char *column, double least, double preset, double *value) {
    const char *text = NULL;
    PW_TRY(read_text(reader, column, &text));
    *value = preset;
    if (*text) *value = pw_table_number_of(reader->table, reader->row, column);
    if ((*text && !(*value >= least)) || isinf(*value)) return bad_row(reader, column, text);
    return PW_OK;
}

static pw_status read_row(const row_reader *reader, parameter_row *row) {
    static const char *const scopes[] = {"one_domain", "several_domains", NULL};
    static const char *const measures[] = {"load", "size", NULL};
    static const char *const hops[] = {"hop", "member", NULL};
    static const char *const network_hops[] = {"hop", "doubling", NULL};
    const char *kinds[PW_COLLECTIVE_KIND_COUNT + 3], *algorithms[64];
    int choice = 0;
    for (int kind = 0; kind < PW_COLLECTIVE_KIND_COUNT; kind++) kinds[kind] = pw_collective_names[kind];
    kinds[PARAMETER_KIND_MESSAGE] = "message";
    kinds[PARAMETER_KIND_ANY] = any;
    kinds[PARAMETER_KIND_ANY + 1] = NULL;
    size_t count = 0;
    while (pw_algorithm_table[count].name) {
        PW_CHECK(count + 2 < sizeof algorithms / sizeof *algorithms);
        algorithms[count] = pw_algorithm_table[count].name;
        count++;
    }
    algorithms[count] = "message";
    algorithms[count + 1] = NULL;

    PW_TRY(read_choice(reader, "kind", kinds, &row->kind));
    PW_TRY(read_choice(reader, "algorithm", algorithms, &row->algorithm));
    if (row->algorithm == (int)count) row->algorithm = -1;
    if ((row->algorithm == -1) != (row->kind == PARAMETER_KIND_MESSAGE)) return bad_row(reader, "algorithm", "message");
    PW_TRY(read_choice(reader, "scope", scopes, &choice));
    row->several = choice == 1;
    PW_TRY(read_choice(reader, "bandwidth_of", measures, &choice));
    row->by_size = choice == 1;
    PW_TRY(read_choice(reader, "hop_of", hops, &choice));
    row->by_member = choice == 1;
    PW_TRY(read_choice(reader, "network_hop_of", network_hops, &choice));
    row->by_doubling = choice == 1;
    PW_TRY(read_number(reader, "a", 0, INFINITY, &row->a_s));
    PW_TRY(read_number(reader, "hop", 0, 0, &row->hop_s));
    PW_TRY(read_number(reader, "network_hop", 0, 0, &row->network_hop_s));
    PW_TRY(read_number(reader, "bandwidth", 1, NAN, &row->bandwidth_Bps));
    PW_TRY(read_number(reader, "link", 1, NAN, &row->link_Bps));
    PW_TRY(read_number(reader, "network_bandwidth", 1, NAN, &row->network_Bps));
    PW_TRY(read_number(reader, "network_link", 1, NAN, &row->network_link_Bps));
    PW_TRY(read_number(reader, "latency", 0, NAN, &row->latency_s));
    PW_TRY(read_number(reader, "c", 0, 0, &row->c));
    PW_TRY(read_number(reader, "sms", 0, INFINITY, &row->sms));
    PW_TRY(read_number(reader, "sm_bytes", 1, NAN, &row->sm_bytes));
    PW_TRY(read_number(reader, "channel", 1, NAN, &row->channel_Bps));
    PW_TRY(read_number(reader, "from", 0, 0, &row->from_bytes[0]));
    PW_TRY(read_number(reader, "from_threads", 0, 0, &row->from_bytes[1]));
    PW_TRY(read_number(reader, "until", 0, HUGE_BYTES, &row->until_bytes[0]));
    PW_TRY(read_number(reader, "until_threads", 0, HUGE_BYTES, &row->until_bytes[1]));
    const char *protocol = NULL;
    PW_TRY(read_text(reader, "protocol", &protocol));
    row->protocol = !strcmp(protocol, "LL") ? 0 : !strcmp(protocol, "LL128") ? 1 : !strcmp(protocol, "Simple") ? 2 : -1;
    if (isnan(row->bandwidth_Bps) != isnan(row->link_Bps)) return bad_row(reader, "link", "empty");
    if (isnan(row->network_Bps) != isnan(row->network_link_Bps)) return bad_row(reader, "network_link", "empty");
    if (row->several ? isnan(row->network_Bps) : isnan(row->bandwidth_Bps)) return bad_row(reader, "bandwidth", "empty");
    row->line = pw_table_line(reader->table, reader->row);
    return PW_OK;
}

/* "Blackwell Ultra" is of the generation "Blackwell". */
static bool is_generation(const char *arch, const char *generation) {
    size_t length = strlen(generation);
    return !strncasecmp(arch, generation, length) && (arch[length] == '\0' || arch[length] == ' ');
}

/* The generation of the tables that says most of an architecture's name, and the newest set of rows not newer than the version,
 * else the oldest. */
static pw_status find_set(const pw_table *const *tables, const char *arch, const char *library, double version, parameter_table *set,
                          double *since, pw_error *error) {
    for (size_t t = 0; t < 2; t++)
        for (size_t row = 0; row < pw_table_rows(tables[t]); row++) {
            row_reader reader = {tables[t], row, error};
            const char *generation = NULL;
            PW_TRY(read_text(&reader, "generation", &generation));
            if (strcmp(generation, any) && is_generation(arch, generation) && strlen(generation) > strlen(set->generation))
                snprintf(set->generation, sizeof set->generation, "%s", generation);
        }
    double oldest = INFINITY, newest = -1;
    for (size_t row = 0; row < pw_table_rows(tables[0]); row++) {
        row_reader reader = {tables[0], row, error};
        const char *generation = NULL, *of = NULL, *text = NULL;
        PW_TRY(read_text(&reader, "generation", &generation));
        PW_TRY(read_text(&reader, "library", &of));
        PW_TRY(read_text(&reader, "version", &text));
        double number = library_version(text);
        if (strcmp(generation, set->generation) || strcmp(of, library)) continue;
        if (number < oldest) oldest = number;
        if (number > newest && (number <= version || version == 0)) newest = number;
    }
    *since = newest >= 0 ? newest : oldest;
    return PW_OK;
}

static pw_status read_rows(const pw_allocator *allocator, const pw_table *table, const char *generation, const char *library,
                           double since, parameter_table *set, pw_error *error) {
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        row_reader reader = {table, row, error};
        const char *of = NULL, *by = NULL, *text = NULL;
        PW_TRY(read_text(&reader, "generation", &of));
        PW_TRY(read_text(&reader, "library", &by));
        PW_TRY(read_text(&reader, "version", &text));
        if (strcmp(of, generation) || (*by && strcmp(by, library)) || (*text && library_version(text) != since)) continue;
        if (pw_grow(allocator, (void **)&set->rows, &set->capacity, set->count + 1,
                    sizeof *set->rows))
            return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the parameters of collectives");
        PW_TRY(read_row(&reader, &set->rows[set->count]));
        set->count++;
    }
    return PW_OK;
}

pw_status parameters_load(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *arch, const char *library,
                          const char *version, parameter_table *set, pw_error *error) {
    memset(set, 0, sizeof *set);
    const pw_table *tables[2];
    for (int t = 0; t < 2; t++) PW_TRY(pw_catalogue_need(catalogue, table_kinds[t], &tables[t], error));
    const char *slash = strrchr(pw_table_file(tables[0]), '/'); /* a result must not depend on where the data lie */
    snprintf(set->file, sizeof set->file, "%s", slash ? slash + 1 : pw_table_file(tables[0]));
    double since = 0;
    PW_TRY(find_set(tables, arch, library, library_version(version), set, &since, error));
    pw_status status = PW_OK;
    for (int t = 0; t < 2 && status == PW_OK && *set->generation; t++)
        status = read_rows(allocator, tables[t], set->generation, library, since, set, error);
    set->own = set->count;
    for (int t = 0; t < 2 && status == PW_OK; t++) status = read_rows(allocator, tables[t], any, library, since, set, error);
    if (status != PW_OK) parameters_free(allocator, set);
    return status;
}

pw_status parameters_load_stack(const pw_catalogue *catalogue, const char *name, const char *nic_protocol, parameter_stack *stack,
                                pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "network-stacks", &table, error));
    int row = *name ? pw_table_find_row(table, name) : -1;
    for (size_t r = 0; row < 0 && !*name && *nic_protocol && r < pw_table_rows(table); r++) {
        const char *protocol = pw_table_text_of(table, r, "protocol"); /* "EFA" is of "EFA v3" too */
        size_t length = strlen(protocol);
        if (length && !strncmp(protocol, nic_protocol, length) && (!nic_protocol[length] || nic_protocol[length] == ' ')) row = (int)r;
    }
    if (row < 0 && !*name) row = pw_table_find_row(table, "rdma");
    if (row < 0) {
        char hint[256];
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, pw_table_names(table, "these are on file:", hint, sizeof hint),
                       "there is no network stack '%s'", name);
    }
    snprintf(stack->name, sizeof stack->name, "%s", pw_table_text_at(table, (size_t)row, 0));
    stack->is_rdma = !strcmp(pw_table_text_of(table, (size_t)row, "own_terms"), "no");
    if (stack->is_rdma) return PW_OK;
    PW_TRY(pw_table_amount_of(table, (size_t)row, "hop_small", &stack->hop_s[0], error));
    PW_TRY(pw_table_amount_of(table, (size_t)row, "hop_large", &stack->hop_s[1], error));
    PW_TRY(pw_table_amount_of(table, (size_t)row, "share_small", &stack->share[0], error));
    return pw_table_amount_of(table, (size_t)row, "share_large", &stack->share[1], error);
}

pw_status parameters_load_launch(const pw_catalogue *catalogue, const char *launch, const char *arch, const char *host,
                                 double added_s[2], double *per_member_s, pw_error *error) {
    const pw_table *table;
    size_t longest = 0;
    PW_TRY(pw_catalogue_need(catalogue, "collective-launch", &table, error));
    added_s[0] = added_s[1] = *per_member_s = 0;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        const char *generation = pw_table_text_of(table, row, "generation");
        const char *of_host = pw_table_text_of(table, row, "host");
        bool is_any = !strcmp(generation, any);
        if (*of_host && strcmp(of_host, host)) continue;
        if (strcmp(pw_table_text_of(table, row, "launch"), launch) || (!is_any && !is_generation(arch, generation))) continue;
        if (is_any ? longest > 0 : strlen(generation) < longest) continue;
        longest = is_any ? 0 : strlen(generation);
        PW_TRY(pw_table_amount_of(table, row, "added", &added_s[0], error));
        PW_TRY(pw_table_amount_of(table, row, "added_exchange", &added_s[1], error));
        PW_TRY(pw_table_amount_of(table, row, "added_per_member", per_member_s, error));
    }
    return PW_OK;
}

void parameters_free(const pw_allocator *allocator, parameter_table *set) {
    if (set->capacity) pw_free(allocator, set->rows, set->capacity * sizeof *set->rows);
    set->rows = NULL;
    set->count = set->capacity = set->own = 0;
}

enum {
#define NUMBER_OF(algorithm, ...) NUMBER_OF_##algorithm,
    ALGORITHM_MAP(NUMBER_OF)
#undef NUMBER_OF
};

/* nvls_tree is another name of nvls over several domains: measurements of one are those of the other. */
static int measured_as(int algorithm) {
    return algorithm == NUMBER_OF_nvls_tree ? NUMBER_OF_nvls : algorithm;
}

/* A row for any kind answers for every collective, never for messages. */
static bool row_matches(const parameter_row *row, int kind, int algorithm, bool several) {
    if (row->several != several || measured_as(row->algorithm) != measured_as(algorithm)) return false;
    return row->kind == kind || (row->kind == PARAMETER_KIND_ANY && kind != PARAMETER_KIND_MESSAGE);
}

bool parameters_has(const parameter_table *set, int kind, int algorithm, bool several, bool own) {
    size_t first = own ? 0 : set->own, end = own ? set->own : set->count;
    for (size_t i = first; i < end; i++)
        if (row_matches(&set->rows[i], kind, algorithm, several)) return true;
    return false;
}

static bool uses_stack(const parameter_query *query) { return query->stack && !query->stack->is_rdma && query->domains > 1; }

static double row_latency(const parameter_row *row, const parameter_query *query) {
    double between = row->by_doubling ? (query->domains > 1 ? pw_log2(query->domains) : 0) : query->hops.network;
    double inside = row->by_member ? (double)query->members / query->domains - 1 : query->hops.scaleup;
    if (uses_stack(query))
        return row->a_s + row->hop_s * inside + query->stack->hop_s[row->protocol != 0] * query->hops.network;
    double extra = query->latency_s - row->latency_s;
    double longer = extra > 0 ? extra * query->hops.network : 0; /* also when NaN: nothing */
    return longer + row->a_s + row->hop_s * inside + row->network_hop_s * between;
}

static double row_fluid(const parameter_row *row, const parameter_query *query) {
    double inside = 0, between = 0;
    if (!isnan(row->bandwidth_Bps) && query->load.scaleup > 0) {
        double bytes = row->by_size ? query->bytes : query->bytes * query->load.scaleup;
        if (query->members > 1) bytes *= 1 + row->c / (query->members - 1);
        inside = bytes / (row->bandwidth_Bps * (query->scaleup_Bps / row->link_Bps));
    }
    if (!isnan(row->channel_Bps)) {
        double one = query->channel_bytes / row->channel_Bps;
        if (one > inside) inside = one;
    }
    if (!isnan(row->network_Bps) && query->load.network > 0) {
        double share = uses_stack(query) ? query->stack->share[row->protocol != 0] : row->network_Bps / row->network_link_Bps;
        between = query->bytes * query->load.network / (share * query->network_Bps);
    }
    return inside > between ? inside : between;
}

static bool row_holds(const parameter_row *row, const parameter_query *query) {
    if (query->protocol >= 0 && row->protocol != query->protocol) return false;
    if (uses_stack(query) && row->protocol == 1) return false;
    return query->member_bytes < row->until_bytes[query->threads];
}

parameter_answer parameters_least(const parameter_table *set, const parameter_query *query, bool own) {
    parameter_answer best = {INFINITY, INFINITY, 0, NULL};
    size_t first = own ? 0 : set->own, end = own ? set->own : set->count;
    for (size_t i = first; i < end; i++) {
        const parameter_row *row = &set->rows[i];
        if (!row_matches(row, query->kind, query->algorithm, query->domains > 1) || !row_holds(row, query)) continue;
        parameter_query at = *query; /* at the least size of the row */
        if (query->member_bytes < row->from_bytes[query->threads] && query->member_bytes > 0) {
            at.bytes *= row->from_bytes[query->threads] / query->member_bytes;
            at.channel_bytes = query->part_of(query->context, row->from_bytes[query->threads]);
        }
        double alpha = row_latency(row, query), fluid = row_fluid(row, &at);
        if (best.row && !(alpha + fluid < best.alpha_s + best.fluid_s)) continue;
        best = (parameter_answer){alpha, fluid, row->sms, row};
        if (!isnan(row->sm_bytes)) {
            double useful = ceil(query->bytes / row->sm_bytes);
            if (useful < 1) useful = 1;
            if (useful < best.sms) best.sms = useful;
        }
    }
    return best;
}
