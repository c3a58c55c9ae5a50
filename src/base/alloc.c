/* The built-in allocator, and the functions that are more than one line. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* ASan builds use the C library's allocator: mimalloc would bypass ASan's redzones. */
#if defined(UVH_WITH_MIMALLOC) && !defined(UVH_ASAN)
#include <mimalloc.h>
#define SYSTEM_MALLOC  mi_malloc
#define SYSTEM_REALLOC mi_realloc
#define SYSTEM_FREE    mi_free
#else
#define SYSTEM_MALLOC  malloc
#define SYSTEM_REALLOC realloc
#define SYSTEM_FREE    free
#endif

static void *system_allocate(size_t size, void *context)
{
    (void)context;
    return SYSTEM_MALLOC(size);
}

static void *system_reallocate(void *memory, size_t size, void *context)
{
    (void)context;
    return SYSTEM_REALLOC(memory, size);
}

static void system_release(void *memory, void *context)
{
    (void)context;
    SYSTEM_FREE(memory);
}

const uvhttp_allocator_t *uvh_alloc_default(void)
{
    static const uvhttp_allocator_t allocator = {system_allocate, system_reallocate, system_release,
                                                 NULL};
    return &allocator;
}

void *uvh_alloc_zero(const uvhttp_allocator_t *allocator, size_t size)
{
    void *memory = uvh_alloc(allocator, size);
    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

char *uvh_alloc_string(const uvhttp_allocator_t *allocator, const char *text, size_t length)
{
    char *copy = uvh_alloc(allocator, length + 1);
    if (copy == NULL)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
