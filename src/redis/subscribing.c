/* Receives messages from the broker, and subscribes there to the channels that local connections
 * subscribe to. */
#include "redis/redis.h"

#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"

static struct uvhttp_redis *redis_of(struct uvh_redis_link *link)
{
    return UVH_CONTAINER_OF(link, struct uvhttp_redis, subscribing);
}

/* ---- subscriptions at the broker ---- */

static void send_change(struct uvhttp_redis *redis, const struct uvh_redis_channel *channel,
                        bool subscribe)
{
    const char *words[] = {subscribe ? (channel->glob ? "PSUBSCRIBE" : "SUBSCRIBE")
                                     : (channel->glob ? "PUNSUBSCRIBE" : "UNSUBSCRIBE"),
                           channel->text};
    size_t length = strlen(channel->text), sizes[] = {strlen(words[0]), length};
    struct uvh_redis_parcel *parcel =
        uvh_alloc(redis->broker.allocator, sizeof(*parcel) + length + 1);
    if (parcel != NULL) {
        *parcel = (struct uvh_redis_parcel){.command = subscribe ? UVH_REDIS_SUBSCRIBE
                                                                 : UVH_REDIS_UNSUBSCRIBE,
                                            .glob = channel->glob,
                                            .channel = length,
                                            .size = length};
        memcpy(parcel->bytes, channel->text, length + 1);
    }
    uvh_redis_link_send(&redis->subscribing, parcel, 2, words, sizes);
}

void uvh_redis_subscribing_send(struct uvhttp_redis *redis)
{
    struct uvh_redis_link *link = &redis->subscribing;
    struct uvh_redis_channel *channel;
    bool ready = link->state == UVH_REDIS_READY;
    uv_mutex_lock(&redis->lock);
    while ((channel = uvh_redis_channels_changed(&redis->channels)) != NULL) {
        bool needed = channel->patterns != NULL;
        bool wanted = ready && needed && !channel->refused;
        if (ready && wanted != channel->sent)
            send_change(redis, channel, wanted);
        channel->sent = wanted;
        if (!needed)
            uvh_redis_channels_free(&redis->channels, channel);
    }
    uv_mutex_unlock(&redis->lock);
    if (ready)
        uvh_redis_link_flush(link);
}

static void on_ready(struct uvh_redis_link *link)
{
    struct uvhttp_redis *redis = redis_of(link);
    uv_mutex_lock(&redis->lock);
    uvh_redis_channels_forget(&redis->channels);
    uv_mutex_unlock(&redis->lock);
    uvh_redis_subscribing_send(redis);
}

/* Redis compares a glob byte for byte with those of its ACL, so a rule for "uvhttp:*" permits
 * exactly this glob and no narrower one. */
static void on_refused(struct uvhttp_redis *redis, const struct uvh_redis_parcel *parcel,
                       const char *why)
{
    if (parcel->command != UVH_REDIS_SUBSCRIBE)
        return;
    uv_mutex_lock(&redis->lock);
    bool replaced = uvh_redis_channels_refuse(&redis->channels, parcel->glob, parcel->bytes,
                                              strncmp(why, "NOPERM", strlen("NOPERM")) == 0);
    uv_mutex_unlock(&redis->lock);
    uvhttp_server_log(redis->broker.server, replaced ? UVHTTP_LOG_INFO : UVHTTP_LOG_WARNING,
                      "redis: the subscription to %s was rejected%s: %s", parcel->bytes,
                      replaced ? ", using the one to all channels instead" : "", why);
    if (replaced)
        uvh_redis_subscribing_send(redis);
}

/* ---- receiving ---- */

/* The copies of one message, for several matching channels, arrive in succession. */
static bool is_same_as_last(struct uvhttp_redis *redis, const struct uvh_redis_envelope *envelope)
{
    bool same = envelope->number == redis->last_number &&
                strlen(redis->last_id) == envelope->id.length &&
                memcmp(redis->last_id, envelope->id.base, envelope->id.length) == 0;
    redis->last_number = envelope->number;
    memcpy(redis->last_id, envelope->id.base, envelope->id.length);
    redis->last_id[envelope->id.length] = '\0';
    return same;
}

/* `glob`: the glob it was received by, or NULL. */
static void on_message(struct uvhttp_redis *redis, const redisReply *glob,
                       const redisReply *channel, const redisReply *payload)
{
    struct uvh_redis_envelope envelope;
    size_t prefix = strlen(redis->prefix);
    if (channel->type != REDIS_REPLY_STRING || payload->type != REDIS_REPLY_STRING ||
        (glob != NULL && glob->type != REDIS_REPLY_STRING) || (size_t)channel->len <= prefix ||
        memcmp(channel->str, redis->prefix, prefix) != 0 ||
        strlen(channel->str) != (size_t)channel->len)
        return;
    const char *topic = channel->str + prefix;
    if (!uvh_redis_envelope_read(payload->str, (size_t)payload->len, &envelope)) {
        uvhttp_server_log(redis->broker.server, UVHTTP_LOG_DEBUG,
                          "redis: ignored a message on %s: not published by uvhttp", channel->str);
        return;
    }
    bool own = envelope.id.length == UVH_REDIS_ID &&
               memcmp(envelope.id.base, redis->id, UVH_REDIS_ID) == 0;
    uv_mutex_lock(&redis->lock);
    bool fits =
        !own && (glob == NULL || uvh_redis_channels_fit(&redis->channels, glob->str, topic));
    fits = fits && !is_same_as_last(redis, &envelope);
    redis->stats.received += fits;
    uv_mutex_unlock(&redis->lock);
    if (!fits)
        return;
    int err = uvhttp_topics_deliver(redis->topics, topic, envelope.kind, envelope.data.base,
                                    envelope.data.length);
    if (err != 0 && err != UVHTTP_ESTOPPED)
        uvhttp_server_log(redis->broker.server, UVHTTP_LOG_WARNING,
                          "redis: a message on %s cannot be delivered: %s", channel->str,
                          uvhttp_strerror(err));
}

static void on_reply(struct uvh_redis_link *link, const struct uvh_redis_parcel *parcel,
                     const redisReply *reply)
{
    struct uvhttp_redis *redis = redis_of(link);
    if (parcel != NULL && reply->type == REDIS_REPLY_ERROR)
        on_refused(redis, parcel, reply->str);
    if (parcel != NULL || reply->type != REDIS_REPLY_ARRAY)
        return;
    if (reply->elements == 3)
        on_message(redis, NULL, reply->element[1], reply->element[2]);
    else if (reply->elements == 4)
        on_message(redis, reply->element[1], reply->element[2], reply->element[3]);
}

const struct uvh_redis_link_events uvh_redis_subscribing_events = {
    .name = "subscribing", .on_ready = on_ready, .on_reply = on_reply};

/* ---- from topics ---- */

static void change(struct uvhttp_redis *redis, const char *pattern, bool add)
{
    bool done = true;
    uv_mutex_lock(&redis->lock);
    if (add)
        done = uvh_redis_channels_add(&redis->channels, pattern);
    else
        uvh_redis_channels_remove(&redis->channels, pattern);
    uv_mutex_unlock(&redis->lock);
    if (!done)
        uvhttp_server_log(redis->broker.server, UVHTTP_LOG_ERROR,
                          "redis: cannot subscribe to %s: out of memory", pattern);
    uv_async_send(&redis->wake);
}

void uvh_redis_subscribe(void *adapter, const char *pattern)
{
    change(adapter, pattern, true);
}

void uvh_redis_unsubscribe(void *adapter, const char *pattern)
{
    change(adapter, pattern, false);
}
