#include "sim/csv.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/file.h"
#include "tests/harness/check.h"

static pw_error error;

static pw_csv *open_text(const char *text) {
    pw_csv *csv = NULL;
    if (pw_csv_open_text(text, strlen(text), "t.csv", NULL, NULL, &csv, &error) != PW_OK) {
        char message[2048];
        PW_FAILED("%s", pw_error_text(&error, message, sizeof message));
    }
    return csv;
}

/* The rows as "line:a|b;..." and the message of the error, if any. */
static const char *dump(const char *text) {
    static char out[4096];
    pw_csv *csv;
    bool row = true;
    out[0] = '\0';
#define ADD(...) snprintf(out + strlen(out), sizeof out - strlen(out), __VA_ARGS__)
    pw_status status = pw_csv_open_text(text, strlen(text), "t.csv", NULL, NULL, &csv, &error);
    while (status == PW_OK && (status = pw_csv_next(csv, &row, &error)) == PW_OK && row) {
        ADD("%d:", pw_csv_line(csv));
        for (int i = 0; i < pw_csv_columns(csv); i++) ADD("%s%s", i ? "|" : "", pw_csv_text(csv, i));
        ADD(";");
    }
    if (status != PW_OK) ADD("%s:%d: %s", error.file, error.line, error.what);
    pw_csv_close(csv);
    return out;
}

PW_TEST(rows_know_the_line_on_which_they_begin) {
    PW_EXPECT_TEXT(dump("a,b\n1,2\n3,4\n"), "2:1|2;3:3|4;");
    PW_EXPECT_TEXT(dump("a,b\n1,2\n3,4"), "2:1|2;3:3|4;"); /* no line end at the end */
    PW_EXPECT_TEXT(dump("a,b\r\n1,2\r\n3,4\r\n"), "2:1|2;3:3|4;");
    PW_EXPECT_TEXT(dump("a,b\r1,2\r3,4\r"), "2:1|2;3:3|4;");
    PW_EXPECT_TEXT(dump("a,b\n\n\n1,2\n  \n3,4\n"), "4:1|2;6:3|4;");
    PW_EXPECT_TEXT(dump("a,b\r\n\r\n1,2\r\n"), "3:1|2;");
    PW_EXPECT_TEXT(dump("a,b\n\"x\ny\",2\n3,4\n"), "2:x\ny|2;4:3|4;");
    PW_EXPECT_TEXT(dump("a,b\n\n\"x\r\n\r\ny\",\"\n\"\n3,4\n"), "3:x\r\n\r\ny|\n;7:3|4;");
    PW_EXPECT_TEXT(dump("a\r\n\rx\ny\n"), "3:x;4:y;");
    PW_EXPECT_TEXT(dump("a\n\"\n\n#x\n\"\nz\n"), "2:\n\n#x\n;6:z;");
}

PW_TEST(quotes_spaces_and_marks_are_understood) {
    PW_EXPECT_TEXT(dump("\xEF\xBB\xBF" "a , b\n 1 ,\" 2 \"\n"), "2:1| 2 ;");
    PW_EXPECT_TEXT(dump("a,b\n\"say \"\"x\"\"\",\",\"\n,\n"), "2:say \"x\"|,;3:|;");
    PW_EXPECT_TEXT(dump("# source: here\n#\n#,\"unbalanced\n\na,b\n#1,2\n"), "6:#1|2;");
    PW_EXPECT_TEXT(dump("\xEF\xBB\xBF# note\r\n# more\r\na\r\nx\r\n"), "4:x;");
}

PW_TEST(what_is_wrong_is_said_with_its_line) {
    PW_EXPECT_TEXT(dump(""), "t.csv:0: there is no header row");
    PW_EXPECT_TEXT(dump("# only\n"), "t.csv:0: there is no header row");
    PW_EXPECT_TEXT(dump("a,b\n1,2\n\n3\n"), "2:1|2;t.csv:4: the row has 1 field where the header has 2");
    PW_EXPECT_TEXT(dump("a,b\n\"1\n\",2\n3,4,5\n"), "2:1\n|2;t.csv:4: the row has 3 fields where the header has 2");
    PW_EXPECT_TEXT(dump("a,b\n1,2\n3,\"4\n5,6\n"), "2:1|2;t.csv:3: a quote that opens in this row is never closed");
    PW_EXPECT_TEXT(dump("a,b\n1,x\"y\n"), "t.csv:2: a quote stands in the wrong place");
    PW_EXPECT_TEXT(dump("a,b\n1,\"y\"z\n"), "t.csv:2: a quote stands in the wrong place");
    PW_EXPECT_TEXT(dump("a,b,a\n"), "t.csv:1: column 'a' appears twice");
    PW_EXPECT_TEXT(dump("#x\na,,b\n"), "t.csv:2: column 2 has no name");
    PW_EXPECT_TEXT(dump("\xFF\xFE" "a"), "t.csv:1: the file is UTF-16");
    pw_csv *csv;
    PW_EXPECT_INT(pw_csv_open_text("a\nx\0y\n", 6, "t.csv", NULL, NULL, &csv, &error), PW_OK);
    bool row;
    PW_EXPECT_INT(pw_csv_next(csv, &row, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "the file holds a zero byte");
    pw_csv_close(csv);
}

PW_TEST(columns_are_found_by_name_and_the_nearest_is_named) {
    pw_csv *csv = open_text("name,memory_bytes,clock_Hz\n");
    int column;
    PW_EXPECT_INT(pw_csv_columns(csv), 3);
    PW_EXPECT_INT(pw_csv_find(csv, "clock_Hz"), 2);
    PW_EXPECT_INT(pw_csv_find(csv, "Clock_Hz"), -1);
    PW_EXPECT_INT(pw_csv_column(csv, "memory_bytes", &column, &error), PW_OK);
    PW_EXPECT_INT(column, 1);
    PW_EXPECT_TEXT(pw_csv_column_name(csv, 1), "memory_bytes");
    PW_EXPECT_INT(pw_csv_column(csv, "memory_byte", &column, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "there is no column 'memory_byte'");
    PW_EXPECT_TEXT(error.hint, "there is a column 'memory_bytes'");
    pw_csv_column(csv, "xyz", &column, &error);
    PW_EXPECT_TEXT(error.hint, "the columns are 'name', 'memory_bytes', 'clock_Hz'");
    pw_csv_close(csv);
}

PW_TEST(typed_fields_are_strict_and_name_their_column) {
    pw_csv *csv = open_text("a,b,c\n\n1.5e3,42,\n1.5x,4.2,\n");
    bool row;
    double number;
    int64_t whole;
    PW_EXPECT(pw_csv_next(csv, &row, &error) == PW_OK && row);
    PW_EXPECT(pw_csv_number(csv, 0, &number, &error) == PW_OK && number == 1500);
    PW_EXPECT(pw_csv_integer(csv, 1, &whole, &error) == PW_OK && whole == 42);
    PW_EXPECT(pw_csv_number(csv, 1, &number, &error) == PW_OK && number == 42);
    PW_EXPECT(pw_csv_is_empty(csv, 2) && !pw_csv_is_empty(csv, 1));
    PW_EXPECT(pw_csv_number_or(csv, 2, 7, &number, &error) == PW_OK && number == 7);
    PW_EXPECT(pw_csv_integer_or(csv, 2, 8, &whole, &error) == PW_OK && whole == 8);
    PW_EXPECT(pw_csv_number_or(csv, 0, 7, &number, &error) == PW_OK && number == 1500);
    PW_EXPECT_INT(pw_csv_number(csv, 2, &number, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "column 'c': the number is missing");
    PW_EXPECT(pw_csv_next(csv, &row, &error) == PW_OK && row);
    char text[2048];
    PW_EXPECT_INT(pw_csv_number(csv, 0, &number, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(pw_error_text(&error, text, sizeof text), "t.csv:4: column 'a': '1.5x' is not a number");
    PW_EXPECT_INT(pw_csv_integer_or(csv, 1, 0, &whole, &error), PW_BAD_INPUT);
    PW_EXPECT_TEXT(error.what, "column 'b': '4.2' is not a whole number");
    PW_EXPECT_INT(pw_csv_fail(csv, -1, "hint", &error, "row of %d", 3), PW_BAD_INPUT);
    PW_EXPECT(error.line == 4 && strcmp(error.what, "row of 3") == 0);
    pw_csv_close(csv);
}

PW_TEST(limits_hold) {
    pw_csv *csv;
    pw_csv_limits limits = {.file_bytes = 10};
    PW_EXPECT_INT(pw_csv_open_text("a,b\n1,2,3,4,5\n", 14, "t", &limits, NULL, &csv, &error), PW_LIMIT);
    limits = (pw_csv_limits){.columns = 3};
    PW_EXPECT_INT(pw_csv_open_text("a,b,c,d\n", 8, "t", &limits, NULL, &csv, &error), PW_BAD_INPUT);
    limits = (pw_csv_limits){.row_bytes = 100};
    char text[300] = "a,b\n";
    memset(text + 4, 'x', 200);
    PW_EXPECT_INT(pw_csv_open_text(text, strlen(text), "t", &limits, NULL, &csv, &error), PW_OK);
    bool row;
    PW_EXPECT_INT(pw_csv_next(csv, &row, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "longer than 100 bytes");
    pw_csv_close(csv);
}

static void path_of(char *path, size_t size, const char *name) {
    snprintf(path, size, "%s/csv-test-%ld-%s", PW_BINARY_DIR, (long)getpid(), name);
}

/* Big enough to cross every buffer, with line ends at all places of it. */
PW_TEST(large_and_packed_files_read_the_same) {
    char plain[512], packed[512];
    path_of(plain, sizeof plain, "a.csv"), path_of(packed, sizeof packed, "a.csv.gz");
    FILE *file = fopen(plain, "wb");
    gzFile zip = gzopen(packed, "wb");
    fprintf(file, "i,text\r\n"), gzprintf(zip, "i,text\r\n");
    for (int i = 0; i < 30000; i++) {
        char row[200];
        snprintf(row, sizeof row, "%d,\"%.*s\r\n%d\"\r\n", i, i % 97, "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789", i);
        fputs(row, file), gzputs(zip, row);
    }
    fclose(file), gzclose(zip);
    const char *paths[] = {plain, packed};
    pw_csv_limits limits = {.file_bytes = 1000000}; /* of what is unpacked */
    for (int p = 0; p < 2; p++) {
        pw_csv *limited;
        bool more = true;
        pw_status ended = pw_csv_open(paths[p], &limits, NULL, &limited, &error);
        while (ended == PW_OK && more) ended = pw_csv_next(limited, &more, &error);
        PW_EXPECT_INT(ended, PW_LIMIT);
        pw_csv_close(limited);
    }
    for (int p = 0; p < 2; p++) {
        pw_csv *csv;
        bool row;
        int count = 0, wrong = 0;
        PW_EXPECT_INT(pw_csv_open(paths[p], NULL, NULL, &csv, &error), PW_OK);
        while (pw_csv_next(csv, &row, &error) == PW_OK && row) {
            int64_t i = -1;
            pw_csv_integer(csv, 0, &i, &error);
            const char *tail = strrchr(pw_csv_text(csv, 1), '\n');
            wrong += i != count || pw_csv_line(csv) != 2 + 2 * count || !tail || atoi(tail + 1) != count;
            count++;
        }
        PW_EXPECT_INT(count, 30000);
        PW_EXPECT_INT(wrong, 0);
        pw_csv_close(csv);
    }
    /* a packed file that was cut short is an error, not a short table */
    char *data;
    size_t size;
    PW_EXPECT_INT(pw_file_read(packed, 1 << 26, NULL, &data, &size, &error), PW_OK);
    file = fopen(packed, "wb");
    fwrite(data, 1, size / 2, file);
    fclose(file);
    pw_free(NULL, data, size + 1);
    pw_csv *csv;
    bool row = true;
    pw_status status = pw_csv_open(packed, NULL, NULL, &csv, &error);
    while (status == PW_OK && row) status = pw_csv_next(csv, &row, &error);
    PW_EXPECT_INT(status, PW_IO);
    PW_EXPECT_CONTAINS(error.what, "ends too early");
    pw_csv_close(csv);
    unlink(plain), unlink(packed);
}

PW_TEST(missing_files_and_folders_are_named) {
    pw_csv *csv;
    PW_EXPECT_INT(pw_csv_open("/nonexistent/x.csv", NULL, NULL, &csv, &error), PW_NOT_FOUND);
    PW_EXPECT_TEXT(error.file, "/nonexistent/x.csv");
    PW_EXPECT_CONTAINS(error.what, "No such file");
    PW_EXPECT(pw_csv_open(PW_BINARY_DIR, NULL, NULL, &csv, &error) != PW_OK);
    PW_EXPECT(csv == NULL);
}

PW_TEST(each_failing_allocation_ends_in_a_clean_failure) {
    const char *text = "a,b\n\"a long field, so that the buffers have to grow more than once, and then some more of it, up to "
                       "two hundred letters or so, which it takes to make them grow\",2\n3,4\n";
    int failed = 1, tries = 0;
    for (unsigned long long fail_at = 1; failed; fail_at++, tries++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        pw_csv *csv;
        bool row = true;
        int rows = 0;
        pw_status status = pw_csv_open_text(text, strlen(text), "t", NULL, &counting.allocator, &csv, &error);
        while (status == PW_OK && row) {
            status = pw_csv_next(csv, &row, &error);
            rows += status == PW_OK && row;
        }
        failed = status != PW_OK;
        PW_EXPECT(failed ? status == PW_NO_MEMORY : rows == 2);
        pw_csv_close(csv);
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
    PW_EXPECT(tries > 6);
}

static uint64_t random_state;
static uint64_t draw(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

PW_TEST(any_table_written_reads_back) {
    char path[512];
    path_of(path, sizeof path, "w.csv");
    static const char letters[] = "ab ,\"\n\r\t#;\xc3\xa9'";
    for (uint64_t seed = 1; seed <= 30; seed++) {
        random_state = seed;
        int columns = 1 + (int)(draw() % 5), rows = (int)(draw() % 20);
        static char cells[20][5][12];
        pw_file *file;
        PW_EXPECT_INT(pw_file_create(path, NULL, &file, &error), PW_OK);
        for (int c = 0; c < columns; c++) {
            char name[16];
            snprintf(name, sizeof name, "#%d", c);
            pw_file_csv_text(file, name);
        }
        pw_file_csv_end(file);
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < columns; c++) {
                int length = (int)(draw() % 11);
                for (int i = 0; i < length; i++) cells[r][c][i] = letters[draw() % (sizeof letters - 1)];
                cells[r][c][length] = '\0';
                pw_file_csv_text(file, cells[r][c]);
            }
            pw_file_csv_end(file);
        }
        PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
        pw_csv *csv;
        bool row;
        int wrong = 0;
        PW_EXPECT_INT(pw_csv_open(path, NULL, NULL, &csv, &error), PW_OK);
        for (int r = 0; r < rows; r++) {
            if (pw_csv_next(csv, &row, &error) != PW_OK || !row) {
                wrong++;
                break;
            }
            for (int c = 0; c < columns; c++) wrong += strcmp(pw_csv_text(csv, c), cells[r][c]) != 0;
        }
        if (wrong || pw_csv_next(csv, &row, &error) != PW_OK || row) PW_FAILED("seed %" PRIu64 ": %d cells differ: %s", seed, wrong, error.what);
        pw_csv_close(csv);
    }
    unlink(path);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
