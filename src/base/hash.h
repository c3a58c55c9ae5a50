/* Hashes of byte strings by xxHash's XXH3. With a seed, for hash tables inside the process, so that
 * clients cannot choose colliding keys. Without a seed and 128 bits wide, the same on every
 * machine, to compare contents. */
#ifndef UVH_BASE_HASH_H
#define UVH_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The same bytes and seed give the same value within one process only. */
uint64_t uvh_hash(const void *data, size_t length, uint64_t seed);

/* XXH3's 128 bits in canonical (big-endian) order, as `xxhsum -H2` prints them. */
enum { UVH_HASH_WIDE_SIZE = 16 };
void uvh_hash_wide(const void *data, size_t length, unsigned char hash[UVH_HASH_WIDE_SIZE]);

#endif
