/* Blocks form a linked list, newest first. */
#include "options/owned.h"

#include <string.h>

#include "base/alloc.h"

struct uvh_owned_block {
    struct uvh_owned_block *next;
    max_align_t data[];
};

void *uvh_owned_new(const uvhttp_allocator_t *allocator, size_t size)
{
    if (allocator == NULL)
        allocator = uvh_alloc_default();
    struct uvh_owned *owned = uvh_alloc_zero(allocator, size);
    if (owned != NULL)
        owned->allocator = allocator;
    return owned;
}

void *uvh_owned_alloc(struct uvh_owned *owned, size_t size)
{
    struct uvh_owned_block *block = uvh_alloc_zero(owned->allocator, sizeof(*block) + size);
    if (block == NULL)
        return NULL;
    block->next = owned->blocks;
    owned->blocks = block;
    return block->data;
}

char *uvh_owned_string(struct uvh_owned *owned, const char *text, size_t length)
{
    char *copy = uvh_owned_alloc(owned, length + 1);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

void uvh_owned_free(struct uvh_owned *owned)
{
    if (owned == NULL)
        return;
    while (owned->blocks != NULL) {
        struct uvh_owned_block *block = owned->blocks;
        owned->blocks = block->next;
        uvh_free(owned->allocator, block);
    }
    uvh_free(owned->allocator, owned);
}
