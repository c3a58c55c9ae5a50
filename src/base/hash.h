/* Hashing of byte strings by xxHash's XXH3: for tables inside the process with a seed, so that keys
 * from outside cannot be chosen to collide; and a wide one without, which is the same everywhere,
 * to tell contents apart. */
#ifndef UVH_BASE_HASH_H
#define UVH_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Same bytes and seed give the same value within one process only. */
uint64_t uvh_hash(const void *data, size_t length, uint64_t seed);

/* XXH3's 128 bits in their canonical order (the most significant byte first), as `xxhsum -H2`
 * prints them. */
enum { UVH_HASH_WIDE_SIZE = 16 };
void uvh_hash_wide(const void *data, size_t length, unsigned char hash[UVH_HASH_WIDE_SIZE]);

#endif
