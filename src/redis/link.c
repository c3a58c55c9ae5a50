/* A connection to the broker that reconnects whenever it breaks. Steps: resolve the name, try its
 * addresses in order, connect, authenticate, send a PING whose reply makes it ready. PINGs follow
 * whenever the connection is idle.
 *
 * hiredis connects, writes and reads without blocking; this file decides when. A poll handle
 * belongs to one connection, since its descriptor does. It is freed when the connection is
 * closed. */
#include "redis/redis.h"

#include <netdb.h>
#include <poll.h>
#include <string.h>

#include <uvhttp/embedding.h>

enum {
    CONNECT_MS = 5000,    /* timeout until a connection is ready */
    FIRST_DELAY_MS = 100, /* before the second attempt; doubled for each further one */
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
    uvh_redis_closed((uv_handle_t *)&redis->wake); /* counted for the poll handle */
}

/* Closes the socket; its poll handle must be closed before. */
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

static void drop_addresses(struct uvh_redis_link *link)
{
    uv_freeaddrinfo(link->found);
    link->found = NULL;
    link->next = NULL;
}

static uint64_t next_delay(const struct uvh_redis_link *link)
{
    unsigned doublings = link->failures < MOST_DOUBLINGS ? link->failures : MOST_DOUBLINGS;
    uint64_t delay = (uint64_t)FIRST_DELAY_MS << doublings;
    return delay < link->redis->max_delay_ms ? delay : link->redis->max_delay_ms;
}

/* The connection broke or failed. Logs one line and schedules another attempt, or tries the next
 * address at once. */
static void lose(struct uvh_redis_link *link, const char *why)
{
    struct uvhttp_redis *redis = link->redis;
    bool was_ready = link->state == UVH_REDIS_READY;
    uint64_t delay = link->next != NULL ? 0 : next_delay(link);
    if (link->next != NULL)
        uvhttp_server_log(redis->server, UVHTTP_LOG_DEBUG,
                          "redis: the connection for %s failed, trying the next address: %s",
                          link->name, why);
    else
        uvhttp_server_log(redis->server, UVHTTP_LOG_WARNING,
                          "redis: the connection for %s %s: %s; retrying in %llu.%llu s",
                          link->name, was_ready ? "was lost" : "failed", why,
                          (unsigned long long)(delay / 1000),
                          (unsigned long long)(delay % 1000 / 100));
    link->failures += link->next == NULL;
    link->state = UVH_REDIS_DOWN;
    drop_context(link);
    if (link->next == NULL)
        drop_addresses(link);
    set_timer(link, delay);
    size_t messages = uvh_redis_parcels_drop(&link->parcel, &redis->allocator);
    if (was_ready)
        link->lost(link, messages);
}

static const char *error_of(const redisContext *context)
{
    return context->err != 0 && context->errstr[0] != '\0' ? context->errstr : "unknown error";
}

/* ---- commands ---- */

static void command(struct uvh_redis_link *link, int count, const char **words, const size_t *sizes)
{
    if (redisAppendCommandArgv(link->context, count, words, sizes) != REDIS_OK)
        link->context->err = REDIS_ERR_OOM; /* detected when it is flushed */
}

void uvh_redis_link_send(struct uvh_redis_link *link, struct uvh_redis_parcel *parcel, int count,
                         const char **words, const size_t *sizes)
{
    if (parcel == NULL) { /* its reply would be matched to another command */
        link->context->err = REDIS_ERR_OOM;
        return;
    }
    uvh_redis_parcels_append(&link->parcel, parcel);
    command(link, count, words, sizes);
}

static void append_words(struct uvh_redis_link *link, int count, const char *first,
                         const char *second, const char *third)
{
    const char *words[COMMAND_WORDS] = {first, second, third};
    size_t sizes[COMMAND_WORDS] = {strlen(first), second == NULL ? 0 : strlen(second),
                                   third == NULL ? 0 : strlen(third)};
    command(link, count, words, sizes);
}

static void ping(struct uvh_redis_link *link)
{
    const char *word = "PING";
    size_t size = strlen(word);
    struct uvh_redis_parcel *parcel =
        link->redis->allocator.allocate(sizeof(*parcel), link->redis->allocator.context);
    if (parcel != NULL)
        *parcel = (struct uvh_redis_parcel){.command = UVH_REDIS_PING};
    uvh_redis_link_send(link, parcel, 1, &word, &size);
}

static void watch(struct uvh_redis_link *link, int events)
{
    if (link->events == events)
        return;
    link->events = events;
    /* cannot fail for a descriptor that is polled */
    (void)uv_poll_start(link->poll, events, on_poll);
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

/* ---- receiving ---- */

/* Handles replies to the commands of the handshake. */
static void on_handshake_reply(struct uvh_redis_link *link, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        lose(link, reply->str);
        return;
    }
    if (--link->greetings > 0)
        return;
    link->state = UVH_REDIS_READY;
    link->failures = 0;
    drop_addresses(link);
    uvhttp_server_log(link->redis->server, UVHTTP_LOG_INFO, "redis: the connection for %s is ready",
                      link->name);
    set_timer(link, link->redis->ping_ms);
    link->ready(link);
}

/* A push message, not a reply. */
static bool is_message(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return false;
    const char *kind = reply->element[0]->str;
    return reply->elements == (strcmp(kind, "message") == 0 ? 3U : 4U) &&
           (strcmp(kind, "message") == 0 || strcmp(kind, "pmessage") == 0);
}

/* Replies arrive in the order of the commands. */
static void on_reply(struct uvh_redis_link *link, const redisReply *reply)
{
    if (is_message(reply)) {
        link->on_reply(link, NULL, reply);
        return;
    }
    struct uvh_redis_parcel *parcel = uvh_redis_parcels_take(&link->parcel);
    if (parcel != NULL && parcel->command != UVH_REDIS_PING)
        link->on_reply(link, parcel, reply);
    uvh_redis_release(link->redis, parcel);
}

static void read_replies(struct uvh_redis_link *link)
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
            on_handshake_reply(link, reply);
        else
            on_reply(link, reply);
        freeReplyObject(reply);
    }
}

static void read_socket(struct uvh_redis_link *link)
{
    if (redisBufferRead(link->context) != REDIS_OK)
        lose(link, error_of(link->context));
    else
        read_replies(link);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct uvh_redis_link *link = poll->data;
    if (status < 0) { /* reading reports the error */
        (void)redisBufferRead(link->context);
        lose(link, error_of(link->context));
        return;
    }
    if ((events & UV_READABLE) != 0)
        read_socket(link);
    if (link->poll == poll && (events & UV_WRITABLE) != 0)
        uvh_redis_link_flush(link);
}

void uvh_redis_link_wait(struct uvh_redis_link *link, int ms)
{
    struct pollfd one = {.fd = link->context->fd, .events = POLLIN};
    if ((link->events & UV_WRITABLE) != 0)
        one.events |= POLLOUT;
    if (poll(&one, 1, ms) <= 0) /* timed out or interrupted */
        return;
    if ((one.revents & ~POLLOUT) != 0)
        read_socket(link);
    if (link->context != NULL && (one.revents & POLLOUT) != 0)
        uvh_redis_link_flush(link);
}

/* ---- connecting ---- */

/* Starts the handshake on a new socket: nothing is written before it is writable. */
static void begin_handshake(struct uvh_redis_link *link, redisContext *context)
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

/* Connects by the address as text, which hiredis requires and which includes the interface of a
 * link-local address. */
static void try_next(struct uvh_redis_link *link)
{
    char text[NI_MAXHOST];
    const struct addrinfo *address = link->next;
    link->next = address->ai_next;
    int err = getnameinfo(address->ai_addr, address->ai_addrlen, text, sizeof(text), NULL, 0,
                          NI_NUMERICHOST);
    if (err != 0)
        lose(link, gai_strerror(err));
    else
        begin_handshake(link, redisConnectNonBlock(text, link->redis->port));
}

static void on_looked_up(void *arg, int status, struct addrinfo *found)
{
    struct uvh_redis_link *link = arg;
    link->lookup = NULL;
    link->state = UVH_REDIS_DOWN;
    link->found = found;
    link->next = found;
    if (found == NULL)
        lose(link, uv_strerror(status != 0 ? status : UV_EAI_NODATA));
    else
        try_next(link);
}

static void attempt(struct uvh_redis_link *link)
{
    struct uvhttp_redis *redis = link->redis;
    union uvh_address literal;
    uv_mutex_lock(&redis->lock);
    redis->stats.attempts++;
    uv_mutex_unlock(&redis->lock);
    if (redis->path != NULL) {
        begin_handshake(link, redisConnectUnixNonBlock(redis->path));
    } else if (link->next != NULL) {
        try_next(link);
    } else if (uvh_lookup_literal(redis->host, redis->port, &literal)) {
        begin_handshake(link, redisConnectNonBlock(redis->host, redis->port));
    } else {
        int err = uvh_lookup_start(&link->lookup, redis->loop, redis->host, redis->port,
                                   on_looked_up, link);
        if (err != 0) {
            lose(link, uv_strerror(err));
            return;
        }
        uvh_lookup_unref(link->lookup);
        link->state = UVH_REDIS_RESOLVING;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct uvh_redis_link *link = timer->data;
    switch (link->state) {
    case UVH_REDIS_DOWN:
        attempt(link);
        break;
    case UVH_REDIS_CONNECTING:
        lose(link, "no reply");
        break;
    case UVH_REDIS_READY:
        if (!link->heard) {
            lose(link, "no reply to PING");
            break;
        }
        link->heard = false;
        ping(link);
        set_timer(link, link->redis->ping_ms);
        uvh_redis_link_flush(link);
        break;
    case UVH_REDIS_RESOLVING:
    case UVH_REDIS_ENDED:
        break;
    }
}

/* ---- open and close ---- */

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
    if (link->lookup != NULL)
        uvh_lookup_forget(link->lookup);
    link->lookup = NULL;
    link->state = UVH_REDIS_ENDED;
    drop_addresses(link);
    drop_context(link);
    (void)uvh_redis_parcels_drop(&link->parcel, &link->redis->allocator);
    uv_close((uv_handle_t *)&link->timer, on_timer_closed);
}
