/* A live chart: once a second the server looks at itself, and all who watch get the same message,
 * which is framed once. Its page is in examples/site_chart.
 *
 *     curl http://127.0.0.1:8080/
 *     python3 -m websockets ws://127.0.0.1:8080/live
 *
 * Usage: websocket_chart [PORT [FOLDER]] */
#include <stdlib.h>

#include <uv.h>

#include <uvhttp.h>
#include <uvhttp/websocket.h>

/* Those who watch. There is one worker, so nothing has to be locked. */
enum { MOST = 1000 };
static uvhttp_websocket_t *watching[MOST];
static size_t count;
static uv_timer_t timer;

static void come(uvhttp_websocket_t *ws, void *arg)
{
    if (count == MOST)
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER, "too many watch");
    else
        watching[count++] = ws;
}

static void go(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    for (size_t i = 0; i < count; i++)
        if (watching[i] == ws)
            watching[i] = watching[--count];
}

static void ignore(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                   size_t size, void *arg)
{
}

static void sample(uv_timer_t *handle)
{
    static uvhttp_stats_t last;
    uvhttp_stats_t now;
    char text[160];
    if (uvhttp_server_read_stats(handle->data, &now) != 0)
        return;
    double busy = (double)(now.loop_busy_us - last.loop_busy_us);
    int length = snprintf(
        text, sizeof(text),
        "{\"requests\":%llu,\"kilobytes\":%.1f,\"busy\":%.3f,\"connections\":%zu}",
        (unsigned long long)(now.total_requests - last.total_requests),
        (double)(now.bytes_sent - last.bytes_sent) / 1000,
        100 * busy / (double)(now.loop_time_us - last.loop_time_us + 1), now.active_connections);
    last = now;
    if (count == 0)
        return;
    uvhttp_websocket_message_t *message = uvhttp_websocket_message_new(
        uvhttp_websocket_endpoint_of(watching[0]), UVHTTP_WEBSOCKET_TEXT, text, (size_t)length);
    for (size_t i = count;
         message != NULL &&
         i-- > 0;) /* backwards: sending may end a connection, and then its place is another's */
        (void)uvhttp_websocket_send_message(watching[i], message);
    uvhttp_websocket_message_unref(message); /* it is there until it has left everywhere */
}

static void stopped(uvhttp_server_t *server, void *arg)
{
    uv_close((uv_handle_t *)&timer, NULL);
}

int main(int argc, char **argv)
{
    const char *port = argc > 1 ? argv[1] : "8080",
               *directory = argc > 2 ? argv[2] : "examples/site_chart";
    char *end;
    int number = (int)strtol(port, &end, 10);
    if (*end != '\0')
        number = -1; /* "80a" is no port, and 0 would be any */
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_websocket_options_t options = {.events = {.open = come, .message = ignore, .close = go}};
    int err = uvhttp_websocket_route(server, "/live", &options, NULL);
    if (err == 0 && (err = uvhttp_static_mount(
                         server, "/", &(uvhttp_static_options_t){.root = directory}, NULL)) != 0)
        fprintf(stderr,
                "%s (start it in another directory, or give one after the port): ", directory);
    if (err == 0 && (err = uvhttp_server_listen(server, "127.0.0.1", number)) != 0)
        fprintf(stderr, "port %s: ", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        uv_timer_init(uvhttp_server_loop(server), &timer);
        timer.data = server;
        uv_timer_start(&timer, sample, 1000, 1000);
        uvhttp_server_on_stopped(server, stopped, NULL);
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
