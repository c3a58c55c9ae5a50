/* The counted heaps of wire_server: the allocators of uvhttp and of libuv, both malloc with two
 * counters. Thread-safe, as uvhttp_allocator_t requires. */
#include "wire_server.h"

#include <malloc.h>
#include <stdlib.h>

struct heap uvhttp_heap;
struct heap libuv_heap;

static void *count_new(struct heap *heap, void *memory)
{
    if (memory != NULL) {
        atomic_fetch_add(&heap->calls, 1);
        int64_t size = (int64_t)malloc_usable_size(memory);
        int64_t live = atomic_fetch_add(&heap->live, size) + size;
        int64_t peak = atomic_load(&heap->peak);
        while (live > peak && !atomic_compare_exchange_weak(&heap->peak, &peak, live))
            continue;
    }
    return memory;
}

static void count_freed(struct heap *heap, void *memory)
{
    atomic_fetch_sub(&heap->live, (int64_t)malloc_usable_size(memory));
}

static void *counted_allocate(size_t size, void *context)
{
    return count_new(context, malloc(size));
}

static void *counted_reallocate(void *memory, size_t size, void *context)
{
    int64_t before = (int64_t)malloc_usable_size(memory);
    void *moved = realloc(memory, size);
    if (moved == NULL)
        return NULL;
    atomic_fetch_sub(&((struct heap *)context)->live, before);
    return count_new(context, moved);
}

static void counted_release(void *memory, void *context)
{
    count_freed(context, memory);
    free(memory);
}

static void *libuv_malloc(size_t size)
{
    return counted_allocate(size, &libuv_heap);
}

static void *libuv_realloc(void *memory, size_t size)
{
    return counted_reallocate(memory, size, &libuv_heap);
}

static void *libuv_calloc(size_t count, size_t size)
{
    return count_new(&libuv_heap, calloc(count, size));
}

static void libuv_free(void *memory)
{
    counted_release(memory, &libuv_heap);
}

const uvhttp_allocator_t counting_allocator = {counted_allocate, counted_reallocate,
                                               counted_release, &uvhttp_heap};

void count_libuv(void)
{
    (void)uv_replace_allocator(libuv_malloc, libuv_realloc, libuv_calloc, libuv_free);
}
