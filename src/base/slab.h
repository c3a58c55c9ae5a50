/* Objects of one size from pages, recycled through a free list: for connections.
 *
 * Always true: a taken object stays at its address until given back; pages go back to the allocator
 * only on release.
 *
 * Objects are taken and given back on the owner's thread (base/owner.h). The slab is initialised
 * and released on any, while nobody uses it. */
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
    void *free; /* first free object; each holds the pointer to the next */
    size_t object_size;
    size_t per_page;
    size_t taken;
    _Atomic uint64_t memory; /* bytes had from the allocator */
    struct uvh_owner owner;
};

/* `object_size` is rounded up to a multiple of 16 bytes. */
void uvh_slab_init(struct uvh_slab *slab, const uvhttp_allocator_t *allocator, size_t object_size,
                   size_t per_page);
void uvh_slab_release(struct uvh_slab *slab);

/* A zeroed object, or NULL when memory ran out. */
void *uvh_slab_take(struct uvh_slab *slab);
void uvh_slab_give(struct uvh_slab *slab, void *object);

#endif
