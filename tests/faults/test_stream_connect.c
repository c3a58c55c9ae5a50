/* Streams to somebody else: how they come about, every way in which they do not, and what a server
 * is that has nothing but them. Names are looked up in a function of this file, which can wait as
 * long as the test wants. */
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

enum { LONG = 600000, MOST_ALLOCATIONS = 60, ANSWER = 65536, FULL = 3 };

static struct stage stage;
static uvhttp_stream_t *stream;
/* 'c' connected, 'e' failed, bytes, '.' for the other's end, 's' stopping, '!' over */
static char heard[ANSWER];
static int failed_with;
static void (*when_told)(void); /* in `connected` */
static int listener, port;
static int peer; /* what the listener has accepted; -1: nothing */

/* ---- names ---- */

#define EXPORTED __attribute__((visibility("default"))) /* or libuv would find the system's */

static pthread_mutex_t names = PTHREAD_MUTEX_INITIALIZER; /* held: lookups wait */
static atomic_uint lookups;                               /* that have begun */

static struct addrinfo *make_address(int family, uint32_t address, const char *service,
                                     struct addrinfo *next)
{
    struct addrinfo *made = calloc(1, sizeof(*made) + sizeof(struct sockaddr_in));
    assert_non_null(made);
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)(made + 1);
    in->sin_family = (sa_family_t)family;
    in->sin_port = htons((uint16_t)strtol(service, NULL, 10));
    in->sin_addr.s_addr = htonl(address);
    *made = (struct addrinfo){.ai_family = family,
                              .ai_socktype = SOCK_STREAM,
                              .ai_addr = (struct sockaddr *)(void *)in,
                              .ai_addrlen = sizeof(*in),
                              .ai_next = next};
    return made;
}

/* "one" is this machine, "three" two that are not to be had and then this machine, "silent" one
 * that says nothing and then this machine, "none" no address at all. */
EXPORTED int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                         struct addrinfo **found)
{
    assert_int_equal(hints->ai_socktype, SOCK_STREAM);
    atomic_fetch_add(&lookups, 1);
    pthread_mutex_lock(&names);
    pthread_mutex_unlock(&names);
    *found = NULL;
    if (strcmp(name, "none") == 0)
        return 0;
    if (strcmp(name, "one") != 0 && strcmp(name, "three") != 0 && strcmp(name, "silent") != 0)
        return EAI_NONAME;
    *found = make_address(AF_INET, INADDR_LOOPBACK, service, NULL);
    if (strcmp(name, "three") == 0) {
        *found = make_address(AF_INET, INADDR_LOOPBACK + 1, service, *found); /* refuses */
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

static void hear(const char *data, size_t size)
{
    size_t length = strlen(heard);
    assert_true(length + size < sizeof(heard));
    memcpy(heard + length, data, size);
    heard[length + size] = '\0';
}

static void on_connected(uvhttp_stream_t *of, int status, void *arg)
{
    assert_ptr_equal(of, stream);
    assert_ptr_equal(arg, &stage);
    assert_int_equal(uvhttp_stream_write(of, "", 0), status == 0 ? 0 : UVHTTP_EDISCONNECTED);
    failed_with = status;
    hear(status == 0 ? "c" : "e", 1);
    if (when_told != NULL)
        when_told();
}

static void on_data(uvhttp_stream_t *of, char *data, size_t size, void *arg)
{
    assert_ptr_equal(of, stream);
    assert_ptr_equal(arg, &stage);
    hear(size == 0 ? "." : data, size == 0 ? 1 : size);
}

static void on_stopping(uvhttp_stream_t *of, void *arg)
{
    (void)arg;
    hear("s", 1);
    uvhttp_stream_end(of);
}

static void on_closed(uvhttp_stream_t *of, void *arg)
{
    assert_ptr_equal(of, stream);
    assert_ptr_equal(arg, &stage);
    assert_int_equal(uvhttp_stream_write(of, "x", 1), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_stream_pending(of), 0);
    hear("!", 1);
    stream = NULL;
}

static int connect_to(const char *host, int to_port, uint32_t timeout_ms)
{
    static const uvhttp_stream_events_t events = {
        .data = on_data, .stopping = on_stopping, .closed = on_closed};
    heard[0] = '\0';
    failed_with = 0;
    return uvhttp_stream_connect(stage.server, host, to_port, timeout_ms, on_connected, &events,
                                 &stage, &stream);
}

static void assert_connecting(const char *host, uint32_t timeout_ms)
{
    assert_int_equal(connect_to(host, port, timeout_ms), 0);
    assert_non_null(stream);
    assert_string_equal(heard, ""); /* nothing is told before the call has returned */
    assert_int_equal(uvhttp_stream_write(stream, "x", 1), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_stream_pending(stream), 0);
}

static void turn_until_heard(const char *what)
{
    for (int turn = 0; turn < 5000 && strcmp(heard, what) != 0; turn++)
        stage_wait(&stage);
    assert_string_equal(heard, what);
}

/* ---- the other side ---- */

static void listen_here(int backlog)
{
    port = 0;
    listener = raw_peer_listen(INADDR_LOOPBACK, &port, backlog);
}

static void accept_here(void)
{
    peer = raw_peer_accept(listener); /* it is there */
}

static void assert_peer_gets(const char *text)
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
    when_told = NULL;
    heard[0] = '\0';
    peer = -1;
    listen_here(16);
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

/* ---- it works ---- */

static void say_hello(void)
{
    assert_int_equal(uvhttp_stream_write(stream, "hel", 3), 0);
    assert_int_equal(uvhttp_stream_write(stream, "lo", 2), 0);
}

static void talk_and_part(const char *host, uint32_t timeout_ms)
{
    begin();
    when_told = say_hello;
    assert_connecting(host, timeout_ms);
    turn_until_heard("c");
    accept_here();
    assert_peer_gets("hello");
    assert_int_equal(send(peer, "welcome", 7, 0), 7);
    turn_until_heard("cwelcome");
    assert_int_equal(uvhttp_stream_write(stream, "bye", 3), 0);
    uvhttp_stream_end(stream);
    assert_peer_gets("bye");
    close_peer(false);
    turn_until_heard("cwelcome!");
    end();
}

static void bytes_go_both_ways(void **state)
{
    (void)state;
    talk_and_part("127.0.0.1", 0);
    talk_and_part("127.0.0.1", LONG);
}

static void names_are_looked_up(void **state)
{
    (void)state;
    talk_and_part("one", LONG);
    talk_and_part("one", 0);
}

static void addresses_are_tried_in_turn(void **state)
{
    (void)state;
    talk_and_part("three", LONG);
}

static void ipv6_is_as_good(void **state)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t size = sizeof(address);
    (void)state;
    begin();
    int other = socket(AF_INET6, SOCK_STREAM, 0);
    if (other < 0 || bind(other, (struct sockaddr *)(void *)&address, size) != 0) {
        close(other);
        end();
        skip(); /* a machine without */
    }
    close(listener);
    listener = other;
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)(void *)&address, &size), 0);
    port = ntohs(address.sin6_port);
    assert_connecting("::1", LONG);
    turn_until_heard("c");
    uvhttp_stream_close(stream);
    end();
}

/* The server as its own client: an answer comes, and only the connection that was accepted is one
 * of its connections. */
static int answer(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "content");
}

static void ask_by_hand(void)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    assert_int_equal(uvhttp_stream_write(stream, request, sizeof(request) - 1), 0);
}

static void it_is_none_of_the_connections_that_are_counted_and_limited(void **state)
{
    struct raw_client client;
    (void)state;
    begin();
    stage.config->max_connections = 1;
    uvhttp_server_free(stage.server);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", answer, NULL), 0);
    stage_listen(&stage);
    when_told = ask_by_hand;
    assert_int_equal(connect_to("127.0.0.1", uvhttp_server_port(stage.server), LONG), 0);
    for (int turn = 0; turn < 5000 && strstr(heard, "content.") == NULL; turn++)
        stage_wait(&stage);
    assert_non_null(strstr(heard, "cHTTP/1.1 200 "));
    assert_non_null(strstr(heard, "content."));
    const uvhttp_stats_t *stats = uvhttp_server_stats(stage.server);
    assert_int_equal(stats->total_connections, 1);
    assert_int_equal(stats->active_connections, 0);
    assert_int_equal(stats->rejected_connections, 0);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0); /* the stream is open still */
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    assert_memory_equal(client.data, "HTTP/1.1 200 ", 13);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, 1);
    raw_client_close(&client, false);
    uvhttp_stream_close(stream);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, 1);
    end();
}

/* Its first wish is to write only, which is also what connecting had waited for. */
static void pause_and_fill(void)
{
    static const char bytes[100000];
    uvhttp_stream_set_backlog(stream, (size_t)1 << 30);
    uvhttp_stream_pause(stream);
    while (uvhttp_stream_pending(stream) == 0)
        assert_int_equal(uvhttp_stream_write(stream, bytes, sizeof(bytes)), 0);
    assert_int_equal(uvhttp_stream_write(stream, "last", 4), 0);
}

static void what_is_written_at_once_may_be_much(void **state)
{
    char bytes[65536];
    (void)state;
    begin();
    when_told = pause_and_fill;
    assert_connecting("127.0.0.1", LONG);
    turn_until_heard("c");
    accept_here();
    char last[4] = "";
    for (int turn = 0; turn < 100000 && memcmp(last, "last", 4) != 0; turn++) {
        ssize_t count = recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (count >= 4)
            memcpy(last, bytes + count - 4, 4);
        stage_iterate(&stage);
    }
    assert_memory_equal(last, "last", 4);
    uvhttp_stream_close(stream);
    assert_string_equal(heard, "c!");
    end();
}

static void it_may_be_paused_before(void **state)
{
    (void)state;
    begin();
    assert_connecting("127.0.0.1", LONG);
    uvhttp_stream_pause(stream);
    turn_until_heard("c");
    accept_here();
    assert_int_equal(send(peer, "early", 5, 0), 5);
    stage_iterations(&stage, 10);
    assert_string_equal(heard, "c");
    uvhttp_stream_resume(stream);
    turn_until_heard("cearly");
    uvhttp_stream_close(stream);
    end();
}

/* ---- it does not ---- */

static void assert_fails(const char *host, uint32_t timeout_ms, int code)
{
    assert_connecting(host, timeout_ms);
    turn_until_heard("e!");
    assert_int_equal(failed_with, code);
    assert_null(stream);
}

static void failures_are_told_with_their_reason(void **state)
{
    (void)state;
    begin();
    assert_fails("nobody", LONG, UV_EAI_NONAME);
    assert_fails("none", LONG, UV_EAI_NODATA);
    close(listener);
    listener = -1;
    assert_fails("127.0.0.1", LONG, UV_ECONNREFUSED);
    assert_fails("127.0.0.1", 0, UV_ECONNREFUSED);
    assert_fails("three", LONG, UV_ECONNREFUSED); /* that of the last one */
    end();
}

static void what_fails_at_once_is_told_later(void **state)
{
    (void)state;
    begin();
    assert_fails("255.255.255.255", LONG, UV_ENETUNREACH);
    end();
}

static void without_descriptors_it_fails(void **state)
{
    struct rlimit limit, none;
    (void)state;
    begin();
    assert_connecting("one", LONG);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int turn = 0; turn < 5000 && stream != NULL; turn++)
        stage_wait(&stage);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_string_equal(heard, "e!");
    assert_int_equal(failed_with, UV_EMFILE);
    end();
}

/* A queue that is full lets nobody in. */
static void fill_queue(uint32_t of, int waiting[FULL])
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(of), .sin_port = htons((uint16_t)port)};
    for (size_t i = 0; i < FULL; i++) {
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)connect(waiting[i], (struct sockaddr *)(void *)&address, sizeof(address));
    }
}

static void empty_queue(const int waiting[FULL])
{
    for (size_t i = 0; i < FULL; i++)
        close(waiting[i]);
}

static void an_attempt_has_its_time(void **state)
{
    int waiting[FULL];
    (void)state;
    begin();
    close(listener);
    listen_here(0);
    fill_queue(INADDR_LOOPBACK, waiting);
    assert_fails("127.0.0.1", 1, UV_ETIMEDOUT);
    empty_queue(waiting);
    end();
}

static void a_share_is_fair(void **state)
{
    (void)state;
    assert_int_equal(uvh_stream_connect_share(10000, 1), 10000);
    assert_int_equal(uvh_stream_connect_share(10000, 4), 2500);
    /* of use to some rather than to none */
    assert_int_equal(uvh_stream_connect_share(1000, 100), 250);
    assert_int_equal(uvh_stream_connect_share(100, 3), 100);
    assert_int_equal(uvh_stream_connect_share(0, 3), 1);
}

/* The time of the first address is over, not that of all: nobody waits for it here. */
static void an_address_that_is_silent_does_not_take_the_time_of_all(void **state)
{
    int waiting[FULL];
    (void)state;
    begin();
    int silent = raw_peer_listen(INADDR_LOOPBACK + 1, &port, 0);
    fill_queue(INADDR_LOOPBACK + 1, waiting);
    assert_connecting("silent", LONG);
    struct uvh_conn_shared *conns = &uvh_server_of(stage.server)->workers[0].conns;
    for (int turn = 0; turn < 5000 && conns->poller.count == 0; turn++)
        stage_wait(&stage);
    assert_string_equal(heard, "");
    uint64_t left = stream->timer.deadline - uv_now(&stage.loop);
    assert_in_range(left, LONG / 2 - LONG / 10, LONG / 2 + LONG / 10);
    uvh_stream_on_timer(stream);
    assert_string_equal(heard, "");
    turn_until_heard("c");
    assert_true(uvh_list_empty(&stream->timer.link));
    uvhttp_stream_close(stream);
    empty_queue(waiting);
    close(silent);
    end();
}

static void a_lookup_has_its_time(void **state)
{
    (void)state;
    begin();
    pthread_mutex_lock(&names);
    assert_fails("one", 1, UV_ETIMEDOUT);
    pthread_mutex_unlock(&names);
    end();
}

static void nobody_waits_for_a_lookup(void **state)
{
    (void)state;
    unsigned before = atomic_load(&lookups);
    begin();
    pthread_mutex_lock(&names);
    assert_connecting("one", LONG);
    for (int turn = 0; turn < 5000 && atomic_load(&lookups) == before; turn++)
        stage_wait(&stage);
    assert_int_equal(atomic_load(&lookups), before + 1);
    end(); /* its loop is closed there */
    pthread_mutex_unlock(&names);
    begin(); /* it works as before */
    assert_connecting("one", LONG);
    turn_until_heard("c");
    uvhttp_stream_close(stream);
    end();
}

static void peers_may_leave_at_once(void **state)
{
    (void)state;
    begin();
    assert_connecting("127.0.0.1", LONG);
    stage_iterate(&stage);
    accept_here();
    close_peer(false);
    turn_until_heard("c.");
    uvhttp_stream_end(stream);
    turn_until_heard("c.!");
    assert_connecting("127.0.0.1", LONG);
    turn_until_heard("c");
    accept_here();
    close_peer(true);
    turn_until_heard("c!");
    assert_connecting("127.0.0.1", LONG);
    stage_iterate(&stage);
    accept_here();
    close_peer(true); /* perhaps before anybody has looked */
    for (int turn = 0; turn < 5000 && stream != NULL; turn++)
        stage_wait(&stage);
    assert_true(strcmp(heard, "c!") == 0 || strcmp(heard, "e!") == 0);
    end();
}

static void what_makes_no_sense_is_refused(void **state)
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
    assert_string_equal(heard, "");
    end();
}

static void every_allocation_may_fail(void **state)
{
    size_t n = 1;
    (void)state;
    for (int err = UVHTTP_ENOMEM; err != 0; n++) {
        assert_true(n < MOST_ALLOCATIONS);
        begin();
        fault_heap_arm(&stage.heap, n, false);
        err = connect_to(n % 2 == 0 ? "one" : "127.0.0.1", port, LONG);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        assert_true((err == 0) == (stream != NULL));
        if (err == 0) { /* the attempt needs a connection's memory */
            for (int turn = 0; turn < 5000 && heard[0] == '\0'; turn++)
                stage_wait(&stage);
            bool failed = atomic_load(&stage.heap.failures) > 0;
            assert_string_equal(heard, failed ? "e!" : "c");
            err = failed ? UVHTTP_ENOMEM : 0;
        } else if (n % 3 == 0) { /* what has failed can be tried again */
            assert_connecting("127.0.0.1", LONG);
            turn_until_heard("c");
        }
        end();
    }
    assert_true(n > 5);
}

/* ---- it is not to be ---- */

static void close_it(void)
{
    uvhttp_stream_close(stream);
    assert_null(stream);
}

static void end_it(void)
{
    uvhttp_stream_end(stream);
}

/* Given up after so many turns; only the end is told. */
static void give_up_after(const char *host, int turns, bool hold_names, void (*give_up)(void))
{
    begin();
    if (hold_names)
        pthread_mutex_lock(&names);
    assert_connecting(host, LONG);
    stage_iterations(&stage, turns);
    assert_string_equal(heard, "");
    give_up();
    assert_string_equal(heard, "!");
    stage_iterations(&stage, 3);
    if (hold_names)
        pthread_mutex_unlock(&names);
    end();
    assert_string_equal(heard, "!");
}

static void it_can_be_given_up_at_any_time(void **state)
{
    (void)state;
    give_up_after("127.0.0.1", 0, false, close_it);
    give_up_after("127.0.0.1", 0, false, end_it);
    give_up_after("one", 0, true, close_it);
    give_up_after("one", 3, true, close_it);
    give_up_after("one", 3, true, end_it);
}

static void it_can_be_given_up_during_an_attempt(void **state)
{
    (void)state;
    begin();
    assert_connecting("127.0.0.1", LONG);
    struct uvh_conn_shared *conns = &uvh_server_of(stage.server)->workers[0].conns;
    uvh_stream_connect_resume(conns); /* alone, so that nobody checks how it has ended */
    assert_int_equal(conns->poller.count, 1);
    close_it();
    end();
    assert_string_equal(heard, "!");
}

static void it_may_be_closed_when_it_is_told(void **state)
{
    (void)state;
    begin();
    when_told = close_it;
    assert_connecting("127.0.0.1", LONG);
    turn_until_heard("c!");
    assert_connecting("nobody", LONG);
    turn_until_heard("e!");
    end();
    assert_string_equal(heard, "e!");
}

static void again(void)
{
    when_told = NULL;
    close_it();
    assert_int_equal(connect_to("127.0.0.1", port, LONG), 0);
}

static void another_one_may_be_begun_when_it_is_told(void **state)
{
    (void)state;
    begin();
    when_told = again;
    assert_connecting("nobody", LONG);
    turn_until_heard("c");
    uvhttp_stream_close(stream);
    end();
}

static void a_server_that_stops_ends_them(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "one"};
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(hosts); i++) {
        begin();
        pthread_mutex_lock(&names);
        assert_connecting(hosts[i], LONG);
        uvh_server_stop(uvh_server_of(stage.server));
        assert_string_equal(heard, "e!");
        assert_int_equal(failed_with, UVHTTP_ESTOPPED);
        assert_int_equal(connect_to("127.0.0.1", port, 0), UVHTTP_ESTOPPED);
        assert_null(stream);
        pthread_mutex_unlock(&names);
        end();
    }
    begin();
    assert_connecting("127.0.0.1", LONG);
    turn_until_heard("c");
    accept_here();
    uvhttp_server_stop(stage.server);
    turn_until_heard("cs");
    close_peer(false);
    turn_until_heard("cs!");
    end();
}

/* ---- a server that serves nobody ---- */

static void a_loop_runs_as_long_as_there_are_streams(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0);
    assert_true(uv_loop_alive(&stage.loop));
    when_told = close_it;
    assert_connecting("127.0.0.1", LONG);
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_string_equal(heard, "c!");
    assert_connecting("one", LONG); /* it has not stopped */
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_string_equal(heard, "c!");
    assert_int_equal(uvhttp_server_run(stage.server), 0); /* nothing to do */
    uvhttp_server_stop(stage.server);
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_int_equal(uvh_server_of(stage.server)->life, UVH_SERVER_STOPPED);
    end();
}

static void stop_it(void)
{
    uvhttp_server_stop(stage.server);
}

static void it_can_be_stopped_before(void **state)
{
    (void)state;
    begin();
    when_told = stop_it;
    assert_connecting("127.0.0.1", LONG);
    assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0);
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_string_equal(heard, "cs!");
    assert_int_equal(uvh_server_of(stage.server)->life, UVH_SERVER_STOPPED);
    end();
}

static void a_server_that_also_listens_runs_on(void **state)
{
    (void)state;
    begin();
    when_told = close_it;
    assert_connecting("127.0.0.1", LONG);
    stage_listen(&stage);
    turn_until_heard("c!");
    stage_iterations(&stage, 10);
    assert_true(uv_has_ref((uv_handle_t *)&uvh_server_of(stage.server)->workers[0].inbox.wake));
    assert_true(uv_loop_alive(&stage.loop));
    end();
}

static void a_server_with_a_loop_of_its_own_runs_and_goes(void **state)
{
    (void)state;
    begin();
    uvhttp_server_free(stage.server);
    stage.server = uvhttp_server_new_with(NULL, stage.config);
    assert_non_null(stage.server);
    when_told = close_it;
    assert_connecting("one", LONG);
    assert_int_equal(uvhttp_server_run(stage.server), 0);
    assert_string_equal(heard, "c!");
    when_told = NULL;
    assert_connecting("127.0.0.1", LONG);
    uvhttp_server_free(stage.server); /* with one under way */
    stage.server = NULL;
    assert_string_equal(heard, "e!");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways),
        cmocka_unit_test(names_are_looked_up),
        cmocka_unit_test(addresses_are_tried_in_turn),
        cmocka_unit_test(ipv6_is_as_good),
        cmocka_unit_test(it_is_none_of_the_connections_that_are_counted_and_limited),
        cmocka_unit_test(what_is_written_at_once_may_be_much),
        cmocka_unit_test(it_may_be_paused_before),
        cmocka_unit_test(failures_are_told_with_their_reason),
        cmocka_unit_test(what_fails_at_once_is_told_later),
        cmocka_unit_test(without_descriptors_it_fails),
        cmocka_unit_test(an_attempt_has_its_time),
        cmocka_unit_test(a_share_is_fair),
        cmocka_unit_test(an_address_that_is_silent_does_not_take_the_time_of_all),
        cmocka_unit_test(a_lookup_has_its_time),
        cmocka_unit_test(nobody_waits_for_a_lookup),
        cmocka_unit_test(peers_may_leave_at_once),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(it_can_be_given_up_at_any_time),
        cmocka_unit_test(it_can_be_given_up_during_an_attempt),
        cmocka_unit_test(it_may_be_closed_when_it_is_told),
        cmocka_unit_test(another_one_may_be_begun_when_it_is_told),
        cmocka_unit_test(a_server_that_stops_ends_them),
        cmocka_unit_test(a_loop_runs_as_long_as_there_are_streams),
        cmocka_unit_test(it_can_be_stopped_before),
        cmocka_unit_test(a_server_that_also_listens_runs_on),
        cmocka_unit_test(a_server_with_a_loop_of_its_own_runs_and_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
