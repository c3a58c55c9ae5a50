/* Monitoring: counters and latencies for Prometheus at /metrics, the same for people as a live page
 * at /status, and an access log that SIGHUP reopens after logrotate has renamed it.
 *
 *     curl http://127.0.0.1:8080/
 *     curl http://127.0.0.1:8080/work
 *     curl http://127.0.0.1:8080/metrics
 *     curl 'http://127.0.0.1:8080/status?format=json'
 *
 * Usage: metrics [PORT [LOG]] (LOG: a file; default: standard output) */
#include <signal.h>
#include <stdlib.h>

#include <uv.h>
#include <uvhttp.h>

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_text(res, 200, "Hello\n");
}

/* Blocks the loop for 20 ms, which uvhttp_loop_delay_seconds shows. */
static int work(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uint64_t end = uv_hrtime() + 20 * 1000000;
    while (uv_hrtime() < end)
        ;
    return uvhttp_response_send_text(res, 200, "Done\n");
}

static void on_hangup(uvhttp_server_t *server, int number, void *log)
{
    uvhttp_access_log_reopen(log);
}

static void on_log_error(uvhttp_log_level_t level, const char *message, void *arg)
{
    fprintf(stderr, "%s\n", message);
}

static int serve(uvhttp_server_t *server, int port, uvhttp_access_log_t *log)
{
    uvhttp_server_on_finished(server, uvhttp_access_log_finished, log);
    int err = uvhttp_server_route(server, "GET", "/", hello, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/work", work, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/metrics", uvhttp_metrics_handle_request, server);
    if (err == 0)
        err = uvhttp_server_route_status(server, "/status");
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0)
        err = uvhttp_server_on_signal(server, SIGHUP, on_hangup, log);
    if (err)
        return err;

    printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
    fflush(stdout);
    return uvhttp_server_run(server);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_access_log_t *log;
    uvhttp_access_log_options_t config = {.path = argc > 2 ? argv[2] : "-",
                                          .format = UVHTTP_ACCESS_COMBINED,
                                          .flush_ms = 100,
                                          .log = on_log_error};
    int err = uvhttp_access_log_new(&log, &config, NULL);
    if (err == 0) {
        uvhttp_server_t *server = uvhttp_server_new(NULL);
        err = server == NULL ? UVHTTP_ENOMEM : serve(server, port, log);
        uvhttp_server_free(server);
        uvhttp_access_log_free(log);
    }
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
