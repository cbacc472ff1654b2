/* The arena is a list of blocks that grow geometrically; a request larger than a block gets one of its own. The
 * counting allocator writes each size in front of the memory, so that a caller who frees with a wrong size is caught. */
#include "sim/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/status.h"

static void *library_resize(void *context, void *memory, size_t old_size, size_t new_size) {
    (void)context, (void)old_size;
    if (new_size == 0) {
        free(memory);
        return NULL;
    }
    return realloc(memory, new_size);
}

static const pw_allocator library_allocator = {library_resize, NULL};

const pw_allocator *pw_allocator_default(void) { return &library_allocator; }

static const pw_allocator *chosen(const pw_allocator *allocator) { return allocator ? allocator : &library_allocator; }

/* An empty object still has an address of its own: it takes one byte. */
static size_t real_size(size_t size) { return size ? size : 1; }

void *pw_alloc(const pw_allocator *allocator, size_t size) {
    allocator = chosen(allocator);
    return allocator->resize(allocator->context, NULL, 0, real_size(size));
}

void *pw_alloc_zero(const pw_allocator *allocator, size_t size) {
    void *memory = pw_alloc(allocator, size);
    if (memory) memset(memory, 0, real_size(size));
    return memory;
}

void *pw_resize(const pw_allocator *allocator, void *memory, size_t old_size, size_t new_size) {
    allocator = chosen(allocator);
    if (!memory) return new_size ? pw_alloc(allocator, new_size) : NULL;
    return allocator->resize(allocator->context, memory, real_size(old_size), new_size);
}

void pw_free(const pw_allocator *allocator, void *memory, size_t size) {
    if (!memory) return;
    allocator = chosen(allocator);
    allocator->resize(allocator->context, memory, real_size(size), 0);
}

int pw_grow(const pw_allocator *allocator, void **array, size_t *capacity, size_t needed, size_t element_size) {
    enum { SMALLEST = 8 };
    if (needed <= *capacity) return 0;
    size_t limit = SIZE_MAX / 2 / real_size(element_size);
    if (needed > limit) return -1;
    size_t grown = *capacity > limit / 2 ? limit : 2 * *capacity;
    if (grown < SMALLEST && SMALLEST <= limit) grown = SMALLEST;
    if (grown < needed) grown = needed;
    void *memory = pw_resize(allocator, *array, *capacity * element_size, grown * element_size);
    if (!memory) return -1;
    *array = memory;
    *capacity = grown;
    return 0;
}

enum { ALIGNMENT = _Alignof(max_align_t), FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

typedef struct block {
    struct block *next;
    size_t size, used; /* of the bytes behind the header */
    _Alignas(max_align_t) unsigned char bytes[];
} block;

struct pw_arena {
    const pw_allocator *allocator;
    block *first; /* the block being filled; full and oversized ones follow */
    size_t next_block, taken;
};

pw_arena *pw_arena_create(const pw_allocator *allocator) {
    pw_arena *arena = pw_alloc_zero(allocator, sizeof *arena);
    if (!arena) return NULL;
    arena->allocator = chosen(allocator);
    arena->next_block = FIRST_BLOCK;
    arena->taken = sizeof *arena;
    return arena;
}

void pw_arena_destroy(pw_arena *arena) {
    if (!arena) return;
    for (block *each = arena->first, *next; each; each = next) {
        next = each->next;
        pw_free(arena->allocator, each, sizeof *each + each->size);
    }
    pw_free(arena->allocator, arena, sizeof *arena);
}

void *pw_arena_alloc(pw_arena *arena, size_t size) {
    if (size > SIZE_MAX / 4) return NULL;
    size = (real_size(size) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    block *current = arena->first;
    if (!current || current->size - current->used < size) {
        size_t wanted = size > arena->next_block / 4 ? size : arena->next_block;
        block *fresh = pw_alloc(arena->allocator, sizeof *fresh + wanted);
        if (!fresh) return NULL;
        fresh->size = wanted;
        fresh->used = 0;
        arena->taken += sizeof *fresh + wanted;
        if (wanted == size && current) { /* of its own: the current block stays in use */
            fresh->next = current->next;
            current->next = fresh;
        } else {
            fresh->next = current;
            arena->first = fresh;
            if (arena->next_block < LARGEST_BLOCK) arena->next_block *= 2;
        }
        current = fresh;
    }
    void *memory = current->bytes + current->used;
    current->used += size;
    return memset(memory, 0, size);
}

char *pw_arena_text(pw_arena *arena, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = pw_arena_alloc(arena, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

size_t pw_arena_bytes(const pw_arena *arena) { return arena->taken; }

typedef union size_tag {
    size_t size;
    max_align_t alignment;
} size_tag;

static void *counting_resize(void *context, void *memory, size_t old_size, size_t new_size) {
    pw_counting_allocator *counting = context;
    size_tag *tag = memory ? (size_tag *)memory - 1 : NULL;
    PW_CHECK((tag ? tag->size : 0) == old_size);
    if (new_size == 0) {
        counting->live_bytes -= old_size;
        free(tag);
        return NULL;
    }
    if (new_size > old_size) {
        counting->calls++;
        if (counting->calls == counting->fail_at) return NULL;
        size_t limit = counting->limit_bytes, room = limit > counting->live_bytes ? limit - counting->live_bytes : 0;
        if (limit && new_size - old_size > room) return NULL;
        if (new_size > SIZE_MAX - sizeof *tag) return NULL;
    }
    tag = realloc(tag, sizeof *tag + new_size);
    if (!tag) return NULL;
    tag->size = new_size;
    counting->live_bytes += new_size - old_size;
    if (counting->live_bytes > counting->peak_bytes) counting->peak_bytes = counting->live_bytes;
    return tag + 1;
}

void pw_counting_allocator_init(pw_counting_allocator *counting) {
    memset(counting, 0, sizeof *counting);
    counting->allocator = (pw_allocator){counting_resize, counting};
}
