/* An allocator that counts, and fails on demand: for tests that visit every allocation of a
 * scenario in turn.
 *
 * Always true: `live` is the number of blocks handed out and not given back; a block that is given
 * back is filled with a pattern first, so that a late reader sees nonsense. Thread-safe, as
 * uvhttp_allocator_t asks. */
#ifndef UVH_SUPPORT_FAULT_HEAP_H
#define UVH_SUPPORT_FAULT_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <uvhttp/types.h>

struct fault_heap {
    uvhttp_allocator_t allocator;
    atomic_size_t calls; /* of allocate and reallocate since the start or the last fault_heap_arm */
    atomic_size_t live;
    atomic_size_t live_bytes; /* bytes of these blocks */
    atomic_size_t failures;
    atomic_size_t largest; /* bytes of the largest block since a test has set this to 0 */
    void (*before)(void);  /* called before each block is handed out; NULL: nothing */
    size_t fail_at;        /* the call that fails, counted from 1; 0: none */
    bool keep_failing;     /* all calls after it fail too */
};

void fault_heap_init(struct fault_heap *heap);

/* The n-th call from now on fails (0: none), and with `keep_failing` every one after it. */
void fault_heap_arm(struct fault_heap *heap, size_t n, bool keep_failing);

#endif
