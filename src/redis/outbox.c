/* Messages in order, and their size in bytes. */
#include "base/alloc.h"
#include "base/compiler.h"
#include "redis/link.h"

static size_t cost(const struct uvh_redis_parcel *parcel)
{
    return sizeof(*parcel) + parcel->size;
}

void uvh_redis_parcels_append(struct uvh_redis_parcels *parcels, struct uvh_redis_parcel *parcel)
{
    uvh_list_append(&parcels->list, &parcel->link);
    parcels->bytes += cost(parcel);
}

struct uvh_redis_parcel *uvh_redis_parcels_take(struct uvh_redis_parcels *parcels)
{
    struct uvh_list *node = uvh_list_take(&parcels->list);
    if (node == NULL)
        return NULL;
    struct uvh_redis_parcel *first = UVH_CONTAINER_OF(node, struct uvh_redis_parcel, link);
    parcels->bytes -= cost(first);
    return first;
}

size_t uvh_redis_parcels_limit(struct uvh_redis_parcels *parcels, size_t bytes,
                               const uvhttp_allocator_t *allocator)
{
    size_t dropped = 0;
    while (parcels->bytes > bytes) {
        struct uvh_redis_parcel *parcel = uvh_redis_parcels_take(parcels);
        dropped += parcel->command == UVH_REDIS_MESSAGE;
        uvh_free(allocator, parcel);
    }
    return dropped;
}
