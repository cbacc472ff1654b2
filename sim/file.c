#include "sim/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/text.h"

enum { BUFFER = 1 << 16, ATTEMPTS = 1000, MOST_LINKS = 40 };

struct pw_file {
    const pw_allocator *allocator;
    int descriptor, failure; /* failure: errno of the first write that failed */
    bool direct, in_row;
    size_t used;
    char path[PATH_MAX], temporary[PATH_MAX + 32];
    char buffer[BUFFER];
};

static pw_status cannot(const char *what, const char *path, int code, pw_error *error) {
    const char *hint = code == ENOSPC || code == EDQUOT ? "free some space, or write elsewhere"
                       : code == EACCES || code == EROFS ? "choose a folder that you may write to"
                       : code == ENOENT                  ? "does the folder exist?"
                                                         : NULL;
    return pw_fail(error, code == ENOMEM ? PW_NO_MEMORY : PW_IO, path, 0, hint, "cannot %s%s: %s", what,
                   *path ? "" : " the output", strerror(code));
}

/* A link is followed, also to a file that is still to come, so that the rename replaces the file and not the link. */
static int resolve(const char *path, char resolved[PATH_MAX]) {
    if (realpath(path, resolved)) return 0;
    if (errno != ENOENT) return errno;
    size_t length = strlen(path);
    if (length == 0) return ENOENT;
    if (length >= PATH_MAX) return ENAMETOOLONG;
    memcpy(resolved, path, length + 1);
    for (int links = 0; links < MOST_LINKS; links++) {
        char target[PATH_MAX];
        ssize_t size = readlink(resolved, target, sizeof target);
        if (size < 0) return 0; /* no link, or nothing there yet; opening it tells what else is wrong */
        const char *slash = target[0] == '/' ? NULL : strrchr(resolved, '/');
        size_t folder = slash ? (size_t)(slash - resolved) + 1 : 0;
        if (folder + (size_t)size >= PATH_MAX) return ENAMETOOLONG;
        memcpy(resolved + folder, target, (size_t)size);
        resolved[folder + (size_t)size] = '\0';
    }
    return ELOOP;
}

static int open_target(pw_file *file) {
    struct stat old;
    bool exists = stat(file->path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) return EISDIR;
    if (exists && !S_ISREG(old.st_mode)) {
        file->direct = true;
        file->descriptor = open(file->path, O_WRONLY | O_CLOEXEC);
        return file->descriptor < 0 ? errno : 0;
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        snprintf(file->temporary, sizeof file->temporary, "%s.%ld-%d.tmp", file->path, (long)getpid(), attempt);
        file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->descriptor >= 0) {
            if (exists) (void)!fchmod(file->descriptor, old.st_mode & 07777);
            return 0;
        }
        if (errno != EEXIST) return errno;
    }
    return EEXIST;
}

pw_status pw_file_create(const char *path, const pw_allocator *allocator, pw_file **result, pw_error *error) {
    *result = NULL;
    pw_file *file = pw_alloc_zero(allocator, sizeof *file);
    if (!file) return cannot("write", path, ENOMEM, error);
    file->allocator = allocator;
    int code = resolve(path, file->path);
    if (code == 0) code = open_target(file);
    if (code != 0) {
        pw_free(allocator, file, sizeof *file);
        return cannot("write", path, code, error);
    }
    *result = file;
    return PW_OK;
}

pw_status pw_file_attach(int descriptor, const pw_allocator *allocator, pw_file **result, pw_error *error) {
    *result = NULL;
    pw_file *file = pw_alloc_zero(allocator, sizeof *file);
    if (!file) return cannot("write", "", ENOMEM, error);
    file->allocator = allocator;
    file->direct = true;
    file->descriptor = dup(descriptor); /* closing the copy tells of writes that failed late */
    int code = errno;
    if (file->descriptor < 0) {
        pw_free(allocator, file, sizeof *file);
        return cannot("write", "", code, error);
    }
    *result = file;
    return PW_OK;
}

static void put(pw_file *file, const char *data, size_t size) {
    while (size > 0 && !file->failure) {
        ssize_t written = write(file->descriptor, data, size);
        if (written < 0 && errno != EINTR) file->failure = errno;
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
}

static void flush(pw_file *file) {
    put(file, file->buffer, file->used);
    file->used = 0;
}

void pw_file_write(pw_file *file, const void *data, size_t size) {
    if (size > BUFFER - file->used) flush(file);
    if (size > BUFFER) {
        put(file, data, size);
        return;
    }
    if (size) memcpy(file->buffer + file->used, data, size);
    file->used += size;
}

void pw_file_text(pw_file *file, const char *text) { pw_file_write(file, text, strlen(text)); }

void pw_file_print(pw_file *file, const char *format, ...) {
    char text[1001];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pw_file_text(file, text);
}

void pw_file_number(pw_file *file, double value) {
    char text[PW_NUMBER_TEXT];
    pw_file_text(file, pw_number_text(value, text, sizeof text));
}

static void next_field(pw_file *file) {
    if (file->in_row) pw_file_write(file, ",", 1);
    file->in_row = true;
}

void pw_file_csv_text(pw_file *file, const char *text) {
    size_t length = strlen(text);
    next_field(file);
    bool edges = length && (text[0] == ' ' || text[0] == '\t' || text[length - 1] == ' ' || text[length - 1] == '\t');
    bool comment = text[0] == '#'; /* would be taken for one in a header */
    if (!edges && !comment && length && !strpbrk(text, ",\"\r\n")) {
        pw_file_write(file, text, length);
        return;
    }
    pw_file_write(file, "\"", 1); /* also around an empty text: a row of one empty field is not a blank line */
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        pw_file_write(file, text, (size_t)(quote - text) + 1);
        pw_file_write(file, "\"", 1);
    }
    pw_file_text(file, text);
    pw_file_write(file, "\"", 1);
}

void pw_file_csv_number(pw_file *file, double value) {
    next_field(file);
    if (!isnan(value)) pw_file_number(file, value);
}

void pw_file_csv_integer(pw_file *file, int64_t value) {
    next_field(file);
    pw_file_print(file, "%lld", (long long)value);
}

void pw_file_csv_end(pw_file *file) {
    pw_file_write(file, "\n", 1);
    file->in_row = false;
}

/* Makes the rename itself durable; a file system that cannot is not an error. */
static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
    memcpy(folder, path, length);
    folder[length] = '\0';
    int descriptor = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    (void)fsync(descriptor);
    close(descriptor);
}

static void release(pw_file *file) {
    pw_free(file->allocator, file, sizeof *file);
}

pw_status pw_file_commit(pw_file *file, pw_error *error) {
    flush(file);
    if (!file->failure && !file->direct && fsync(file->descriptor) != 0) file->failure = errno;
    if (close(file->descriptor) != 0 && !file->failure) file->failure = errno;
    if (!file->failure && !file->direct) {
        if (rename(file->temporary, file->path) != 0) file->failure = errno;
        else sync_folder(file->path);
    }
    pw_status status = PW_OK;
    if (file->failure) {
        status = cannot("write", file->path, file->failure, error);
        if (!file->direct) unlink(file->temporary);
    }
    release(file);
    return status;
}

void pw_file_discard(pw_file *file) {
    if (!file) return;
    close(file->descriptor);
    if (!file->direct) unlink(file->temporary);
    release(file);
}

pw_status pw_file_read(const char *path, size_t limit, const pw_allocator *allocator, char **data, size_t *size,
                       pw_error *error) {
    *data = NULL;
    *size = 0;
    if (limit > SIZE_MAX / 2) limit = SIZE_MAX / 2; /* no memory holds more */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return pw_fail(error, errno == ENOENT ? PW_NOT_FOUND : PW_IO, path, 0, NULL, "cannot read: %s", strerror(errno));
    void *memory = NULL;
    size_t capacity = 0, used = 0;
    pw_status status = PW_OK;
    for (;;) {
        if (used == limit + 1) {
            status = pw_fail(error, PW_LIMIT, path, 0, NULL, "the file is longer than %zu bytes", limit);
            break;
        }
        if (pw_grow(allocator, &memory, &capacity, used + 4096, 1) != 0) {
            status = pw_fail(error, PW_NO_MEMORY, path, 0, NULL, "no memory left while reading");
            break;
        }
        size_t room = capacity - used - 1;
        if (room > limit + 1 - used) room = limit + 1 - used;
        ssize_t got = read(descriptor, (char *)memory + used, room);
        if (got == 0) break;
        if (got < 0 && errno != EINTR) {
            status = pw_fail(error, PW_IO, path, 0, NULL, "cannot read: %s", strerror(errno));
            break;
        }
        if (got > 0) used += (size_t)got;
    }
    close(descriptor);
    if (status == PW_OK) {
        void *exact = pw_resize(allocator, memory, capacity, used + 1);
        if (exact) {
            ((char *)exact)[used] = '\0';
            *data = exact;
            *size = used;
            return PW_OK;
        }
        status = pw_fail(error, PW_NO_MEMORY, path, 0, NULL, "no memory left while reading");
    }
    pw_free(allocator, memory, capacity);
    return status;
}
