/* The files known at the moment: a hash table from path to entry, with budgets; what was not used
 * for longest goes first.
 *
 * Always true: at most limits.entries entries, of which at most limits.descriptors hold a
 * descriptor, and limits.memory bytes of bodies, variants included; every entry is in one bucket
 * and in the lists of what it holds (in that of memory, when it holds nothing), and the cache holds
 * one reference of it. An entry that is thrown out lives on for those who still send it. Used by
 * its owner's thread, which is that of a loop. */
#ifndef UVH_FILES_FILE_CACHE_H
#define UVH_FILES_FILE_CACHE_H

#include <stdatomic.h>

#include "files/file_entry.h"

struct uvh_file_cache_limits {
    size_t entries;
    size_t memory;      /* bytes of bodies */
    size_t descriptors; /* open at once because of the cache */
};

/* For other threads, which may read them at any time. */
struct uvh_file_cache_counts {
    _Atomic uint64_t entries;
    _Atomic uint64_t memory;
    _Atomic uint64_t descriptors;
    _Atomic uint64_t
        /* entries thrown out to make room, or because the process ran out of descriptors */
        evictions;
};

struct uvh_file_cache {
    const uvhttp_allocator_t *allocator;
    struct uvh_file_cache_limits limits;
    uint64_t seed;
    struct uvh_file_entry **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
    size_t memory;
    size_t descriptors;
    uint64_t finds;
    struct uvh_list in_memory; /* newest first, by_memory */
    struct uvh_list on_disk;   /* newest first, by_descriptor */
    /* milliseconds of the loop's clock at which `date` was read; static_entity.c */
    uint64_t date_read;
    int64_t date; /* seconds since 1970 */
    struct uvh_owner owner;
    struct uvh_file_cache_counts counts;
};

/* `seed` makes the places in the table unforeseeable. 0 or UVHTTP_ENOMEM. */
int uvh_file_cache_init(struct uvh_file_cache *cache, const uvhttp_allocator_t *allocator,
                        const struct uvh_file_cache_limits *limits, uint64_t seed);
void uvh_file_cache_release(struct uvh_file_cache *cache);

/* Another thread uses the cache and its entries from now on; see base/owner.h. */
void uvh_file_cache_hand_over(struct uvh_file_cache *cache);

/* The entry of that key, now the newest, or NULL. Borrowed: take a reference to keep it. */
struct uvh_file_entry *uvh_file_cache_find(struct uvh_file_cache *cache, const char *key,
                                           size_t length);

/* Takes one more reference of the entry and throws out what does not fit beside it, an older one of
 * its key first. False, and nothing is changed, when the entry cannot fit at all or the cache knows
 * a later state of the file. */
bool uvh_file_cache_insert(struct uvh_file_cache *cache, struct uvh_file_entry *entry);

/* Gives an entry another variant and makes room for it, if it is in a cache at all, has none in
 * that coding and the cache is large enough. Takes one more reference of the variant then. */
void uvh_file_cache_attach(struct uvh_file_entry *entry, enum uvh_coding coding,
                           struct uvh_file_entry *variant);

/* Takes copies of all entries of another cache, as far as there is room and memory. */
void uvh_file_cache_copy(struct uvh_file_cache *cache, const struct uvh_file_cache *from);

/* Throws an entry out; harmless when it is in no cache. */
void uvh_file_cache_remove(struct uvh_file_cache *cache, struct uvh_file_entry *entry);

/* Throws out the older half of the descriptors, because the process has run out of them. */
void uvh_file_cache_shed(struct uvh_file_cache *cache);

#endif
