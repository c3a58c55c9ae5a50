/* A chat with rooms: a room is a topic, so what is said there reaches all who are in it, whichever worker has their connections. Its page is in examples/site_chat.
 *
 *     curl http://127.0.0.1:8080/
 *     python3 examples/clients/chat.py ws://127.0.0.1:8080/chat/kitchen ada
 *
 * A client sends what it has to say. All in the room get "said NICK TEXT", and when somebody comes or goes "joined NICK NUMBER" or "left NICK NUMBER", with how many are there now.
 *
 * Usage: websocket_chat [PORT [FOLDER]]
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>
#include <uvhttp/topics.h>

enum { NAME = 32, TEXT = 2000 };

struct guest {
    char nick[NAME + 1], room[NAME + 1];
};

static uvhttp_topics_t *topics;

/* A room called "#" would be all of them: '/', '+' and '#' mean something in topics. And a space ends a nick. */
static bool is_name(const char *name)
{
    return name != NULL && *name != '\0' && strlen(name) <= NAME && strpbrk(name, " /+#") == NULL;
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

__attribute__((format(printf, 2, 3))) static int tell(const char *room, const char *format, ...)
{
    char text[TEXT + NAME + 16];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    return uvhttp_topics_publish(topics, room, UVHTTP_WEBSOCKET_TEXT, text, (size_t)length);
}

static void enter(uvhttp_websocket_t *ws, void *arg)
{
    const struct guest *guest = uvhttp_websocket_data(ws);
    int err = uvhttp_websocket_subscribe(ws, topics, guest->room);
    if (err || tell(guest->room, "joined %s %zu", guest->nick, uvhttp_topics_count(topics, guest->room)))
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_INTERNAL_ERROR, NULL);
}

static void say(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data, size_t size,
                void *arg)
{
    const struct guest *guest = uvhttp_websocket_data(ws);
    tell(guest->room, "said %s %.*s", guest->nick, (int)size, data);
}

static void leave(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    const struct guest *guest = uvhttp_websocket_data(ws);
    tell(guest->room, "left %s %zu", guest->nick, uvhttp_topics_count(topics, guest->room));
}

int main(int argc, char **argv)
{
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    const char *folder = argc > 2 ? argv[2] : "examples/site_chat";
    uvhttp_websocket_options_t options = {.admit = admit, .release = free, .max_message_size = TEXT};
    options.events = (uvhttp_websocket_events_t){.open = enter, .message = say, .close = leave};
    int err = uvhttp_topics_new(&topics, server, NULL);
    if (err == 0)
        err = uvhttp_websocket_route(server, "/chat/:room", &options);
    if (err == 0)
        err = uvhttp_static_mount(server, "/", &(uvhttp_static_config_t){.root = folder});
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080);
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
