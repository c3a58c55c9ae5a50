/* Publishes messages: any thread adds them to the outbox, the loop sends them over the connection,
 * and the broker's reply removes them. */
#include "redis/redis.h"

#include <inttypes.h>
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"

enum {
    /* bytes sent without a reply; above this, messages stay in the outbox, where they can be
     * dropped */
    SENT_MOST = 256 << 10,
    /* times the limit the outbox may hold while the broker is connected, since one loop iteration
     * may publish much */
    BURST = 4,
    FINISH_MS = 5000,         /* for sending the last messages and receiving their replies */
    SILENCE_MS = 1000,        /* or until no reply has arrived for so long */
    NANOSECONDS = 1000000000, /* per second */
};

static struct uvhttp_redis *redis_of(struct uvh_redis_link *link)
{
    return UVH_CONTAINER_OF(link, struct uvhttp_redis, publishing);
}

/* True at most once a second; `*last` is the time of the last true result. */
static bool may_log(uint64_t *last)
{
    uint64_t now = uv_hrtime();
    if (*last != 0 && now - *last < NANOSECONDS)
        return false;
    *last = now;
    return true;
}

/* ---- lost messages ---- */

/* Requires the lock. The number of dropped messages to log now; 0: none. */
static uint64_t drops_to_log(struct uvhttp_redis *redis)
{
    if (redis->drops_unlogged == 0 || !may_log(&redis->drops_logged))
        return 0;
    uint64_t drops = redis->drops_unlogged;
    redis->drops_unlogged = 0;
    return drops;
}

static void log_drops(struct uvhttp_redis *redis, uint64_t drops, size_t limit)
{
    if (drops > 0)
        uvhttp_server_log(
            redis->broker.server, UVHTTP_LOG_WARNING,
            "redis: the publish queue of %zu bytes is full, dropping the oldest messages: %" PRIu64
            " so far",
            limit, drops);
}

/* ---- on the loop ---- */

void uvh_redis_publishing_send(struct uvhttp_redis *redis)
{
    struct uvh_redis_link *link = &redis->publishing;
    if (link->state != UVH_REDIS_READY)
        return;
    while (link->sent.bytes < SENT_MOST) {
        uv_mutex_lock(&redis->lock);
        struct uvh_redis_parcel *parcel = uvh_redis_parcels_take(&redis->waiting);
        uv_mutex_unlock(&redis->lock);
        if (parcel == NULL)
            break;
        const char *words[] = {"PUBLISH", parcel->bytes, parcel->bytes + parcel->channel};
        size_t sizes[] = {7, parcel->channel, parcel->size - parcel->channel};
        uvh_redis_link_send(link, parcel, 3, words, sizes);
    }
    uvh_redis_link_flush(link);
}

static void on_ready(struct uvh_redis_link *link)
{
    struct uvhttp_redis *redis = redis_of(link);
    uv_mutex_lock(&redis->lock);
    uint64_t dropped = redis->stats.dropped - redis->dropped_before;
    redis->dropped_before = redis->stats.dropped;
    redis->drops_unlogged = 0;
    redis->limit = redis->max_queue_size > SIZE_MAX / BURST ? redis->max_queue_size
                                                            : BURST * redis->max_queue_size;
    uv_mutex_unlock(&redis->lock);
    if (dropped > 0)
        uvhttp_server_log(redis->broker.server, UVHTTP_LOG_WARNING,
                          "redis: %" PRIu64 " messages were lost while the broker was unavailable",
                          dropped);
    uvh_redis_publishing_send(redis);
}

/* The broker accepted a message, or replied with an error. */
static void on_reply(struct uvh_redis_link *link, const struct uvh_redis_parcel *parcel,
                     const redisReply *reply)
{
    struct uvhttp_redis *redis = redis_of(link);
    if (parcel == NULL)
        return;
    bool taken = reply->type == REDIS_REPLY_INTEGER;
    uv_mutex_lock(&redis->lock);
    redis->stats.published += taken;
    redis->stats.dropped += !taken;
    uint64_t drops = redis->waiting.bytes == 0 ? drops_to_log(redis) : 0;
    size_t limit = redis->limit;
    uv_mutex_unlock(&redis->lock);
    log_drops(redis, drops, limit);
    if (!taken && may_log(&redis->refusal_logged))
        uvhttp_server_log(redis->broker.server, UVHTTP_LOG_WARNING,
                          "redis: a message on %.*s was rejected: %s", (int)parcel->channel,
                          parcel->bytes,
                          reply->type == REDIS_REPLY_ERROR ? reply->str : "unexpected reply");
    if (link->sent.bytes < SENT_MOST / 2)
        uvh_redis_publishing_send(redis);
}

/* The broker may or may not have received the messages without a reply. Sending them again could
 * deliver them twice. */
static void on_lost(struct uvh_redis_link *link, size_t messages)
{
    struct uvhttp_redis *redis = redis_of(link);
    uv_mutex_lock(&redis->lock);
    redis->dropped_before = redis->stats.dropped;
    redis->limit = redis->max_queue_size;
    redis->stats.dropped += messages;
    redis->stats.dropped +=
        uvh_redis_parcels_limit(&redis->waiting, redis->limit, redis->broker.allocator);
    uv_mutex_unlock(&redis->lock);
}

const struct uvh_redis_link_events uvh_redis_publishing_events = {
    .name = "publishing", .on_ready = on_ready, .on_reply = on_reply, .on_lost = on_lost};

/* ---- from topics ---- */

int uvh_redis_publish(void *adapter, const char *topic, uvhttp_websocket_kind_t kind,
                      const void *data, size_t size)
{
    struct uvhttp_redis *redis = adapter;
    size_t prefix = strlen(redis->prefix), channel = prefix + strlen(topic);
    struct uvh_redis_parcel *parcel = NULL;
    size_t most = sizeof(*parcel) + channel + UVH_REDIS_ENVELOPE_MAX + size;
    bool fits = most <= redis->max_queue_size; /* if it never fits, drop nothing for it */
    if (fits)
        parcel = uvh_alloc(redis->broker.allocator, most);
    uv_mutex_lock(&redis->lock);
    if (parcel == NULL) {
        redis->stats.dropped++;
        uv_mutex_unlock(&redis->lock);
        return fits ? UVHTTP_ENOMEM : UVHTTP_ETOOLARGE;
    }
    *parcel = (struct uvh_redis_parcel){.command = UVH_REDIS_MESSAGE, .channel = channel};
    memcpy(parcel->bytes, redis->prefix, prefix);
    memcpy(parcel->bytes + prefix, topic, channel - prefix);
    size_t head =
        uvh_redis_envelope_write(parcel->bytes + channel, kind, redis->id, ++redis->number);
    parcel->size = channel + head + size;
    if (size > 0)
        memcpy(parcel->bytes + channel + head, data, size);
    uvh_redis_parcels_append(&redis->waiting, parcel);
    size_t dropped =
        uvh_redis_parcels_limit(&redis->waiting, redis->limit, redis->broker.allocator);
    redis->stats.dropped += dropped;
    redis->drops_unlogged += dropped;
    uint64_t drops = dropped > 0 ? drops_to_log(redis) : 0;
    size_t limit = redis->limit;
    uv_mutex_unlock(&redis->lock);
    log_drops(redis, drops, limit);
    uv_async_send(&redis->wake);
    return 0;
}

/* ---- shutdown ---- */

/* Closing a socket with unread replies makes the kernel reset the connection, and the broker then
 * loses what it has not read. So this call sends the last messages and reads their replies. It
 * blocks: the loop no longer runs, and all other threads of the server have ended. */
void uvh_redis_publishing_finish(struct uvhttp_redis *redis)
{
    struct uvh_redis_link *link = &redis->publishing;
    uint64_t now = uv_hrtime() / 1000000, heard = now, end = now + FINISH_MS;
    uvh_redis_publishing_send(redis);
    while (link->state == UVH_REDIS_READY && link->sent.bytes + redis->waiting.bytes > 0 &&
           now < end && now - heard < SILENCE_MS) {
        link->heard = false;
        uvh_redis_link_wait(link, (int)(end - now < SILENCE_MS ? end - now : SILENCE_MS));
        now = uv_hrtime() / 1000000;
        heard = link->heard ? now : heard;
    }
    const uvhttp_allocator_t *allocator = redis->broker.allocator;
    const char *why = link->state == UVH_REDIS_READY ? "did not reply" : "was unavailable";
    uint64_t before = redis->stats.dropped;
    uv_mutex_lock(&redis->lock);
    redis->stats.dropped += uvh_redis_parcels_limit(&link->sent, 0, allocator);
    redis->stats.dropped += uvh_redis_parcels_limit(&redis->waiting, 0, allocator);
    uint64_t lost =
        redis->stats.dropped - (link->state == UVH_REDIS_READY ? before : redis->dropped_before);
    uv_mutex_unlock(&redis->lock);
    if (lost > 0)
        uvhttp_server_log(redis->broker.server, UVHTTP_LOG_WARNING,
                          "redis: %" PRIu64 " messages were lost at shutdown: the broker %s", lost,
                          why);
}
