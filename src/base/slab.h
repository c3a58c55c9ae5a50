/* Slab allocator: objects of one size from pages, recycled through a free list. Used for
 * connections.
 *
 * Always true: a taken object keeps its address until it is returned; pages are freed only on
 * release.
 *
 * Objects are taken and returned on the owner's thread (base/owner.h). Initialising and releasing
 * the slab is allowed on any thread while it is not in use. */
#ifndef UVH_BASE_SLAB_H
#define UVH_BASE_SLAB_H

#include <stddef.h>

#include <uvhttp/types.h>

#include "base/counter.h"
#include "base/owner.h"

struct uvh_slab_page;

struct uvh_slab {
    const uvhttp_allocator_t *allocator;
    struct uvh_slab_page *pages;
    void *free; /* first free object; each stores the pointer to the next */
    size_t object_size;
    size_t per_page;
    size_t taken;
    _Atomic uint64_t memory; /* bytes allocated */
    struct uvh_owner owner;
};

/* `object_size` is rounded up to a multiple of 16 bytes. */
void uvh_slab_init(struct uvh_slab *slab, const uvhttp_allocator_t *allocator, size_t object_size,
                   size_t per_page);
void uvh_slab_release(struct uvh_slab *slab);

/* A zeroed object, or NULL if out of memory. */
void *uvh_slab_take(struct uvh_slab *slab);
void uvh_slab_give(struct uvh_slab *slab, void *object);

#endif
