/* A clock for all connected browsers: a page, a stream of server-sent events, and a hub that sends
 * each event to all streams, on all workers. A browser that reconnects gets the times it missed.
 *
 *     curl http://127.0.0.1:8080/
 *     curl -N --max-time 3 http://127.0.0.1:8080/clock
 *
 * Usage: events [PORT] */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uvhttp.h>

static int page(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_html(
        res, 200,
        "<!doctype html><meta charset=utf-8><title>Clock</title><h1 id=time>...</h1>\n"
        "<script>new EventSource('/clock').onmessage = e => time.textContent = e.data</script>\n");
}

static int subscribe(uvhttp_request_t *req, uvhttp_response_t *res, void *hub)
{
    int err = uvhttp_event_hub_subscribe(hub, res);
    /* For this client only: the delay before its browser reconnects. */
    return err ? err : uvhttp_response_send_event(res, &(uvhttp_sse_event_t){.retry_ms = 2000});
}

/* On the first worker's thread. Publishing is possible on any. */
static void tick(uvhttp_server_t *server, void *hub)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(text, sizeof text, "%H:%M:%S", gmtime_r(&now, &utc));
    (void)uvhttp_event_hub_publish(hub, &(uvhttp_sse_event_t){.data = {text, strlen(text)}});
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_config_t *config = uvhttp_config_new();
    if (config == NULL)
        return 1;
    config->workers = uvhttp_core_count();
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    uvhttp_event_hub_t *hub;
    const uvhttp_event_hub_options_t options = {.keep = 60};
    int err = uvhttp_event_hub_new(&hub, &options, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/", page, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/clock", subscribe, hub);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0)
        err = uvhttp_server_every(server, 1000, tick, hub, NULL); /* ends with the server */
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    uvhttp_server_free(server);
    uvhttp_event_hub_free(hub);
    return err != 0;
}
