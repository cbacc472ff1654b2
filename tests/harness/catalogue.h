/* What tests of jobs share: the catalogue that ships, an arena, and an end to a test that cannot go on. */
#ifndef PW_TESTS_HARNESS_CATALOGUE_H
#define PW_TESTS_HARNESS_CATALOGUE_H

#include <stdlib.h>

#include "models/catalogue/catalogue.h"
#include "tests/harness/check.h"

/* Ends the program with the message unless status is PW_OK. */
static inline void must(pw_status status, const pw_error *error) {
    char text[2048];
    if (status == PW_OK) return;
    printf("Bail out! %s\n", pw_error_text(error, text, sizeof text));
    exit(1);
}

static inline pw_arena *arena(void) {
    static pw_arena *shared;
    if (!shared) shared = pw_arena_create(NULL);
    return shared;
}

static inline const pw_catalogue *catalogue(void) {
    static pw_catalogue *shared;
    pw_error error = {0};
    if (!shared) must(pw_catalogue_load(NULL, PW_SOURCE_DIR "/models/catalogue/data", &shared, &error), &error);
    return shared;
}

#endif
