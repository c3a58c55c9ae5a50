/* An application as operators run it: WebSockets that echo, probes, a reload on SIGHUP, and a drain
 * on SIGTERM. Its argument is the port. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <uvhttp.h>
#include <uvhttp/health.h>
#include <uvhttp/websocket.h>

static void echo(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                 size_t size, void *arg)
{
    (void)arg;
    uvhttp_websocket_send(ws, kind, data, size);
}

static int hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_send_text(response, 200, "hello\n");
}

static int set_up(uvhttp_server_t *server)
{
    static const uvhttp_websocket_options_t options = {.events.message = echo};
    uvhttp_server_route(server, "GET", "/", hello, NULL);
    uvhttp_server_route(server, "GET", "/readyz", uvhttp_health_handle_ready, NULL);
    return uvhttp_websocket_route(server, "/echo", &options, NULL);
}

static void reload(uvhttp_server_t *server, int number, void *arg)
{
    (void)number, (void)arg;
    int err = uvhttp_server_begin_reload(server);
    if (err == 0)
        err = set_up(server);
    if (err == 0)
        err = uvhttp_server_apply_reload(server);
    if (err != 0)
        uvhttp_server_cancel_reload(server);
    printf("reload: %s\n", err == 0 ? "done" : uvhttp_strerror(err));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    uvhttp_config_t *config = uvhttp_config_new();
    if (argc != 2 || config == NULL)
        return 2;
    config->workers = 2;
    config->drain_delay = config->drain_grace = 2;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    if (server == NULL || set_up(server) != 0)
        return 1;
    uvhttp_server_on_signal(server, SIGHUP, reload, NULL);
    uvhttp_server_stop_on_signals(server);
    int err = uvhttp_server_listen(server, "0.0.0.0", (int)strtol(argv[1], NULL, 10));
    if (err == 0)
        err = uvhttp_server_run(server);
    fprintf(stderr, "%s\n", uvhttp_server_error(server)->text);
    uvhttp_server_free(server);
    return err != 0;
}
