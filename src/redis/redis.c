/* Creates and destroys the adapter: its options and its two connections. */
#include "redis/redis.h"

#include <stdio.h>
#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "options/error.h"

enum {
    DEFAULT_PORT = 6379,
    DEFAULT_QUEUE = 4 << 20,
    DEFAULT_PING_MS = 15000,
    DEFAULT_DELAY_MS = 10000,
    MOST_MS = 86400000,
    MOST_PORT = 65535,
};

static void redis_free(struct uvhttp_redis *redis)
{
    (void)uvh_redis_parcels_limit(&redis->waiting, 0, redis->broker.allocator);
    uvh_redis_channels_release(&redis->channels);
    if (redis->broker.password != NULL)
        memset((char *)(uintptr_t)redis->broker.password, 0, strlen(redis->broker.password));
    uv_mutex_destroy(&redis->lock);
    uvh_owned_free(&redis->owned);
}

static void on_closed(struct uvhttp_redis *redis)
{
    if (--redis->handles == 0)
        redis_free(redis);
}

static void on_wake_closed(uv_handle_t *wake)
{
    on_closed(wake->data);
}

static void on_publishing_closed(struct uvh_redis_link *link)
{
    on_closed(UVH_CONTAINER_OF(link, struct uvhttp_redis, publishing));
}

static void on_subscribing_closed(struct uvh_redis_link *link)
{
    on_closed(UVH_CONTAINER_OF(link, struct uvhttp_redis, subscribing));
}

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
    uvh_redis_link_close(&redis->publishing, on_publishing_closed);
    uvh_redis_link_close(&redis->subscribing, on_subscribing_closed);
    uv_close((uv_handle_t *)&redis->wake, on_wake_closed);
}

/* With NULL it copies nothing. False when out of memory. */
static bool copy(struct uvhttp_redis *redis, const char **slot, const char *text)
{
    *slot = text == NULL ? NULL : uvh_owned_string(&redis->owned, text, strlen(text));
    return *slot != NULL || text == NULL;
}

static int check(const uvhttp_redis_options_t *options, uvhttp_error_t *error)
{
    static const char duration[] = "allowed are 0 to %d milliseconds";
    if (options->port < 0 || options->port > MOST_PORT)
        return uvh_error_int(error, "port", options->port, "allowed are 0 to %d", MOST_PORT);
    if (options->ping_interval_ms > MOST_MS)
        return uvh_error_size(error, "ping_interval_ms", options->ping_interval_ms, duration,
                              MOST_MS);
    if (options->max_delay_ms > MOST_MS)
        return uvh_error_size(error, "max_delay_ms", options->max_delay_ms, duration, MOST_MS);
    return 0;
}

static int put_options(struct uvhttp_redis *redis, const uvhttp_redis_options_t *options)
{
    uint32_t ping = options->ping_interval_ms == 0 ? DEFAULT_PING_MS : options->ping_interval_ms;
    uint32_t delay = options->max_delay_ms == 0 ? DEFAULT_DELAY_MS : options->max_delay_ms;
    struct uvh_redis_broker *broker = &redis->broker;
    broker->port = options->port == 0 ? DEFAULT_PORT : options->port;
    broker->ping_ms = ping;
    broker->max_delay_ms = delay;
    redis->max_queue_size = options->max_queue_size == 0 ? DEFAULT_QUEUE : options->max_queue_size;
    redis->limit = redis->max_queue_size;
    bool copied =
        copy(redis, &broker->host, options->host == NULL ? "127.0.0.1" : options->host) &&
        copy(redis, &broker->path, options->path) && copy(redis, &broker->user, options->user) &&
        copy(redis, &broker->password, options->password) &&
        copy(redis, &redis->prefix, options->prefix == NULL ? "uvhttp:" : options->prefix);
    redis->channels.prefix = redis->prefix;
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

/* `end` reverts it. */
static int open_handles(struct uvhttp_redis *redis)
{
    int err = uv_async_init(redis->broker.loop, &redis->wake, on_wake);
    if (err != 0)
        return err;
    redis->wake.data = redis;
    redis->handles = 3; /* this and the links */
    uv_unref((uv_handle_t *)&redis->wake);
    uvh_redis_link_open(&redis->publishing, &redis->broker, &uvh_redis_publishing_events);
    uvh_redis_link_open(&redis->subscribing, &redis->broker, &uvh_redis_subscribing_events);
    return 0;
}

static int create(uvhttp_redis_t **out, uvhttp_topics_t *topics, uvhttp_server_t *server,
                  const uvhttp_redis_options_t *options, uvhttp_error_t *error)
{
    static const uvhttp_topics_adapter_t functions = {uvh_redis_publish, uvh_redis_subscribe,
                                                      uvh_redis_unsubscribe, end};
    static const uvhttp_redis_options_t defaults;
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (topics == NULL || server == NULL)
        return UVHTTP_ENOMEM;
    if (options == NULL)
        options = &defaults;
    int err = check(options, error);
    if (err != 0)
        return err;
    struct uvhttp_redis *redis = uvh_owned_new(options->allocator, sizeof(*redis));
    if (redis == NULL)
        return UVHTTP_ENOMEM;
    redis->topics = topics;
    redis->broker = (struct uvh_redis_broker){
        .allocator = redis->owned.allocator, .server = server, .loop = uvhttp_server_loop(server)};
    uvh_list_init(&redis->waiting.list);
    uvh_redis_channels_init(&redis->channels, redis->owned.allocator);
    err = uv_mutex_init(&redis->lock);
    if (err != 0) {
        uvh_owned_free(&redis->owned);
        return err;
    }
    err = put_options(redis, options);
    if (err == 0)
        err = make_id(redis);
    if (err == 0)
        err = open_handles(redis);
    if (err != 0) {
        redis_free(redis);
        return err;
    }
    err = uvhttp_topics_set_adapter(topics, &functions, redis);
    if (err == UVHTTP_EINVAL)
        uvh_error_sentence(error, "topics", NULL, "the topics have an adapter already");
    if (err != 0)
        end(redis);
    else
        *out = redis;
    return err;
}

int uvhttp_redis_new(uvhttp_redis_t **redis, uvhttp_topics_t *topics, uvhttp_server_t *server,
                     const uvhttp_redis_options_t *options, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(redis, topics, server, options, error));
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
    stats->connected =
        atomic_load(&redis->publishing.connected) && atomic_load(&redis->subscribing.connected);
    stats->attempts = uvh_counter_read(&redis->publishing.attempts) +
                      uvh_counter_read(&redis->subscribing.attempts);
}
