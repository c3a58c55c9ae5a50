/* wire_server: the server program of tests/wire. It uses the public API only (plus libuv, whose
 * loop it owns). Shared by its files: the state that /stats reports, the two counted heaps, and the
 * handlers. */
#ifndef UVH_WIRE_SERVER_H
#define UVH_WIRE_SERVER_H

#include <uvhttp.h>

#include <stdatomic.h>
#include <uv.h>

struct pending;

struct app {
    uvhttp_server_t *server;
    uv_signal_t release_signal;
    uv_signal_t leave_signal;
    /* Exchanges that wait for /release/:id. */
    struct pending *pending;
    /* Allocated at first use, so that it does not count as memory of a connection. */
    unsigned char *pattern;
    /* Number of callbacks: abort, release, done, and done with a disconnected client. */
    uint64_t aborts;
    uint64_t releases;
    uint64_t deferred;
    uint64_t deferred_disconnected;
    uint64_t guarded_runs;
    uint64_t seen_by_middleware;
    uint64_t streams_closed;
    uint64_t rejected_writes; /* because the backlog was full */
    int last_error;
    int duplicate_error; /* result of adding a route twice */
    int frozen_error;    /* result of adding a route after listen */
    uvhttp_tls_version_t version;
    const char *certificate; /* PEM with its key; NULL: plain text */
};

extern struct app app;

/* heap.c: the memory that uvhttp and libuv have allocated. */
struct heap {
    _Atomic uint64_t calls; /* allocations and reallocations */
    _Atomic int64_t live;   /* bytes, as malloc_usable_size counts them */
    _Atomic int64_t peak;   /* the maximum since the last /stats */
};

extern struct heap uvhttp_heap;
extern struct heap libuv_heap;
extern const uvhttp_allocator_t counting_allocator;

/* Counts the memory of libuv, too. Must precede any other use of libuv. */
void count_libuv(void);

/* FNV-1a of 32 bits: detects lost and changed bytes of a body. A hash starts with FNV_OFFSET_BASIS.
 */
#define FNV_OFFSET_BASIS 2166136261u
#define FNV_PRIME        16777619u

static inline uint32_t fnv_add(uint32_t hash, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)data[i]) * FNV_PRIME;
    return hash;
}

/* responses.c */
int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int spin(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int echo(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int digest(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int trailer(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int inspect(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int by_method(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int any_method(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int parameters(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int query(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int large(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int status(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int set_field(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int long_field(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int cookies(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int redirect(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int send_file(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int send_descriptor(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int close_after(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int fail(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int respond_twice(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int respond_and_fail(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int write_log(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int stop(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);

/* routing.c: adds the hosts of test_routing.py. Returns 0, or the first error. */
int add_routing(uvhttp_router_t *router);

/* guards.c: adds the hosts of test_guards.py. Returns 0, or the first error. */
int add_guards(uvhttp_server_t *server);

/* deferred.c */
int hold(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int release(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int count_pending(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int defer(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int gate(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
void wait_for_gate(void *arg); /* the work of a job */

/* streamed_bodies.c */
int stream_out(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int pulled(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int stream_of_length(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int begin_and_fail(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int trailers_out(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int early_hints(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int stream_digest(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int stream_echo(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int resume_paused(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int count_paused(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int decide(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int watch_responses(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int defer_decision(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);

/* forms.c */
int form_field(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int one_cookie(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int set_cookies(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int events(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);

/* streams.c: adds the routes of test_streams.py. Returns 0, or the first error. */
int add_streams(uvhttp_router_t *router);

/* tunnel.c: the same, for outgoing connections. */
int add_tunnel(uvhttp_router_t *router);

/* blocking.c: adds the routes of test_blocking.py. Returns 0, or the first error. */
int add_blocking(uvhttp_router_t *router);

/* queries.c: adds its routes. */
int add_queries(uvhttp_router_t *router);

/* websockets.c: adds the endpoints of the WebSocket tests. Returns 0, or the first error. */
int add_websockets(uvhttp_server_t *server);

/* limited.c: adds the routes of test_sending.py. Returns 0, or the first error. */
int add_limited(uvhttp_router_t *router);

/* Waits until /open-gate is requested; for threads. */
void wait_for_gate(void *arg);
/* uploads.c */
int upload(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int form_data(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int hub_listen(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int hub_publish(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
void hub_release(void);
int silent_events(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int stream_ticking(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int respond_while_reading(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);
int many_jobs(uvhttp_request_t *req, uvhttp_response_t *res, void *arg);

/* Creates and destroys the gate at which deferred work waits. Returns 0, or libuv's code. */
int gate_init(void);
void gate_release(void);

/* Sends the responses of all pending exchanges, including deferred work. */
void release_all(void);

#endif
