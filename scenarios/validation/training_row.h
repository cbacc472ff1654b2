/* What the files of the training suite share: a row under description, look-up tables, the baseline.
 *
 *   training_row.c       a row becomes a cluster and a job, step by step
 *   training_method.c    what it trains, in which number format
 *   training_convnet.c   the same for convolutional networks; training_recommender.c: for recommenders
 *   training_baseline.c  one MFU per GPU and precision
 *   training_memo.c      answers of jobs that ran before
 *   training.c           prediction; the suite
 */
#ifndef PW_SCENARIOS_VALIDATION_TRAINING_ROW_H
#define PW_SCENARIOS_VALIDATION_TRAINING_ROW_H

#include <pthread.h>

#include "models/workload/convnet/stack.h"
#include "models/workload/recommender/plan.h"
#include "scenarios/validation/layout.h"
#include "scenarios/validation/training.h"

/* Everything that a run hangs on, as bytes: equal jobs have equal keys, whatever they are called. */
typedef struct training_key {
    unsigned char *bytes;
    size_t size, capacity;
    uint64_t hash;
} training_key;

/* Answers by key, in the arena of the validation; used by several threads. */
enum { TRAINING_MEMO_BUCKETS = 1024 };
typedef struct training_memo {
    pthread_mutex_t lock;
    struct known_answer *buckets[TRAINING_MEMO_BUCKETS];
} training_memo;

pw_status training_key_make(const pw_training_row *row, double factor, double clock_ratio, training_key *key, pw_error *error);
void training_key_free(training_key *key);
void training_memo_start(training_memo *memo);
bool training_memo_find(training_memo *memo, const training_key *key, pw_training_answer *answer);
pw_status training_memo_keep(training_memo *memo, pw_arena *arena, const training_key *key, const pw_training_answer *answer,
                             pw_error *error);

typedef struct training_state {
    training_memo memo;
    pw_measured software, convnet_software, systems, layouts, experts, sharding, tasks, formats, padding;
    struct baseline_mfu {
        const pw_device *device;
        const char *width; /* "16", "8", "32" */
        int family;        /* of models: 0 transformers, 1 convolutional networks, 2 recommenders */
        double mfu;
    } *baseline;
    uint32_t baseline_count;
    bool power; /* clocks come from power and heat */
} training_state;

/* What the steps of a description share. A step that finds that this version cannot run the row says why in the
 * prediction. */
typedef struct description {
    const training_state *state;
    const pw_catalogue *catalogue;
    const pw_measured *input;
    uint32_t row;
    pw_arena *arena;
    pw_training_row *out;
    pw_prediction *prediction;
} description;

/* Marks the row as skipped, with a reason made of format and value. */
pw_status skip(pw_prediction *prediction, const char *format, const char *value);

/* Fills in what can be read from the row; *runs false with a reason when this version cannot run it. */
pw_status describe(const pw_validation_context *context, const pw_measured *input, uint32_t row, pw_arena *arena,
                   pw_training_row *out, pw_prediction *prediction, bool *runs, pw_error *error);

/* training_method.c: steps of a description. */
pw_status describe_task(description *d, pw_error *error);
pw_status describe_format(description *d, pw_error *error);
/* The same for jobs whose format is a precision; *precision is that of their multiplies. */
pw_status describe_precision(description *d, int *precision, pw_error *error);
/* What a row's columns cannot say of an encoder: attention, norms, embeddings, as the preset has them. */
pw_status share_layout(const pw_catalogue *catalogue, const char *preset, pw_model_desc *model, pw_arena *arena,
                       pw_error *error);
int format_index(const char *name); /* among pw_format_names; past the last one when it is unknown */

static inline int family_of(const pw_training_row *row) { return row->recommender ? 2 : row->convnet ? 1 : 0; }

/* training_recommender.c */
pw_status describe_recommender(description *d, pw_error *error);

/* training_convnet.c: model, batch, format and stack of a row; the machine is described as any other's. */
pw_status describe_convnet(description *d, pw_error *error);

/* Needs the state's tables; fits on the fit rows of what ships. */
pw_status baseline_prepare(pw_validation_context *context, training_state *state, pw_error *error);
double baseline_seconds(const training_state *state, const pw_training_row *row); /* NaN: none */

#endif
