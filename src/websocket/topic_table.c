/* Chained slots, one per member on average. The table never shrinks, since its size may be needed
 * again. */
#include "websocket/topic_table.h"

#include "base/alloc.h"

enum { FIRST_SLOTS = 16 };

void uvh_topic_table_init(struct uvh_topic_table *table, const uvhttp_allocator_t *allocator)
{
    *table = (struct uvh_topic_table){.allocator = allocator};
    table->slots = &table->only;
}

void uvh_topic_table_release(struct uvh_topic_table *table)
{
    if (table->slots != &table->only)
        uvh_free(table->allocator, table->slots);
    uvh_topic_table_init(table, table->allocator);
}

static void grow(struct uvh_topic_table *table)
{
    size_t slots = table->mask == 0 ? FIRST_SLOTS : (table->mask + 1) * 2;
    struct uvh_topic_link **grown = uvh_alloc_zero(table->allocator, slots * sizeof(*grown));
    if (grown == NULL)
        return;
    for (size_t i = 0; i <= table->mask; i++) {
        struct uvh_topic_link *next;
        for (struct uvh_topic_link *link = table->slots[i]; link != NULL; link = next) {
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

void uvh_topic_table_add(struct uvh_topic_table *table, struct uvh_topic_link *link, uint64_t hash)
{
    if (table->count > table->mask)
        grow(table);
    struct uvh_topic_link **slot = &table->slots[hash & table->mask];
    link->hash = hash;
    link->next = *slot;
    *slot = link;
    table->count++;
}

void uvh_topic_table_remove(struct uvh_topic_table *table, struct uvh_topic_link *link)
{
    struct uvh_topic_link **at = &table->slots[link->hash & table->mask];
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    table->count--;
}
