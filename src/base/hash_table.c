/* Chained slots, one per member on average. The table never shrinks, since its size may be needed
 * again. */
#include "base/hash_table.h"

#include "base/alloc.h"

enum { FIRST_SLOTS = 16 };

void uvh_hash_table_init(struct uvh_hash_table *table, const uvhttp_allocator_t *allocator)
{
    *table = (struct uvh_hash_table){.allocator = allocator};
    table->slots = &table->only;
}

void uvh_hash_table_release(struct uvh_hash_table *table)
{
    if (table->slots != &table->only)
        uvh_free(table->allocator, table->slots);
    uvh_hash_table_init(table, table->allocator);
}

static void grow(struct uvh_hash_table *table)
{
    size_t slots = table->mask == 0 ? FIRST_SLOTS : (table->mask + 1) * 2;
    struct uvh_hash_link **grown = uvh_alloc_zero(table->allocator, slots * sizeof(*grown));
    if (grown == NULL)
        return;
    for (size_t i = 0; i <= table->mask; i++) {
        struct uvh_hash_link *next;
        for (struct uvh_hash_link *link = table->slots[i]; link != NULL; link = next) {
            next = link->next;
            link->next = grown[link->hash & (slots - 1)];
            grown[link->hash & (slots - 1)] = link;
        }
    }
    if (table->slots != &table->only)
        uvh_free(table->allocator, table->slots);
    table->slots = grown;
    table->mask = slots - 1;
}

void uvh_hash_table_add(struct uvh_hash_table *table, struct uvh_hash_link *link, uint64_t hash)
{
    if (table->count > table->mask)
        grow(table);
    struct uvh_hash_link **slot = &table->slots[hash & table->mask];
    link->hash = hash;
    link->next = *slot;
    *slot = link;
    table->count++;
}

void uvh_hash_table_remove(struct uvh_hash_table *table, struct uvh_hash_link *link)
{
    struct uvh_hash_link **at = &table->slots[link->hash & table->mask];
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    table->count--;
}

struct uvh_hash_link *uvh_hash_table_walk(const struct uvh_hash_table *table,
                                          const struct uvh_hash_link *link)
{
    if (link != NULL && link->next != NULL)
        return link->next;
    for (size_t i = link == NULL ? 0 : (link->hash & table->mask) + 1; i <= table->mask; i++) {
        if (table->slots[i] != NULL)
            return table->slots[i];
    }
    return NULL;
}
