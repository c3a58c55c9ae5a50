/* A connection to the broker that reconnects whenever it breaks. Steps: resolve the name, try its
 * addresses in order, connect, authenticate, send a PING whose reply makes it ready. PINGs follow
 * whenever the connection is idle.
 *
 * hiredis connects, writes and reads without blocking; this file decides when. A poll handle
 * belongs to one connection, since its descriptor does. It is freed when the connection is
 * closed. */
#include "redis/link.h"

#include <netdb.h>
#include <poll.h>
#include <string.h>

#include <uvhttp/embedding.h>

#include "base/alloc.h"

enum {
    CONNECT_MS = 5000,    /* timeout until a connection is ready */
    FIRST_DELAY_MS = 100, /* before the second attempt; doubled for each further one */
    MOST_DOUBLINGS = 10,
    COMMAND_WORDS = 3,
};

static void on_poll(uv_poll_t *poll, int status, int events);
static void on_timer(uv_timer_t *timer);

/* ---- the end of a connection ---- */

static void on_closed(uv_handle_t *handle)
{
    struct uvh_redis_link *link = handle->data;
    if (handle != (uv_handle_t *)&link->timer)
        uvh_free(link->broker->allocator, handle);
    if (--link->handles == 0) /* the timer is open until uvh_redis_link_close */
        link->closed(link);
}

/* Closes the socket; its poll handle must be closed before. */
static void drop_context(struct uvh_redis_link *link)
{
    if (link->poll != NULL)
        uv_close((uv_handle_t *)link->poll, on_closed);
    if (link->context != NULL)
        redisFree(link->context);
    link->poll = NULL;
    link->context = NULL;
}

static void set_state(struct uvh_redis_link *link, enum uvh_redis_link_state state)
{
    link->state = state;
    atomic_store(&link->connected, state == UVH_REDIS_READY);
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
    return delay < link->broker->max_delay_ms ? delay : link->broker->max_delay_ms;
}

/* The connection broke or failed. Logs one line and schedules another attempt, or tries the next
 * address at once. */
static void lose(struct uvh_redis_link *link, const char *why)
{
    uvhttp_server_t *server = link->broker->server;
    bool was_ready = link->state == UVH_REDIS_READY;
    uint64_t delay = link->next != NULL ? 0 : next_delay(link);
    if (link->next != NULL)
        uvhttp_server_log(server, UVHTTP_LOG_DEBUG,
                          "redis: the connection for %s failed, trying the next address: %s",
                          link->events->name, why);
    else
        uvhttp_server_log(server, UVHTTP_LOG_WARNING,
                          "redis: the connection for %s %s: %s; retrying in %llu.%llu s",
                          link->events->name, was_ready ? "was lost" : "failed", why,
                          (unsigned long long)(delay / 1000),
                          (unsigned long long)(delay % 1000 / 100));
    link->failures += link->next == NULL;
    set_state(link, UVH_REDIS_DOWN);
    drop_context(link);
    if (link->next == NULL)
        drop_addresses(link);
    set_timer(link, delay);
    size_t messages = uvh_redis_parcels_limit(&link->sent, 0, link->broker->allocator);
    if (was_ready && link->events->on_lost != NULL)
        link->events->on_lost(link, messages);
}

static const char *error_of(const redisContext *context)
{
    return context->err != 0 && context->errstr[0] != '\0' ? context->errstr : "unknown error";
}

/* ---- commands ---- */

void uvh_redis_link_send(struct uvh_redis_link *link, struct uvh_redis_parcel *parcel, int count,
                         const char **words, const size_t *sizes)
{
    if (parcel != NULL) /* without it, its reply would be matched to another command */
        uvh_redis_parcels_append(&link->sent, parcel);
    if (parcel == NULL || redisAppendCommandArgv(link->context, count, words, sizes) != REDIS_OK)
        link->context->err = REDIS_ERR_OOM; /* detected when it is flushed */
}

/* Queues a command whose reply this file handles. NULL words are omitted. */
static void send_words(struct uvh_redis_link *link, const char *first, const char *second,
                       const char *third)
{
    const char *words[COMMAND_WORDS] = {first};
    size_t sizes[COMMAND_WORDS] = {strlen(first)};
    int count = 1;
    if (second != NULL)
        words[count++] = second;
    if (third != NULL)
        words[count++] = third;
    for (int i = 1; i < count; i++)
        sizes[i] = strlen(words[i]);
    struct uvh_redis_parcel *parcel = uvh_alloc(link->broker->allocator, sizeof(*parcel));
    if (parcel != NULL)
        *parcel = (struct uvh_redis_parcel){.command = UVH_REDIS_LINK};
    uvh_redis_link_send(link, parcel, count, words, sizes);
}

static void watch(struct uvh_redis_link *link, int events)
{
    if (link->polled == events)
        return;
    link->polled = events;
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

/* The last reply of the handshake has arrived. */
static void become_ready(struct uvh_redis_link *link)
{
    set_state(link, UVH_REDIS_READY);
    link->failures = 0;
    drop_addresses(link);
    uvhttp_server_log(link->broker->server, UVHTTP_LOG_INFO,
                      "redis: the connection for %s is ready", link->events->name);
    set_timer(link, link->broker->ping_ms);
    link->events->on_ready(link);
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
        link->events->on_reply(link, NULL, reply);
        return;
    }
    struct uvh_redis_parcel *parcel = uvh_redis_parcels_take(&link->sent);
    if (parcel != NULL && parcel->command != UVH_REDIS_LINK)
        link->events->on_reply(link, parcel, reply);
    uvh_free(link->broker->allocator, parcel);
    if (link->state != UVH_REDIS_CONNECTING)
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        lose(link, reply->str);
    else if (uvh_list_empty(&link->sent.list))
        become_ready(link);
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
    if ((link->polled & UV_WRITABLE) != 0)
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
    const struct uvh_redis_broker *broker = link->broker;
    link->context = context;
    if (context == NULL || context->err != 0) {
        lose(link, context == NULL ? "out of memory" : error_of(context));
        return;
    }
    uv_poll_t *poll = uvh_alloc(broker->allocator, sizeof(*poll));
    int err = poll == NULL ? UV_ENOMEM : uv_poll_init(broker->loop, poll, context->fd);
    if (err != 0) {
        uvh_free(broker->allocator, poll);
        lose(link, uv_strerror(err));
        return;
    }
    link->handles++;
    poll->data = link;
    link->poll = poll;
    set_state(link, UVH_REDIS_CONNECTING);
    link->polled = 0;
    if (broker->password != NULL && broker->user != NULL)
        send_words(link, "AUTH", broker->user, broker->password);
    else if (broker->password != NULL)
        send_words(link, "AUTH", broker->password, NULL);
    send_words(link, "PING", NULL, NULL);
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
        begin_handshake(link, redisConnectNonBlock(text, link->broker->port));
}

static void on_looked_up(void *arg, int status, struct addrinfo *found)
{
    struct uvh_redis_link *link = arg;
    link->lookup = NULL;
    set_state(link, UVH_REDIS_DOWN);
    link->found = found;
    link->next = found;
    if (found == NULL)
        lose(link, uv_strerror(status != 0 ? status : UV_EAI_NODATA));
    else
        try_next(link);
}

static void attempt(struct uvh_redis_link *link)
{
    const struct uvh_redis_broker *broker = link->broker;
    union uvh_address literal;
    uvh_counter_add(&link->attempts, 1);
    if (broker->path != NULL) {
        begin_handshake(link, redisConnectUnixNonBlock(broker->path));
    } else if (link->next != NULL) {
        try_next(link);
    } else if (uvh_lookup_literal(broker->host, broker->port, &literal)) {
        begin_handshake(link, redisConnectNonBlock(broker->host, broker->port));
    } else {
        int err = uvh_lookup_start(&link->lookup, broker->loop, broker->host, broker->port,
                                   on_looked_up, link);
        if (err != 0) {
            lose(link, uv_strerror(err));
            return;
        }
        uvh_lookup_unref(link->lookup);
        set_state(link, UVH_REDIS_RESOLVING);
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
        send_words(link, "PING", NULL, NULL);
        set_timer(link, link->broker->ping_ms);
        uvh_redis_link_flush(link);
        break;
    case UVH_REDIS_RESOLVING:
    case UVH_REDIS_ENDED:
        break;
    }
}

/* ---- open and close ---- */

void uvh_redis_link_open(struct uvh_redis_link *link, const struct uvh_redis_broker *broker,
                         const struct uvh_redis_link_events *events)
{
    link->broker = broker;
    link->events = events;
    uvh_list_init(&link->sent.list);
    (void)uv_timer_init(broker->loop, &link->timer); /* never fails */
    link->handles = 1;
    link->timer.data = link;
    set_timer(link, 0);
    uv_unref((uv_handle_t *)&link->timer);
}

void uvh_redis_link_close(struct uvh_redis_link *link, void (*closed)(struct uvh_redis_link *link))
{
    if (link->lookup != NULL)
        uvh_lookup_forget(link->lookup);
    link->lookup = NULL;
    link->closed = closed;
    set_state(link, UVH_REDIS_ENDED);
    drop_addresses(link);
    drop_context(link);
    (void)uvh_redis_parcels_limit(&link->sent, 0, link->broker->allocator);
    uv_close((uv_handle_t *)&link->timer, on_closed);
}
