/* A live chart. Once per second the server sends its statistics to all connected clients, as one
 * message that is framed only once. The page is in examples/site_chart.
 *
 *     curl http://127.0.0.1:8080/
 *     python3 -m websockets ws://127.0.0.1:8080/live
 *
 * Usage: websocket_chart [PORT [DIRECTORY]] */
#include <stdlib.h>

#include <uv.h>

#include <uvhttp.h>
#include <uvhttp/websocket.h>

/* Connected clients. There is one worker, so no lock is needed. */
enum { CLIENTS_MAX = 1000 };
static uvhttp_websocket_t *clients[CLIENTS_MAX];
static size_t count;
static uv_timer_t timer;

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    if (count == CLIENTS_MAX)
        uvhttp_websocket_close(ws, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER, "too many clients");
    else
        clients[count++] = ws;
}

static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    for (size_t i = 0; i < count; i++)
        if (clients[i] == ws)
            clients[i] = clients[--count];
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
}

static void send_sample(uv_timer_t *handle)
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
        uvhttp_websocket_endpoint_of(clients[0]), UVHTTP_WEBSOCKET_TEXT, text, (size_t)length);
    /* Backwards: sending may close a connection, and then the last one moves to its slot. */
    for (size_t i = count; message != NULL && i-- > 0;)
        (void)uvhttp_websocket_send_message(clients[i], message);
    uvhttp_websocket_message_unref(message); /* freed after all connections have sent it */
}

static void on_stopped(uvhttp_server_t *server, void *arg)
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
        number = -1; /* refuses "80a"; 0 would be any free port */
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_websocket_options_t options = {
        .events = {.open = on_open, .message = on_message, .close = on_close}};
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
        uv_timer_start(&timer, send_sample, 1000, 1000);
        uvhttp_server_on_stopped(server, on_stopped, NULL);
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
