/* A hash table of complete paths without parameters: a path found here needs no walk through the
 * tree.
 *
 * Invariants: a path found here is the tree's first match too, since literal segments have
 * precedence. The hash covers all bytes of a path, so that similar routes do not collide. Lookups
 * are inlined into route/tree.c, which also adds paths. */
#ifndef UVH_ROUTE_LITERAL_H
#define UVH_ROUTE_LITERAL_H

#include "route/endpoint.h"
#include "route/segment.h"

struct uvh_literal {
    uint64_t hash;
    const char *path; /* a route's pattern; NULL: an empty slot */
    size_t length;
    const struct uvh_endpoint *endpoint;
};

struct uvh_literals {
    struct uvh_literal *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    unsigned shift;   /* the hash's highest 64 - shift bits are the slot */
    uint64_t lengths; /* bit n: there is a path of n bytes, or n + 64, ... */
};

/* Reserves a slot for one more path. Returns 0 or UVHTTP_ENOMEM. */
int uvh_literal_reserve(struct uvh_literals *literals, const uvhttp_allocator_t *allocator);

/* Adds a path, which is referenced, into a reserved slot; no effect when it exists. Both it and
 * looked-up paths must have UVH_REQUEST_PATH_SLACK readable bytes after them. */
void uvh_literal_add(struct uvh_literals *literals, uvhttp_slice_t path,
                     const struct uvh_endpoint *endpoint);

static inline uint64_t uvh_literal_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static inline uint64_t uvh_literal_hash(uvhttp_slice_t path)
{
    uint64_t hash = path.length;
    size_t at = 0;
    for (; at + UVH_SEGMENT_WORD <= path.length; at += UVH_SEGMENT_WORD)
        hash = uvh_literal_mix(hash, uvh_swar_load(path.base + at));
    return uvh_literal_mix(hash,
                           uvh_swar_load(path.base + at) & uvh_segment_kept[path.length - at]) *
           0xc2b2ae3d27d4eb4fu;
}

static inline bool uvh_literal_equal(const char *a, const char *b, size_t length)
{
    uint64_t difference = 0;
    size_t at = 0;
    for (; at + UVH_SEGMENT_WORD <= length; at += UVH_SEGMENT_WORD)
        difference |= uvh_swar_load(a + at) ^ uvh_swar_load(b + at);
    difference |= (uvh_swar_load(a + at) ^ uvh_swar_load(b + at)) & uvh_segment_kept[length - at];
    return difference == 0;
}

/* The endpoint of a path, or NULL. */
static UVH_ALWAYS_INLINE const struct uvh_endpoint *
uvh_literal_find(const struct uvh_literals *literals, uvhttp_slice_t path)
{
    if ((literals->lengths >> (path.length & 63) & 1) == 0)
        return NULL;
    uint64_t hash = uvh_literal_hash(path);
    for (size_t i = (size_t)(hash >> literals->shift);; i = (i + 1) & (literals->capacity - 1)) {
        const struct uvh_literal *slot = &literals->slots[i];
        if (slot->path == NULL)
            return NULL;
        if (slot->hash == hash && slot->length == path.length &&
            uvh_literal_equal(slot->path, path.base, path.length))
            return slot->endpoint;
    }
}

#endif
