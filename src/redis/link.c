/* A connection with the broker that is made again whenever it breaks: name, socket, password, a ping that says it is ready, then pings in silence.
 *
 * hiredis connects, writes and reads without blocking; this file says when. A poll handle belongs to one connection, since its descriptor does, and is freed when it is closed. */
#include "redis/redis.h"

#include <string.h>

#include <uvhttp/embedding.h>

enum {
    CONNECT_MS = 5000,    /* for a connection to be ready */
    FIRST_DELAY_MS = 100, /* until the second attempt; doubled for each further one */
    MOST_DOUBLINGS = 10,
    COMMAND_WORDS = 3,
};

static void on_poll(uv_poll_t *poll, int status, int events);
static void on_timer(uv_timer_t *timer);

/* ---- the end of a connection ---- */

static void free_poll(uv_handle_t *handle)
{
    struct uvhttp_redis *redis = handle->data;
    redis->allocator.release(handle, redis->allocator.context);
    uvh_redis_closed((uv_handle_t *)&redis->wake); /* which stands for it */
}

/* The socket goes; a poll must have gone before. */
static void drop_context(struct uvh_redis_link *link)
{
    if (link->poll != NULL) {
        link->poll->data = link->redis;
        uv_close((uv_handle_t *)link->poll, free_poll);
    }
    if (link->context != NULL)
        redisFree(link->context);
    link->poll = NULL;
    link->context = NULL;
}

static void set_timer(struct uvh_redis_link *link, uint64_t ms)
{
    uv_timer_start(&link->timer, on_timer, ms, 0);
}

static uint64_t next_delay(const struct uvh_redis_link *link)
{
    unsigned doublings = link->failures < MOST_DOUBLINGS ? link->failures : MOST_DOUBLINGS;
    uint64_t delay = (uint64_t)FIRST_DELAY_MS << doublings;
    return delay < link->redis->max_delay_ms ? delay : link->redis->max_delay_ms;
}

/* It is broken, or was never made: one line, and another attempt later. */
static void lose(struct uvh_redis_link *link, const char *why)
{
    struct uvhttp_redis *redis = link->redis;
    bool was_ready = link->state == UVH_REDIS_READY;
    uint64_t delay = next_delay(link);
    uvhttp_server_log(redis->server, UVHTTP_LOG_WARNING,
                      "redis: the connection for %s %s: %s; again in %llu.%llu s", link->name,
                      was_ready ? "broke" : "cannot be made", why, (unsigned long long)(delay / 1000),
                      (unsigned long long)(delay % 1000 / 100));
    link->failures++;
    link->state = UVH_REDIS_DOWN;
    drop_context(link);
    set_timer(link, delay);
    if (was_ready)
        link->lost(link);
}

static const char *error_of(const redisContext *context)
{
    return context->err != 0 && context->errstr[0] != '\0' ? context->errstr : "the system says no";
}

/* ---- commands ---- */

void uvh_redis_link_command(struct uvh_redis_link *link, int count, const char **words, const size_t *sizes)
{
    if (link->context != NULL && redisAppendCommandArgv(link->context, count, words, sizes) != REDIS_OK)
        link->context->err = REDIS_ERR_OOM; /* found when it is flushed */
}

static void append_words(struct uvh_redis_link *link, int count, const char *first, const char *second,
                         const char *third)
{
    const char *words[COMMAND_WORDS] = {first, second, third};
    size_t sizes[COMMAND_WORDS] = {strlen(first), second == NULL ? 0 : strlen(second),
                                   third == NULL ? 0 : strlen(third)};
    uvh_redis_link_command(link, count, words, sizes);
}

static void watch(struct uvh_redis_link *link, int events)
{
    if (link->events == events)
        return;
    link->events = events;
    (void)uv_poll_start(link->poll, events, on_poll); /* cannot fail for a descriptor that is watched */
    uv_unref((uv_handle_t *)link->poll);
}

void uvh_redis_link_flush(struct uvh_redis_link *link)
{
    int done = 0;
    if (link->context == NULL)
        return;
    if (link->context->err != 0 || redisBufferWrite(link->context, &done) != REDIS_OK) {
        lose(link, error_of(link->context));
        return;
    }
    watch(link, done ? UV_READABLE : UV_READABLE | UV_WRITABLE);
}

/* ---- what comes ---- */

/* Answers to what every connection begins with. */
static void on_greeted(struct uvh_redis_link *link, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        lose(link, reply->str);
        return;
    }
    if (--link->greetings > 0)
        return;
    link->state = UVH_REDIS_READY;
    link->failures = 0;
    uvhttp_server_log(link->redis->server, UVHTTP_LOG_INFO, "redis: the connection for %s is ready",
                      link->name);
    set_timer(link, link->redis->ping_ms);
    link->ready(link);
}

static void read_answers(struct uvh_redis_link *link)
{
    void *reply = NULL;
    link->heard = true;
    while (link->context != NULL) {
        if (redisGetReplyFromReader(link->context, &reply) != REDIS_OK) {
            lose(link, error_of(link->context));
            return;
        }
        if (reply == NULL)
            return;
        if (link->state == UVH_REDIS_CONNECTING)
            on_greeted(link, reply);
        else
            link->answer(link, reply);
        freeReplyObject(reply);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct uvh_redis_link *link = poll->data;
    if (status < 0) { /* reading finds out why */
        if (redisBufferRead(link->context) == REDIS_OK)
            lose(link, uv_strerror(status));
        else
            lose(link, error_of(link->context));
        return;
    }
    if ((events & UV_READABLE) != 0) {
        if (redisBufferRead(link->context) != REDIS_OK) {
            lose(link, error_of(link->context));
            return;
        }
        read_answers(link);
    }
    if (link->poll == poll && (events & UV_WRITABLE) != 0)
        uvh_redis_link_flush(link);
}

/* ---- making one ---- */

/* What a socket was made for: nothing is written before it says that it is writable. */
static void greet(struct uvh_redis_link *link, redisContext *context)
{
    struct uvhttp_redis *redis = link->redis;
    link->context = context;
    if (context == NULL || context->err != 0) {
        lose(link, context == NULL ? "out of memory" : error_of(context));
        return;
    }
    uv_poll_t *poll = redis->allocator.allocate(sizeof(*poll), redis->allocator.context);
    int err = poll == NULL ? UV_ENOMEM : uv_poll_init(redis->loop, poll, context->fd);
    if (err != 0) {
        redis->allocator.release(poll, redis->allocator.context);
        lose(link, uv_strerror(err));
        return;
    }
    redis->handles++;
    poll->data = link;
    link->poll = poll;
    link->state = UVH_REDIS_CONNECTING;
    link->greetings = 1;
    link->events = 0;
    if (redis->password != NULL) {
        link->greetings++;
        if (redis->user != NULL)
            append_words(link, 3, "AUTH", redis->user, redis->password);
        else
            append_words(link, 2, "AUTH", redis->password, NULL);
    }
    append_words(link, 1, "PING", NULL, NULL);
    watch(link, UV_READABLE | UV_WRITABLE);
    set_timer(link, CONNECT_MS);
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct uvh_redis_link *link = request->data;
    char address[64] = "";
    if (link->state == UVH_REDIS_RESOLVING && status == 0) {
        link->state = UVH_REDIS_DOWN;
        if (found->ai_family == AF_INET6)
            (void)uv_ip6_name((const struct sockaddr_in6 *)(const void *)found->ai_addr, address,
                              sizeof(address));
        else
            (void)uv_ip4_name((const struct sockaddr_in *)(const void *)found->ai_addr, address,
                              sizeof(address));
        greet(link, redisConnectNonBlock(address, link->redis->port));
    } else if (link->state == UVH_REDIS_RESOLVING) {
        lose(link, uv_strerror(status));
    }
    uv_freeaddrinfo(found);
    uvh_redis_closed((uv_handle_t *)&link->redis->wake); /* the request counts as a handle */
}

static void attempt(struct uvh_redis_link *link)
{
    struct uvhttp_redis *redis = link->redis;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    uv_mutex_lock(&redis->lock);
    redis->stats.attempts++;
    uv_mutex_unlock(&redis->lock);
    if (redis->path != NULL) {
        greet(link, redisConnectUnixNonBlock(redis->path));
        return;
    }
    link->resolve.data = link;
    int err = uv_getaddrinfo(redis->loop, &link->resolve, on_resolved, redis->host, NULL, &hints);
    if (err != 0) {
        lose(link, uv_strerror(err));
        return;
    }
    redis->handles++;
    link->state = UVH_REDIS_RESOLVING;
}

static void on_timer(uv_timer_t *timer)
{
    struct uvh_redis_link *link = timer->data;
    switch (link->state) {
    case UVH_REDIS_DOWN:
        attempt(link);
        break;
    case UVH_REDIS_CONNECTING:
        lose(link, "no answer");
        break;
    case UVH_REDIS_READY:
        if (!link->heard) {
            lose(link, "no answer to a ping");
            break;
        }
        link->heard = false;
        append_words(link, 1, "PING", NULL, NULL);
        set_timer(link, link->redis->ping_ms);
        uvh_redis_link_flush(link);
        break;
    case UVH_REDIS_RESOLVING:
    case UVH_REDIS_ENDED:
        break;
    }
}

/* ---- life ---- */

int uvh_redis_link_open(struct uvh_redis_link *link, struct uvhttp_redis *redis, const char *name)
{
    link->redis = redis;
    link->name = name;
    int err = uv_timer_init(redis->loop, &link->timer);
    if (err != 0)
        return err;
    redis->handles++;
    link->timer.data = link;
    set_timer(link, 0);
    uv_unref((uv_handle_t *)&link->timer);
    return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct uvh_redis_link *link = handle->data;
    uvh_redis_closed((uv_handle_t *)&link->redis->wake);
}

void uvh_redis_link_close(struct uvh_redis_link *link)
{
    if (link->state == UVH_REDIS_RESOLVING)
        (void)uv_cancel((uv_req_t *)&link->resolve);
    link->state = UVH_REDIS_ENDED;
    drop_context(link);
    uv_close((uv_handle_t *)&link->timer, on_timer_closed);
}
