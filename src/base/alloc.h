/* The allocator as a parameter: thin wrappers of uvhttp_allocator_t, and the built-in allocator.
 *
 * Every module that allocates gets one as an argument; no code in src/ calls malloc directly. */
#ifndef UVH_BASE_ALLOC_H
#define UVH_BASE_ALLOC_H

#include <uvhttp/types.h>

/* mimalloc if built in, else the C library's allocator. Never NULL. */
const uvhttp_allocator_t *uvh_alloc_default(void);

static inline void *uvh_alloc(const uvhttp_allocator_t *allocator, size_t size)
{
    return allocator->allocate(size, allocator->context);
}

/* Zeroed memory; NULL if out of memory. */
void *uvh_alloc_zero(const uvhttp_allocator_t *allocator, size_t size);

static inline void *uvh_realloc(const uvhttp_allocator_t *allocator, void *memory, size_t size)
{
    return allocator->reallocate(memory, size, allocator->context);
}

static inline void uvh_free(const uvhttp_allocator_t *allocator, void *memory)
{
    if (memory != NULL)
        allocator->release(memory, allocator->context);
}

/* A NUL-terminated copy of `length` bytes; NULL if out of memory. */
char *uvh_alloc_string(const uvhttp_allocator_t *allocator, const char *text, size_t length);

#endif
