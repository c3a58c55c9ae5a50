/* A page is one allocation: a link to the next page, then the objects without headers. */
#include "base/slab.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"

enum { ALIGNMENT = 16 };

struct uvh_slab_page {
    struct uvh_slab_page *next;
    char padding[ALIGNMENT - sizeof(struct uvh_slab_page *)];
};

static void push_free(struct uvh_slab *slab, void *object)
{
    memcpy(object, &slab->free, sizeof(slab->free));
    slab->free = object;
    UVH_POISON(object, slab->object_size);
}

static size_t page_size(const struct uvh_slab *slab)
{
    return sizeof(struct uvh_slab_page) + slab->object_size * slab->per_page;
}

static int add_page(struct uvh_slab *slab)
{
    struct uvh_slab_page *page = uvh_alloc(slab->allocator, page_size(slab));
    if (page == NULL)
        return -1;
    uvh_counter_add(&slab->memory, page_size(slab));
    page->next = slab->pages;
    slab->pages = page;
    char *objects = (char *)(page + 1);
    for (size_t i = slab->per_page; i > 0; i--)
        push_free(slab, objects + (i - 1) * slab->object_size);
    return 0;
}

void uvh_slab_init(struct uvh_slab *slab, const uvhttp_allocator_t *allocator, size_t object_size,
                   size_t per_page)
{
    *slab = (struct uvh_slab){
        .allocator = allocator,
        .object_size = (object_size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1),
        .per_page = per_page,
    };
}

void uvh_slab_release(struct uvh_slab *slab)
{
    while (slab->pages != NULL) {
        struct uvh_slab_page *page = slab->pages;
        slab->pages = page->next;
        UVH_UNPOISON(page + 1, slab->object_size * slab->per_page);
        uvh_counter_subtract(&slab->memory, page_size(slab));
        uvh_free(slab->allocator, page);
    }
    slab->free = NULL;
}

void *uvh_slab_take(struct uvh_slab *slab)
{
    uvh_owner_check(&slab->owner);
    if (slab->free == NULL && add_page(slab) != 0)
        return NULL;
    void *object = slab->free;
    UVH_UNPOISON(object, slab->object_size);
    memcpy(&slab->free, object, sizeof(slab->free));
    slab->taken++;
    memset(object, 0, slab->object_size);
    return object;
}

void uvh_slab_give(struct uvh_slab *slab, void *object)
{
    uvh_owner_check(&slab->owner);
    slab->taken--;
    push_free(slab, object);
}
