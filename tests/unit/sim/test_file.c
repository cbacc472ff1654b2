#include "sim/file.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "sim/json.h"
#include "tests/harness/check.h"

static pw_error error;
static char folder[512], target[600];

static void set_up(void) {
    snprintf(folder, sizeof folder, "%s/file-test-XXXXXX", PW_BINARY_DIR);
    PW_EXPECT(mkdtemp(folder) != NULL);
    snprintf(target, sizeof target, "%s/out.txt", folder);
}

/* Removes the folder and returns how many entries it held. */
static int tear_down(void) {
    DIR *open = opendir(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
        count++;
    }
    closedir(open);
    rmdir(folder);
    return count;
}

static const char *content(const char *path) {
    static char text[4096];
    char *data;
    size_t size;
    if (pw_file_read(path, sizeof text - 1, NULL, &data, &size, &error) != PW_OK) return NULL;
    memcpy(text, data, size + 1);
    pw_free(NULL, data, size + 1);
    return text;
}

static pw_file *begin(void) {
    pw_file *file = NULL;
    PW_EXPECT_INT(pw_file_create(target, NULL, &file, &error), PW_OK);
    return file;
}

PW_TEST(the_target_changes_at_commit_and_not_before) {
    set_up();
    pw_file *file = begin();
    pw_file_text(file, "old");
    PW_EXPECT(content(target) == NULL);
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    PW_EXPECT_TEXT(content(target), "old");
    PW_EXPECT_INT(chmod(target, 0640), 0);
    file = begin();
    pw_file_text(file, "new");
    PW_EXPECT_TEXT(content(target), "old");
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    PW_EXPECT_TEXT(content(target), "new");
    struct stat status;
    PW_EXPECT(stat(target, &status) == 0 && (status.st_mode & 0777) == 0640); /* keeps its mode */
    file = begin();
    pw_file_text(file, "never");
    pw_file_discard(file);
    pw_file_discard(NULL);
    PW_EXPECT_TEXT(content(target), "new");
    PW_EXPECT_INT(tear_down(), 1); /* no temporary file stays */
}

PW_TEST(a_full_disk_leaves_the_old_file_and_says_why) {
    set_up();
    pw_file *file = begin();
    pw_file_text(file, "old");
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    struct rlimit before, tight;
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    file = begin();
    for (int i = 0; i < 30000; i++) pw_file_text(file, "0123456789");
    pw_status status = pw_file_commit(file, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    PW_EXPECT_INT(status, PW_IO);
    PW_EXPECT_CONTAINS(error.what, "cannot write: File too large");
    PW_EXPECT_CONTAINS(error.file, "out.txt");
    PW_EXPECT_TEXT(content(target), "old");
    PW_EXPECT_INT(tear_down(), 1);
}

PW_TEST(devices_are_written_directly_and_their_errors_reported) {
    pw_file *file;
    if (access("/dev/full", W_OK) != 0) return;
    PW_EXPECT_INT(pw_file_create("/dev/full", NULL, &file, &error), PW_OK);
    pw_file_text(file, "x");
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_IO);
    PW_EXPECT_CONTAINS(error.what, "No space left");
    PW_EXPECT_CONTAINS(error.hint, "free some space");
    PW_EXPECT_INT(pw_file_create("/dev/null", NULL, &file, &error), PW_OK);
    pw_file_text(file, "x");
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    struct stat status;
    PW_EXPECT(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
}

PW_TEST(a_link_stays_a_link) {
    set_up();
    char link[700];
    snprintf(link, sizeof link, "%s/link", folder);
    pw_file *file = begin();
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    PW_EXPECT_INT(symlink("out.txt", link), 0);
    PW_EXPECT_INT(pw_file_create(link, NULL, &file, &error), PW_OK);
    pw_file_text(file, "through");
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    PW_EXPECT_TEXT(content(target), "through");
    struct stat status;
    PW_EXPECT(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    PW_EXPECT_INT(tear_down(), 2);
}

PW_TEST(links_to_a_file_that_is_still_to_come_stay_links) {
    for (int absolute = 0; absolute < 2; absolute++) {
        set_up();
        char first[700], second[700], circle[700];
        snprintf(first, sizeof first, "%s/first", folder);
        snprintf(second, sizeof second, "%s/second", folder);
        snprintf(circle, sizeof circle, "%s/circle", folder);
        PW_EXPECT_INT(symlink(absolute ? target : "out.txt", first), 0);
        PW_EXPECT_INT(symlink("first", second), 0);
        PW_EXPECT_INT(symlink("circle", circle), 0);
        pw_file *file = NULL;
        PW_EXPECT_INT(pw_file_create(second, NULL, &file, &error), PW_OK);
        pw_file_text(file, "through");
        PW_EXPECT(content(target) == NULL);
        PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
        PW_EXPECT_TEXT(content(target), "through");
        struct stat status;
        PW_EXPECT(lstat(first, &status) == 0 && S_ISLNK(status.st_mode));
        PW_EXPECT(lstat(second, &status) == 0 && S_ISLNK(status.st_mode));
        PW_EXPECT_INT(pw_file_create(circle, NULL, &file, &error), PW_IO);
        PW_EXPECT_INT(tear_down(), 4);
    }
}

PW_TEST(impossible_places_are_refused_at_once) {
    pw_file *file;
    PW_EXPECT_INT(pw_file_create("/nonexistent/folder/x", NULL, &file, &error), PW_IO);
    PW_EXPECT_CONTAINS(error.hint, "does the folder exist?");
    PW_EXPECT_INT(pw_file_create(PW_BINARY_DIR, NULL, &file, &error), PW_IO);
    PW_EXPECT_CONTAINS(error.what, "Is a directory");
    PW_EXPECT_INT(pw_file_create("", NULL, &file, &error), PW_IO);
    PW_EXPECT(file == NULL);
    char *data;
    size_t size;
    PW_EXPECT_INT(pw_file_read("/nonexistent", 10, NULL, &data, &size, &error), PW_NOT_FOUND);
    PW_EXPECT_INT(pw_file_read(PW_BINARY_DIR, 10, NULL, &data, &size, &error), PW_IO);
    PW_EXPECT_INT(pw_file_read("/dev/zero", 1000000, NULL, &data, &size, &error), PW_LIMIT);
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    counting.fail_at = 1;
    PW_EXPECT_INT(pw_file_create("x", &counting.allocator, &file, &error), PW_NO_MEMORY);
    counting.calls = 0;
    PW_EXPECT_INT(pw_file_read("/dev/zero", 1000000, &counting.allocator, &data, &size, &error), PW_NO_MEMORY);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

PW_TEST(a_file_is_read_up_to_its_limit_whatever_that_is) {
    set_up();
    pw_file *file = begin();
    pw_file_text(file, "12345");
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    const size_t enough[] = {5, 6, SIZE_MAX / 2, SIZE_MAX - 1, SIZE_MAX}, few[] = {0, 4};
    char *data;
    size_t size;
    for (size_t i = 0; i < sizeof enough / sizeof *enough; i++) {
        PW_EXPECT_INT(pw_file_read(target, enough[i], NULL, &data, &size, &error), PW_OK);
        if (data) PW_EXPECT_TEXT(data, "12345");
        pw_free(NULL, data, size + 1);
    }
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        PW_EXPECT_INT(pw_file_read(target, few[i], NULL, &data, &size, &error), PW_LIMIT);
    tear_down();
}

PW_TEST(csv_rows_quote_what_needs_it) {
    set_up();
    pw_file *file = begin();
    pw_file_csv_text(file, "plain"), pw_file_csv_text(file, "a,b"), pw_file_csv_text(file, "say \"x\""), pw_file_csv_end(file);
    pw_file_csv_number(file, 0.1), pw_file_csv_number(file, NAN), pw_file_csv_integer(file, INT64_MIN), pw_file_csv_end(file);
    pw_file_csv_text(file, ""), pw_file_csv_text(file, " x"), pw_file_csv_end(file);
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    PW_EXPECT_TEXT(content(target), "plain,\"a,b\",\"say \"\"x\"\"\"\n0.1,,-9223372036854775808\n\"\",\" x\"\n");
    PW_EXPECT_INT(tear_down(), 1);
}

PW_TEST(large_writes_arrive_whole) {
    set_up();
    pw_file *file = begin();
    static char block[200000], *data;
    for (size_t i = 0; i < sizeof block; i++) block[i] = (char)('a' + i % 26);
    pw_file_write(file, block, 10), pw_file_write(file, block, sizeof block), pw_file_write(file, block, 65536 - 5);
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    size_t size;
    PW_EXPECT_INT(pw_file_read(target, 1 << 20, NULL, &data, &size, &error), PW_OK);
    PW_EXPECT_INT(size, 10 + sizeof block + 65531);
    PW_EXPECT(memcmp(data, block, 10) == 0 && memcmp(data + 10, block, sizeof block) == 0 &&
              memcmp(data + 10 + sizeof block, block, 65531) == 0 && data[size] == '\0');
    pw_free(NULL, data, size + 1);
    tear_down();
}

PW_TEST(json_is_written_with_the_same_bytes) {
    set_up();
    pw_file *file = begin();
    pw_json json;
    pw_json_begin(&json, file);
    pw_json_object(&json, NULL);
    pw_json_text(&json, "na\"me", "tab\t nl\n quote\" back\\ bell\a \xc3\xa9 bad\xff\xc0\xaf cut\xe2\x82");
    pw_json_number(&json, "third", 1.0 / 3);
    pw_json_number(&json, "nan", NAN);
    pw_json_integer(&json, "big", INT64_MAX);
    pw_json_array(&json, "list");
    pw_json_bool(&json, NULL, true);
    pw_json_text(&json, NULL, NULL);
    pw_json_object(&json, NULL);
    pw_json_end(&json);
    pw_json_end(&json);
    pw_json_array(&json, "none");
    pw_json_end(&json);
    pw_json_end(&json);
    PW_EXPECT_INT(pw_file_commit(file, &error), PW_OK);
    PW_EXPECT_TEXT(content(target),
                   "{\n  \"na\\\"me\": \"tab\\t nl\\n quote\\\" back\\\\ bell\\u0007 \xc3\xa9 bad\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD "
                   "cut\xEF\xBF\xBD\xEF\xBF\xBD\",\n  \"third\": 0.3333333333333333,\n  \"nan\": null,\n"
                   "  \"big\": 9223372036854775807,\n  \"list\": [\n    true,\n    null,\n    {}\n  ],\n  \"none\": []\n}\n");
    PW_EXPECT_INT(tear_down(), 1);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
