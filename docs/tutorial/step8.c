/* Step 8 of the tutorial: an access log, and metrics for Prometheus. Usage: step8 [PORT [LOG]] */
#include <inttypes.h>
#include <stdlib.h>

#include <uvhttp.h>

static uvhttp_access_log_t *access_log;

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    return uvhttp_response_send_text(res, 200, "Hello\n");
}

/* The statistics as text. */
static int show_status(uvhttp_request_t *req, uvhttp_response_t *res, void *server)
{
    const uvhttp_stats_t *stats = uvhttp_server_stats(server);
    char text[200];
    snprintf(text, sizeof text,
             "%" PRIu64 " requests, %zu connections, half of all took %" PRIu64 " us at most\n",
             stats->total_requests, stats->active_connections, stats->latency.p50_us);
    return uvhttp_response_send_text(res, 200, text);
}

static int add_routes(uvhttp_server_t *server, const char *log)
{
    const uvhttp_access_log_options_t config = {
        .path = log, .format = UVHTTP_ACCESS_COMBINED, .flush_ms = 100};
    int err = uvhttp_access_log_new(&access_log, &config, NULL);
    if (err == 0)
        uvhttp_server_on_finished(server, uvhttp_access_log_finished, access_log);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/", hello, NULL);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/status", show_status, server);
    if (err == 0)
        err = uvhttp_server_route(server, "GET", "/metrics", uvhttp_metrics_handle_request, server);
    return err;
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 8080;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    int err = add_routes(server, argc > 2 ? argv[2] : "-");
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", port);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(server);
    if (err == 0) {
        printf("listening on http://127.0.0.1:%d/\n", uvhttp_server_port(server));
        fflush(stdout);
        err = uvhttp_server_run(server);
    }
    uvhttp_server_free(server);
    uvhttp_access_log_free(access_log);
    if (err)
        fprintf(stderr, "%s\n", uvhttp_strerror(err));
    return err != 0;
}
