/* An object that owns its memory blocks and frees them together. A constructor that fails halfway
 * has one object to free.
 *
 * Invariant: the object's struct begins with a struct uvh_owned. Called by the modules whose
 * options hold strings and lists. */
#ifndef UVH_OPTIONS_OWNED_H
#define UVH_OPTIONS_OWNED_H

#include <uvhttp/types.h>

struct uvh_owned_block;

struct uvh_owned {
    const uvhttp_allocator_t *allocator;
    struct uvh_owned_block *blocks;
};

/* Returns a zeroed object of `size` bytes, or NULL when out of memory. `allocator` NULL means the
 * system's. */
void *uvh_owned_new(const uvhttp_allocator_t *allocator, size_t size);

/* Returns `size` zeroed bytes owned by the object, aligned for any type, or NULL when out of
 * memory. */
void *uvh_owned_alloc(struct uvh_owned *owned, size_t size);

/* Returns a NUL-terminated copy owned by the object, or NULL when out of memory. */
char *uvh_owned_string(struct uvh_owned *owned, const char *text, size_t length);

/* Frees the object and its blocks. NULL is allowed. */
void uvh_owned_free(struct uvh_owned *owned);

#endif
