#include "sim/memory.h"

#include <stdlib.h>

#include "tests/harness/check.h"

PW_TEST(counting_allocator_accounts_for_every_byte) {
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    const pw_allocator *allocator = &counting.allocator;
    void *a = pw_alloc(allocator, 100), *b = pw_alloc_zero(allocator, 28), *empty = pw_alloc(allocator, 0);
    PW_EXPECT(a && b && empty);
    PW_EXPECT_INT(counting.live_bytes, 129);
    a = pw_resize(allocator, a, 100, 10);
    PW_EXPECT_INT(counting.live_bytes, 39);
    PW_EXPECT_INT(counting.peak_bytes, 129);
    PW_EXPECT_INT(counting.calls, 3); /* shrinking is not an allocation */
    pw_free(allocator, a, 10), pw_free(allocator, b, 28), pw_free(allocator, empty, 0), pw_free(allocator, NULL, 5);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

PW_TEST(counting_allocator_fails_on_order_and_keeps_the_old_memory) {
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    counting.fail_at = 2;
    char *text = pw_alloc(&counting.allocator, 4);
    memcpy(text, "abc", 4);
    PW_EXPECT(pw_resize(&counting.allocator, text, 4, 4000) == NULL);
    PW_EXPECT_TEXT(text, "abc");
    counting.limit_bytes = 100;
    PW_EXPECT(pw_alloc(&counting.allocator, 97) == NULL);
    void *fits = pw_alloc(&counting.allocator, 96);
    PW_EXPECT(fits != NULL);
    pw_free(&counting.allocator, fits, 96), pw_free(&counting.allocator, text, 4);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

PW_TEST(a_limit_below_what_is_live_allows_nothing_more) {
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    char *held = pw_alloc(&counting.allocator, 1000);
    counting.limit_bytes = 500;
    PW_EXPECT(pw_alloc(&counting.allocator, 1) == NULL);
    PW_EXPECT(pw_resize(&counting.allocator, held, 1000, 1001) == NULL);
    held = pw_resize(&counting.allocator, held, 1000, 400);
    void *fits = pw_alloc(&counting.allocator, 100);
    PW_EXPECT(fits != NULL && pw_alloc(&counting.allocator, 1) == NULL);
    pw_free(&counting.allocator, fits, 100), pw_free(&counting.allocator, held, 400);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

PW_TEST(grow_doubles_and_refuses_overflow) {
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    int *array = NULL;
    size_t capacity = 0;
    for (int i = 0; i < 10000; i++) {
        PW_EXPECT_INT(pw_grow(&counting.allocator, (void **)&array, &capacity, (size_t)i + 1, sizeof *array), 0);
        array[i] = i;
    }
    PW_EXPECT(counting.calls < 14);
    for (int i = 0; i < 10000; i++) PW_EXPECT(array[i] == i);
    int *before = array;
    PW_EXPECT_INT(pw_grow(&counting.allocator, (void **)&array, &capacity, SIZE_MAX / 2, sizeof *array), -1);
    PW_EXPECT_INT(pw_grow(&counting.allocator, (void **)&array, &capacity, SIZE_MAX, 1), -1);
    PW_EXPECT(array == before);
    pw_free(&counting.allocator, array, capacity * sizeof *array);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

PW_TEST(arena_memory_is_zeroed_aligned_disjoint_and_freed_at_once) {
    pw_counting_allocator counting;
    pw_counting_allocator_init(&counting);
    pw_arena *arena = pw_arena_create(&counting.allocator);
    unsigned char *piece[300];
    size_t size[300];
    for (size_t i = 0; i < 300; i++) {
        size[i] = i % 7 == 0 ? 5000 * (i % 4) : i;
        piece[i] = pw_arena_alloc(arena, size[i]);
        PW_EXPECT(piece[i] != NULL && (uintptr_t)piece[i] % _Alignof(max_align_t) == 0);
        for (size_t j = 0; j < size[i]; j++)
            if (piece[i][j] != 0) PW_FAILED("byte %zu of piece %zu is not zero", j, i);
        memset(piece[i], (int)(i & 0xff) | 1, size[i]);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t j = 0; j < size[i]; j++)
            if (piece[i][j] != ((i & 0xff) | 1)) PW_FAILED("piece %zu was overwritten", i), j = size[i];
    PW_EXPECT_TEXT(pw_arena_text(arena, "a copy"), "a copy");
    PW_EXPECT(pw_arena_alloc(arena, SIZE_MAX - 3) == NULL);
    PW_EXPECT_INT(pw_arena_bytes(arena), counting.live_bytes);
    pw_arena_destroy(arena);
    pw_arena_destroy(NULL);
    PW_EXPECT_INT(counting.live_bytes, 0);
}

PW_TEST(arena_survives_each_failing_allocation) {
    for (unsigned long long fail_at = 1; fail_at < 6; fail_at++) {
        pw_counting_allocator counting;
        pw_counting_allocator_init(&counting);
        counting.fail_at = fail_at;
        pw_arena *arena = pw_arena_create(&counting.allocator);
        PW_EXPECT((arena == NULL) == (fail_at == 1));
        int missing = 0;
        for (int i = 0; arena && i < 100; i++) missing += pw_arena_alloc(arena, 300) == NULL;
        PW_EXPECT(missing <= 1);
        pw_arena_destroy(arena);
        PW_EXPECT_INT(counting.live_bytes, 0);
    }
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
