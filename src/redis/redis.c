/* Creates and destroys the adapter: its options and its two connections. */
#include "redis/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

enum {
    DEFAULT_PORT = 6379,
    DEFAULT_QUEUE = 4 << 20,
    DEFAULT_PING_MS = 15000,
    DEFAULT_DELAY_MS = 10000,
    MOST_MS = 86400000,
    NANOSECONDS = 1000000000, /* per second */
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

void uvh_redis_release(const struct uvhttp_redis *redis, void *memory)
{
    if (memory != NULL)
        redis->allocator.release(memory, redis->allocator.context);
}

static void redis_free(struct uvhttp_redis *redis)
{
    uvhttp_allocator_t allocator = redis->allocator;
    (void)uvh_redis_parcels_drop(&redis->waiting, &redis->allocator);
    uvh_redis_channels_release(&redis->channels);
    uvh_redis_release(redis, redis->host);
    uvh_redis_release(redis, redis->path);
    uvh_redis_release(redis, redis->user);
    if (redis->password != NULL)
        memset(redis->password, 0, strlen(redis->password));
    uvh_redis_release(redis, redis->password);
    uvh_redis_release(redis, redis->prefix);
    uv_mutex_destroy(&redis->lock);
    allocator.release(redis, allocator.context);
}

void uvh_redis_closed(uv_handle_t *handle)
{
    struct uvhttp_redis *redis = handle->data;
    if (--redis->handles == 0)
        redis_free(redis);
}

/* ---- for both connections ---- */

void uvh_redis_note_connected(struct uvhttp_redis *redis)
{
    uv_mutex_lock(&redis->lock);
    redis->stats.connected =
        redis->publishing.state == UVH_REDIS_READY && redis->subscribing.state == UVH_REDIS_READY;
    uv_mutex_unlock(&redis->lock);
}

bool uvh_redis_may_log(uint64_t *last)
{
    uint64_t now = uv_hrtime();
    if (*last != 0 && now - *last < NANOSECONDS)
        return false;
    *last = now;
    return true;
}

/* ---- create and destroy ---- */

static void on_wake(uv_async_t *wake)
{
    struct uvhttp_redis *redis = wake->data;
    uvh_redis_subscribing_send(redis);
    uvh_redis_publishing_send(redis);
}

/* The topics end: closes all handles. */
static void end(void *adapter)
{
    struct uvhttp_redis *redis = adapter;
    if (redis->ended)
        return;
    redis->ended = true;
    uvh_redis_publishing_finish(redis);
    uvh_redis_link_close(&redis->publishing);
    uvh_redis_link_close(&redis->subscribing);
    uv_close((uv_handle_t *)&redis->wake, uvh_redis_closed);
}

/* With NULL it copies nothing. False when out of memory. */
static bool copy(struct uvhttp_redis *redis, char **slot, const char *text)
{
    size_t size = text == NULL ? 0 : strlen(text) + 1;
    if (text == NULL)
        return true;
    *slot = redis->allocator.allocate(size, redis->allocator.context);
    if (*slot != NULL)
        memcpy(*slot, text, size);
    return *slot != NULL;
}

static int put_options(struct uvhttp_redis *redis, const uvhttp_redis_options_t *options)
{
    uint32_t ping = options->ping_interval_ms == 0 ? DEFAULT_PING_MS : options->ping_interval_ms;
    uint32_t delay = options->max_delay_ms == 0 ? DEFAULT_DELAY_MS : options->max_delay_ms;
    if (options->port < 0 || options->port > 65535 || ping > MOST_MS || delay > MOST_MS)
        return UVHTTP_EINVAL;
    redis->port = options->port == 0 ? DEFAULT_PORT : options->port;
    redis->ping_ms = ping;
    redis->max_delay_ms = delay;
    redis->max_queue_size = options->max_queue_size == 0 ? DEFAULT_QUEUE : options->max_queue_size;
    bool copied =
        copy(redis, &redis->host, options->host == NULL ? "127.0.0.1" : options->host) &&
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

/* Requires a loop. `end` reverts it. */
static int open_handles(struct uvhttp_redis *redis)
{
    int err = uv_async_init(redis->loop, &redis->wake, on_wake);
    if (err != 0)
        return err;
    redis->wake.data = redis;
    redis->handles = 1;
    uv_unref((uv_handle_t *)&redis->wake);
    uvh_redis_publishing_init(redis);
    uvh_redis_subscribing_init(redis);
    (void)uvh_redis_link_open(&redis->publishing, redis, "publishing"); /* timers never fail */
    (void)uvh_redis_link_open(&redis->subscribing, redis, "subscribing");
    return 0;
}

int uvhttp_redis_carry(uvhttp_topics_t *topics, uvhttp_server_t *server,
                       const uvhttp_redis_options_t *options, uvhttp_redis_t **out)
{
    static const uvhttp_allocator_t by_default = {allocate_by_default, reallocate_by_default,
                                                  release_by_default, NULL};
    static const uvhttp_topics_adapter_t functions = {uvh_redis_publish, uvh_redis_subscribe,
                                                      uvh_redis_unsubscribe, end};
    static const uvhttp_redis_options_t defaults;
    if (out != NULL)
        *out = NULL;
    if (topics == NULL || server == NULL)
        return UVHTTP_ENOMEM;
    if (options == NULL)
        options = &defaults;
    const uvhttp_allocator_t *allocator =
        options->allocator == NULL ? &by_default : options->allocator;
    struct uvhttp_redis *redis = allocator->allocate(sizeof(*redis), allocator->context);
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
    if (stats == NULL)
        return;
    *stats = (uvhttp_redis_stats_t){0};
    if (redis == NULL)
        return;
    uv_mutex_lock(&redis->lock);
    *stats = redis->stats;
    stats->waiting = redis->waiting.bytes;
    uv_mutex_unlock(&redis->lock);
}
