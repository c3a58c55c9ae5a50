/* A chat with rooms. A room is a topic, so a message reaches all members, whichever worker has
 * their connections. The page is in examples/site_chat.
 *
 *     curl http://127.0.0.1:8080/
 *     python3 examples/clients/chat.py ws://127.0.0.1:8080/chat/kitchen ada
 *
 * Clients send texts. All members of the room receive each as "said NICK TEXT". When a client joins
 * or leaves, they receive "joined NICK NUMBER" or "left NICK NUMBER" with the number of members.
 *
 * Usage: websocket_chat [PORT [DIRECTORY]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>
#include <uvhttp/topics.h>

enum { NAME_SIZE_MAX = 32, TEXT_SIZE_MAX = 2000 };

struct guest {
    char nick[NAME_SIZE_MAX + 1], room[NAME_SIZE_MAX + 1];
};

static uvhttp_topics_t *topics;

/* '/', '+' and '#' have a meaning in topics: a room called "#" would be all rooms. A space ends a
 * nick, and control characters could disguise it. */
static bool is_name(const char *name)
{
    if (name == NULL || *name == '\0' || strlen(name) > NAME_SIZE_MAX)
        return false;
    for (; *name != '\0'; name++)
        if ((unsigned char)*name <= ' ' || *name == 0x7f || strchr("/+#", *name) != NULL)
            return false;
    return true;
}

static int admit(uvhttp_request_t *req, void **data, void *arg)
{
    const char *room = uvhttp_request_param(req, "room"), *nick = uvhttp_request_query(req, "nick");
    if (!is_name(room) || !is_name(nick))
        return UVHTTP_DECLINED;
    struct guest *guest = *data = calloc(1, sizeof(*guest));
    if (guest == NULL)
        return UVHTTP_ENOMEM;
    snprintf(guest->nick, sizeof(guest->nick), "%s", nick);
    snprintf(guest->room, sizeof(guest->room), "%s", room);
    return 0;
}

/* Sends "VERB NICK DATA" to all in the room. Copies by size, because `data` may contain U+0000. */
static int publish(const struct guest *guest, const char *verb, const char *data, size_t size)
{
    char text[NAME_SIZE_MAX + TEXT_SIZE_MAX + 16];
    int head = snprintf(text, sizeof(text) - TEXT_SIZE_MAX, "%s %s ", verb, guest->nick);
    memcpy(text + head, data, size);
    return uvhttp_topics_publish(topics, guest->room, UVHTTP_WEBSOCKET_TEXT, text,
                                 (size_t)head + size);
}

static int publish_count(const struct guest *guest, const char *verb)
{
    char count[24];
    int size = snprintf(count, sizeof(count), "%zu", uvhttp_topics_count(topics, guest->room));
    return publish(guest, verb, count, (size_t)size);
}

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    const struct guest *guest = uvhttp_websocket_data(ws);
    if (uvhttp_websocket_subscribe(ws, topics, guest->room) || publish_count(guest, "joined"))
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_INTERNAL_ERROR, NULL);
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    if (kind == UVHTTP_WEBSOCKET_TEXT)
        publish(uvhttp_websocket_data(ws), "said", data, size);
    else
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_UNSUPPORTED_DATA, "say it as text");
}

static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    publish_count(uvhttp_websocket_data(ws), "left");
}

int main(int argc, char **argv)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    const char *port = argc > 1 ? argv[1] : "8080",
               *directory = argc > 2 ? argv[2] : "examples/site_chat";
    char *end;
    int number = (int)strtol(port, &end, 10);
    if (*end != '\0')
        number = -1; /* refuses "80a"; 0 would be any free port */
    uvhttp_websocket_options_t options = {
        .admit = admit, .release = free, .max_message_size = TEXT_SIZE_MAX};
    options.events =
        (uvhttp_websocket_events_t){.open = on_open, .message = on_message, .close = on_close};
    int err = uvhttp_topics_new(&topics, server, NULL, NULL);
    if (err == 0)
        err = uvhttp_websocket_route(server, "/chat/:room", &options, NULL);
    if (err == 0 && (err = uvhttp_static_mount(
                         server, "/", &(uvhttp_static_options_t){.root = directory}, NULL)) != 0)
        fprintf(stderr,
                "%s (start it in another directory, or give one after the port): ", directory);
    if (err == 0 && (err = uvhttp_server_listen(server, "127.0.0.1", number)) != 0)
        fprintf(stderr, "port %s: ", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
