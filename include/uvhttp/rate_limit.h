/* Rate limits: a middleware that limits the requests of each client, or of all clients together.
 * Requests above the limit get 429.
 *
 *     uvhttp_rate_limit_t *limit;
 *     uvhttp_error_t error;
 *     uvhttp_rate_limit_options_t options = {.requests = 100, .period_ms = 60000};
 *     int err = uvhttp_rate_limit_new(&limit, &options, &error);
 *     if (err == 0) err = uvhttp_server_use(server, uvhttp_rate_limit_handle_request, limit);
 *
 * Each client has a token bucket of `burst` requests, initially full, that is refilled with
 * `requests` in `period_ms`. So a client can make at most burst + t * requests / period_ms requests
 * in t milliseconds. The limit is exact on all threads: workers share one table with a lock per
 * section. Time is the loop time (uvhttp_response_now), constant during a loop iteration.
 *
 * Every response after the middleware, including the server's own, has the fields of
 * draft-ietf-httpapi-ratelimit-headers-10; a 429 also has Retry-After (RFC 9110 section 10.2.3):
 *
 *     RateLimit-Policy: "default";q=100;w=60   the burst, and the seconds to refill it
 *     RateLimit: "default";r=99;t=1            remaining requests, and the seconds until one more
 *                                              (absent if the bucket is full)
 *
 * Memory is bounded: the table never grows, and a request allocates nothing in it. If the table
 * is full, the client whose bucket is nearest to full is removed; it starts again with a full
 * bucket, which is little more than it had. To remove a client with an empty bucket, an attacker
 * needs about as many other addresses with empty buckets as the table holds, because slots
 * depend on a random number. */
#ifndef UVHTTP_RATE_LIMIT_H
#define UVHTTP_RATE_LIMIT_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A limit with its table of clients; from uvhttp_rate_limit_new. */
typedef struct uvhttp_rate_limit uvhttp_rate_limit_t;

/* Selects the bucket of a request: sets `*key` to any bytes (an API key, a user name), used
 * during the call only, and returns 0. If base stays NULL, the client's address is the key.
 * UVHTTP_DECLINED: the request is not counted; a negative result fails it. */
typedef int (*uvhttp_rate_key_cb)(uvhttp_request_t *request, uvhttp_slice_t *key, void *arg);

/* Options of uvhttp_rate_limit_new. All except `requests` may be zero. */
typedef struct uvhttp_rate_limit_options {
    size_t requests;    /* requests refilled per `period_ms`, 1 to 1,000,000; required */
    uint32_t period_ms; /* milliseconds, 1,000 to 86,400,000; 0: 1,000 */
    /* Bucket size, 1 to 1,000,000, and at most the requests refilled in 365 days; 0: `requests`. */
    size_t burst;
    bool global;            /* one bucket for all clients */
    uvhttp_rate_key_cb key; /* NULL: by the client's address; not with `global` */
    void *key_arg;
    /* Clients in the table, 1 to 16,777,216, with 32 to 64 bytes each; 0: 65,536. Not with
     * `global`. */
    size_t max_clients;
    size_t ipv4_prefix; /* bits of an IPv4 address that identify a client, 1 to 32; 0: 32 */
    /* The same for IPv6, 1 to 128; 0: 64, the minimum of one subscriber. IPv4-mapped addresses
     * are IPv4. */
    size_t ipv6_prefix;
    /* Policy name in the fields: 1 to 64 visible ASCII characters except '"' and '\'; NULL:
     * "default". Copied. */
    const char *name;
    /* do not send RateLimit and RateLimit-Policy; Retry-After stays */
    bool silent;
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the limit. */
} uvhttp_rate_limit_options_t;

/* Creates a limit. Any thread.
 * Returns 0 with the limit in `*limit`, or with `*limit` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_EINVAL   no options
 *   UVHTTP_ENOMEM   out of memory
 *   libuv           the system has no random numbers */
UVHTTP_EXPORT int uvhttp_rate_limit_new(uvhttp_rate_limit_t **limit,
                                        const uvhttp_rate_limit_options_t *options,
                                        uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_rate_limit_free(void *limit);

/* Creates one, adds it to a router (uvhttp_server_router or a group), and leaves it to the server,
 * which frees it: for middleware that is used once. Before the server listens; options as above.
 * uvhttp_server_error describes an error: one of uvhttp_rate_limit_new or uvhttp_router_use. */
UVHTTP_EXPORT int uvhttp_rate_limit_use(uvhttp_router_t *router,
                                        const uvhttp_rate_limit_options_t *options);

/* The middleware: passes the request, or responds 429. `limit` is the uvhttp_rate_limit_t;
 * several servers, groups and routes may share one and then count together. Clients without an
 * address (of Unix sockets) count as one client. */
UVHTTP_EXPORT int uvhttp_rate_limit_handle_request(uvhttp_request_t *request,
                                                   uvhttp_response_t *response, void *limit);

#ifdef __cplusplus
}
#endif

#endif
