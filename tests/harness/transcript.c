/* Runs the transcripts in Markdown files: fenced blocks marked `console`.
 *
 *     $ command
 *     expected output (stdout and stderr, as a terminal shows them)
 *     [exit 2]
 *
 * A line of "..." stands for any number of lines; "{...}" inside a line stands for any text. A command without an [exit]
 * line must exit with 0. Commands run in a fresh folder with the program's folder first in PATH; SOURCE holds the path
 * of the source tree and `scenarios` is a link to the tree's folder. The documentation shows the very files that are
 * tested here.
 *
 * usage: transcript [--update] PROGRAM_FOLDER SOURCE_FOLDER FILE.md ...
 * --update rewrites the expected output of blocks that differ (wildcards are lost; look at the difference).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct lines {
    char **line;
    size_t count, capacity;
} lines;

static void *must(void *memory) {
    if (!memory) {
        fprintf(stderr, "transcript: out of memory\n");
        exit(1);
    }
    return memory;
}

static void add_line(lines *list, const char *text, size_t length) {
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->line = must(realloc(list->line, list->capacity * sizeof *list->line));
    }
    list->line[list->count++] = must(strndup(text, length));
}

static void clear_lines(lines *list) {
    for (size_t i = 0; i < list->count; i++) free(list->line[i]);
    list->count = 0;
}

static void read_lines(FILE *stream, lines *list) {
    char *text = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&text, &size, stream)) >= 0) {
        if (length > 0 && text[length - 1] == '\n') length--;
        add_line(list, text, (size_t)length);
    }
    free(text);
}

/* "{...}" matches any text within a line. */
static bool line_matches(const char *pattern, const char *text) {
    const char *wild = strstr(pattern, "{...}");
    if (!wild) return strcmp(pattern, text) == 0;
    size_t head = (size_t)(wild - pattern);
    if (strncmp(pattern, text, head) != 0) return false;
    for (const char *rest = text + head;; rest++) {
        if (line_matches(wild + 5, rest)) return true;
        if (!*rest) return false;
    }
}

static bool lines_match(char **pattern, size_t patterns, char **text, size_t texts) {
    if (patterns == 0) return texts == 0;
    if (strcmp(pattern[0], "...") == 0) {
        for (size_t skip = 0; skip <= texts; skip++)
            if (lines_match(pattern + 1, patterns - 1, text + skip, texts - skip)) return true;
        return false;
    }
    return texts > 0 && line_matches(pattern[0], text[0]) && lines_match(pattern + 1, patterns - 1, text + 1, texts - 1);
}

static int run_command(const char *command, lines *output) {
    char *shell_line = NULL;
    if (asprintf(&shell_line, "{ %s\n} 2>&1", command) < 0) must(NULL);
    FILE *pipe = popen(shell_line, "r");
    free(shell_line);
    if (!pipe) {
        fprintf(stderr, "transcript: cannot run a shell: %s\n", strerror(errno));
        exit(1);
    }
    read_lines(pipe, output);
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void print_lines(const char *mark, char **line, size_t count) {
    for (size_t i = 0; i < count; i++) printf("# %s%s\n", mark, line[i]);
}

/* Runs one file; returns the number of commands that differ. */
static int run_file(const char *file, bool update) {
    FILE *stream = fopen(file, "r");
    if (!stream) {
        fprintf(stderr, "transcript: %s: %s\n", file, strerror(errno));
        exit(1);
    }
    lines source = {0}, result = {0}, output = {0};
    read_lines(stream, &source);
    fclose(stream);
    int failures = 0, commands = 0;
    bool inside = false;
    for (size_t i = 0; i < source.count;) {
        const char *line = source.line[i];
        if (strncmp(line, "```", 3) == 0) inside = !inside && strcmp(line, "```console") == 0;
        add_line(&result, line, strlen(line));
        i++;
        if (!inside || strncmp(line, "$ ", 2) != 0) continue;
        size_t first = i;
        while (i < source.count && strncmp(source.line[i], "$ ", 2) != 0 && strncmp(source.line[i], "```", 3) != 0) i++;
        size_t expected = i - first;
        int expected_exit = 0;
        bool has_exit = expected > 0 && sscanf(source.line[i - 1], "[exit %d]", &expected_exit) == 1;
        if (has_exit) expected--;
        clear_lines(&output);
        int code = run_command(line + 2, &output);
        commands++;
        bool same = code == expected_exit && lines_match(source.line + first, expected, output.line, output.count);
        if (!same) {
            failures++;
            printf("# %s:%zu: $ %s\n# expected (exit %d):\n", file, first, line + 2, expected_exit);
            print_lines("  ", source.line + first, expected);
            printf("# got (exit %d):\n", code);
            print_lines("  ", output.line, output.count);
        }
        if (same || !update) {
            for (size_t k = first; k < i; k++) add_line(&result, source.line[k], strlen(source.line[k]));
        } else {
            for (size_t k = 0; k < output.count; k++) add_line(&result, output.line[k], strlen(output.line[k]));
            char text[32];
            snprintf(text, sizeof text, "[exit %d]", code);
            if (code) add_line(&result, text, strlen(text));
        }
    }
    if (commands == 0) {
        printf("# %s: no command in a ```console block\n", file);
        failures++;
    }
    if (update && failures) {
        stream = fopen(file, "w");
        if (!stream) {
            fprintf(stderr, "transcript: %s: %s\n", file, strerror(errno));
            exit(1);
        }
        for (size_t i = 0; i < result.count; i++) fprintf(stream, "%s\n", result.line[i]);
        fclose(stream);
    }
    printf("%s - %s (%d commands)\n", failures ? "not ok" : "ok", file, commands);
    clear_lines(&source);
    clear_lines(&result);
    clear_lines(&output);
    free(source.line);
    free(result.line);
    free(output.line);
    return failures;
}

int main(int argc, char **argv) {
    bool update = argc > 1 && strcmp(argv[1], "--update") == 0;
    argv += update;
    argc -= update;
    if (argc < 4) {
        fprintf(stderr, "usage: transcript [--update] PROGRAM_FOLDER SOURCE_FOLDER FILE.md ...\n");
        return 2;
    }
    char *path = NULL, folder[] = "/tmp/podwright-transcript-XXXXXX";
    if (asprintf(&path, "%s:%s", argv[1], getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin") < 0) must(NULL);
    setenv("PATH", path, 1);
    setenv("SOURCE", argv[2], 1);
    setenv("NO_COLOR", "1", 1);
    free(path);
    char **files = must(calloc((size_t)argc, sizeof *files));
    for (int i = 3; i < argc; i++) files[i] = must(realpath(argv[i], NULL));
    char *scenarios = NULL;
    if (asprintf(&scenarios, "%s/scenarios", argv[2]) < 0) must(NULL);
    int failures = 0;
    for (int i = 3; i < argc; i++) {
        strcpy(folder + sizeof folder - 7, "XXXXXX");
        if (!mkdtemp(folder) || chdir(folder) != 0 || symlink(scenarios, "scenarios") != 0) {
            fprintf(stderr, "transcript: %s: %s\n", folder, strerror(errno));
            return 1;
        }
        failures += run_file(files[i], update);
        char *remove = NULL;
        if (asprintf(&remove, "rm -rf '%s'", folder) < 0) must(NULL);
        if (chdir("/") != 0 || system(remove) != 0) fprintf(stderr, "transcript: %s was left behind\n", folder);
        free(remove);
        free(files[i]);
    }
    free(files);
    free(scenarios);
    return failures != 0;
}
