/* What set-up calls make, and a reload replaces: routes, the callbacks of exchanges, trusted
 * proxies and objects that the server owns.
 *
 * Invariants: an exchange uses the generation that was current when its head arrived, until it is
 * freed, and so does an upgraded stream. An outgoing WebSocket connection uses the one of its
 * endpoint. A generation is released on the first worker's thread,
 * when no worker uses it and no other thread reads it. Exchanges count on the thread of their
 * worker, so a request costs no atomic operation. */
#ifndef UVH_SERVER_GENERATION_H
#define UVH_SERVER_GENERATION_H

#include <stdatomic.h>

#include <uvhttp/embedding.h>
#include <uvhttp/server.h>

#include "base/list.h"
#include "net/inbox.h"
#include "options/reload.h"

struct uvh_proxies;
struct uvh_route_stats;
struct uvh_server;
struct uvh_worker;

/* An object that is freed with its generation. */
struct uvh_owned {
    struct uvh_owned *next;
    uvhttp_release_cb release;
    void *arg;
};

/* The use of a generation by a worker. */
struct uvh_use {
    struct uvh_generation *generation;
    size_t exchanges; /* that are not freed */
    /* the following once it is replaced */
    struct uvh_list retired; /* in worker->retired */
    struct uvh_list streams; /* upgraded ones that began before */
    bool is_retired;
    struct uvh_route_stats *_Atomic route_stats; /* NULL: nothing counted yet */
    void *lengths;                               /* for uvh_worker_add_lengths, or NULL */
    struct uvh_message adopt;
    char padding[64]; /* against false sharing */
};

struct uvh_generation {
    struct uvh_server *server;
    struct uvh_list link; /* in server->generations */
    struct uvhttp_router *router;
    struct uvh_owned *owned;
    uvhttp_finished_cb on_finished;
    void *finished_arg;
    uvhttp_error_cb on_error;
    void *error_arg;
    uvhttp_never_shed_cb never_shed;
    void *never_shed_arg;
    const struct uvh_proxies *proxies;       /* trusted ones; NULL: none */
    const struct uvh_proxies *proxy_sources; /* of the PROXY protocol; NULL: none */
    uvhttp_proxy_others_t proxy_others;      /* without meaning if there are none */
    struct uvh_use *uses;                    /* one for each worker; NULL: not activated */
    atomic_size_t holders; /* the set-up or workers, readers, outgoing WebSocket connections */
    struct uvh_message unused;
};

/* NULL when out of memory. */
struct uvh_generation *uvh_generation_new(struct uvh_server *server);
/* Freezes the routes, and makes the uses of all workers. Returns 0, or UVHTTP_ENOMEM; the routes
 * may be frozen then. */
int uvh_generation_activate(struct uvh_generation *generation);
/* Releases the owned objects and the routes. Returns the object of the log callback, NULL for none:
 * it is to be released after the last line. */
struct uvh_owned *uvh_generation_free(struct uvh_generation *generation);

/* The current generation of a server, for any thread, until uvh_generation_drop. */
struct uvh_generation *uvh_generation_hold(struct uvh_server *server);

/* On the thread of a worker: something that used a replaced generation has ended. Its caller may
 * still use it, so the generation is dropped by uvh_generation_drop_retired. */
void uvh_generation_check_retired(struct uvh_worker *worker);

/* Drops replaced generations without users. Not called within an event. */
void uvh_generation_drop_retired(struct uvh_worker *worker);

#endif
