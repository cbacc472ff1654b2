#include "models/collective/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/math.h"

static const char table_kind[] = "collective-parameters";
static const char any[] = "any";

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

static pw_status read_rows(const pw_allocator *allocator, const pw_table *table, const char *arch, bool own,
                           parameter_table *set, pw_error *error) {
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        row_reader reader = {table, row, error};
        const char *generation = NULL;
        PW_TRY(read_text(&reader, "generation", &generation));
        bool is_any = !strcmp(generation, any);
        if (own ? is_any || !is_generation(arch, generation) : !is_any) continue;
        if (pw_grow(allocator, (void **)&set->rows, &set->capacity, set->count + 1,
                    sizeof *set->rows))
            return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for the parameters of collectives");
        PW_TRY(read_row(&reader, &set->rows[set->count]));
        set->count++;
        if (own && !*set->generation)
            snprintf(set->generation, sizeof set->generation, "%s", generation);
    }
    return PW_OK;
}

pw_status parameters_load(const pw_allocator *allocator, const pw_catalogue *catalogue, const char *arch,
                          parameter_table *set, pw_error *error) {
    memset(set, 0, sizeof *set);
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, table_kind, &table, error));
    const char *slash = strrchr(pw_table_file(table), '/'); /* a result must not depend on where the data lie */
    snprintf(set->file, sizeof set->file, "%s", slash ? slash + 1 : pw_table_file(table));
    pw_status status = read_rows(allocator, table, arch, true, set, error);
    set->own = set->count;
    if (status == PW_OK) status = read_rows(allocator, table, arch, false, set, error);
    if (status != PW_OK) parameters_free(allocator, set);
    return status;
}

void parameters_free(const pw_allocator *allocator, parameter_table *set) {
    pw_free(allocator, set->rows, set->capacity * sizeof *set->rows);
    set->rows = NULL;
    set->count = set->capacity = set->own = 0;
}

/* A row for any kind answers for every collective, never for messages. */
static bool row_matches(const parameter_row *row, int kind, int algorithm, bool several) {
    if (row->several != several || row->algorithm != algorithm) return false;
    return row->kind == kind || (row->kind == PARAMETER_KIND_ANY && kind != PARAMETER_KIND_MESSAGE);
}

bool parameters_has(const parameter_table *set, int kind, int algorithm, bool several, bool own) {
    size_t first = own ? 0 : set->own, end = own ? set->own : set->count;
    for (size_t i = first; i < end; i++)
        if (row_matches(&set->rows[i], kind, algorithm, several)) return true;
    return false;
}

static double row_latency(const parameter_row *row, const parameter_query *query) {
    double between = row->by_doubling ? (query->domains > 1 ? pw_log2(query->domains) : 0) : query->hops.network;
    double inside = row->by_member ? (double)query->members / query->domains - 1 : query->hops.scaleup;
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
    if (!isnan(row->network_Bps) && query->load.network > 0)
        between = query->bytes * query->load.network / (row->network_Bps * (query->network_Bps / row->network_link_Bps));
    return inside > between ? inside : between;
}

parameter_answer parameters_least(const parameter_table *set, const parameter_query *query, bool own) {
    parameter_answer best = {INFINITY, INFINITY, 0, NULL};
    size_t first = own ? 0 : set->own, end = own ? set->own : set->count;
    for (size_t i = first; i < end; i++) {
        const parameter_row *row = &set->rows[i];
        if (!row_matches(row, query->kind, query->algorithm, query->domains > 1)) continue;
        double alpha = row_latency(row, query), fluid = row_fluid(row, query);
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
