/* A hash table with a load factor of 1/2 or below. */
#include "route/literal.h"

#include <uvhttp/error.h>

#include "base/alloc.h"

enum { FIRST_CAPACITY = 8, FIRST_SHIFT = 61 };

static void insert(struct uvh_literal *slots, size_t capacity, unsigned shift,
                   const struct uvh_literal *literal)
{
    size_t i = (size_t)(literal->hash >> shift);
    while (slots[i].path != NULL)
        i = (i + 1) & (capacity - 1);
    slots[i] = *literal;
}

int uvh_literal_reserve(struct uvh_literals *literals, const uvhttp_allocator_t *allocator)
{
    if ((literals->count + 1) * 2 <= literals->capacity)
        return 0;
    size_t capacity = literals->capacity == 0 ? FIRST_CAPACITY : literals->capacity * 2;
    unsigned shift = literals->capacity == 0 ? FIRST_SHIFT : literals->shift - 1;
    struct uvh_literal *slots = uvh_alloc_zero(allocator, capacity * sizeof(*slots));
    if (slots == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < literals->capacity; i++) {
        if (literals->slots[i].path != NULL)
            insert(slots, capacity, shift, &literals->slots[i]);
    }
    uvh_free(allocator, literals->slots);
    literals->slots = slots;
    literals->capacity = capacity;
    literals->shift = shift;
    return 0;
}

void uvh_literal_add(struct uvh_literals *literals, uvhttp_slice_t path,
                     const struct uvh_endpoint *endpoint)
{
    struct uvh_literal literal = {uvh_literal_hash(path), path.base, path.length, endpoint};
    if (uvh_literal_find(literals, path) != NULL)
        return;
    insert(literals->slots, literals->capacity, literals->shift, &literal);
    literals->count++;
    literals->lengths |= (uint64_t)1 << (path.length & 63);
}
