/* Memory: one injected allocator, arenas for descriptions, nothing hidden.
 *
 * All podwright libraries take memory from a pw_allocator given at creation (NULL means the C library). That makes
 * three things possible: a limit, a count of bytes, and tests in which the n-th allocation fails.
 */
#ifndef PW_SIM_MEMORY_H
#define PW_SIM_MEMORY_H

#include <stddef.h>

/* resize(context, NULL, 0, n) allocates, resize(context, p, old, n) resizes, resize(context, p, old, 0) frees and
 * returns NULL. Returns NULL on failure, leaving p valid. Memory is aligned for any type. */
typedef struct pw_allocator {
    void *(*resize)(void *context, void *memory, size_t old_size, size_t new_size);
    void *context;
} pw_allocator;

/* The C library's allocator. */
const pw_allocator *pw_allocator_default(void);

void *pw_alloc(const pw_allocator *allocator, size_t size);       /* NULL on failure; contents undefined */
void *pw_alloc_zero(const pw_allocator *allocator, size_t size);  /* NULL on failure */
void *pw_resize(const pw_allocator *allocator, void *memory, size_t old_size, size_t new_size);
void pw_free(const pw_allocator *allocator, void *memory, size_t size);

/* Grows *array (elements of element_size bytes, *capacity of them) to hold at least needed elements, doubling.
 * Returns 0 on success, -1 when memory is out or the size overflows (the array is unchanged). */
int pw_grow(const pw_allocator *allocator, void **array, size_t *capacity, size_t needed, size_t element_size);

/* An arena: allocations live until the arena is destroyed. Not thread safe. */
typedef struct pw_arena pw_arena;
pw_arena *pw_arena_create(const pw_allocator *allocator); /* NULL when out of memory */
void pw_arena_destroy(pw_arena *arena);                   /* NULL is fine */
void *pw_arena_alloc(pw_arena *arena, size_t size);       /* zeroed; NULL when out of memory */
char *pw_arena_text(pw_arena *arena, const char *text);   /* a copy; NULL when out of memory */
size_t pw_arena_bytes(const pw_arena *arena);             /* bytes taken from the allocator */

/* An allocator that counts and can be made to fail: for limits and for tests. */
typedef struct pw_counting_allocator {
    pw_allocator allocator; /* hand out &counting.allocator */
    size_t live_bytes, peak_bytes, limit_bytes; /* limit 0: none */
    unsigned long long calls;  /* allocations and growths so far */
    unsigned long long fail_at; /* the call with this number (1, 2, ...) fails; 0: none */
} pw_counting_allocator;
void pw_counting_allocator_init(pw_counting_allocator *counting);

#endif
