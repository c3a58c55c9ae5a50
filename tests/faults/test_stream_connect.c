/* Outgoing streams: successful and failing connections, and a server that has only such streams.
 * This file replaces getaddrinfo, so that a test controls the result and duration of a lookup. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <uvhttp/embedding.h>
#include <uvhttp/stream.h>

#include "base/compiler.h"
#include "conn/conn.h"
#include "conn/stream.h"
#include "conn/stream_connect.h"
#include "server/server.h"
#include "support/raw_peer.h"
#include "support/stage.h"

enum { LONG = 600000, MAX_ALLOCATIONS = 60, TRACE_SIZE = 65536, FULL = 3 };

static struct stage stage;
static uvhttp_stream_t *stream;
/* 'c' connected, 'e' failed, the data, '.' end of input, 's' stopping, '!' closed */
static char trace[TRACE_SIZE];
static int error;
static void (*on_connected_hook)(void); /* called by on_connected */
static int listener, port;
static int peer; /* the accepted connection; -1: none */

/* ---- name lookup ---- */

/* or libuv would call the system's functions */
#define EXPORTED __attribute__((visibility("default")))

/* Lookups block while it is locked. */
static pthread_mutex_t lookup_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint lookups; /* lookups that have started */

static struct addrinfo *make_address(int family, uint32_t address, const char *service,
                                     struct addrinfo *next)
{
    struct addrinfo *created = calloc(1, sizeof(*created) + sizeof(struct sockaddr_in));
    assert_non_null(created);
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)(created + 1);
    in->sin_family = (sa_family_t)family;
    in->sin_port = htons((uint16_t)strtol(service, NULL, 10));
    in->sin_addr.s_addr = htonl(address);
    *created = (struct addrinfo){.ai_family = family,
                                 .ai_socktype = SOCK_STREAM,
                                 .ai_addr = (struct sockaddr *)(void *)in,
                                 .ai_addrlen = sizeof(*in),
                                 .ai_next = next};
    return created;
}

/* "one" is this machine. "three" is two addresses that fail and then this machine. "silent" is an
 * address that does not respond and then this machine. "none" has no address. */
EXPORTED int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                         struct addrinfo **found)
{
    assert_int_equal(hints->ai_socktype, SOCK_STREAM);
    atomic_fetch_add(&lookups, 1);
    pthread_mutex_lock(&lookup_mutex);
    pthread_mutex_unlock(&lookup_mutex);
    *found = NULL;
    if (strcmp(name, "none") == 0)
        return 0;
    if (strcmp(name, "one") != 0 && strcmp(name, "three") != 0 && strcmp(name, "silent") != 0)
        return EAI_NONAME;
    *found = make_address(AF_INET, INADDR_LOOPBACK, service, NULL);
    if (strcmp(name, "three") == 0) {
        /* refuses connections */
        *found = make_address(AF_INET, INADDR_LOOPBACK + 1, service, *found);
        *found = make_address(AF_UNIX, 0, service, *found);
    } else if (strcmp(name, "silent") == 0) {
        *found = make_address(AF_INET, INADDR_LOOPBACK + 1, service, *found);
    }
    return 0;
}

EXPORTED void freeaddrinfo(struct addrinfo *found)
{
    while (found != NULL) {
        struct addrinfo *next = found->ai_next;
        free(found);
        found = next;
    }
}

/* ---- events ---- */

static void add_to_trace(const char *data, size_t size)
{
    size_t length = strlen(trace);
    assert_true(length + size < sizeof(trace));
    memcpy(trace + length, data, size);
    trace[length + size] = '\0';
}

static void on_connected(uvhttp_stream_t *of, int status, void *arg)
{
    assert_ptr_equal(of, stream);
    assert_ptr_equal(arg, &stage);
    assert_int_equal(uvhttp_stream_write(of, "", 0), status == 0 ? 0 : UVHTTP_EDISCONNECTED);
    error = status;
    add_to_trace(status == 0 ? "c" : "e", 1);
    if (on_connected_hook != NULL)
        on_connected_hook();
}

static void on_data(uvhttp_stream_t *of, char *data, size_t size, void *arg)
{
    assert_ptr_equal(of, stream);
    assert_ptr_equal(arg, &stage);
    add_to_trace(size == 0 ? "." : data, size == 0 ? 1 : size);
}

static void on_stopping(uvhttp_stream_t *of, void *arg)
{
    (void)arg;
    add_to_trace("s", 1);
    uvhttp_stream_end(of);
}

static void on_closed(uvhttp_stream_t *of, void *arg)
{
    assert_ptr_equal(of, stream);
    assert_ptr_equal(arg, &stage);
    assert_int_equal(uvhttp_stream_write(of, "x", 1), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_stream_pending(of), 0);
    add_to_trace("!", 1);
    stream = NULL;
}

static int connect_to(const char *host, int peer_port, uint32_t timeout_ms)
{
    static const uvhttp_stream_events_t events = {
        .data = on_data, .stopping = on_stopping, .closed = on_closed};
    trace[0] = '\0';
    error = 0;
    return uvhttp_stream_connect(stage.server, host, peer_port, timeout_ms, on_connected, &events,
                                 &stage, &stream);
}

static void assert_connecting(const char *host, uint32_t timeout_ms)
{
    assert_int_equal(connect_to(host, port, timeout_ms), 0);
    assert_non_null(stream);
    assert_string_equal(trace, ""); /* no event before the call has returned */
    assert_int_equal(uvhttp_stream_write(stream, "x", 1), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_stream_pending(stream), 0);
}

static void run_until_trace(const char *expected)
{
    for (int iteration = 0; iteration < 5000 && strcmp(trace, expected) != 0; iteration++)
        stage_wait(&stage);
    assert_string_equal(trace, expected);
}

/* ---- the peer ---- */

static void start_listener(int backlog)
{
    port = 0;
    listener = raw_peer_listen(INADDR_LOOPBACK, &port, backlog);
}

static void accept_peer(void)
{
    peer = raw_peer_accept(listener); /* does not block */
}

static void assert_peer_receives(const char *text)
{
    raw_peer_expect(peer, text);
}

static void close_peer(bool reset)
{
    raw_peer_close(peer, reset);
    peer = -1;
}

static void begin(void)
{
    stage_begin(&stage);
    stream = NULL;
    on_connected_hook = NULL;
    trace[0] = '\0';
    peer = -1;
    start_listener(16);
    stage.config->linger_timeout = 1;
    assert_non_null(stage_new_server(&stage));
}

static void end(void)
{
    if (peer >= 0)
        close(peer);
    if (listener >= 0)
        close(listener);
    stage_end(&stage);
    assert_null(stream);
}

/* ---- success ---- */

static void send_hello(void)
{
    assert_int_equal(uvhttp_stream_write(stream, "hel", 3), 0);
    assert_int_equal(uvhttp_stream_write(stream, "lo", 2), 0);
}

static void exchange_data(const char *host, uint32_t timeout_ms)
{
    begin();
    on_connected_hook = send_hello;
    assert_connecting(host, timeout_ms);
    run_until_trace("c");
    accept_peer();
    assert_peer_receives("hello");
    assert_int_equal(send(peer, "welcome", 7, 0), 7);
    run_until_trace("cwelcome");
    assert_int_equal(uvhttp_stream_write(stream, "bye", 3), 0);
    uvhttp_stream_end(stream);
    assert_peer_receives("bye");
    close_peer(false);
    run_until_trace("cwelcome!");
    end();
}

static void connected_stream_sends_and_receives(void **state)
{
    (void)state;
    exchange_data("127.0.0.1", 0);
    exchange_data("127.0.0.1", LONG);
}

static void host_name_is_looked_up(void **state)
{
    (void)state;
    exchange_data("one", LONG);
    exchange_data("one", 0);
}

static void failed_address_tries_next(void **state)
{
    (void)state;
    exchange_data("three", LONG);
}

static void ipv6_address_connects(void **state)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof(address);
    (void)state;
    begin();
    int other = socket(AF_INET6, SOCK_STREAM, 0);
    if (other < 0 || bind(other, (struct sockaddr *)(void *)&address, size) != 0) {
        close(other);
        end();
        skip(); /* no IPv6 on this machine */
    }
    close(listener);
    listener = other;
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)(void *)&address, &size), 0);
    port = ntohs(address.sin6_port);
    assert_connecting("::1", LONG);
    run_until_trace("c");
    uvhttp_stream_close(stream);
    end();
}

/* The server connects to itself. The response arrives, and only the accepted connection counts as a
 * connection. */
static int send_content(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "content");
}

static void send_request(void)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    assert_int_equal(uvhttp_stream_write(stream, request, sizeof(request) - 1), 0);
}

static void outgoing_stream_not_counted_as_connection(void **state)
{
    struct raw_client client;
    (void)state;
    begin();
    stage.config->max_connections = 1;
    uvhttp_server_free(stage.server);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_content, NULL), 0);
    stage_listen(&stage);
    on_connected_hook = send_request;
    assert_int_equal(connect_to("127.0.0.1", uvhttp_server_port(stage.server), LONG), 0);
    for (int iteration = 0; iteration < 5000 && strstr(trace, "content.") == NULL; iteration++)
        stage_wait(&stage);
    assert_non_null(strstr(trace, "cHTTP/1.1 200 "));
    assert_non_null(strstr(trace, "content."));
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    assert_int_equal(stats->total_connections, 1);
    assert_int_equal(stats->active_connections, 0);
    assert_int_equal(stats->rejected_connections, 0);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0); /* the stream is still open */
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    assert_memory_equal(client.data, "HTTP/1.1 200 ", 13);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, 1);
    raw_client_close(&client, false);
    uvhttp_stream_close(stream);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, 1);
    end();
}

/* The first operation of the stream is a write, which is also what the connection attempt has
 * waited for. */
static void pause_and_fill(void)
{
    static const char bytes[100000];
    uvhttp_stream_set_backlog(stream, (size_t)1 << 30);
    uvhttp_stream_pause(stream);
    while (uvhttp_stream_pending(stream) == 0)
        assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    assert_int_equal(uvhttp_stream_write(stream, "last", 4), 0);
}

static void large_write_in_on_connected_completes(void **state)
{
    char bytes[65536];
    (void)state;
    begin();
    on_connected_hook = pause_and_fill;
    assert_connecting("127.0.0.1", LONG);
    run_until_trace("c");
    accept_peer();
    char last[4] = "";
    for (int iteration = 0; iteration < 100000 && memcmp(last, "last", 4) != 0; iteration++) {
        ssize_t count = recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (count >= 4)
            memcpy(last, bytes + count - 4, 4);
        stage_iterate(&stage);
    }
    assert_memory_equal(last, "last", 4);
    uvhttp_stream_close(stream);
    assert_string_equal(trace, "c!");
    end();
}

static void pause_before_connected_delays_data(void **state)
{
    (void)state;
    begin();
    assert_connecting("127.0.0.1", LONG);
    uvhttp_stream_pause(stream);
    run_until_trace("c");
    accept_peer();
    assert_int_equal(send(peer, "early", 5, 0), 5);
    stage_iterations(&stage, 10);
    assert_string_equal(trace, "c");
    uvhttp_stream_resume(stream);
    run_until_trace("cearly");
    uvhttp_stream_close(stream);
    end();
}

/* ---- failure ---- */

static void assert_fails(const char *host, uint32_t timeout_ms, int code)
{
    assert_connecting(host, timeout_ms);
    run_until_trace("e!");
    assert_int_equal(error, code);
    assert_null(stream);
}

static void connect_failure_reports_error(void **state)
{
    (void)state;
    begin();
    assert_fails("nobody", LONG, UV_EAI_NONAME);
    assert_fails("none", LONG, UV_EAI_NODATA);
    close(listener);
    listener = -1;
    assert_fails("127.0.0.1", LONG, UV_ECONNREFUSED);
    assert_fails("127.0.0.1", 0, UV_ECONNREFUSED);
    assert_fails("three", LONG, UV_ECONNREFUSED); /* the error of the last address */
    end();
}

static void immediate_failure_reported_asynchronously(void **state)
{
    (void)state;
    begin();
    assert_fails("255.255.255.255", LONG, UV_ENETUNREACH);
    end();
}

static void connect_without_descriptors_fails(void **state)
{
    struct rlimit limit, none;
    (void)state;
    begin();
    assert_connecting("one", LONG);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int iteration = 0; iteration < 5000 && stream != NULL; iteration++)
        stage_wait(&stage);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_string_equal(trace, "e!");
    assert_int_equal(error, UV_EMFILE);
    end();
}

/* A full accept queue does not accept connections. */
static void fill_queue(uint32_t of, int queued[FULL])
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(of), .sin_port = htons((uint16_t)port)};
    for (size_t i = 0; i < FULL; i++) {
        queued[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(queued[i], (struct sockaddr *)(void *)&address, sizeof(address));
    }
}

static void empty_queue(const int queued[FULL])
{
    for (size_t i = 0; i < FULL; i++)
        close(queued[i]);
}

static void connect_timeout_fails_attempt(void **state)
{
    int queued[FULL];
    (void)state;
    begin();
    close(listener);
    start_listener(0);
    fill_queue(INADDR_LOOPBACK, queued);
    assert_fails("127.0.0.1", 1, UV_ETIMEDOUT);
    empty_queue(queued);
    end();
}

static void connect_timeout_shared_by_addresses(void **state)
{
    (void)state;
    assert_int_equal(uvh_stream_connect_share(10000, 1), 10000);
    assert_int_equal(uvh_stream_connect_share(10000, 4), 2500);
    /* a useful time for some addresses instead of a short one for all */
    assert_int_equal(uvh_stream_connect_share(1000, 100), 250);
    assert_int_equal(uvh_stream_connect_share(100, 3), 100);
    assert_int_equal(uvh_stream_connect_share(0, 3), 1);
}

/* The time of the first address has expired, not that of all. The test does not wait for it. */
static void silent_address_gets_share_of_timeout(void **state)
{
    int queued[FULL];
    (void)state;
    begin();
    int silent = raw_peer_listen(INADDR_LOOPBACK + 1, &port, 0);
    fill_queue(INADDR_LOOPBACK + 1, queued);
    assert_connecting("silent", LONG);
    struct uvh_conn_shared *conns = &uvh_server_of(stage.server)->workers[0].conns;
    for (int iteration = 0; iteration < 5000 && conns->poller.count == 0; iteration++)
        stage_wait(&stage);
    assert_string_equal(trace, "");
    uint64_t left = stream->timer.deadline - uv_now(&stage.loop);
    assert_in_range(left, LONG / 2 - LONG / 10, LONG / 2 + LONG / 10);
    uvh_stream_on_timer(stream);
    assert_string_equal(trace, "");
    run_until_trace("c");
    assert_true(uvh_list_empty(&stream->timer.link));
    uvhttp_stream_close(stream);
    empty_queue(queued);
    close(silent);
    end();
}

static void connect_timeout_includes_lookup(void **state)
{
    (void)state;
    begin();
    pthread_mutex_lock(&lookup_mutex);
    assert_fails("one", 1, UV_ETIMEDOUT);
    pthread_mutex_unlock(&lookup_mutex);
    end();
}

static void loop_close_does_not_wait_for_lookup(void **state)
{
    (void)state;
    unsigned before = atomic_load(&lookups);
    begin();
    pthread_mutex_lock(&lookup_mutex);
    assert_connecting("one", LONG);
    for (int iteration = 0; iteration < 5000 && atomic_load(&lookups) == before; iteration++)
        stage_wait(&stage);
    assert_int_equal(atomic_load(&lookups), before + 1);
    end(); /* closes its loop */
    pthread_mutex_unlock(&lookup_mutex);
    begin(); /* and the next connection succeeds */
    assert_connecting("one", LONG);
    run_until_trace("c");
    uvhttp_stream_close(stream);
    end();
}

static void immediate_peer_close_is_reported(void **state)
{
    (void)state;
    begin();
    assert_connecting("127.0.0.1", LONG);
    stage_iterate(&stage);
    accept_peer();
    close_peer(false);
    run_until_trace("c.");
    uvhttp_stream_end(stream);
    run_until_trace("c.!");
    assert_connecting("127.0.0.1", LONG);
    run_until_trace("c");
    accept_peer();
    close_peer(true);
    run_until_trace("c!");
    assert_connecting("127.0.0.1", LONG);
    stage_iterate(&stage);
    accept_peer();
    close_peer(true); /* perhaps before the stream has reported the connection */
    for (int iteration = 0; iteration < 5000 && stream != NULL; iteration++)
        stage_wait(&stage);
    assert_true(strcmp(trace, "c!") == 0 || strcmp(trace, "e!") == 0);
    end();
}

static void invalid_connect_params_get_einval(void **state)
{
    static const uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed};
    static const uvhttp_stream_events_t deaf = {.closed = on_closed}, endless = {.data = on_data};
    uvhttp_stream_t *other = (uvhttp_stream_t *)(void *)&stage;
    (void)state;
    begin();
    uvhttp_server_t *server = stage.server;
    assert_int_equal(connect_to("127.0.0.1", 0, 0), UVHTTP_EINVAL);
    assert_int_equal(connect_to("127.0.0.1", 65536, 0), UVHTTP_EINVAL);
    assert_int_equal(connect_to("127.0.0.1", -1, 0), UVHTTP_EINVAL);
    assert_int_equal(connect_to(NULL, 80, 0), UVHTTP_EINVAL);
    assert_int_equal(connect_to("", 80, 0), UVHTTP_EINVAL);
    assert_int_equal(connect_to("127.0.0.1", 80, UINT32_MAX), UVHTTP_EINVAL);
    assert_null(stream);
    assert_int_equal(uvhttp_stream_connect(server, "::1", 80, 0, on_connected, &deaf, NULL, &other),
                     UVHTTP_EINVAL);
    assert_null(other);
    assert_int_equal(
        uvhttp_stream_connect(server, "::1", 80, 0, on_connected, &endless, NULL, &other),
        UVHTTP_EINVAL);
    assert_int_equal(uvhttp_stream_connect(server, "::1", 80, 0, NULL, &events, NULL, &other),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_stream_connect(NULL, "::1", 80, 0, on_connected, &events, NULL, &other),
                     UVHTTP_ENOMEM);
    assert_string_equal(trace, "");
    end();
}

static void connect_survives_allocation_failures(void **state)
{
    size_t n = 1;
    (void)state;
    for (int err = UVHTTP_ENOMEM; err != 0; n++) {
        assert_true(n < MAX_ALLOCATIONS);
        begin();
        fault_heap_arm(&stage.heap, n, false);
        err = connect_to(n % 2 == 0 ? "one" : "127.0.0.1", port, LONG);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        assert_true((err == 0) == (stream != NULL));
        if (err == 0) { /* the attempt allocates a connection */
            for (int iteration = 0; iteration < 5000 && trace[0] == '\0'; iteration++)
                stage_wait(&stage);
            bool failed = atomic_load(&stage.heap.failures) > 0;
            assert_string_equal(trace, failed ? "e!" : "c");
            err = failed ? UVHTTP_ENOMEM : 0;
        } else if (n % 3 == 0) { /* a failed call can be repeated */
            assert_connecting("127.0.0.1", LONG);
            run_until_trace("c");
        }
        end();
    }
    assert_true(n > 5);
}

/* ---- cancellation ---- */

static void close_stream(void)
{
    uvhttp_stream_close(stream);
    assert_null(stream);
}

static void end_stream(void)
{
    uvhttp_stream_end(stream);
}

/* Cancels the connection after `iterations`. Only the closed event follows. */
static void cancel_after(const char *host, int iterations, bool block_lookup, void (*cancel)(void))
{
    begin();
    if (block_lookup)
        pthread_mutex_lock(&lookup_mutex);
    assert_connecting(host, LONG);
    stage_iterations(&stage, iterations);
    assert_string_equal(trace, "");
    cancel();
    assert_string_equal(trace, "!");
    stage_iterations(&stage, 3);
    if (block_lookup)
        pthread_mutex_unlock(&lookup_mutex);
    end();
    assert_string_equal(trace, "!");
}

static void connecting_stream_can_be_cancelled(void **state)
{
    (void)state;
    cancel_after("127.0.0.1", 0, false, close_stream);
    cancel_after("127.0.0.1", 0, false, end_stream);
    cancel_after("one", 0, true, close_stream);
    cancel_after("one", 3, true, close_stream);
    cancel_after("one", 3, true, end_stream);
}

static void connection_attempt_can_be_cancelled(void **state)
{
    (void)state;
    begin();
    assert_connecting("127.0.0.1", LONG);
    struct uvh_conn_shared *conns = &uvh_server_of(stage.server)->workers[0].conns;
    /* alone, so that no iteration checks the result of the attempt */
    uvh_stream_connect_resume(conns);
    assert_int_equal(conns->poller.count, 1);
    close_stream();
    end();
    assert_string_equal(trace, "!");
}

static void close_in_on_connected_is_allowed(void **state)
{
    (void)state;
    begin();
    on_connected_hook = close_stream;
    assert_connecting("127.0.0.1", LONG);
    run_until_trace("c!");
    assert_connecting("nobody", LONG);
    run_until_trace("e!");
    end();
    assert_string_equal(trace, "e!");
}

static void close_and_reconnect(void)
{
    on_connected_hook = NULL;
    close_stream();
    assert_int_equal(connect_to("127.0.0.1", port, LONG), 0);
}

static void connect_in_on_connected_is_allowed(void **state)
{
    (void)state;
    begin();
    on_connected_hook = close_and_reconnect;
    assert_connecting("nobody", LONG);
    run_until_trace("c");
    uvhttp_stream_close(stream);
    end();
}

static void server_stop_ends_streams(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "one"};
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(hosts); i++) {
        begin();
        pthread_mutex_lock(&lookup_mutex);
        assert_connecting(hosts[i], LONG);
        uvh_server_stop(uvh_server_of(stage.server));
        assert_string_equal(trace, "e!");
        assert_int_equal(error, UVHTTP_ESTOPPED);
        assert_int_equal(connect_to("127.0.0.1", port, 0), UVHTTP_ESTOPPED);
        assert_null(stream);
        pthread_mutex_unlock(&lookup_mutex);
        end();
    }
    begin();
    assert_connecting("127.0.0.1", LONG);
    run_until_trace("c");
    accept_peer();
    uvhttp_server_stop(stage.server);
    run_until_trace("cs");
    close_peer(false);
    run_until_trace("cs!");
    end();
}

/* ---- a server without listeners ---- */

static void run_returns_after_last_stream(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0);
    assert_true(uv_loop_alive(&stage.loop));
    on_connected_hook = close_stream;
    assert_connecting("127.0.0.1", LONG);
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_string_equal(trace, "c!");
    assert_connecting("one", LONG); /* the server has not stopped */
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_string_equal(trace, "c!");
    assert_int_equal(uvhttp_server_run(stage.server), 0); /* nothing to do */
    uvhttp_server_stop(stage.server);
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_int_equal(uvh_server_of(stage.server)->life, UVH_SERVER_STOPPED);
    end();
}

static void stop_server(void)
{
    uvhttp_server_stop(stage.server);
}

static void stop_ends_stream_and_run(void **state)
{
    (void)state;
    begin();
    on_connected_hook = stop_server;
    assert_connecting("127.0.0.1", LONG);
    assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0);
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_string_equal(trace, "cs!");
    assert_int_equal(uvh_server_of(stage.server)->life, UVH_SERVER_STOPPED);
    end();
}

static void listening_server_runs_after_last_stream(void **state)
{
    (void)state;
    begin();
    on_connected_hook = close_stream;
    assert_connecting("127.0.0.1", LONG);
    stage_listen(&stage);
    run_until_trace("c!");
    stage_iterations(&stage, 10);
    assert_true(uv_has_ref((uv_handle_t *)&uvh_server_of(stage.server)->workers[0].inbox.wake));
    assert_true(uv_loop_alive(&stage.loop));
    end();
}

static void own_loop_server_runs_streams(void **state)
{
    (void)state;
    begin();
    uvhttp_server_free(stage.server);
    stage.server = uvhttp_server_new_with(NULL, stage.config);
    assert_non_null(stage.server);
    on_connected_hook = close_stream;
    assert_connecting("one", LONG);
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_string_equal(trace, "c!");
    on_connected_hook = NULL;
    assert_connecting("127.0.0.1", LONG);
    uvhttp_server_free(stage.server); /* with a connection in progress */
    stage.server = NULL;
    assert_string_equal(trace, "e!");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connected_stream_sends_and_receives),
        cmocka_unit_test(host_name_is_looked_up),
        cmocka_unit_test(failed_address_tries_next),
        cmocka_unit_test(ipv6_address_connects),
        cmocka_unit_test(outgoing_stream_not_counted_as_connection),
        cmocka_unit_test(large_write_in_on_connected_completes),
        cmocka_unit_test(pause_before_connected_delays_data),
        cmocka_unit_test(connect_failure_reports_error),
        cmocka_unit_test(immediate_failure_reported_asynchronously),
        cmocka_unit_test(connect_without_descriptors_fails),
        cmocka_unit_test(connect_timeout_fails_attempt),
        cmocka_unit_test(connect_timeout_shared_by_addresses),
        cmocka_unit_test(silent_address_gets_share_of_timeout),
        cmocka_unit_test(connect_timeout_includes_lookup),
        cmocka_unit_test(loop_close_does_not_wait_for_lookup),
        cmocka_unit_test(immediate_peer_close_is_reported),
        cmocka_unit_test(invalid_connect_params_get_einval),
        cmocka_unit_test(connect_survives_allocation_failures),
        cmocka_unit_test(connecting_stream_can_be_cancelled),
        cmocka_unit_test(connection_attempt_can_be_cancelled),
        cmocka_unit_test(close_in_on_connected_is_allowed),
        cmocka_unit_test(connect_in_on_connected_is_allowed),
        cmocka_unit_test(server_stop_ends_streams),
        cmocka_unit_test(run_returns_after_last_stream),
        cmocka_unit_test(stop_ends_stream_and_run),
        cmocka_unit_test(listening_server_runs_after_last_stream),
        cmocka_unit_test(own_loop_server_runs_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
