/* The only file that uses xxHash. It is inlined: for the short keys here a call costs more than the
 * hash. */
#include "base/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t uvh_hash(const void *data, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, length, seed);
}

void uvh_hash_wide(const void *data, size_t length, unsigned char hash[UVH_HASH_WIDE_SIZE])
{
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, length));
    memcpy(hash, canonical.digest, UVH_HASH_WIDE_SIZE);
}
