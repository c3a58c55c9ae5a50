/* A hash table with embedded links: adding never fails, without memory it only becomes slower.
 *
 * Invariants: a member is in at most one table, and keeps its address. The caller of a lookup
 * compares the members with equal hashes itself. Called by topic_tree.c and topic_presence.c. */
#ifndef UVH_WEBSOCKET_TOPIC_TABLE_H
#define UVH_WEBSOCKET_TOPIC_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

struct uvh_topic_link {
    struct uvh_topic_link *next;
    uint64_t hash;
};

struct uvh_topic_table {
    const uvhttp_allocator_t *allocator;
    struct uvh_topic_link **slots; /* their number is a power of two; `only` until there are more */
    size_t mask;
    size_t count;
    struct uvh_topic_link *only;
};

/* The table must not be moved after this. */
void uvh_topic_table_init(struct uvh_topic_table *table, const uvhttp_allocator_t *allocator);
/* Frees the table's own memory; the memory of its members belongs to the caller. */
void uvh_topic_table_release(struct uvh_topic_table *table);

/* The first member with this hash from here on, `link` included. */
static inline struct uvh_topic_link *uvh_topic_table_same(struct uvh_topic_link *link,
                                                          uint64_t hash)
{
    while (link != NULL && link->hash != hash)
        link = link->next;
    return link;
}

/* The first member with this hash, NULL when there is none; the next one is
 * uvh_topic_table_same(link->next, hash). */
static inline struct uvh_topic_link *uvh_topic_table_find(const struct uvh_topic_table *table,
                                                          uint64_t hash)
{
    return uvh_topic_table_same(table->slots[hash & table->mask], hash);
}

void uvh_topic_table_add(struct uvh_topic_table *table, struct uvh_topic_link *link, uint64_t hash);
void uvh_topic_table_remove(struct uvh_topic_table *table, struct uvh_topic_link *link);

/* Bytes of the table itself. */
static inline size_t uvh_topic_table_memory(const struct uvh_topic_table *table)
{
    return table->mask == 0 ? 0 : (table->mask + 1) * sizeof(struct uvh_topic_link *);
}

#endif
