/* A chat with rooms: a room is a topic, so what is said there reaches all who are in it, whichever
 * worker has their connections. Its page is in examples/site_chat.
 *
 *     curl http://127.0.0.1:8080/
 *     python3 examples/clients/chat.py ws://127.0.0.1:8080/chat/kitchen ada
 *
 * A client sends what it has to say. All in the room get "said NICK TEXT", and when somebody comes
 * or goes "joined NICK NUMBER" or "left NICK NUMBER", with how many are there now.
 *
 * Usage: websocket_chat [PORT [FOLDER]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>
#include <uvhttp/topics.h>

enum { NAME = 32, TEXT = 2000 };

struct guest {
    char nick[NAME + 1], room[NAME + 1];
};

static uvhttp_topics_t *topics;

/* A room called "#" would be all of them: '/', '+' and '#' mean something in topics. A space ends a
 * nick, and control characters would show it as something else. */
static bool is_name(const char *name)
{
    if (name == NULL || *name == '\0' || strlen(name) > NAME)
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

/* "VERB NICK WORDS" to all in the room, without a copy of the words that would end at a U+0000. */
static int tell(const struct guest *guest, const char *verb, const char *words, size_t size)
{
    char text[NAME + TEXT + 16];
    int head = snprintf(text, sizeof(text) - TEXT, "%s %s ", verb, guest->nick);
    memcpy(text + head, words, size);
    return uvhttp_topics_publish(topics, guest->room, UVHTTP_WEBSOCKET_TEXT, text,
                                 (size_t)head + size);
}

static int tell_count(const struct guest *guest, const char *verb)
{
    char count[24];
    int size = snprintf(count, sizeof(count), "%zu", uvhttp_topics_count(topics, guest->room));
    return tell(guest, verb, count, (size_t)size);
}

static void enter(uvhttp_websocket_t *ws, void *arg)
{
    const struct guest *guest = uvhttp_websocket_data(ws);
    if (uvhttp_websocket_subscribe(ws, topics, guest->room) || tell_count(guest, "joined"))
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_INTERNAL_ERROR, NULL);
}

static void say(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data, size_t size,
                void *arg)
{
    if (kind == UVHTTP_WEBSOCKET_TEXT)
        tell(uvhttp_websocket_data(ws), "said", data, size);
    else
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_UNSUPPORTED_DATA, "say it as text");
}

static void leave(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    tell_count(uvhttp_websocket_data(ws), "left");
}

int main(int argc, char **argv)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    const char *port = argc > 1 ? argv[1] : "8080",
               *directory = argc > 2 ? argv[2] : "examples/site_chat";
    char *end;
    int number = (int)strtol(port, &end, 10);
    if (*end != '\0')
        number = -1; /* "80a" is no port, and 0 would be any */
    uvhttp_websocket_options_t options = {
        .admit = admit, .release = free, .max_message_size = TEXT};
    options.events = (uvhttp_websocket_events_t){.open = enter, .message = say, .close = leave};
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
