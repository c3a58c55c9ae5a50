/* Wraps the C library's heap with counters. A header before each block stores its size, so that the
 * block can be filled with a pattern. */
#include "support/fault_heap.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 16, PATTERN = 0xa5 };

static bool fails(struct fault_heap *heap)
{
    size_t call = atomic_fetch_add(&heap->calls, 1) + 1;
    bool failing =
        heap->fail_at != 0 && (heap->keep_failing ? call >= heap->fail_at : call == heap->fail_at);
    if (failing)
        atomic_fetch_add(&heap->failures, 1);
    return failing;
}

static size_t *header_of(void *memory)
{
    return (size_t *)(void *)((char *)memory - HEADER);
}

static void *heap_allocate(size_t size, void *context)
{
    struct fault_heap *heap = context;
    if (fails(heap))
        return NULL;
    if (heap->before != NULL)
        heap->before();
    size_t *header = malloc(HEADER + size);
    if (header == NULL)
        return NULL;
    if (size > atomic_load(&heap->largest))
        atomic_store(&heap->largest, size);
    *header = size;
    atomic_fetch_add(&heap->live, 1);
    atomic_fetch_add(&heap->live_bytes, size);
    return memset((char *)header + HEADER, PATTERN, size);
}

static void heap_release(void *memory, void *context)
{
    struct fault_heap *heap = context;
    atomic_fetch_sub(&heap->live_bytes, *header_of(memory));
    memset(memory, PATTERN, *header_of(memory));
    free(header_of(memory));
    atomic_fetch_sub(&heap->live, 1);
}

/* Always moves the block, so that a use of the old address is detected. */
static void *heap_reallocate(void *memory, size_t size, void *context)
{
    void *moved = heap_allocate(size, context);
    if (moved == NULL || memory == NULL)
        return moved;
    size_t before = *header_of(memory);
    memcpy(moved, memory, before < size ? before : size);
    heap_release(memory, context);
    return moved;
}

void fault_heap_init(struct fault_heap *heap)
{
    heap->allocator = (uvhttp_allocator_t){heap_allocate, heap_reallocate, heap_release, heap};
    heap->before = NULL;
    atomic_store(&heap->largest, 0);
    atomic_store(&heap->live, 0);
    atomic_store(&heap->live_bytes, 0);
    fault_heap_arm(heap, 0, false);
}

void fault_heap_arm(struct fault_heap *heap, size_t n, bool keep_failing)
{
    heap->fail_at = n;
    heap->keep_failing = keep_failing;
    atomic_store(&heap->calls, 0);
    atomic_store(&heap->failures, 0);
}
