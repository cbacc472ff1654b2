/* Max-min sharing by the textbook: progressive filling from nothing at every change. Slow, plain, and written without
 * a look at sim/fluid*.c: the oracle of its tests and the measure of its benches. Used nowhere else.
 *
 * Time is real-valued here; an activity ends when its work is used up, within 1e-12 of it.
 */
#ifndef PW_TESTS_TEXTBOOK_FLUID_H
#define PW_TESTS_TEXTBOOK_FLUID_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct textbook_activity {
    const int *capacities; /* belongs to the caller */
    const double *weights;
    int count;
    double share, cap; /* cap: INFINITY for none */
    double work, left, rate;
    double finish; /* seconds; -1 until done */
    bool running;
} textbook_activity;

typedef struct textbook {
    double now;
    int capacity_count, activity_count, running_count;
    double *amounts, *served, *free, *draw;
    int *open;
    textbook_activity *activities;
    int *running; /* indices of the running activities */
    bool *frozen;
} textbook;

static inline void textbook_init(textbook *book, int capacities, int activities) {
    *book = (textbook){.capacity_count = capacities, .activity_count = 0};
    book->amounts = calloc((size_t)capacities + 1, sizeof(double));
    book->served = calloc((size_t)capacities + 1, sizeof(double));
    book->free = calloc((size_t)capacities + 1, sizeof(double));
    book->draw = calloc((size_t)capacities + 1, sizeof(double));
    book->open = calloc((size_t)capacities + 1, sizeof(int));
    book->activities = calloc((size_t)activities + 1, sizeof(textbook_activity));
    book->running = calloc((size_t)activities + 1, sizeof(int));
    book->frozen = calloc((size_t)activities + 1, sizeof(bool));
}

static inline void textbook_free(textbook *book) {
    free(book->amounts), free(book->served), free(book->free), free(book->draw), free(book->open);
    free(book->activities), free(book->running), free(book->frozen);
}

/* Returns the activity's number. */
static inline int textbook_start(textbook *book, const int *capacities, const double *weights, int count, double work,
                                 double share, double cap) {
    int index = book->activity_count++;
    book->activities[index] = (textbook_activity){.capacities = capacities, .weights = weights, .count = count,
                                                  .share = share, .cap = cap, .work = work, .left = work,
                                                  .finish = -1, .running = true};
    book->running[book->running_count++] = index;
    return index;
}

static inline void textbook_remove(textbook *book, int index) {
    int kept = 0;
    for (int i = 0; i < book->running_count; i++)
        if (book->running[i] != index) book->running[kept++] = book->running[i];
    book->running_count = kept;
    book->activities[index].running = false;
    book->activities[index].rate = 0;
}

/* Raise the level of everybody; whoever meets its cap or a full capacity stops rising. */
static inline void textbook_solve(textbook *book) {
    int left = book->running_count;
    for (int c = 0; c < book->capacity_count; c++) {
        book->free[c] = book->amounts[c];
        book->draw[c] = 0;
        book->open[c] = 0;
    }
    for (int i = 0; i < book->running_count; i++) {
        const textbook_activity *a = &book->activities[book->running[i]];
        book->frozen[book->running[i]] = false;
        for (int k = 0; k < a->count; k++) {
            book->draw[a->capacities[k]] += a->share * a->weights[k];
            book->open[a->capacities[k]]++;
        }
    }
    while (left > 0) {
        double level = INFINITY;
        int full = -1, capped = -1;
        for (int c = 0; c < book->capacity_count; c++) {
            if (book->open[c] == 0) continue;
            double at = book->free[c] > 0 ? book->free[c] / book->draw[c] : 0;
            if (at < level) level = at, full = c;
        }
        for (int i = 0; i < book->running_count; i++) {
            const textbook_activity *a = &book->activities[book->running[i]];
            if (!book->frozen[book->running[i]] && a->cap / a->share < level)
                level = a->cap / a->share, capped = book->running[i];
        }
        for (int i = 0; i < book->running_count; i++) {
            int index = book->running[i];
            textbook_activity *a = &book->activities[index];
            if (book->frozen[index]) continue;
            bool stops = index == capped;
            if (capped < 0)
                for (int k = 0; k < a->count; k++) stops = stops || a->capacities[k] == full;
            if (!stops) continue;
            book->frozen[index] = true;
            left--;
            a->rate = index == capped ? a->cap : a->share * level;
            for (int k = 0; k < a->count; k++) book->open[a->capacities[k]]--;
        }
        /* summed anew each round: no digits lost to subtraction */
        for (int c = 0; c < book->capacity_count; c++) book->free[c] = book->amounts[c], book->draw[c] = 0;
        for (int i = 0; i < book->running_count; i++) {
            const textbook_activity *a = &book->activities[book->running[i]];
            for (int k = 0; k < a->count; k++) {
                if (book->frozen[book->running[i]])
                    book->free[a->capacities[k]] -= a->weights[k] * a->rate;
                else
                    book->draw[a->capacities[k]] += a->share * a->weights[k];
            }
        }
    }
}

static inline double textbook_next_finish(const textbook *book) {
    double next = INFINITY;
    for (int i = 0; i < book->running_count; i++) {
        const textbook_activity *a = &book->activities[book->running[i]];
        if (a->rate > 0 && book->now + a->left / a->rate < next) next = book->now + a->left / a->rate;
    }
    return next;
}

/* Moves to `time`, at or before the next finish, and ends what is done. */
static inline void textbook_advance(textbook *book, double time) {
    double step = time - book->now;
    book->now = time;
    int kept = 0;
    for (int i = 0; i < book->running_count; i++) {
        int index = book->running[i];
        textbook_activity *a = &book->activities[index];
        double given = a->rate * step < a->left ? a->rate * step : a->left;
        bool done = a->left - given <= 1e-12 * a->work;
        if (done) given = a->left;
        a->left -= given;
        for (int k = 0; k < a->count; k++) book->served[a->capacities[k]] += a->weights[k] * given;
        if (done) {
            a->finish = time;
            a->rate = 0;
            a->running = false;
        } else {
            book->running[kept++] = index;
        }
    }
    book->running_count = kept;
}

/* Runs until `time`, solving at each finish; rates are up to date afterwards. */
static inline void textbook_run(textbook *book, double time) {
    for (;;) {
        textbook_solve(book);
        double next = textbook_next_finish(book);
        if (next == INFINITY || next > time) break;
        textbook_advance(book, next);
    }
    if (time < INFINITY) textbook_advance(book, time);
}

#endif
