#include "models/workload/stack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Architectures are words of one cell; "Blackwell Ultra" counts as Blackwell. */
static bool knows_arch(const char *archs, const char *arch) {
    size_t length = strcspn(arch, " ");
    for (const char *word = archs; *word;) {
        size_t size = strcspn(word, " ");
        if (size == length && !strncmp(word, arch, size)) return true;
        word += size;
        word += strspn(word, " ");
    }
    return false;
}

/* The newest default row for an architecture; the newest of all when none names it. */
static size_t newest_row(const pw_table *table, const char *arch) {
    size_t best = 0;
    double best_year = -1, best_known = -1;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        double when = pw_table_number_of(table, row, "year");
        if (pw_table_number_of(table, row, "default") != 1 || isnan(when)) continue;
        double known = arch && knows_arch(pw_table_text_of(table, row, "archs"), arch);
        if (known < best_known || (known == best_known && when <= best_year)) continue;
        best = row;
        best_known = known;
        best_year = when;
    }
    return best;
}

static pw_status unknown_stack(const pw_table *table, const char *name, const char *file, int line, pw_error *error) {
    const char *near = pw_table_nearest(table, name);
    char head[160] = "stacks:", hint[700];
    for (size_t row = 0; row < pw_table_rows(table) && !near; row++) /* "torchtitan": torchtitan-2024 */
        if (strlen(name) > 3 && strncmp(pw_table_text_at(table, row, 0), name, strlen(name)) == 0)
            near = pw_table_text_at(table, row, 0);
    if (near) snprintf(head, sizeof head, "did you mean '%.100s'? stacks:", near);
    pw_table_names(table, head, hint, sizeof hint);
    return pw_fail(error, PW_NOT_FOUND, file, line, hint, "no software stack is called '%s'", name);
}

pw_status pw_stack_factor(const pw_catalogue *catalogue, const char *name, double *factor, pw_error *error) {
    const pw_table *table = pw_catalogue_table(catalogue, "stack-factors");
    int row = table ? pw_table_find_row(table, name) : -1;
    *factor = 1;
    if (row >= 0) PW_TRY(pw_table_amount_of(table, (size_t)row, "factor", factor, error));
    if (*factor > 0) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), "above 0",
                   "the factor of stack %s is out of range", name);
}

pw_status pw_stack_read(const pw_catalogue *catalogue, const char *name, const pw_device *device, pw_stack *stack,
                        const char *file, int line, pw_error *error) {
    const pw_table *table, *reserve;
    PW_TRY(pw_catalogue_need(catalogue, "stacks", &table, error));
    PW_TRY(pw_catalogue_need(catalogue, "memory-reserve", &reserve, error));
    if (!pw_table_rows(table)) return unknown_stack(table, name ? name : "(newest)", file, line, error);
    size_t row;
    if (name) {
        int found = pw_table_find_row(table, name);
        if (found < 0) return unknown_stack(table, name, file, line, error);
        row = (size_t)found;
    } else {
        row = newest_row(table, device ? device->arch : NULL);
    }
    stack->name = pw_table_text_at(table, row, 0);
    stack->text = pw_table_text_of(table, row, "text");
    stack->source = pw_table_text_of(table, row, "source");
    double value;
    PW_TRY(pw_table_amount_of(table, row, "year", &value, error));
    stack->year = (int64_t)value;
#define READ_SWITCH(column)                                   \
    PW_TRY(pw_table_amount_of(table, row, #column, &value, error));    \
    stack->column = value != 0;
    PW_STACK_SWITCH_MAP(READ_SWITCH)
#undef READ_SWITCH
#define READ_NUMBER(column) PW_TRY(pw_table_amount_of(table, row, #column, &stack->column, error));
    PW_STACK_NUMBER_MAP(READ_NUMBER)
#undef READ_NUMBER
    if (!(stack->tp_exposed <= 1))
        return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, row), "tp_exposed is 0 to 1",
                       "stack %s has a value out of range", stack->name);

    PW_TRY(pw_stack_factor(catalogue, stack->name, &stack->kernel_time_factor, error));

    int reserve_row = pw_table_find_row(reserve, stack->name);
    if (reserve_row < 0)
        return pw_fail(error, PW_NOT_FOUND, pw_table_file(reserve), 0, "add a row with the stack's name",
                       "the memory reserve of stack %s is unknown", stack->name);
    double context, communication;
    PW_TRY(pw_table_amount_of(reserve, (size_t)reserve_row, "context", &context, error));
    PW_TRY(pw_table_amount_of(reserve, (size_t)reserve_row, "communication", &communication, error));
    PW_TRY(pw_table_amount_of(reserve, (size_t)reserve_row, "fragmentation", &stack->fragmentation, error));
    PW_TRY(pw_table_amount_of(reserve, (size_t)reserve_row, "gradient_bucket", &stack->gradient_bucket, error));
    stack->split_logits = pw_table_number_of(reserve, (size_t)reserve_row, "split_logits"); /* NaN: none of its own */
    PW_TRY(pw_table_amount_of(reserve, (size_t)reserve_row, "inner_gradients", &stack->inner_gradients, error));
    stack->reserve_bytes = context + communication;
    return PW_OK;
}

pw_status pw_stack_read_experts(const pw_catalogue *catalogue, pw_stack *stack, const char *file, int line, pw_error *error) {
    const pw_table *table;
    PW_TRY(pw_catalogue_need(catalogue, "stack-experts", &table, error));
    int row = pw_table_find_row(table, stack->name);
    if (row < 0) {
        char hint[400];
        pw_table_names(table, "stacks with experts:", hint, sizeof hint);
        return pw_fail(error, PW_UNSUPPORTED, file, line, hint, "how stack %s runs experts and latent attention is not on file", stack->name);
    }
    stack->experts.text = pw_table_text_of(table, (size_t)row, "text");
    stack->experts.source = pw_table_text_of(table, (size_t)row, "source");
#define READ_EXPERT(column) PW_TRY(pw_table_amount_of(table, (size_t)row, #column, &stack->experts.column, error));
    PW_STACK_EXPERT_MAP(READ_EXPERT)
#undef READ_EXPERT
    if (stack->experts.exposed <= 1) return PW_OK;
    return pw_fail(error, PW_BAD_INPUT, pw_table_file(table), pw_table_line(table, (size_t)row), "0 to 1",
                   "stack-experts: exposed of %s is out of range", stack->name);
}
