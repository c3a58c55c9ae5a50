/* A clock for all connected browsers: a page, a stream of server-sent events, and a hub that sends
 * each event to all streams.
 *
 *     curl http://127.0.0.1:8080/
 *     curl -N --max-time 3 http://127.0.0.1:8080/clock
 *
 * Usage: events [PORT] */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uv.h>

#include <uvhttp.h>

static uvhttp_event_hub_t *hub;
static uvhttp_server_t *server;
static uv_timer_t timer;
static uv_signal_t interrupted, terminated; /* Ctrl-C, kill */

static int page(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_html(
        res, 200,
        "<!doctype html><meta charset=utf-8><title>Clock</title><h1 id=time>...</h1>\n"
        "<script>new EventSource('/clock').onmessage = e => time.textContent = e.data</script>\n");
}

static int subscribe(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    int err = uvhttp_event_hub_subscribe(hub, res);
    /* The first event, for this client only: the delay before its browser reconnects. */
    return err ? err : uvhttp_response_send_event(res, &(uvhttp_sse_event_t){.retry_ms = 2000});
}

static void tick(uv_timer_t *handle)
{
    static unsigned number;
    char id[16], text[32];
    time_t now = time(NULL);
    struct tm utc;
    snprintf(id, sizeof id, "%u", ++number);
    strftime(text, sizeof text, "%H:%M:%S", gmtime_r(&now, &utc));
    (void)uvhttp_event_hub_publish(
        hub, &(uvhttp_sse_event_t){.id = {id, strlen(id)}, .data = {text, strlen(text)}});
}

/* Stopping the server ends the streams. The hub ends here because its timer is closed. */
static void stop(uv_signal_t *handle, int number)
{
    uvhttp_event_hub_end(hub);
    uvhttp_server_stop(server);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_close((uv_handle_t *)&interrupted, NULL);
    uv_close((uv_handle_t *)&terminated, NULL);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uv_loop_t loop;
    if (uv_loop_init(&loop) != 0)
        return 1;
    server = uvhttp_server_new(&loop);
    hub = uvhttp_event_hub_new(NULL);
    int err = hub == NULL ? UVHTTP_ENOMEM : uvhttp_server_route(server, "GET", "/", page, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/clock", subscribe, NULL);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0) {
        uv_timer_init(&loop, &timer);
        uv_timer_start(&timer, tick, 0, 1000);
        uv_signal_init(&loop, &interrupted);
        uv_signal_start(&interrupted, stop, SIGINT);
        uv_signal_init(&loop, &terminated);
        uv_signal_start(&terminated, stop, SIGTERM);
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    if (err)
        fprintf(stderr, "%s\n", uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    uv_run(&loop, UV_RUN_DEFAULT); /* closes the handles of the server */
    uvhttp_event_hub_free(hub);
    uv_loop_close(&loop);
    return err != 0;
}
