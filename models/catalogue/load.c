/* Finds the data folder and loads every *.csv in it, in the order of their names. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "models/catalogue/catalogue_internal.h"

static bool holds_data(const char *folder) {
    char path[4200];
    if (snprintf(path, sizeof path, "%s/accelerators.csv", folder) >= (int)sizeof path) return false;
    return access(path, R_OK) == 0;
}

/* Cuts the last part of a path; false when there is none. */
static bool to_parent(char *path) {
    char *slash = strrchr(path, '/');
    if (!slash) return false;
    *slash = '\0';
    return true;
}

pw_status pw_catalogue_find(char *path, size_t size, pw_error *error) {
    const char *given = getenv("PODWRIGHT_DATA");
    if (given && *given) {
        if ((size_t)snprintf(path, size, "%s", given) < size && holds_data(path)) return PW_OK;
        return pw_fail(error, PW_NOT_FOUND, NULL, 0, "unset PODWRIGHT_DATA to use the data that come with podwright",
                       "PODWRIGHT_DATA is '%s', where no accelerators.csv can be read", given);
    }
    char folder[4096];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length > 0) {
        folder[length] = '\0';
        static const char *const below[] = {"share/podwright/data", "models/catalogue/data"}; /* installed, source tree */
        for (int level = 0; level < 4 && to_parent(folder); level++)
            for (size_t i = 0; i < sizeof below / sizeof *below; i++)
                if ((size_t)snprintf(path, size, "%s/%s", folder, below[i]) < size && holds_data(path)) return PW_OK;
    }
#ifdef PW_DATA_FOLDER
    if ((size_t)snprintf(path, size, "%s", PW_DATA_FOLDER) < size && holds_data(path)) return PW_OK;
#endif
    if (size) path[0] = '\0';
    return pw_fail(error, PW_NOT_FOUND, NULL, 0, "set PODWRIGHT_DATA to the folder that holds accelerators.csv",
                   "the catalogue's data folder is not found");
}

typedef struct file_list {
    char **names;
    size_t count, capacity;
} file_list;

static int compare_files(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static pw_status list_files(pw_catalogue *catalogue, file_list *files, pw_error *error) {
    DIR *folder = opendir(catalogue->folder);
    if (!folder) return pw_fail(error, PW_IO, catalogue->folder, 0, NULL, "cannot open the folder: %s", strerror(errno));
    pw_status status = PW_OK;
    for (struct dirent *entry; status == PW_OK && (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || length < 5 || strcmp(entry->d_name + length - 4, ".csv")) continue;
        char *name = pw_arena_text(catalogue->arena, entry->d_name);
        if (!name || pw_grow(catalogue->allocator, (void **)&files->names, &files->capacity, files->count + 1,
                             sizeof *files->names))
            status = pw_fail(error, PW_NO_MEMORY, catalogue->folder, 0, NULL, "no memory left");
        else files->names[files->count++] = name;
    }
    closedir(folder);
    if (status == PW_OK && files->count) qsort(files->names, files->count, sizeof *files->names, compare_files);
    return status;
}

static pw_status read_tables(pw_catalogue *catalogue, const file_list *files, pw_error *error) {
    for (size_t i = 0; i < files->count; i++) {
        if (pw_grow(catalogue->allocator, (void **)&catalogue->tables, &catalogue->table_capacity,
                    catalogue->table_count + 1, sizeof *catalogue->tables))
            return pw_fail(error, PW_NO_MEMORY, catalogue->folder, 0, NULL, "no memory left");
        char path[4200], kind[256];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", catalogue->folder, files->names[i]) >= sizeof path)
            return pw_fail(error, PW_BAD_INPUT, catalogue->folder, 0, NULL, "the folder's name is too long");
        snprintf(kind, sizeof kind, "%.*s", (int)strlen(files->names[i]) - 4, files->names[i]);
        pw_table *table = &catalogue->tables[catalogue->table_count++];
        PW_TRY(catalogue_read_table(catalogue, path, kind, table, error));
    }
    return PW_OK;
}

/* tables.csv says what one row of each table is. */
static void describe_tables(pw_catalogue *catalogue) {
    const pw_table *texts = pw_catalogue_table(catalogue, "tables");
    int column = texts ? pw_table_find_column(texts, "text") : -1;
    if (column < 0) return;
    for (size_t i = 0; i < catalogue->table_count; i++) {
        int row = pw_table_find_row(texts, catalogue->tables[i].kind);
        if (row >= 0) catalogue->tables[i].text = pw_table_text_at(texts, (size_t)row, (size_t)column);
    }
}

typedef struct alias_place {
    bool has_target, has_name; /* some table holds the target; such a table holds the alias as a name of its own */
} alias_place;

static alias_place place_alias(const pw_catalogue *catalogue, const catalogue_alias *alias) {
    alias_place place = {false, false};
    for (size_t i = 0; i < catalogue->table_count; i++) {
        const pw_table *table = &catalogue->tables[i];
        if (!strcmp(table->kind, "aliases") || pw_table_find_row(table, alias->target) < 0) continue;
        place.has_target = true;
        place.has_name = place.has_name || pw_table_find_row(table, alias->name) >= 0;
    }
    return place;
}

/* An alias stands for a row of some table, and is no row's own name there. */
static pw_status read_aliases(pw_catalogue *catalogue, pw_error *error) {
    const pw_table *table = pw_catalogue_table(catalogue, "aliases");
    if (!table) return PW_OK;
    int target = pw_table_find_column(table, "target");
    if (target < 0) return pw_fail(error, PW_BAD_INPUT, table->file, 1, NULL, "column 'target' is missing");
    catalogue_alias *aliases = pw_arena_alloc(catalogue->arena, table->rows * sizeof *aliases + 1);
    if (!aliases) return pw_fail(error, PW_NO_MEMORY, table->file, 0, NULL, "no memory left");
    for (size_t row = 0; row < table->rows; row++) {
        aliases[row].name = pw_table_text_at(table, row, 0);
        aliases[row].target = pw_table_text_at(table, row, (size_t)target);
        alias_place place = place_alias(catalogue, &aliases[row]);
        if (place.has_name)
            return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[row], NULL,
                           "'%s' is the name of a row and cannot stand for '%s'", aliases[row].name, aliases[row].target);
        if (!place.has_target)
            return pw_fail(error, PW_BAD_INPUT, table->file, table->lines[row], NULL,
                           "'%s' stands for '%s', which no table holds", aliases[row].name, aliases[row].target);
    }
    catalogue->aliases = aliases;
    catalogue->alias_count = table->rows;
    return PW_OK;
}

static pw_status load(pw_catalogue *catalogue, const char *folder, pw_error *error) {
    char found[4096];
    if (!folder) {
        PW_TRY(pw_catalogue_find(found, sizeof found, error));
        folder = found;
    }
    catalogue->arena = pw_arena_create(catalogue->allocator);
    catalogue->folder = catalogue->arena ? pw_arena_text(catalogue->arena, folder) : NULL;
    if (!catalogue->folder) return pw_fail(error, PW_NO_MEMORY, folder, 0, NULL, "no memory left");
    file_list files = {NULL, 0, 0};
    pw_status status = list_files(catalogue, &files, error);
    if (status == PW_OK) status = read_tables(catalogue, &files, error);
    pw_free(catalogue->allocator, files.names, files.capacity * sizeof *files.names);
    PW_TRY(status);
    describe_tables(catalogue);
    PW_TRY(catalogue_read_devices(catalogue, error));
    return read_aliases(catalogue, error);
}

pw_status pw_catalogue_load(const pw_allocator *allocator, const char *folder, pw_catalogue **catalogue,
                            pw_error *error) {
    *catalogue = NULL;
    if (!allocator) allocator = pw_allocator_default();
    pw_catalogue *made = pw_alloc_zero(allocator, sizeof *made);
    if (!made) return pw_fail(error, PW_NO_MEMORY, folder, 0, NULL, "no memory left");
    made->allocator = allocator;
    pw_status status = load(made, folder, error);
    if (status != PW_OK) pw_catalogue_destroy(made);
    else *catalogue = made;
    return status;
}

void pw_catalogue_destroy(pw_catalogue *catalogue) {
    if (!catalogue) return;
    const pw_allocator *allocator = catalogue->allocator;
    for (size_t i = 0; i < catalogue->table_count; i++) catalogue_free_table(&catalogue->tables[i]);
    pw_free(allocator, catalogue->tables, catalogue->table_capacity * sizeof *catalogue->tables);
    pw_arena_destroy(catalogue->arena);
    pw_free(allocator, catalogue, sizeof *catalogue);
}

const char *pw_catalogue_folder(const pw_catalogue *catalogue) { return catalogue->folder; }
size_t pw_catalogue_table_count(const pw_catalogue *catalogue) { return catalogue->table_count; }
const pw_table *pw_catalogue_table_at(const pw_catalogue *catalogue, size_t index) {
    return index < catalogue->table_count ? &catalogue->tables[index] : NULL;
}

const pw_table *pw_catalogue_table(const pw_catalogue *catalogue, const char *kind) {
    for (size_t i = 0; kind && i < catalogue->table_count; i++)
        if (!strcasecmp(catalogue->tables[i].kind, kind)) return &catalogue->tables[i];
    return NULL;
}

pw_status pw_catalogue_need(const pw_catalogue *catalogue, const char *kind, const pw_table **table, pw_error *error) {
    *table = pw_catalogue_table(catalogue, kind);
    if (*table) return PW_OK;
    return pw_fail(error, PW_NOT_FOUND, catalogue->folder, 0, "the table comes with podwright; is the data folder complete?",
                   "the catalogue has no table '%s'", kind);
}

const char *catalogue_alias_target(const pw_catalogue *catalogue, const char *name) {
    for (size_t i = 0; i < catalogue->alias_count; i++)
        if (!strcasecmp(catalogue->aliases[i].name, name)) return catalogue->aliases[i].target;
    return name;
}
