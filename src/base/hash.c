/* The one place that sees xxHash. Inlined, because for the short keys here the call is most of the cost. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t uvh_hash(const void *data, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, length, seed);
}
