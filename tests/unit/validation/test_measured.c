/* Laws: a measured cell is read as written or refused with its place; a row's side is that of its family; the first
 * pattern that fits decides. */
#include "scenarios/validation/layout.h"
#include "tests/unit/validation/scratch.h"

static pw_measured table_of(scratch *s, const char *name, const char *text) {
    pw_measured measured;
    scratch_must(s, pw_measured_read(scratch_file(s, name, text), s->arena, &measured, &s->error) == PW_OK);
    return measured;
}

PW_TEST(cells_are_read_by_the_name_of_their_column) {
    scratch s;
    scratch_begin(&s);
    pw_measured m = table_of(&s, "m.csv", "# a remark\nid,text,n\na,\"one, two\",1.5\nb,,\n");
    double value;
    int64_t whole;
    PW_EXPECT_INT(m.rows, 2);
    PW_EXPECT_INT(m.columns, 3);
    PW_EXPECT_INT(m.lines[1], 4);
    PW_EXPECT_INT(pw_measured_find(&m, "n"), 2);
    PW_EXPECT_INT(pw_measured_find(&m, "N"), -1);
    PW_EXPECT_TEXT(pw_measured_text(&m, 0, "text"), "one, two");
    PW_EXPECT_TEXT(pw_measured_text(&m, 0, "no such column"), "");
    PW_EXPECT(pw_measured_number(&m, 0, "n", &value, &s.error) == PW_OK && value == 1.5);
    PW_EXPECT(pw_measured_number(&m, 1, "n", &value, &s.error) == PW_OK && isnan(value));
    PW_EXPECT(pw_measured_integer(&m, 1, "n", 7, &whole, &s.error) == PW_OK && whole == 7);
    scratch_end(&s);
}

PW_TEST(a_cell_that_is_no_number_is_named_with_file_and_line) {
    scratch s;
    scratch_begin(&s);
    pw_measured m = table_of(&s, "m.csv", "n\n1\nsoon\n1.5\n1e300\ninf\n");
    double value;
    int64_t whole;
    PW_EXPECT(pw_measured_number(&m, 1, "n", &value, &s.error) == PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(s.error.file, "m.csv");
    PW_EXPECT_INT(s.error.line, 3);
    PW_EXPECT_CONTAINS(s.error.what, "'soon' is no number");
    PW_EXPECT(pw_measured_integer(&m, 2, "n", 0, &whole, &s.error) == PW_BAD_INPUT);
    PW_EXPECT_INT(s.error.line, 4);
    PW_EXPECT(pw_measured_integer(&m, 3, "n", 0, &whole, &s.error) == PW_BAD_INPUT);
    PW_EXPECT(pw_measured_number(&m, 4, "n", &value, &s.error) == PW_BAD_INPUT);
    scratch_end(&s);
}

PW_TEST(a_row_is_on_the_side_of_its_whole_key) {
    scratch s;
    scratch_begin(&s);
    pw_measured split = table_of(&s, "split.csv", "source,model,side\na,x,fit\na,y,check\nb,x,check\n");
    pw_measured m = table_of(&s, "m.csv", "model,other,source\nx,1,a\ny,1,a\nx,1,b\ny,1,b\n,,\n");
    static const char *const expected[] = {"fit", "check", "check", "", ""};
    for (uint32_t row = 0; row < m.rows; row++) PW_EXPECT_TEXT(pw_validation_side(&split, &m, row), expected[row]);
    scratch_end(&s);
}

PW_TEST(a_split_without_a_column_side_puts_no_row_on_a_side) {
    scratch s;
    scratch_begin(&s);
    pw_measured split = table_of(&s, "split.csv", "source,sides\na,fit\n"), m = table_of(&s, "m.csv", "source\na\n");
    PW_EXPECT_TEXT(pw_validation_side(&split, &m, 0), "");
    scratch_end(&s);
}

PW_TEST(the_first_pattern_whose_cells_begin_the_row_decides) {
    scratch s;
    scratch_begin(&s);
    pw_measured table = table_of(&s, "t.csv", "software,precision,stack,remark\nMega 2,fp8,late8,r\nMega 2,,late,r\nMega,,early,r\n");
    pw_measured m = table_of(&s, "m.csv", "precision,software\nfp8-block,Mega 2.1\nbf16,Mega 2.1\nfp8,Mega 1\nfp8,Nemo\n");
    static const char *const expected[] = {"late8", "late", "early"};
    for (uint32_t row = 0; row < 3; row++) PW_EXPECT_TEXT(pw_layout_look_up(&table, "stack", &m, row), expected[row]);
    PW_EXPECT(pw_layout_look_up(&table, "stack", &m, 3) == NULL);
    PW_EXPECT(pw_layout_match(&table, "no such column", &m, 0) == -1);
    scratch_end(&s);
}

PW_TEST(a_row_knows_its_layout_better_than_its_name_does) {
    scratch s;
    scratch_begin(&s);
    pw_measured layouts =
        table_of(&s, "layouts.csv", "model,arch,gated,vocabulary,kv_heads,gated_mlp,tied,biases,learned_positions,source\n"
                                "big,,,1000,8,1,0,0,0,s\n,,,,,0,1,1,1,s\n");
    pw_measured m = table_of(&s, "m.csv", "model,vocab,kv_heads,gated\nbig-1,,,\nbig-2,2000,4,0\nsmall,,,\nbig-3,many,,\n");
    pw_model_desc model;
    bool learned;
    PW_EXPECT(pw_layout_complete(&layouts, &m, 0, &model, &learned, &s.error) == PW_OK);
    PW_EXPECT(model.vocabulary == 1000 && model.kv_heads == 8 && model.gated && !model.tied && !model.biases && !learned);
    PW_EXPECT(pw_layout_complete(&layouts, &m, 1, &model, &learned, &s.error) == PW_OK);
    PW_EXPECT(model.vocabulary == 2000 && model.kv_heads == 4 && !model.gated && !model.tied);
    PW_EXPECT(pw_layout_complete(&layouts, &m, 2, &model, &learned, &s.error) == PW_OK);
    PW_EXPECT(model.vocabulary == 0 && model.kv_heads == 0 && !model.gated && model.tied && model.biases && learned);
    PW_EXPECT(pw_layout_complete(&layouts, &m, 3, &model, &learned, &s.error) == PW_BAD_INPUT);
    PW_EXPECT_INT(s.error.line, 5);
    scratch_end(&s);
}

/* The layouts that ship agree with the models that ship, wherever both speak of one. */
PW_TEST(layouts_on_file_agree_with_the_models_of_the_catalogue) {
    scratch s;
    scratch_begin(&s);
    pw_measured layouts, models;
    scratch_must(&s, pw_measured_read(PW_SOURCE_DIR "/tests/validation/layouts.csv", s.arena, &layouts, &s.error) == PW_OK);
    const char *text = "model\nllama3-8b\nllama3-405b\nllama2-7b\nllama2-70b\nnemotron4-15b\nmegatron-22b\nmt-nlg-530b\ngpt3-5b\n";
    models = table_of(&s, "models.csv", text);
    for (uint32_t row = 0; row < models.rows; row++) {
        pw_model_desc preset, model;
        bool learned;
        const char *name = pw_measured_text(&models, row, "model");
        PW_EXPECT(pw_model_preset(s.catalogue, name, &preset, s.arena, &s.error) == PW_OK);
        PW_EXPECT(pw_layout_complete(&layouts, &models, row, &model, &learned, &s.error) == PW_OK);
        if (model.vocabulary != preset.vocabulary || model.kv_heads != preset.kv_heads || model.gated != preset.gated ||
            model.tied != preset.tied || model.biases != preset.biases || learned != (preset.positions > 0))
            PW_FAILED("the layout of %s differs from the catalogue's model", name);
    }
    scratch_end(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
