/* What the workload tests share: the catalogue, an arena, presets and small jobs. */
#ifndef PW_TESTS_WORKLOAD_JOBS_H
#define PW_TESTS_WORKLOAD_JOBS_H

#include "models/workload/train.h"
#include "tests/harness/catalogue.h"

static inline const pw_device *device(const char *name) {
    const pw_device *found;
    pw_error error = {0};
    must(pw_catalogue_device(catalogue(), name, &found, &error), &error);
    return found;
}

static inline pw_model_desc preset(const char *name) {
    pw_model_desc model;
    pw_error error = {0};
    must(pw_model_preset(catalogue(), name, &model, arena(), &error), &error);
    return model;
}

/* A job with every default; the caller sets what it is about. */
static inline pw_train_desc job(pw_model_desc *model, const char *stack, int64_t sequence, int64_t global_batch) {
    pw_train_desc desc;
    pw_error error = {0};
    must(pw_description_defaults(&pw_train_kind, &desc, arena(), &error), &error);
    desc.model = model;
    desc.stack = stack;
    desc.sequence = sequence;
    desc.global_batch = global_batch;
    return desc;
}

#endif
