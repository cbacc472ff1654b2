/* A folder of small measured files in place of those that ship, for one test. */
#ifndef PW_TESTS_VALIDATION_SCRATCH_H
#define PW_TESTS_VALIDATION_SCRATCH_H

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenarios/validation/validation.h"
#include "tests/harness/check.h"

enum { SCRATCH_FILES = 32 };

typedef struct scratch {
    char folder[256], paths[SCRATCH_FILES][512];
    int count;
    pw_catalogue *catalogue;
    pw_arena *arena;
    pw_error error;
} scratch;

static inline void scratch_must(const scratch *s, bool holds) {
    if (holds) return;
    fprintf(stderr, "scratch folder: %s %s\n", s->folder, s->error.what);
    exit(1);
}

/* Writes a file below the folder; the same name again overwrites. */
static inline const char *scratch_file(scratch *s, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    int at = 0;
    while (at < s->count && strcmp(s->paths[at], path) != 0) at++;
    scratch_must(s, at < SCRATCH_FILES);
    memcpy(s->paths[at], path, sizeof path);
    if (at == s->count) s->count++;
    FILE *file = fopen(path, "w");
    scratch_must(s, file && fputs(text, file) >= 0 && fclose(file) == 0);
    return s->paths[at];
}

static inline void scratch_begin(scratch *s) {
    char data[320];
    *s = (scratch){.folder = "/tmp/podwright-validation-XXXXXX"};
    scratch_must(s, mkdtemp(s->folder) != NULL);
    snprintf(data, sizeof data, "%s/data", s->folder);
    scratch_must(s, mkdir(data, 0700) == 0 && setenv("PODWRIGHT_VALIDATION", s->folder, 1) == 0);
    s->arena = pw_arena_create(NULL);
    scratch_must(s, s->arena && pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &s->catalogue, &s->error) == PW_OK);
}

/* What precisions, optimizers and tasks mean. */
static inline void scratch_words(scratch *s) {
    scratch_file(s, "tasks.csv", "arch,task,known,layout,head,optimizer,trainable,rank,targets\ngpt,pretrain,1,,,,,,\nllama,pretrain,1,,,,,,\n");
    scratch_file(s, "padding.csv", "seq_len,padding\n");
    scratch_file(s, "sharding.csv", "sharding,method,group,reshard\nnone,none,0,\nZeRO1,zero1,0,\ndistributed optimizer,zero1,0,\nFSDP,zero3,0,\n");
    scratch_file(s, "optimizers.csv", "optimizer,name\n,adamw\n");
    scratch_file(s, "formats.csv", "precision,format\nfp32/tf32,tf32\ntf32,tf32\nfp16,fp16\namp,fp16\nbf16,bf16\nfp8,fp8\nmxfp8,fp8\n");
}

static inline void scratch_end(scratch *s) {
    char data[320];
    for (int i = 0; i < s->count; i++) unlink(s->paths[i]);
    snprintf(data, sizeof data, "%s/data", s->folder);
    rmdir(data);
    rmdir(s->folder);
    pw_catalogue_destroy(s->catalogue);
    pw_arena_destroy(s->arena);
}

/* A file that keeps what is written to it in memory. */
static inline pw_file *scratch_open(scratch *s, int *memory) {
    pw_file *file = NULL;
    *memory = memfd_create("validation", 0);
    scratch_must(s, *memory >= 0 && pw_file_attach(*memory, NULL, &file, &s->error) == PW_OK);
    return file;
}
static inline const char *scratch_close(scratch *s, int memory, pw_file *file) {
    scratch_must(s, pw_file_commit(file, &s->error) == PW_OK);
    off_t size = lseek(memory, 0, SEEK_END);
    char *text = pw_arena_alloc(s->arena, (size_t)size + 1);
    scratch_must(s, text && pread(memory, text, (size_t)size, 0) == size);
    close(memory);
    return text;
}

#endif
