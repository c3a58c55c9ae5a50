/* An object with memory of its own, which is freed at once with it: so a constructor that fails
 * halfway has one thing to undo.
 *
 * Always true: the object's struct begins with a struct uvh_owned. Called by the modules whose
 * options hold strings and lists. */
#ifndef UVH_OPTIONS_OWNED_H
#define UVH_OPTIONS_OWNED_H

#include <uvhttp/types.h>

struct uvh_owned_block;

struct uvh_owned {
    const uvhttp_allocator_t *allocator;
    struct uvh_owned_block *blocks;
};

/* A zeroed object of `size` bytes; NULL when memory ran out. `allocator` NULL means the
 * system's. */
void *uvh_owned_new(const uvhttp_allocator_t *allocator, size_t size);

/* `size` zeroed bytes that belong to the object, aligned for any type; NULL when memory ran out. */
void *uvh_owned_alloc(struct uvh_owned *owned, size_t size);

/* A NUL-terminated copy that belongs to the object; NULL when memory ran out. */
char *uvh_owned_string(struct uvh_owned *owned, const char *text, size_t length);

/* Frees the object and what belongs to it. NULL is fine. */
void uvh_owned_free(struct uvh_owned *owned);

#endif
