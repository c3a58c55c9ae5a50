/* An allocator that counts and fails on demand, for tests that let each allocation of a scenario
 * fail.
 *
 * Invariants: `live` is the number of allocated blocks. A freed block is filled with a pattern, so
 * that a use after free reads invalid data. Thread-safe, as uvhttp_allocator_t requires. */
#ifndef UVH_SUPPORT_FAULT_HEAP_H
#define UVH_SUPPORT_FAULT_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <uvhttp/types.h>

struct fault_heap {
    uvhttp_allocator_t allocator;
    /* calls of allocate and reallocate since fault_heap_init or the last fault_heap_arm */
    atomic_size_t calls;
    atomic_size_t live;
    atomic_size_t live_bytes; /* size of the live blocks */
    atomic_size_t failures;
    atomic_size_t largest; /* largest block since the test set this to 0 */
    void (*before)(void);  /* called before each allocation; may be NULL */
    size_t fail_at;        /* number of the failing call, counted from 1; 0: none */
    bool keep_failing;     /* all following calls fail, too */
};

void fault_heap_init(struct fault_heap *heap);

/* The n-th call from now on fails (0: none). With `keep_failing` all following calls fail, too. */
void fault_heap_arm(struct fault_heap *heap, size_t n, bool keep_failing);

#endif
