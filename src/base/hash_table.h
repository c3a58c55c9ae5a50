/* A hash table with embedded links: adding never fails, without memory it only becomes slower.
 *
 * Invariants: a member is in at most one table, and keeps its address. The caller of a lookup
 * compares the members with equal hashes itself. Called by caches, topics, and tables of hosts. */
#ifndef UVH_BASE_HASH_TABLE_H
#define UVH_BASE_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

struct uvh_hash_link {
    struct uvh_hash_link *next;
    uint64_t hash;
};

struct uvh_hash_table {
    const uvhttp_allocator_t *allocator;
    struct uvh_hash_link **slots; /* their number is a power of two; `only` until there are more */
    size_t mask;
    size_t count;
    struct uvh_hash_link *only;
};

/* The table must not be moved after this. */
void uvh_hash_table_init(struct uvh_hash_table *table, const uvhttp_allocator_t *allocator);
/* Frees the table's own memory; the memory of its members belongs to the caller. */
void uvh_hash_table_release(struct uvh_hash_table *table);

static inline struct uvh_hash_link *uvh_hash_table_same(struct uvh_hash_link *link, uint64_t hash)
{
    while (link != NULL && link->hash != hash)
        link = link->next;
    return link;
}

/* The first member with this hash; NULL when there is none. */
static inline struct uvh_hash_link *uvh_hash_table_find(const struct uvh_hash_table *table,
                                                        uint64_t hash)
{
    return uvh_hash_table_same(table->slots[hash & table->mask], hash);
}

/* The next member with the same hash; NULL when there is none. */
static inline struct uvh_hash_link *uvh_hash_table_next(const struct uvh_hash_link *link)
{
    return uvh_hash_table_same(link->next, link->hash);
}

void uvh_hash_table_add(struct uvh_hash_table *table, struct uvh_hash_link *link, uint64_t hash);
void uvh_hash_table_remove(struct uvh_hash_table *table, struct uvh_hash_link *link);

/* The member after `link`, in no particular order; with NULL the first one. NULL: there is none. */
struct uvh_hash_link *uvh_hash_table_walk(const struct uvh_hash_table *table,
                                          const struct uvh_hash_link *link);

/* Bytes of the table itself. */
static inline size_t uvh_hash_table_memory(const struct uvh_hash_table *table)
{
    return table->mask == 0 ? 0 : (table->mask + 1) * sizeof(struct uvh_hash_link *);
}

#endif
