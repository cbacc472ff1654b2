/* The fit of what the power of all servers shares: what may shape it, what may not, and how well it predicts types it never saw. */
#include "models/power/node_fit.h"
#include "tests/harness/catalogue.h"

static pw_node_rows rows_of(void) {
    pw_node_rows rows;
    pw_error error = {0};
    must(pw_node_rows_read(catalogue(), PW_SOURCE_DIR "/tests/validation/data/power-measured.csv", PW_SOURCE_DIR "/tests/validation", &rows, &error), &error);
    return rows;
}

static pw_node_values fit(const pw_node_rows *rows, int without) {
    pw_node_values values;
    pw_error error = {0};
    must(pw_node_values_fit(catalogue(), rows, without, &values, &error), &error);
    return values;
}

static int type_of(const pw_node_rows *rows, const char *name) {
    for (int type = 0; type < rows->types; type++)
        if (!strcmp(rows->type[type], name)) return type;
    PW_FAILED("no type %s", name);
    return 0;
}

static bool alike(const pw_node_values *a, const pw_node_values *b) {
    return !memcmp(&a->shared, &b->shared, sizeof a->shared) && !memcmp(a->draw, b->draw, sizeof a->draw);
}

PW_TEST(check_rows_shape_nothing) {
    pw_node_rows rows = rows_of();
    pw_node_values before = fit(&rows, -1);
    for (size_t i = 0; i < rows.count; i++)
        if (rows.rows[i].check) rows.rows[i].measured_W *= 2;
    pw_node_values after = fit(&rows, -1);
    PW_EXPECT(alike(&before, &after));
    for (size_t i = 0; i < rows.count; i++)
        if (!rows.rows[i].check) rows.rows[i].measured_W *= 1.05;
    after = fit(&rows, -1);
    PW_EXPECT(!alike(&before, &after));
    pw_node_rows_free(&rows);
}

PW_TEST(a_type_that_is_left_out_shapes_nothing) {
    pw_node_rows rows = rows_of();
    int dgx = type_of(&rows, "DGX A100");
    pw_node_values before = fit(&rows, dgx), with = fit(&rows, -1);
    for (size_t i = 0; i < rows.count; i++)
        if (rows.rows[i].type == dgx) rows.rows[i].measured_W *= 3;
    pw_node_values after = fit(&rows, dgx);
    PW_EXPECT(alike(&before, &after));
    PW_EXPECT(!alike(&before, &with));
    pw_node_rows_free(&rows);
}

PW_TEST(types_never_seen_are_predicted_within_three_percent) {
    static const char *const types[] = {"DGX A100", "8x PCIe", "DGX Station A100", "HGX H200"};
    pw_node_rows rows = rows_of();
    double sum = 0;
    int count = 0;
    for (int t = 0; t < 4; t++) {
        int type = type_of(&rows, types[t]);
        pw_node_values values = fit(&rows, type);
        for (size_t i = 0; i < rows.count; i++) {
            if (rows.rows[i].type != type || rows.rows[i].task < 0) continue;
            sum += fabs(pw_node_row_predict(&rows.rows[i], &values) / rows.rows[i].measured_W - 1);
            count++;
        }
    }
    PW_EXPECT_INT(count, 67);
    PW_EXPECT(sum / count < 0.03);
    pw_node_rows_free(&rows);
}

PW_TEST(the_table_on_file_is_what_the_fit_gives) {
    pw_node_rows rows = rows_of();
    pw_node_values fitted = fit(&rows, -1), filed;
    pw_error error = {0};
    must(pw_node_values_read(catalogue(), &rows, &filed, &error), &error);
#define SAME(field, name, low, high) PW_EXPECT_NEAR(filed.shared.field, fitted.shared.field, 2e-3);
    PW_NODE_POWER_MAP(SAME)
#undef SAME
    for (int task = 0; task < rows.tasks; task++) PW_EXPECT_NEAR(filed.draw[task], fitted.draw[task], 2e-3);
    pw_node_rows_free(&rows);
}

PW_TEST(one_odd_row_bends_little) {
    pw_node_rows rows = rows_of();
    pw_node_values before = fit(&rows, -1);
    size_t odd = 0;
    while (rows.rows[odd].check || !rows.rows[odd].shapes || rows.rows[odd].task < 0) odd++;
    rows.rows[odd].measured_W *= 1.5;
    pw_node_values after = fit(&rows, -1);
    for (size_t i = 0; i < rows.count; i++)
        if (rows.rows[i].shapes && rows.rows[i].task >= 0)
            PW_EXPECT_NEAR(pw_node_row_predict(&rows.rows[i], &after), pw_node_row_predict(&rows.rows[i], &before), 0.015);
    pw_node_rows_free(&rows);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
