/* Looks names up, without anybody having to wait for the answer: getaddrinfo(3) cannot be called
 * off, and behind a dead resolver it takes half a minute. With libuv's request the loop, and so the
 * end of a server, waits as long; here who does not want the answer any more goes, and the thread
 * keeps nothing but a record of its own.
 *
 * Always true: the callback comes at most once, on the loop's thread, not before uvh_lookup_start
 * has returned, and not behind uvh_lookup_forget. At most four threads look up; what is asked
 * beyond that waits for one of them. Called by server/stream_connect.c and redis/link.c; it is a
 * part of both libraries. */
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

/* 0, or libuv's code and `found` NULL. `found`, which may be NULL even so, is freed by whoever is
 * called, by uv_freeaddrinfo. The lookup is gone. */
typedef void (*uvh_lookup_cb)(void *arg, int status, struct addrinfo *found);

/* True when `host` is a numeric address, which needs no lookup. */
bool uvh_lookup_literal(const char *host, int port, union uvh_address *address);

/* Keeps the loop running until the answer is there. Errors, with `*out` NULL: UV_EINVAL (no name),
 * UV_ENOMEM, libuv's. */
int uvh_lookup_start(struct uvh_lookup **out, uv_loop_t *loop, const char *host, int port,
                     uvh_lookup_cb done, void *arg);

/* Does not keep the loop running after all. */
void uvh_lookup_unref(struct uvh_lookup *lookup);

/* The answer is not wanted any more. Its handle closes in the loop's next turn, and nobody has to
 * wait for that. */
void uvh_lookup_forget(struct uvh_lookup *lookup);

#endif
