/* Rate limits: how many requests a client, or all of them together, may make. Who makes more is
 * answered with 429.
 *
 *     uvhttp_rate_limit_t *limit;
 *     char message[256];
 *     int err = uvhttp_rate_limit_new(&limit, &(uvhttp_rate_limit_config_t){.requests = 100,
 *     .seconds = 60}, message, sizeof message);
 *     if (err == 0) err = uvhttp_server_use(server, uvhttp_rate_limit_handle_request, limit);
 *
 * Each client has a bucket that holds `burst` requests, is full at first and gets `requests` back
 * in `seconds`, evenly. So a client makes at most burst + t * requests / seconds of them in any t
 * seconds. This is exact, however many threads ask: all workers share one table, whose parts have
 * locks of their own. Time is the loop's (uvhttp_response_now), so it goes in steps of one loop
 * turn.
 *
 * Clients are told on every answer behind the middleware, the server's own included, by the fields
 * of draft-ietf-httpapi-ratelimit-headers-10; whoever is refused also by Retry-After (RFC 9110
 * section 10.2.3):
 *     RateLimit-Policy: "default";q=100;w=60       the burst, and the seconds in which as many come
 *     back
 *     RateLimit: "default";r=99;t=1                what is left, and the seconds until there is
 *     more (none: nothing is missing)
 *
 * Memory is bounded: the table never grows, and a request allocates nothing in it. When more
 * clients come than it has room for, the client whose bucket is nearest to full is forgotten; it
 * then has a full one, which is little more than it had. To have a client forgotten that has used
 * up its requests, somebody needs other addresses that use up theirs, about as many as the table
 * holds, since which of them share a place with it depends on a random number. */
#ifndef UVHTTP_RATE_LIMIT_H
#define UVHTTP_RATE_LIMIT_H

#include <uvhttp/response.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A limit with the table of its clients; from uvhttp_rate_limit_new. */
typedef struct uvhttp_rate_limit uvhttp_rate_limit_t;

/* Says whose bucket a request is for: sets `*key` to any bytes (an API key, a user's name),
 * which are used during the call only, and returns 0. What it leaves as it is, with base NULL,
 * is counted by the client's address. UVHTTP_DECLINED: the request is not counted; a negative
 * result fails it. */
typedef int (*uvhttp_rate_key_cb)(uvhttp_request_t *request, uvhttp_slice_t *key, void *arg);

/* What uvhttp_rate_limit_new is told. All but `requests` may be zero. */
typedef struct uvhttp_rate_limit_config {
    size_t requests; /* that come back ... 1 to 1,000,000; required */
    size_t seconds;  /* ... in this time, 1 to 86,400; 0: 1 */
    size_t
        /* that may come at once, 1 to 1,000,000, and at most as many as come back in 365 days; 0:
         * `requests` */
        burst;
    bool global;            /* one bucket for all clients together */
    uvhttp_rate_key_cb key; /* NULL: by the client's address; not with `global` */
    void *key_arg;
    size_t
        /* that are told apart, 1 to 16,777,216, for 32 to 64 bytes each; 0: 65,536. Not with
         * `global`. */
        max_clients;
    size_t ipv4_prefix; /* bits of an IPv4 address that make a client, 1 to 32; 0: 32 */
    size_t
        /* the same of IPv6, 1 to 128; 0: 64, what one subscriber has at least. IPv4-mapped
         * addresses are IPv4. */
        ipv6_prefix;
    const char *
        /* of the policy, for its fields: 1 to 64 visible ASCII characters but '"' and '\'; NULL:
         * "default". Copied. */
        name;
    bool silent;                         /* no RateLimit and RateLimit-Policy; Retry-After stays */
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive the limit. */
} uvhttp_rate_limit_config_t;

/* 0 and the limit in `*limit`, or with `*limit` NULL: UVHTTP_ECONFIG, with a NUL-terminated message
 * of at most `size` bytes that names field, value and range (`message` may be NULL); UVHTTP_EINVAL
 * (no config); UVHTTP_ENOMEM; the system's when it has no random number to give. Any thread. */
UVHTTP_EXPORT int uvhttp_rate_limit_new(uvhttp_rate_limit_t **limit,
                                        const uvhttp_rate_limit_config_t *config, char *message,
                                        size_t size);

/* After the servers that use it. NULL is fine. */
UVHTTP_EXPORT void uvhttp_rate_limit_free(uvhttp_rate_limit_t *limit);

/* A middleware: lets the request pass, or answers 429. `limit` is the uvhttp_rate_limit_t; several
 * servers, groups and routes may use one, and then count together. Clients without an address (of
 * unix sockets) are one client. */
UVHTTP_EXPORT int uvhttp_rate_limit_handle_request(uvhttp_request_t *request,
                                                   uvhttp_response_t *response, void *limit);

#ifdef __cplusplus
}
#endif

#endif
