/* Hashing of byte strings for tables inside the process: xxHash's XXH3 with a seed, so that keys from outside cannot be chosen
 * to collide. */
#ifndef UVH_BASE_HASH_H
#define UVH_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Same bytes and seed give the same value within one process only. */
uint64_t uvh_hash(const void *data, size_t length, uint64_t seed);

#endif
