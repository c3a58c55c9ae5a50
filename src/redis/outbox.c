/* Messages in order, and their size in bytes. */
#include "redis/redis.h"

static size_t cost(const struct uvh_redis_parcel *parcel)
{
    return sizeof(*parcel) + parcel->size;
}

void uvh_redis_parcels_append(struct uvh_redis_parcels *parcels, struct uvh_redis_parcel *parcel)
{
    parcel->next = NULL;
    if (parcels->first == NULL)
        parcels->first = parcel;
    else
        parcels->last->next = parcel;
    parcels->last = parcel;
    parcels->bytes += cost(parcel);
}

struct uvh_redis_parcel *uvh_redis_parcels_take(struct uvh_redis_parcels *parcels)
{
    struct uvh_redis_parcel *first = parcels->first;
    if (first == NULL)
        return NULL;
    parcels->first = first->next;
    parcels->bytes -= cost(first);
    return first;
}

size_t uvh_redis_parcels_limit(struct uvh_redis_parcels *parcels, size_t bytes,
                               const uvhttp_allocator_t *allocator)
{
    size_t dropped = 0;
    while (parcels->first != NULL && parcels->bytes > bytes) {
        struct uvh_redis_parcel *parcel = uvh_redis_parcels_take(parcels);
        dropped += parcel->command == UVH_REDIS_MESSAGE;
        allocator->release(parcel, allocator->context);
    }
    return dropped;
}

size_t uvh_redis_parcels_drop(struct uvh_redis_parcels *parcels,
                              const uvhttp_allocator_t *allocator)
{
    return uvh_redis_parcels_limit(parcels, 0, allocator);
}
