/* Rooms: who joins ws://127.0.0.1:8080/rooms/NAME gets what the others there say, and what is
 * posted to it. Works on all processor cores; with uvhttp/redis.h on several machines.
 *
 *     python3 -m websockets ws://127.0.0.1:8080/rooms/kitchen
 *     curl -d 'dinner is ready' http://127.0.0.1:8080/rooms/kitchen
 *
 * Usage: topics [PORT] */
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>
#include <uvhttp/topics.h>

static uvhttp_topics_t *topics;

enum { TOPIC = 255 }; /* max_topic_size of uvhttp_topics_options_t */

/* The topic of a room, to be freed. NULL for names that are too long for one, and for those with a
 * meaning in patterns: "room/#" would be all rooms. */
static char *topic_of(uvhttp_request_t *req)
{
    const char *name = uvhttp_request_param(req, "name");
    if (*name == '\0' || strpbrk(name, "+#/") != NULL)
        return NULL;
    size_t size = strlen(name) + sizeof "room/";
    char *topic = size <= TOPIC + 1 ? malloc(size) : NULL;
    if (topic != NULL)
        snprintf(topic, size, "room/%s", name);
    return topic;
}

/* The topic becomes the connection's data. */
static int admit(uvhttp_request_t *req, void **data, void *arg)
{
    *data = topic_of(req);
    return *data == NULL ? UVHTTP_DECLINED : 0;
}

static void join(uvhttp_websocket_t *ws, void *arg)
{
    if (uvhttp_websocket_subscribe(ws, topics, uvhttp_websocket_data(ws)) != 0)
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER, "no room");
}

static void say(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data, size_t size,
                void *arg)
{
    (void)uvhttp_websocket_publish(ws, topics, uvhttp_websocket_data(ws), kind, data, size);
}

static int post(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(req);
    char *topic = topic_of(req), text[32] = "";
    if (topic == NULL)
        return uvhttp_response_send_text(res, 404, "there is no such room\n");
    int err = uvhttp_topics_publish(topics, topic, UVHTTP_WEBSOCKET_TEXT, body.base, body.length);
    snprintf(text, sizeof text, "%zu are here\n", uvhttp_topics_count(topics, topic));
    free(topic);
    return err == UVHTTP_EINVAL ? uvhttp_response_send_text(res, 400, "this is no text\n")
           : err != 0           ? err
                                : uvhttp_response_send_text(res, 200, text);
}

int main(int argc, char **argv)
{
    const char *port = argc > 1 ? argv[1] : "8080";
    char *end;
    int number = (int)strtol(port, &end, 10);
    if (*end != '\0')
        number = -1; /* "80a" is no port, and 0 would be any */
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return 1;
    config->workers = uvhttp_core_count();
    config->log = uvhttp_log_to_stderr;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    uvhttp_websocket_options_t options = {
        .events = {.open = join, .message = say}, .admit = admit, .release = free};
    int err = uvhttp_topics_new(&topics, server, NULL, NULL);
    if (err == 0)
        err = uvhttp_websocket_route(server, "/rooms/:name", &options, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/rooms/:name", post, NULL);
    if (err == 0 && (err = uvhttp_server_listen(server, "127.0.0.1", number)) != 0)
        fprintf(stderr, "port %s: ", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/rooms/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err != 0)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
