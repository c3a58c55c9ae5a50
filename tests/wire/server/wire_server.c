/* wire_server: the server program of tests/wire. It has a route for every behaviour that a test
 * needs, accepts each number of uvhttp_config_t as a flag (--max_connections=4), and counts every
 * heap byte of uvhttp and libuv, which /stats reports. It prints "listening on 127.0.0.1:PORT" and
 * runs until SIGTERM. SIGUSR1 sends the responses of all pending exchanges, SIGUSR2 frees the
 * server with everything still open. Exit codes: 0 regular stop, 1 could not start, 2 invalid flag,
 * 3 the loop still has open handles at the end, 4 uvhttp leaks memory. */
#include "wire_server.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EXIT_NOT_STARTED = 1,
    EXIT_USAGE = 2,
    EXIT_LOOP_BUSY = 3,
    EXIT_LEAK = 4,
    MANY_ROUTES = 1000,
    SMALL_BODY_LIMIT = 16
};

struct app app;

/* ---- middleware ---- */

static int guard(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static char badge[] = "seen by the guard";
    (void)arg;
    app.seen_by_middleware++;
    if (uvhttp_request_header(req, "X-Refuse") != NULL)
        return uvhttp_response_send_status(res, 403);
    if (uvhttp_request_header(req, "X-Middleware-Fails") != NULL)
        return UVHTTP_EINVAL;
    uvhttp_request_set_user_data(req, badge);
    return UVHTTP_DECLINED;
}

static int guarded(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *badge = uvhttp_request_user_data(req);
    (void)arg;
    app.guarded_runs++;
    return uvhttp_response_send_text(res, 200, badge ? badge : "nobody");
}

/* ---- reporting ---- */

static int report(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uint64_t calls = atomic_load(&uvhttp_heap.calls), libuv_calls = atomic_load(&libuv_heap.calls);
    int64_t live = atomic_load(&uvhttp_heap.live), peak = atomic_exchange(&uvhttp_heap.peak, live);
    int64_t libuv_live = atomic_load(&libuv_heap.live);
    const uvhttp_stats_t *s = uvhttp_server_stats(app.server);
    char text[4096];
    (void)req, (void)arg;
    (void)snprintf(
        text, sizeof text,
        "{\"pid\":%d,\"active_connections\":%zu,\"idle_connections\":%zu,\"total_connections\":"
        "%" PRIu64 ",\"handshaking_connections\":%zu,\"reading_connections\":%zu"
        ",\"writing_connections\":%zu,\"closing_connections\":%zu,\"active_http2\":%zu"
        ",\"active_upgraded\":%zu,\"active_websockets\":%zu"
        ",\"rejected_connections\":%" PRIu64 ",\"total_requests\":%" PRIu64
        ",\"shed_requests\":%" PRIu64 ",\"responses_1xx\":%" PRIu64 ",\"responses_2xx\":%" PRIu64
        ",\"responses_3xx\":%" PRIu64 ",\"responses_4xx\":%" PRIu64 ",\"responses_5xx\":%" PRIu64
        ",\"parse_errors\":%" PRIu64 ",\"timeouts\":%" PRIu64 ",\"aborted_exchanges\":%" PRIu64
        ",\"bytes_received\":%" PRIu64 ",\"bytes_sent\":%" PRIu64 ",\"cache_hits\":%" PRIu64
        ",\"cache_misses\":%" PRIu64 ",\"memory\":%" PRIu64 ",\"aborts\":%" PRIu64
        ",\"releases\":%" PRIu64 ",\"deferred\":%" PRIu64 ",\"deferred_disconnected\":%" PRIu64
        ",\"guarded_runs\":%" PRIu64 ",\"seen_by_middleware\":%" PRIu64
        ",\"rejected_writes\":%" PRIu64 ",\"streams_closed\":%" PRIu64
        ",\"http2_connections\":%" PRIu64 ",\"http2_requests\":%" PRIu64
        ",\"http2_refused\":%" PRIu64 ",\"http2_errors\":%" PRIu64 ",\"tls_handshakes\":%" PRIu64
        ",\"tls_resumed\":%" PRIu64 ",\"tls_failures\":%" PRIu64
        ",\"last_error\":\"%s\",\"duplicate_error\":\"%s\",\"frozen_"
        "error\":\"%s\",\"heap_calls\":%" PRIu64 ",\"heap_live\":%" PRId64 ",\"heap_peak\":%" PRId64
        ",\"libuv_calls\":%" PRIu64 ",\"libuv_live\":%" PRId64 "}\n",
        (int)getpid(), s->active_connections, s->idle_connections, s->total_connections,
        s->handshaking_connections, s->reading_connections, s->writing_connections,
        s->closing_connections, s->active_http2, s->active_upgraded, s->active_websockets,
        s->rejected_connections, s->total_requests, s->shed_requests, s->responses_1xx,
        s->responses_2xx, s->responses_3xx, s->responses_4xx, s->responses_5xx, s->parse_errors,
        s->timeouts, s->aborted_exchanges, s->bytes_received, s->bytes_sent, s->cache_hits,
        s->cache_misses, s->memory, app.aborts, app.releases, app.deferred,
        app.deferred_disconnected, app.guarded_runs, app.seen_by_middleware, app.rejected_writes,
        app.streams_closed, s->http2_connections, s->http2_requests, s->http2_refused,
        s->http2_errors, s->tls_handshakes, s->tls_resumed, s->tls_failures,
        uvhttp_error_name(app.last_error), uvhttp_error_name(app.duplicate_error),
        uvhttp_error_name(app.frozen_error), calls, live, peak, libuv_calls, libuv_live);
    return uvhttp_response_send_json(res, 200, text);
}

static void log_line(uvhttp_log_level_t level, const char *message, void *arg)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    (void)arg;
    (void)fprintf(stderr, "%s: %s\n", names[level], message);
}

/* ---- start and end ---- */

static int code_invalid = UVHTTP_EINVAL;
static int code_memory = UVHTTP_ENOMEM;
static int code_declined = UVHTTP_DECLINED;

static const struct {
    const char *method, *pattern;
    uvhttp_handler_cb handler;
    void *arg;
    size_t max_body_size;
} routes[] = {
    {"GET", "/hello", hello, NULL, 0},
    {"POST", "/echo", echo, NULL, 0},
    {"PUT", "/echo", echo, NULL, 0},
    {"POST", "/digest", digest, NULL, 0},
    {"PUT", "/digest", digest, NULL, 0},
    {"POST", "/trailer", trailer, NULL, 0},
    {"POST", "/small-body", digest, NULL, SMALL_BODY_LIMIT},
    {NULL, "/inspect", inspect, NULL, 0},
    {NULL, "/inspect/*", inspect, NULL, 0},
    {NULL, "/any", any_method, NULL, 0},
    {"GET", "/get-put-delete", any_method, NULL, 0},
    {"PUT", "/get-put-delete", any_method, NULL, 0},
    {"DELETE", "/get-put-delete", any_method, NULL, 0},
    {"POST", "/post-only", any_method, NULL, 0},
    {"GET", "/users/:id", parameters, "user", 0},
    {"GET", "/users/me", parameters, "me", 0},
    {"GET", "/users/:id/posts/:post", parameters, "post", 0},
    {"GET", "/users/me/settings", parameters, "settings", 0},
    {"GET", "/files/*path", parameters, "file", 0},
    {"GET", "/glob/*", parameters, "glob", 0},
    {"GET", "/query", query, NULL, 0},
    {"GET", "/large", large, NULL, 0},
    {"GET", "/status/:id", status, NULL, 0},
    {"GET", "/field", set_field, NULL, 0},
    {"GET", "/long-field", long_field, NULL, 0},
    {"GET", "/cookies", cookies, NULL, 0},
    {"GET", "/redirect", redirect, NULL, 0},
    {"GET", "/send-file", send_file, NULL, 0},
    {"GET", "/send-descriptor", send_descriptor, NULL, 0},
    {"GET", "/close-after", close_after, NULL, 0},
    {"GET", "/fail", fail, &code_invalid, 0},
    {"GET", "/out-of-memory", fail, &code_memory, 0},
    {"GET", "/declined", fail, &code_declined, 0},
    {"GET", "/answer-twice", respond_twice, NULL, 0},
    {"GET", "/answer-and-fail", respond_and_fail, NULL, 0},
    {"GET", "/log", write_log, NULL, 0},
    {"GET", "/hold/:id", hold, NULL, 0},
    {"POST", "/hold/:id", hold, NULL, 0},
    {"GET", "/release/:id", release, NULL, 0},
    {"GET", "/held/:id", count_pending, NULL, 0},
    {"GET", "/defer", defer, NULL, 0},
    {"GET", "/open-gate", gate, NULL, 0},
    {"GET", "/guarded", guarded, NULL, 0},
    {"GET", "/stop", stop, NULL, 0},
    {"GET", "/spin/:ms", spin, NULL, 0},
    {"GET", "/alive", uvhttp_health_handle_live, NULL, 0},
};

/* With flags: streamed bodies, for example. */
#define ROUTE(verb, path, function)                          \
    {                                                        \
        .method = verb, .pattern = path, .handler = function \
    }
#define ROUTE_WITH(verb, path, function, ...)                             \
    {                                                                     \
        .method = verb, .pattern = path, .handler = function, __VA_ARGS__ \
    }
static const uvhttp_route_t stream_routes[] = {
    ROUTE_WITH("GET", "/stats", report, .flags = UVHTTP_ROUTE_NEVER_SHED),
    ROUTE("GET", "/pieces-out", stream_out),
    ROUTE("GET", "/pulled", pulled),
    ROUTE("GET", "/pieces-of-length", stream_of_length),
    ROUTE("GET", "/begin-and-fail", begin_and_fail),
    ROUTE("GET", "/trailers-out", trailers_out),
    ROUTE("GET", "/early-hints", early_hints),
    ROUTE_WITH("POST", "/pieces-digest", stream_digest, .flags = UVHTTP_ROUTE_STREAM),
    ROUTE_WITH("GET", "/pieces-digest", stream_digest, .flags = UVHTTP_ROUTE_STREAM),
    ROUTE_WITH("POST", "/pieces-small", stream_digest, .flags = UVHTTP_ROUTE_STREAM,
               .max_body_size = SMALL_BODY_LIMIT),
    ROUTE_WITH("POST", "/pieces-echo", stream_echo, .flags = UVHTTP_ROUTE_STREAM),
    ROUTE("GET", "/pieces-go-on", resume_paused),
    ROUTE("GET", "/count-paused", count_paused),
    ROUTE("GET", "/decide", decide),
    ROUTE("POST", "/form-field", form_field),
    ROUTE("GET", "/one-cookie", one_cookie),
    ROUTE("GET", "/set-cookies", set_cookies),
    ROUTE("GET", "/events", events),
    ROUTE_WITH("PUT", "/upload/:name", upload, .flags = UVHTTP_ROUTE_STREAM),
    ROUTE("PUT", "/upload-whole/:name", upload),
    ROUTE_WITH("PUT", "/upload-small/:name", upload, .flags = UVHTTP_ROUTE_STREAM,
               .max_body_size = SMALL_BODY_LIMIT),
    ROUTE_WITH("POST", "/form-data", form_data, .flags = UVHTTP_ROUTE_STREAM),
    ROUTE("GET", "/hub", hub_listen),
    ROUTE("POST", "/hub", hub_publish),
    ROUTE("GET", "/silent-events", silent_events),
    ROUTE_WITH("POST", "/pieces-ticking", stream_ticking, .flags = UVHTTP_ROUTE_STREAM),
    ROUTE_WITH("POST", "/pieces-answered-meanwhile", respond_while_reading,
               .flags = UVHTTP_ROUTE_STREAM),
    ROUTE("GET", "/many-jobs", many_jobs),
    ROUTE_WITH("GET", "/hold-briefly/:id", hold, .handler_timeout = 1, .timeout_status = 504),
    ROUTE_WITH("GET", "/defer-briefly", defer, .handler_timeout = 1),
    ROUTE_WITH("POST", "/small-patience", digest, .body_timeout = 1),
    ROUTE_WITH("GET", "/large-briefly", large, .write_timeout = 1),
    ROUTE_WITH("GET", "/pieces-briefly", stream_out, .write_timeout = 1),
};

static int add_routes(uvhttp_server_t *server)
{
    static char methods[][12] = {
#define METHOD_NAME(id, name) name,
        UVHTTP_METHOD_MAP(METHOD_NAME)
#undef METHOD_NAME
    };
    uvhttp_router_t *router = uvhttp_server_router(server);
    int err = uvhttp_server_use(server, watch_responses, NULL);
    if (err == 0)
        err = uvhttp_server_use(server, defer_decision, NULL);
    if (err == 0)
        err = uvhttp_server_use(server, guard, NULL);
    if (err == 0)
        err = add_routing(router);
    if (err == 0)
        err = add_streams(router);
    if (err == 0)
        err = add_tunnel(router);
    if (err == 0)
        err = add_blocking(router);
    if (err == 0)
        err = add_guards(server);
    if (err == 0)
        err = add_queries(router);
    if (err == 0)
        err = add_limited(router);
#ifdef UVHTTP_TESTS_WEBSOCKET
    if (err == 0)
        err = add_websockets(server);
#endif
    for (size_t i = 0; err == 0 && i < sizeof stream_routes / sizeof *stream_routes; i++)
        err = uvhttp_router_add(router, &stream_routes[i]);
    for (size_t i = 0; err == 0 && i < sizeof routes / sizeof *routes; i++)
        err =
            uvhttp_router_add(router, &(uvhttp_route_t){.method = routes[i].method,
                                                        .pattern = routes[i].pattern,
                                                        .handler = routes[i].handler,
                                                        .arg = routes[i].arg,
                                                        .max_body_size = routes[i].max_body_size});
    for (size_t i = 0; err == 0 && i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i], "CONNECT") != 0)
            err = uvhttp_server_route(server, methods[i], "/by-method", by_method, methods[i]);
    }
    for (int i = 0; err == 0 && i < MANY_ROUTES; i++) {
        static char names[MANY_ROUTES][16];
        char pattern_text[32];
        (void)snprintf(names[i], sizeof names[i], "many %d", i);
        (void)snprintf(pattern_text, sizeof pattern_text, "/many/%d/:id", i);
        err = uvhttp_server_route(server, "GET", pattern_text, parameters, names[i]);
    }
    app.duplicate_error = uvhttp_server_route(server, "GET", "/hello", echo, NULL);
    return err;
}

static bool read_flag(uvhttp_config_t *config, int *port, const char *flag)
{
#define NUMBER(field)                            \
    {                                            \
#field, offsetof(uvhttp_config_t, field) \
    }
    static const struct {
        const char *name;
        size_t offset;
    } numbers[] = {NUMBER(max_connections),
                   NUMBER(listen_backlog),
                   NUMBER(keep_alive_timeout),
                   NUMBER(header_timeout),
                   NUMBER(body_timeout),
                   NUMBER(write_timeout),
                   NUMBER(handler_timeout),
                   NUMBER(linger_timeout),
                   NUMBER(drain_delay),
                   NUMBER(drain_timeout),
                   NUMBER(drain_grace),
                   NUMBER(event_heartbeat),
                   NUMBER(max_target_size),
                   NUMBER(max_header_size),
                   NUMBER(max_header_count),
                   NUMBER(max_body_size),
                   NUMBER(max_trailer_size),
                   NUMBER(max_chunk_extension),
                   NUMBER(max_requests_per_connection),
                   NUMBER(max_connection_age),
                   NUMBER(blocking_threads),
                   NUMBER(blocking_queue),
                   NUMBER(blocking_wait_ms),
                   NUMBER(write_backlog),
                   NUMBER(response_cache_memory),
                   NUMBER(buffer_size),
                   NUMBER(handshake_timeout),
                   NUMBER(handshake_threads),
                   NUMBER(max_handshakes),
                   NUMBER(overload_guard),
                   NUMBER(overload_target_ms),
                   NUMBER(overload_interval_ms),
                   NUMBER(stuck_loop_ms),
                   NUMBER(route_stats),
                   NUMBER(http2),
                   NUMBER(http2_max_streams),
                   NUMBER(http2_stream_window),
                   NUMBER(http2_connection_window),
                   NUMBER(http2_header_table),
                   NUMBER(http2_control_frames),
                   NUMBER(http2_resets),
                   NUMBER(http2_total_resets),
                   NUMBER(http2_ping_interval)};
#undef NUMBER
    const char *equals = strchr(flag, '=');
    if (strncmp(flag, "--", 2) != 0 || equals == NULL)
        return false;
    if (strncmp(flag, "--tls=", 6) == 0) { /* a file with certificate and key */
        app.certificate = equals + 1;
        return true;
    }
    if (strncmp(flag, "--tls-version=", 14) == 0) { /* the only version: uvhttp_tls_version_t */
        app.version = (uvhttp_tls_version_t)strtol(equals + 1, NULL, 10);
        return true;
    }
    if (strncmp(flag, "--port=", 7) == 0) {
        *port = (int)strtol(equals + 1, NULL, 10);
        return true;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t length = strlen(numbers[i].name);
        if ((size_t)(equals - flag) != length + 2 || memcmp(flag + 2, numbers[i].name, length) != 0)
            continue;
        size_t number = (size_t)strtoull(equals + 1, NULL, 10);
        memcpy((char *)config + numbers[i].offset, &number, sizeof number);
        return true;
    }
    return false;
}

static void on_release_signal(uv_signal_t *handle, int number)
{
    (void)handle, (void)number;
    release_all();
}

/* Stops the loop, so that uvhttp_server_free must close everything that is open. */
static void on_leave_signal(uv_signal_t *handle, int number)
{
    (void)number;
    uv_close((uv_handle_t *)&app.release_signal, NULL);
    uv_close((uv_handle_t *)&app.leave_signal, NULL);
    uv_stop(handle->loop);
}

/* With a loop of the caller, uv_run ends when the server has no open handle. The signal handle
 * belongs to us. */
static void on_stopped(uvhttp_server_t *server, void *arg)
{
    (void)server, (void)arg;
    if (uv_is_closing((uv_handle_t *)&app.release_signal))
        return;
    uv_close((uv_handle_t *)&app.release_signal, NULL);
    uv_close((uv_handle_t *)&app.leave_signal, NULL);
}

static void watch_signal(uv_loop_t *loop, uv_signal_t *handle, uv_signal_cb callback, int number)
{
    (void)uv_signal_init(loop, handle);
    (void)uv_signal_start(handle, callback, number);
    uv_unref((uv_handle_t *)handle);
}

/* The certificate lives as long as the server. */
static int listen_tls(int port)
{
    uvhttp_error_t error;
    uvhttp_tls_t *tls;
    const uvhttp_tls_certificate_t certificate = {.certificate_file = app.certificate};
    int err = uvhttp_tls_new(&tls,
                             &(uvhttp_tls_options_t){.certificates = &certificate,
                                                     .certificate_count = 1,
                                                     .min_version = app.version,
                                                     .max_version = app.version,
                                                     .ktls = getenv("UVHTTP_TEST_KTLS") != NULL,
                                                     .allocator = &counting_allocator},
                             &error);
    if (err != 0) {
        (void)fprintf(stderr, "wire_server: %s\n", error.text);
        return err;
    }
    err = uvhttp_server_listen_tls(app.server, "127.0.0.1", port, tls);
    uvhttp_tls_free(tls);
    return err;
}

static int start(uv_loop_t *loop, const uvhttp_config_t *config, int port)
{
    int err;
    app.server = uvhttp_server_new_with(loop, config);
    err = add_routes(app.server);
    if (err == 0)
        err = uvhttp_server_stop_on_signals(app.server);
    if (err == 0)
        err = app.certificate != NULL ? listen_tls(port)
                                      : uvhttp_server_listen(app.server, "127.0.0.1", port);
    if (err != 0)
        return err;
    app.frozen_error = uvhttp_server_route(app.server, "GET", "/too-late", hello, NULL);
    uvhttp_server_on_stopped(app.server, on_stopped, NULL);
    watch_signal(loop, &app.release_signal, on_release_signal, SIGUSR1);
    watch_signal(loop, &app.leave_signal, on_leave_signal, SIGUSR2);
    (void)printf("listening on 127.0.0.1:%d\n", uvhttp_server_port(app.server));
    (void)fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    uv_loop_t loop;
    uvhttp_config_t *config;
    int port = 0, err, busy;
    count_libuv();
    config = uvhttp_config_new();
    if (config == NULL)
        return EXIT_NOT_STARTED;
    config->allocator = &counting_allocator;
    config->log = log_line;
    for (int i = 1; i < argc; i++) {
        if (read_flag(config, &port, argv[i]))
            continue;
        (void)fprintf(stderr, "wire_server: unknown flag %s\n", argv[i]);
        uvhttp_config_free(config);
        return EXIT_USAGE;
    }
    if (uv_loop_init(&loop) != 0 || gate_init() != 0)
        return EXIT_NOT_STARTED;
    err = start(&loop, config, port);
    uvhttp_config_free(config);
    if (err != 0)
        (void)fprintf(stderr, "wire_server: %s: %s\n", uvhttp_error_name(err),
                      uvhttp_strerror(err));
    if (err == 0)
        (void)uv_run(&loop, UV_RUN_DEFAULT);
    hub_release();
    uvhttp_server_free(app.server);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    busy = uv_loop_close(&loop);
    free(app.pattern);
    gate_release();
    if (busy != 0)
        return EXIT_LOOP_BUSY;
    if (atomic_load(&uvhttp_heap.live) != 0) {
        (void)fprintf(stderr, "wire_server: uvhttp kept %" PRId64 " bytes\n",
                      atomic_load(&uvhttp_heap.live));
        return EXIT_LEAK;
    }
    return err == 0 ? 0 : EXIT_NOT_STARTED;
}
