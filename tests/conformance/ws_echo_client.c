/* A client that echoes the messages of a conformance suite's fuzzing server (`./dev conformance
 * websocket client`). It requests the number of cases, runs each case on its own connection, one
 * after the other, and has the report written.
 *
 * Usage: ws_echo_client [--compression=not|shared|dedicated] URL AGENT. Exits with 1 if the suite
 * cannot be queried. */
#include "ws_echo.h"

enum { URL_SIZE = 512 };

static struct run {
    uvhttp_server_t *server;
    uvhttp_websocket_endpoint_t *querying, *echoing;
    const char *base, *agent;
    long count; /* number of cases; 0 until the suite has reported it */
    long next;
    bool reported, failed;
} run;

static void connect_to(uvhttp_websocket_endpoint_t *endpoint, const char *url)
{
    int err = uvhttp_websocket_connect(endpoint, &(uvhttp_websocket_target_t){.url = url}, NULL,
                                       NULL, NULL);
    if (err == 0)
        return;
    (void)fprintf(stderr, "ws_echo_client: %s: %s\n", url, uvhttp_error_name(err));
    run.failed = true;
    uvhttp_server_stop(run.server);
}

static void run_next(void)
{
    char url[URL_SIZE];
    if (run.next <= run.count) {
        (void)snprintf(url, sizeof url, "%s/runCase?case=%ld&agent=%s", run.base, run.next++,
                       run.agent);
        connect_to(run.echoing, url);
    } else if (!run.reported) {
        run.reported = true;
        (void)snprintf(url, sizeof url, "%s/updateReports?agent=%s", run.base, run.agent);
        connect_to(run.querying, url);
    } else {
        uvhttp_server_stop(run.server);
    }
}

static void on_count(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                     size_t size, void *arg)
{
    char text[16] = "";
    (void)ws, (void)kind, (void)arg;
    memcpy(text, data, size < sizeof text ? size : sizeof text - 1);
    run.count = strtol(text, NULL, 10);
}

static void on_count_closed(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    (void)ws, (void)arg;
    if (run.count == 0) {
        (void)fprintf(stderr,
                      "ws_echo_client: the suite does not say how many cases it has: %u %s\n", code,
                      reason);
        run.failed = true;
        uvhttp_server_stop(run.server);
        return;
    }
    run_next();
}

/* The suite evaluates the result of a case. */
static void on_case_closed(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    (void)ws, (void)code, (void)reason, (void)arg;
    run_next();
}

static int prepare(uvhttp_websocket_options_t *echo)
{
    uvhttp_websocket_options_t query = {.events = {.message = on_count, .close = on_count_closed}};
    uvhttp_error_t error = {0};
    int err = uvhttp_websocket_endpoint_new(&run.querying, run.server, &query, &error);
    echo->events.close = on_case_closed;
    if (err == 0)
        err = uvhttp_websocket_endpoint_new(&run.echoing, run.server, echo, &error);
    if (err != 0)
        (void)fprintf(stderr, "ws_echo_client: %s\n", error.text);
    return err;
}

int main(int argc, char **argv)
{
    uvhttp_websocket_options_t options = ws_echo_options();
    char url[URL_SIZE];
    if (!ws_echo_parse_compression(&argc, &argv, &options) || argc != 3) {
        (void)fprintf(stderr,
                      "usage: ws_echo_client [--compression=not|shared|dedicated] URL AGENT\n");
        return 2;
    }
    run = (struct run){
        .server = uvhttp_server_new(NULL), .base = argv[1], .agent = argv[2], .next = 1};
    int err = prepare(&options);
    /* No client connects to this listener. The client connections need a running server. */
    if (err == 0)
        err = uvhttp_server_listen(run.server, "127.0.0.1", 0);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(run.server);
    if (err == 0) {
        (void)snprintf(url, sizeof url, "%s/getCaseCount", run.base);
        connect_to(run.querying, url);
        err = uvhttp_server_run(run.server);
    }
    uvhttp_server_free(run.server);
    if (err != 0)
        (void)fprintf(stderr, "ws_echo_client: %s\n", uvhttp_strerror(err));
    return err != 0 || run.failed;
}
