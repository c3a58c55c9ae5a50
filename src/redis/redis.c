/* The adapter: what topics call on any thread goes into the outbox or the table of channels, and the loop is woken, where the two connections are. */
#include "redis/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

enum {
    DEFAULT_PORT = 6379,
    DEFAULT_QUEUE = 4 << 20,
    DEFAULT_PING_SECONDS = 15,
    DEFAULT_DELAY_SECONDS = 10,
    MOST_SECONDS = 86400,
    SENT_MOST =
        256
        << 10, /* bytes the broker has not answered, after which messages wait here, where they can be dropped */
};

/* ---- memory ---- */

static void *allocate_by_default(size_t size, void *context)
{
    (void)context;
    return malloc(size);
}

static void *reallocate_by_default(void *memory, size_t size, void *context)
{
    (void)context;
    return realloc(memory, size);
}

static void release_by_default(void *memory, void *context)
{
    (void)context;
    free(memory);
}

static void release(struct uvhttp_redis *redis, void *memory)
{
    if (memory != NULL)
        redis->allocator.release(memory, redis->allocator.context);
}

static void redis_free(struct uvhttp_redis *redis)
{
    uvhttp_allocator_t allocator = redis->allocator;
    (void)uvh_redis_parcels_drop(&redis->sent, &redis->allocator);
    (void)uvh_redis_parcels_drop(&redis->waiting, &redis->allocator);
    uvh_redis_channels_release(&redis->channels);
    release(redis, redis->host);
    release(redis, redis->path);
    release(redis, redis->user);
    if (redis->password != NULL)
        memset(redis->password, 0, strlen(redis->password));
    release(redis, redis->password);
    release(redis, redis->prefix);
    uv_mutex_destroy(&redis->lock);
    allocator.release(redis, allocator.context);
}

void uvh_redis_closed(uv_handle_t *handle)
{
    struct uvhttp_redis *redis = handle->data;
    if (--redis->handles == 0)
        redis_free(redis);
}

/* ---- publishing ---- */

static void log_dropped(struct uvhttp_redis *redis, uint64_t dropped)
{
    if (dropped > 0)
        uvhttp_server_log(redis->server, UVHTTP_LOG_WARNING,
                          "redis: %llu messages were lost while the broker was away",
                          (unsigned long long)dropped);
}

/* From what waits to the broker, as long as it answers. */
static void send_waiting(struct uvhttp_redis *redis)
{
    struct uvh_redis_link *link = &redis->publishing;
    if (link->state != UVH_REDIS_READY)
        return;
    while (redis->sent.bytes < SENT_MOST) {
        uv_mutex_lock(&redis->lock);
        struct uvh_redis_parcel *parcel = uvh_redis_parcels_take(&redis->waiting);
        uv_mutex_unlock(&redis->lock);
        if (parcel == NULL)
            break;
        const char *words[] = {"PUBLISH", parcel->bytes, parcel->bytes + parcel->channel};
        size_t sizes[] = {7, parcel->channel, parcel->size - parcel->channel};
        uvh_redis_parcels_append(&redis->sent, parcel);
        uvh_redis_link_command(link, 3, words, sizes);
    }
    uvh_redis_link_flush(link);
}

static void note_connected(struct uvhttp_redis *redis)
{
    uv_mutex_lock(&redis->lock);
    redis->stats.connected =
        redis->publishing.state == UVH_REDIS_READY && redis->subscribing.state == UVH_REDIS_READY;
    uv_mutex_unlock(&redis->lock);
}

static void on_publishing_ready(struct uvh_redis_link *link)
{
    struct uvhttp_redis *redis = link->redis;
    note_connected(redis);
    uv_mutex_lock(&redis->lock);
    uint64_t dropped = redis->stats.dropped - redis->dropped_before;
    redis->dropped_before = redis->stats.dropped;
    uv_mutex_unlock(&redis->lock);
    log_dropped(redis, dropped);
    send_waiting(redis);
}

/* The broker has taken the oldest message, or says why not; or has answered a ping. */
static void on_published(struct uvh_redis_link *link, const redisReply *reply)
{
    struct uvhttp_redis *redis = link->redis;
    if (reply->type == REDIS_REPLY_STATUS)
        return;
    struct uvh_redis_parcel *parcel = uvh_redis_parcels_take(&redis->sent);
    bool taken = reply->type == REDIS_REPLY_INTEGER;
    uv_mutex_lock(&redis->lock);
    redis->stats.published += taken;
    redis->stats.dropped += !taken;
    uv_mutex_unlock(&redis->lock);
    if (!taken)
        uvhttp_server_log(redis->server, UVHTTP_LOG_WARNING, "redis: a message was refused: %s",
                          reply->type == REDIS_REPLY_ERROR ? reply->str : "an unknown answer");
    release(redis, parcel);
    if (redis->sent.bytes < SENT_MOST / 2)
        send_waiting(redis);
}

/* Whether the broker has got what was on its way nobody knows; sending it again could give it twice. */
static void on_publishing_lost(struct uvh_redis_link *link)
{
    struct uvhttp_redis *redis = link->redis;
    size_t dropped = uvh_redis_parcels_drop(&redis->sent, &redis->allocator);
    note_connected(redis);
    uv_mutex_lock(&redis->lock);
    redis->stats.dropped += dropped;
    uv_mutex_unlock(&redis->lock);
}

static int on_publish(void *adapter, const char *topic, uvhttp_websocket_kind_t kind, const void *data,
                      size_t size)
{
    struct uvhttp_redis *redis = adapter;
    size_t prefix = strlen(redis->prefix), channel = prefix + strlen(topic);
    struct uvh_redis_parcel *parcel = redis->allocator.allocate(
        sizeof(*parcel) + channel + UVH_REDIS_ENVELOPE_MAX + size, redis->allocator.context);
    if (parcel == NULL)
        return UVHTTP_ENOMEM;
    memcpy(parcel->bytes, redis->prefix, prefix);
    memcpy(parcel->bytes + prefix, topic, channel - prefix);
    parcel->channel = channel;
    uv_mutex_lock(&redis->lock);
    size_t before = redis->stats.dropped == redis->dropped_before;
    size_t head = uvh_redis_envelope_write(parcel->bytes + channel, kind, redis->id, ++redis->number);
    parcel->size = channel + head + size;
    if (size > 0)
        memcpy(parcel->bytes + channel + head, data, size);
    uvh_redis_parcels_append(&redis->waiting, parcel);
    size_t dropped = uvh_redis_parcels_limit(&redis->waiting, redis->max_queue_size, &redis->allocator);
    redis->stats.dropped += dropped;
    uv_mutex_unlock(&redis->lock);
    if (dropped > 0 && before)
        uvhttp_server_log(redis->server, UVHTTP_LOG_WARNING,
                          "redis: %zu bytes wait for the broker, so the oldest messages are dropped",
                          redis->max_queue_size);
    uv_async_send(&redis->wake);
    return 0;
}

/* ---- subscribing ---- */

static void tell_broker(struct uvhttp_redis *redis, const struct uvh_redis_channel *channel, bool subscribe)
{
    const char *words[] = {subscribe ? (channel->glob ? "PSUBSCRIBE" : "SUBSCRIBE")
                                     : (channel->glob ? "PUNSUBSCRIBE" : "UNSUBSCRIBE"),
                           channel->text};
    size_t sizes[] = {strlen(words[0]), channel->length};
    uvh_redis_link_command(&redis->subscribing, 2, words, sizes);
}

/* What has changed since the broker was told. */
static void tell_changes(struct uvhttp_redis *redis)
{
    struct uvh_redis_link *link = &redis->subscribing;
    struct uvh_redis_channel *channel;
    bool ready = link->state == UVH_REDIS_READY;
    uv_mutex_lock(&redis->lock);
    while ((channel = uvh_redis_channels_changed(&redis->channels)) != NULL) {
        bool needed = channel->patterns != NULL;
        if (ready && needed != channel->told)
            tell_broker(redis, channel, needed);
        channel->told = ready && needed;
        if (!needed)
            uvh_redis_channels_free(&redis->channels, channel);
    }
    uv_mutex_unlock(&redis->lock);
    if (ready)
        uvh_redis_link_flush(link);
}

static void on_subscribing_ready(struct uvh_redis_link *link)
{
    struct uvhttp_redis *redis = link->redis;
    note_connected(redis);
    uv_mutex_lock(&redis->lock);
    uvh_redis_channels_forget(&redis->channels);
    uv_mutex_unlock(&redis->lock);
    tell_changes(redis);
}

static void on_subscribing_lost(struct uvh_redis_link *link)
{
    note_connected(link->redis);
}

/* The copies of one message, for several channels that fit, come behind one another. */
static bool is_same_as_last(struct uvhttp_redis *redis, const struct uvh_redis_envelope *envelope)
{
    bool same = envelope->number == redis->last_number && strlen(redis->last_id) == envelope->id.length &&
                memcmp(redis->last_id, envelope->id.base, envelope->id.length) == 0;
    redis->last_number = envelope->number;
    memcpy(redis->last_id, envelope->id.base, envelope->id.length);
    redis->last_id[envelope->id.length] = '\0';
    return same;
}

/* `glob`: by which it came, or NULL. */
static void on_message(struct uvhttp_redis *redis, const redisReply *glob, const redisReply *channel,
                       const redisReply *payload)
{
    struct uvh_redis_envelope envelope;
    size_t prefix = strlen(redis->prefix);
    if (channel->type != REDIS_REPLY_STRING || payload->type != REDIS_REPLY_STRING ||
        (glob != NULL && glob->type != REDIS_REPLY_STRING) || (size_t)channel->len <= prefix ||
        memcmp(channel->str, redis->prefix, prefix) != 0 || strlen(channel->str) != (size_t)channel->len)
        return;
    const char *topic = channel->str + prefix;
    if (!uvh_redis_envelope_read(payload->str, (size_t)payload->len, &envelope)) {
        uvhttp_server_log(redis->server, UVHTTP_LOG_DEBUG, "redis: a message on %s is not one of ours",
                          channel->str);
        return;
    }
    bool own = envelope.id.length == UVH_REDIS_ID && memcmp(envelope.id.base, redis->id, UVH_REDIS_ID) == 0;
    uv_mutex_lock(&redis->lock);
    bool fits = !own && (glob == NULL || uvh_redis_channels_fit(&redis->channels, glob->str, topic));
    fits = fits && !is_same_as_last(redis, &envelope);
    redis->stats.received += fits;
    uv_mutex_unlock(&redis->lock);
    if (!fits)
        return;
    int err =
        uvhttp_topics_deliver(redis->topics, topic, envelope.kind, envelope.data.base, envelope.data.length);
    if (err != 0 && err != UVHTTP_ESTOPPED)
        uvhttp_server_log(redis->server, UVHTTP_LOG_WARNING, "redis: a message on %s cannot be delivered: %s",
                          channel->str, uvhttp_strerror(err));
}

static void on_subscribed(struct uvh_redis_link *link, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        uvhttp_server_log(link->redis->server, UVHTTP_LOG_WARNING, "redis: a subscription was refused: %s",
                          reply->str);
        return;
    }
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return;
    if (strcmp(reply->element[0]->str, "message") == 0)
        on_message(link->redis, NULL, reply->element[1], reply->element[2]);
    else if (strcmp(reply->element[0]->str, "pmessage") == 0 && reply->elements == 4)
        on_message(link->redis, reply->element[1], reply->element[2], reply->element[3]);
}

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
        uvhttp_server_log(redis->server, UVHTTP_LOG_ERROR, "redis: %s is not subscribed to: out of memory",
                          pattern);
    uv_async_send(&redis->wake);
}

static void on_subscribe(void *adapter, const char *pattern)
{
    change(adapter, pattern, true);
}

static void on_unsubscribe(void *adapter, const char *pattern)
{
    change(adapter, pattern, false);
}

/* ---- life ---- */

static void on_wake(uv_async_t *wake)
{
    struct uvhttp_redis *redis = wake->data;
    tell_changes(redis);
    send_waiting(redis);
}

/* The topics end: what waits is handed to the system as far as it takes it, and all handles close. */
static void end(void *adapter)
{
    struct uvhttp_redis *redis = adapter;
    if (redis->ended)
        return;
    redis->ended = true;
    send_waiting(redis);
    uvh_redis_link_close(&redis->publishing);
    uvh_redis_link_close(&redis->subscribing);
    uv_close((uv_handle_t *)&redis->wake, uvh_redis_closed);
}

/* NULL is fine, and then nothing is copied. False when memory ran out. */
static bool copy(struct uvhttp_redis *redis, char **place, const char *text)
{
    size_t size = text == NULL ? 0 : strlen(text) + 1;
    if (text == NULL)
        return true;
    *place = redis->allocator.allocate(size, redis->allocator.context);
    if (*place != NULL)
        memcpy(*place, text, size);
    return *place != NULL;
}

static int put_options(struct uvhttp_redis *redis, const uvhttp_redis_options_t *options)
{
    int ping = options->ping_interval == 0 ? DEFAULT_PING_SECONDS : options->ping_interval;
    int delay = options->max_delay == 0 ? DEFAULT_DELAY_SECONDS : options->max_delay;
    if (options->port < 0 || options->port > 65535 || ping < 0 || ping > MOST_SECONDS || delay < 0 ||
        delay > MOST_SECONDS)
        return UVHTTP_EINVAL;
    redis->port = options->port == 0 ? DEFAULT_PORT : options->port;
    redis->ping_ms = (uint64_t)ping * 1000;
    redis->max_delay_ms = (uint64_t)delay * 1000;
    redis->max_queue_size = options->max_queue_size == 0 ? DEFAULT_QUEUE : options->max_queue_size;
    bool copied = copy(redis, &redis->host, options->host == NULL ? "127.0.0.1" : options->host) &&
                  copy(redis, &redis->path, options->path) && copy(redis, &redis->user, options->user) &&
                  copy(redis, &redis->password, options->password) &&
                  copy(redis, &redis->prefix, options->prefix == NULL ? "uvhttp:" : options->prefix);
    return copied ? 0 : UVHTTP_ENOMEM;
}

static int make_id(struct uvhttp_redis *redis)
{
    unsigned char bytes[UVH_REDIS_ID / 2];
    char text[UVH_REDIS_ID + 1];
    int err = uv_random(NULL, NULL, bytes, sizeof(bytes), 0, NULL);
    for (size_t i = 0; err == 0 && i < sizeof(bytes); i++)
        (void)snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    if (err == 0)
        memcpy(redis->id, text, UVH_REDIS_ID);
    return err;
}

/* With a loop to run on. Behind this `end` undoes it. */
static int open_handles(struct uvhttp_redis *redis)
{
    int err = uv_async_init(redis->loop, &redis->wake, on_wake);
    if (err != 0)
        return err;
    redis->wake.data = redis;
    redis->handles = 1;
    uv_unref((uv_handle_t *)&redis->wake);
    redis->publishing.ready = on_publishing_ready;
    redis->publishing.answer = on_published;
    redis->publishing.lost = on_publishing_lost;
    redis->subscribing.ready = on_subscribing_ready;
    redis->subscribing.answer = on_subscribed;
    redis->subscribing.lost = on_subscribing_lost;
    (void)uvh_redis_link_open(&redis->publishing, redis, "publishing"); /* timers never fail */
    (void)uvh_redis_link_open(&redis->subscribing, redis, "subscribing");
    return 0;
}

int uvhttp_redis_carry(uvhttp_topics_t *topics, uvhttp_server_t *server,
                       const uvhttp_redis_options_t *options, uvhttp_redis_t **out)
{
    static const uvhttp_allocator_t by_default = {allocate_by_default, reallocate_by_default,
                                                  release_by_default, NULL};
    static const uvhttp_topics_adapter_t functions = {on_publish, on_subscribe, on_unsubscribe, end};
    const uvhttp_allocator_t *allocator = options->allocator == NULL ? &by_default : options->allocator;
    struct uvhttp_redis *redis = allocator->allocate(sizeof(*redis), allocator->context);
    if (out != NULL)
        *out = NULL;
    if (redis == NULL)
        return UVHTTP_ENOMEM;
    memset(redis, 0, sizeof(*redis));
    redis->allocator = *allocator;
    redis->server = server;
    redis->topics = topics;
    redis->loop = uvhttp_server_loop(server);
    int err = uv_mutex_init(&redis->lock);
    if (err != 0) {
        allocator->release(redis, allocator->context);
        return err;
    }
    err = put_options(redis, options);
    redis->channels.allocator = &redis->allocator;
    redis->channels.prefix = redis->prefix;
    if (err == 0)
        err = make_id(redis);
    if (err == 0)
        err = open_handles(redis);
    if (err != 0) {
        redis_free(redis);
        return err;
    }
    err = uvhttp_topics_set_adapter(topics, &functions, redis);
    if (err != 0)
        end(redis);
    else if (out != NULL)
        *out = redis;
    return err;
}

void uvhttp_redis_read_stats(uvhttp_redis_t *redis, uvhttp_redis_stats_t *stats)
{
    uv_mutex_lock(&redis->lock);
    *stats = redis->stats;
    stats->waiting = redis->waiting.bytes;
    uv_mutex_unlock(&redis->lock);
}
