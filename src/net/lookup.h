/* Asynchronous name lookup that can be abandoned. getaddrinfo(3) cannot be cancelled and takes half
 * a minute with an unreachable resolver. With uv_getaddrinfo the loop, and so the stop of a server,
 * waits as long. Here a caller that no longer needs the result abandons the lookup, and the thread
 * references only a record of its own.
 *
 * Invariants: the callback runs at most once, on the loop's thread, not before uvh_lookup_start has
 * returned, and not after uvh_lookup_forget. At most four threads look up names; further lookups
 * are queued. Part of both libraries, uvhttp and uvhttp_redis. */
#ifndef UVH_NET_LOOKUP_H
#define UVH_NET_LOOKUP_H

#include <stdbool.h>

#include <uv.h>

struct uvh_lookup;

union uvh_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* `status`: 0, or libuv's code with `found` NULL. `found` may be NULL even on success. The callee
 * frees it with uv_freeaddrinfo. The lookup is invalid. */
typedef void (*uvh_lookup_cb)(void *arg, int status, struct addrinfo *found);

/* True when `host` is a numeric address, which needs no lookup. */
bool uvh_lookup_literal(const char *host, int port, union uvh_address *address);

/* Keeps the loop running until the result is available. Errors, with `*out` NULL: UV_EINVAL (no
 * name), UV_ENOMEM, libuv's. */
int uvh_lookup_start(struct uvh_lookup **out, uv_loop_t *loop, const char *host, int port,
                     uvh_lookup_cb done, void *arg);

/* The lookup does not keep the loop running. */
void uvh_lookup_unref(struct uvh_lookup *lookup);

/* Abandons the lookup. Its handle closes in the next loop iteration; the caller need not wait for
 * that. */
void uvh_lookup_forget(struct uvh_lookup *lookup);

#endif
