/* The file cache: a hash table of entries by path, with budgets and LRU eviction.
 *
 * Invariants: at most limits.entries entries, of which at most limits.descriptors hold a
 * descriptor, and limits.memory bytes of bodies, variants included. Every entry is in the table
 * and in the list of each budget it uses (in that of memory, when it uses none). The cache holds
 * one reference to it. An evicted entry lives until the last response with it ends. Used by its
 * owner's thread, which runs a loop. */
#ifndef UVH_FILES_FILE_CACHE_H
#define UVH_FILES_FILE_CACHE_H

#include <stdatomic.h>

#include "files/file_entry.h"

struct uvh_file_cache_limits {
    size_t entries;
    size_t memory;      /* bytes of bodies */
    size_t descriptors; /* open because of the cache */
};

/* Other threads may read them at any time. */
struct uvh_file_cache_counts {
    _Atomic uint64_t entries;
    _Atomic uint64_t memory;
    _Atomic uint64_t descriptors;
    /* Entries evicted for space, or because the process ran out of descriptors. */
    _Atomic uint64_t evictions;
};

struct uvh_file_cache {
    struct uvh_file_cache_limits limits;
    uint64_t seed;
    struct uvh_hash_table table;
    size_t memory;
    size_t descriptors;
    uint64_t finds;
    struct uvh_list in_memory; /* newest first, by_memory */
    struct uvh_list on_disk;   /* newest first, by_descriptor */
    /* Milliseconds of the loop's clock at which `date` was read; see static_entity.c. */
    uint64_t date_read;
    int64_t date; /* seconds since 1970 */
    struct uvh_owner owner;
    struct uvh_file_cache_counts counts;
};

/* `seed` makes the hash unpredictable. */
void uvh_file_cache_init(struct uvh_file_cache *cache, const uvhttp_allocator_t *allocator,
                         const struct uvh_file_cache_limits *limits, uint64_t seed);
void uvh_file_cache_release(struct uvh_file_cache *cache);

/* Another thread uses the cache and its entries from now on; see base/owner.h. */
void uvh_file_cache_hand_over(struct uvh_file_cache *cache);

/* The entry of that key, now the most recent, or NULL. Borrowed: take a reference to keep it. */
struct uvh_file_entry *uvh_file_cache_find(struct uvh_file_cache *cache, const char *key,
                                           size_t length);

/* Takes another reference to the entry and evicts until it fits, beginning with an older entry of
 * its key. Returns false and changes nothing when the entry can never fit or the cache has a newer
 * state of the file. */
bool uvh_file_cache_insert(struct uvh_file_cache *cache, struct uvh_file_entry *entry);

/* Adds a variant to an entry and evicts until it fits, if the entry is in a cache, has no variant
 * with that coding, and the cache is large enough. Takes another reference to the variant then. */
void uvh_file_cache_attach(struct uvh_file_entry *entry, enum uvh_coding coding,
                           struct uvh_file_entry *variant);

/* Copies all entries of another cache, as far as budgets and memory permit. */
void uvh_file_cache_copy(struct uvh_file_cache *cache, const struct uvh_file_cache *from);

/* Evicts an entry; does nothing when it is in no cache. */
void uvh_file_cache_remove(struct uvh_file_cache *cache, struct uvh_file_entry *entry);

/* Evicts the older half of the descriptors, because the process ran out of them. */
void uvh_file_cache_shed(struct uvh_file_cache *cache);

#endif
