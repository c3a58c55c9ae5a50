/* The Redis adapter. redis.c creates and destroys it. publishing.c is the connection that sends
 * messages, subscribing.c the one that receives them; neither knows the other, and both are above
 * link.h (a connection to the broker), channels.h (the subscriptions) and envelope.h (the format of
 * a message).
 *
 * Invariants: only the loop's thread uses connections; a lock protects outbox and channels, and is
 * held for memory operations only. Closing the last handle frees all memory. */
#ifndef UVH_REDIS_REDIS_H
#define UVH_REDIS_REDIS_H

#include <uvhttp/redis.h>

#include "base/compiler.h"
#include "options/owned.h"
#include "redis/channels.h"
#include "redis/envelope.h"
#include "redis/link.h"

struct uvhttp_redis {
    struct uvh_owned owned;
    struct uvh_redis_broker broker;
    uvhttp_topics_t *topics;
    const char *prefix;
    size_t max_queue_size;
    uv_async_t wake;
    unsigned handles; /* and links that are not closed */
    bool ended;
    char id[UVH_REDIS_ID];
    struct uvh_redis_link publishing;
    struct uvh_redis_link subscribing;
    uint64_t refusal_logged; /* time of the last log line about a refused message */
    /* Of the message received last: a copy received by another channel has the same. */
    char last_id[UVH_REDIS_ID + 1];
    uint64_t last_number;
    uv_mutex_t lock; /* of the following */
    struct uvh_redis_parcels waiting;
    struct uvh_redis_channels channels;
    uint64_t number;         /* messages published */
    size_t limit;            /* of `waiting` at the moment */
    uint64_t dropped_before; /* `dropped` when the publishing connection was lost */
    uint64_t drops_unlogged; /* not yet logged */
    uint64_t drops_logged;   /* time of that log line */
    uvhttp_redis_stats_t stats;
};

/* ---- publishing.c ---- */

extern UVH_INTERNAL const struct uvh_redis_link_events uvh_redis_publishing_events;
/* Called by topics, on any thread. */
int uvh_redis_publish(void *redis, const char *topic, uvhttp_websocket_kind_t kind,
                      const void *data, size_t size);
/* Sends pending messages while the broker replies. */
void uvh_redis_publishing_send(struct uvhttp_redis *redis);
/* On shutdown: sends pending messages for a limited time, and logs the ones lost. */
void uvh_redis_publishing_finish(struct uvhttp_redis *redis);

/* ---- subscribing.c ---- */

extern UVH_INTERNAL const struct uvh_redis_link_events uvh_redis_subscribing_events;
/* Called by topics, on any thread. */
void uvh_redis_subscribe(void *redis, const char *pattern);
void uvh_redis_unsubscribe(void *redis, const char *pattern);
/* Sends the changed subscriptions to the broker. */
void uvh_redis_subscribing_send(struct uvhttp_redis *redis);

#endif
