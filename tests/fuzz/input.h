/* What the targets share: fuzzed bytes as a file with a name, and what every error must hold. */
#ifndef PW_TESTS_FUZZ_INPUT_H
#define PW_TESTS_FUZZ_INPUT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/status.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { INPUT_PATH = 64 };

static inline void input_write(int file, const void *bytes, size_t size) {
    for (const char *at = bytes; size;) {
        ssize_t written = write(file, at, size);
        if (written <= 0) abort();
        at += written;
        size -= (size_t)written;
    }
}

/* A file in memory; path gets its name. Close it with close(). */
static inline int input_open(char path[INPUT_PATH]) {
    int file = memfd_create("input", MFD_CLOEXEC);
    if (file < 0) abort();
    snprintf(path, INPUT_PATH, "/proc/self/fd/%d", file);
    return file;
}

/* Ends the process unless status and error agree and the error says something. */
static inline void check_error(pw_status status, const pw_error *error) {
    if (status != PW_OK && (error->status != status || !error->what[0] || error->line < 0)) abort();
}

static inline void need(pw_status status, const pw_error *error) { /* of what the target needs to start */
    if (status == PW_OK) return;
    fprintf(stderr, "%s\n", error->what);
    exit(1);
}

#endif
