/* Chat rooms by topics. WebSocket clients of ws://127.0.0.1:8080/rooms/NAME receive what other
 * members send to the room, and what is posted to it. This works across all workers, and with
 * uvhttp/redis.h across machines.
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

enum { TOPIC_MAX = 255 }; /* max_topic_size of uvhttp_topics_options_t */

/* Returns the topic of a room, which the caller frees. NULL for names that are too long, and for
 * characters with a meaning in patterns: "room/#" matches all rooms. */
static char *make_topic(uvhttp_request_t *req)
{
    const char *name = uvhttp_request_param(req, "name");
    if (*name == '\0' || strpbrk(name, "+#/") != NULL)
        return NULL;
    size_t size = strlen(name) + sizeof "room/";
    char *topic = size <= TOPIC_MAX + 1 ? malloc(size) : NULL;
    if (topic != NULL)
        snprintf(topic, size, "room/%s", name);
    return topic;
}

/* The topic becomes the user data of the connection. */
static int admit(uvhttp_request_t *req, void **data, void *arg)
{
    *data = make_topic(req);
    return *data == NULL ? UVHTTP_DECLINED : 0;
}

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    if (uvhttp_websocket_subscribe(ws, topics, uvhttp_websocket_data(ws)) != 0)
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER, "cannot join");
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)uvhttp_websocket_publish(ws, topics, uvhttp_websocket_data(ws), kind, data, size);
}

static int post_message(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(req);
    char *topic = make_topic(req), text[32] = "";
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
        number = -1; /* refuses "80a"; 0 would be any free port */
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return 1;
    config->workers = uvhttp_core_count();
    config->log = uvhttp_log_to_stderr;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    uvhttp_websocket_options_t options = {
        .events = {.open = on_open, .message = on_message}, .admit = admit, .release = free};
    int err = uvhttp_topics_new(&topics, server, NULL, NULL);
    if (err == 0)
        err = uvhttp_websocket_route(server, "/rooms/:name", &options, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "POST", "/rooms/:name", post_message, NULL);
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
