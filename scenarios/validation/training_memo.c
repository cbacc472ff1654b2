/* Answers of jobs that ran before in a validation. Sources publish the same run with each of their releases, so that many
 * rows are equal but for what was measured. The key lists every field of cluster and job in the order of the registry,
 * so a field that is added later is part of it. */
#include <string.h>

#include "scenarios/validation/training_row.h"

typedef struct known_answer {
    struct known_answer *next;
    const unsigned char *bytes;
    size_t size;
    uint64_t hash;
    pw_training_answer answer;
} known_answer;

/* --- Keys ---------------------------------------------------------------------------------------------------------- */

static bool put(training_key *key, const void *bytes, size_t size) {
    if (pw_grow(pw_allocator_default(), (void **)&key->bytes, &key->capacity, key->size + size, 1)) return false;
    memcpy(key->bytes + key->size, bytes, size);
    key->size += size;
    return true;
}

static bool put_text(training_key *key, const char *text) { /* none and empty are told apart */
    return text ? put(key, text, strlen(text) + 1) : put(key, "\1", 2);
}

static bool put_record(training_key *key, const pw_kind *kind, const void *record);

static bool put_field(training_key *key, const pw_field *field, const void *record) {
    const void *at = (const char *)record + field->offset;
    pw_list list;
    const pw_kind *kind;
    switch (field->type) {
        case PW_FIELD_NUMBER: return put(key, at, sizeof(double));
        case PW_FIELD_INTEGER: return put(key, at, sizeof(int64_t));
        case PW_FIELD_BOOL: return put(key, at, sizeof(bool));
        case PW_FIELD_CHOICE: return put(key, at, sizeof(int));
        case PW_FIELD_TEXT: return put_text(key, *(const char *const *)at);
        case PW_FIELD_RECORD:
        case PW_FIELD_POINTER:
        case PW_FIELD_ONE_OF: {
            const void *inner = pw_field_record(field, record, &kind);
            return inner ? put_record(key, kind, inner) : put_text(key, NULL);
        }
        case PW_FIELD_LIST: {
            char name[PW_ITEM_NAME];
            list = pw_field_list(field, record);
            bool given = list.items != NULL, good = put(key, &given, sizeof given) && put(key, &list.count, sizeof list.count);
            for (uint32_t i = 0; good && i < list.count; i++) {
                pw_field item = pw_field_item(field, i, name);
                good = put_field(key, &item, pw_list_at(field, list, i));
            }
            return good;
        }
        case PW_FIELD_HOOKS: return true; /* they change no answer */
    }
    return false;
}

static bool put_record(training_key *key, const pw_kind *kind, const void *record) {
    if (!put_text(key, kind->name)) return false;
    for (const pw_field *field = kind->fields; field->name; field++)
        if (!put_field(key, field, record)) return false;
    return true;
}

pw_status training_key_make(const pw_training_row *row, double factor, double clock_ratio, training_key *key, pw_error *error) {
    pw_cluster_desc cluster = row->cluster;
    cluster.name = ""; /* names of clusters and jobs are the row's id */
    *key = (training_key){0};
    bool good = put(key, &factor, sizeof factor) && put(key, &clock_ratio, sizeof clock_ratio) && put(key, &row->pace, sizeof row->pace) &&
                put_record(key, &pw_cluster_kind, &cluster);
    if (row->recommender) {
        pw_recommender_desc job = *row->recommender;
        job.name = "";
        good = good && put_record(key, &pw_recommender_kind, &job);
    } else if (row->convnet) {
        pw_convnet_desc job = *row->convnet;
        job.name = "";
        good = good && put_record(key, &pw_convnet_kind, &job);
    } else {
        pw_train_desc job = row->job;
        job.name = "";
        good = good && put_record(key, &pw_train_kind, &job);
    }
    if (!good) {
        training_key_free(key);
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
    }
    key->hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < key->size; i++) key->hash = (key->hash ^ key->bytes[i]) * UINT64_C(0x100000001b3);
    return PW_OK;
}

void training_key_free(training_key *key) { pw_free(pw_allocator_default(), key->bytes, key->capacity); }

/* --- Answers ------------------------------------------------------------------------------------------------------- */

void training_memo_start(training_memo *memo) {
    memset(memo, 0, sizeof *memo);
    memo->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

bool training_memo_find(training_memo *memo, const training_key *key, pw_training_answer *answer) {
    pthread_mutex_lock(&memo->lock);
    const known_answer *known = memo->buckets[key->hash % TRAINING_MEMO_BUCKETS];
    while (known && (known->hash != key->hash || known->size != key->size || memcmp(known->bytes, key->bytes, key->size)))
        known = known->next;
    pthread_mutex_unlock(&memo->lock); /* what is known stays */
    if (known) *answer = known->answer;
    return known != NULL;
}

pw_status training_memo_keep(training_memo *memo, pw_arena *arena, const training_key *key, const pw_training_answer *answer,
                             pw_error *error) {
    pthread_mutex_lock(&memo->lock);
    known_answer *known = pw_arena_alloc(arena, sizeof *known);
    unsigned char *bytes = pw_arena_alloc(arena, key->size);
    if (known && bytes) {
        memcpy(bytes, key->bytes, key->size);
        known_answer **bucket = &memo->buckets[key->hash % TRAINING_MEMO_BUCKETS];
        *known = (known_answer){*bucket, bytes, key->size, key->hash, *answer};
        *bucket = known;
    }
    pthread_mutex_unlock(&memo->lock);
    return known && bytes ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "out of memory");
}
