/* websocket: the server on libwebsockets that `./dev bench ws` compares with: one thread on libuv,
 * its own permessage-deflate. /topic sends to all others, every other path sends back. As the
 * library's documentation has it, everything is written in the WRITEABLE callback, behind LWS_PRE
 * bytes of room. */
#include <libwebsockets.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>

#define RECEIVE_SIZE 32768
#define CONNECTIONS  32768

/* A message that waits, for one connection or, counted, for many. */
struct message {
    unsigned references;
    size_t size;
    bool binary;
    unsigned char bytes[];
};

struct waiting {
    struct waiting *next;
    struct message *message;
};

struct session {
    struct lws *wsi;
    bool topic;
    struct session *next; /* subscriber */
    unsigned char *part;  /* of the message that is coming */
    size_t part_size, part_capacity;
    struct waiting *first, **last;
};

static struct session *subscribers;
static struct lws_context *context;

static void *need(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void unref(struct message *message)
{
    if (--message->references == 0)
        free(message);
}

static void queue(struct session *session, struct message *message)
{
    struct waiting *one = need(malloc(sizeof(*one)));
    *one = (struct waiting){.message = message};
    message->references++;
    *session->last = one;
    session->last = &one->next;
    lws_callback_on_writable(session->wsi);
}

static void drop_first(struct session *session)
{
    struct waiting *one = session->first;
    session->first = one->next;
    if (session->first == NULL)
        session->last = &session->first;
    unref(one->message);
    free(one);
}

static void open_session(struct session *session, struct lws *wsi)
{
    char path[64] = "";
    *session = (struct session){.wsi = wsi};
    session->last = &session->first;
    lws_hdr_copy(wsi, path, sizeof(path), WSI_TOKEN_GET_URI);
    session->topic = strcmp(path, "/topic") == 0;
    if (session->topic) {
        session->next = subscribers;
        subscribers = session;
    }
}

static void close_session(struct session *session)
{
    for (struct session **at = &subscribers; *at != NULL; at = &(*at)->next) {
        if (*at == session) {
            *at = session->next;
            break;
        }
    }
    while (session->first != NULL)
        drop_first(session);
    free(session->part);
}

static void receive(struct session *session, const void *bytes, size_t size)
{
    if (session->part_size + size > session->part_capacity) {
        session->part_capacity = 2 * (session->part_size + size);
        session->part = need(realloc(session->part, session->part_capacity));
    }
    memcpy(session->part + session->part_size, bytes, size);
    session->part_size += size;
    if (!lws_is_final_fragment(session->wsi) || lws_remaining_packet_payload(session->wsi) > 0)
        return;
    struct message *message = need(malloc(sizeof(*message) + LWS_PRE + session->part_size));
    *message = (struct message){.references = 1,
                                .size = session->part_size,
                                .binary = lws_frame_is_binary(session->wsi) != 0};
    memcpy(message->bytes + LWS_PRE, session->part, session->part_size);
    session->part_size = 0;
    if (!session->topic)
        queue(session, message);
    for (struct session *other = subscribers; session->topic && other != NULL; other = other->next)
        if (other != session)
            queue(other, message);
    unref(message);
}

static int write_first(struct session *session)
{
    struct message *message = session->first != NULL ? session->first->message : NULL;
    if (message == NULL)
        return 0;
    int written = lws_write(session->wsi, message->bytes + LWS_PRE, message->size,
                            message->binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT);
    if (written < (int)message->size)
        return -1;
    drop_first(session);
    if (session->first != NULL)
        lws_callback_on_writable(session->wsi);
    return 0;
}

static int serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *bytes,
                 size_t size)
{
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        open_session(user, wsi);
        return 0;
    case LWS_CALLBACK_CLOSED:
        close_session(user);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        receive(user, bytes, size);
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return write_first(user);
    default:
        return 0;
    }
}

static void stop(void *loop, int number)
{
    (void)loop;
    (void)number;
    _exit(0);
}

int main(void)
{
    static const struct lws_protocols protocols[] = {
        {"default", serve, sizeof(struct session), RECEIVE_SIZE, 0, NULL, 0},
        {NULL, NULL, 0, 0, 0, NULL, 0}};
    static const struct lws_extension extensions[] = {
        {"permessage-deflate", lws_extension_callback_pm_deflate, "permessage-deflate"},
        {NULL, NULL, NULL}};
    struct lws_context_creation_info info = {.port = 0,
                                             .iface = "127.0.0.1",
                                             .protocols = protocols,
                                             .extensions = extensions,
                                             .fd_limit_per_thread = CONNECTIONS,
                                             .signal_cb = stop,
                                             .gid = -1,
                                             .uid = -1,
                                             .options = LWS_SERVER_OPTION_LIBUV |
                                                        LWS_SERVER_OPTION_EXPLICIT_VHOSTS};
    lws_set_log_level(LLL_ERR, NULL);
    context = lws_create_context(&info);
    struct lws_vhost *host = context != NULL ? lws_create_vhost(context, &info) : NULL;
    if (host == NULL) {
        fputs("websocket: libwebsockets cannot listen\n", stderr);
        return 1;
    }
    printf("listening on http://127.0.0.1:%d/\n", lws_get_vhost_listen_port(host));
    fflush(stdout);
    while (lws_service(context, 0) >= 0)
        continue;
    return 0;
}
