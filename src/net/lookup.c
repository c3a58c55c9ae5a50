/* Threads start on demand and end when the queue is empty, so a program that rarely looks up names
 * has none. */
#include "net/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/list.h"
#include "platform/lock.h"
#include "platform/thread.h"

enum { MOST_THREADS = 4, MOST_NAME = 255, PORT_TEXT = 8 };

/* Allocated with malloc, since it may outlive a server and its allocator. */
struct uvh_lookup {
    uv_async_t resolved; /* open unless forgotten or completed */
    uvh_lookup_cb done;
    void *arg;
    struct uvh_list link; /* in the queue */
    struct uvh_lock lock; /* protects the following */
    unsigned holders;     /* references: the handle, and the queue or a thread */
    bool forgotten;
    int status;
    struct addrinfo *found;
    char service[PORT_TEXT];
    char host[];
};

/* Lookups of all loops that are queued for a thread. */
static struct {
    struct uvh_lock lock;
    struct uvh_list lookups;
    unsigned threads;
    bool forks_noted;
} queue = {.lock = {PTHREAD_MUTEX_INITIALIZER}, .lookups = {&queue.lookups, &queue.lookups}};

/* After fork a child has none of the threads and no pending lookups. */
static void begin_anew(void)
{
    const struct uvh_lock lock = {PTHREAD_MUTEX_INITIALIZER};
    queue.lock = lock;
    uvh_list_init(&queue.lookups);
    queue.threads = 0;
}

static void unref(struct uvh_lookup *lookup)
{
    uvh_lock_acquire(&lookup->lock);
    unsigned left = --lookup->holders;
    uvh_lock_release(&lookup->lock);
    if (left > 0)
        return;
    uv_freeaddrinfo(lookup->found);
    uvh_lock_destroy(&lookup->lock);
    free(lookup);
}

/* ---- on a thread ---- */

/* uv_getaddrinfo handles international names and has a code for each error. Without a callback it
 * is synchronous and uses its loop only to count requests, so a loop that never runs suffices and
 * costs no descriptors. */
static int get_addresses(const struct uvh_lookup *lookup, struct addrinfo **found)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    uv_getaddrinfo_t request;
    uv_loop_t loop;
    memset(&loop, 0, sizeof(loop));
    int err = uv_getaddrinfo(&loop, &request, NULL, lookup->host, lookup->service, &hints);
    if (err == 0)
        *found = request.addrinfo;
    return err;
}

static void resolve(struct uvh_lookup *lookup)
{
    struct addrinfo *found = NULL;
    uvh_lock_acquire(&lookup->lock);
    bool forgotten = lookup->forgotten;
    uvh_lock_release(&lookup->lock);
    int status = forgotten ? UV_ECANCELED : get_addresses(lookup, &found);
    uvh_lock_acquire(&lookup->lock);
    lookup->status = status;
    lookup->found = found;
    if (!lookup->forgotten) /* then the handle and the loop are valid while the lock is held */
        uv_async_send(&lookup->resolved);
    uvh_lock_release(&lookup->lock);
    unref(lookup);
}

/* NULL: the thread is no longer counted. */
static struct uvh_lookup *take(void)
{
    uvh_lock_acquire(&queue.lock);
    struct uvh_list *first = uvh_list_take(&queue.lookups);
    queue.threads -= first == NULL;
    uvh_lock_release(&queue.lock);
    return first == NULL ? NULL : UVH_CONTAINER_OF(first, struct uvh_lookup, link);
}

static void *resolve_all(void *arg)
{
    struct uvh_lookup *lookup;
    while ((lookup = take()) != NULL)
        resolve(lookup);
    return arg;
}

/* Fewer threads than wanted are only slower; with none it fails. */
static int enqueue(struct uvh_lookup *lookup)
{
    uvh_lock_acquire(&queue.lock);
    if (!queue.forks_noted)
        queue.forks_noted = uvh_thread_in_child(begin_anew) == 0;
    int err = queue.threads < MOST_THREADS ? uvh_thread_start(NULL, resolve_all, NULL) : 0;
    if (err == 0 && queue.threads < MOST_THREADS)
        queue.threads++;
    if (queue.threads > 0) {
        err = 0;
        uvh_list_append(&queue.lookups, &lookup->link);
    }
    uvh_lock_release(&queue.lock);
    return err;
}

/* ---- on the loop ---- */

static void on_closed(uv_handle_t *handle)
{
    unref(handle->data);
}

/* Closes the handle; the caller is not notified again. Returns the addresses found. */
static struct addrinfo *end(struct uvh_lookup *lookup, int *status)
{
    uvh_lock_acquire(&lookup->lock);
    struct addrinfo *found = lookup->found;
    *status = lookup->status;
    lookup->found = NULL;
    lookup->forgotten = true;
    uvh_lock_release(&lookup->lock);
    uv_close((uv_handle_t *)&lookup->resolved, on_closed);
    return found;
}

static void on_resolved(uv_async_t *resolved)
{
    struct uvh_lookup *lookup = resolved->data;
    int status;
    struct addrinfo *found = end(lookup, &status);
    /* the memory stays valid until the handle is closed */
    lookup->done(lookup->arg, status, found);
}

bool uvh_lookup_literal(const char *host, int port, union uvh_address *address)
{
    return uv_ip4_addr(host, port, &address->v4) == 0 || uv_ip6_addr(host, port, &address->v6) == 0;
}

int uvh_lookup_start(struct uvh_lookup **out, uv_loop_t *loop, const char *host, int port,
                     uvh_lookup_cb done, void *arg)
{
    size_t size = strlen(host) + 1;
    *out = NULL;
    if (size == 1 || size > MOST_NAME + 1)
        return UV_EINVAL;
    struct uvh_lookup *lookup = calloc(1, sizeof(*lookup) + size);
    if (lookup == NULL)
        return UV_ENOMEM;
    int err = uv_async_init(loop, &lookup->resolved, on_resolved);
    if (err != 0) {
        free(lookup);
        return err;
    }
    lookup->resolved.data = lookup;
    lookup->done = done;
    lookup->arg = arg;
    lookup->holders = 2;
    uvh_lock_init(&lookup->lock);
    memcpy(lookup->host, host, size);
    snprintf(lookup->service, sizeof(lookup->service), "%d", port);
    err = enqueue(lookup);
    if (err != 0) {
        uvh_lookup_forget(lookup);
        unref(lookup);
        return err;
    }
    *out = lookup;
    return 0;
}

void uvh_lookup_unref(struct uvh_lookup *lookup)
{
    uv_unref((uv_handle_t *)&lookup->resolved);
}

void uvh_lookup_forget(struct uvh_lookup *lookup)
{
    int status;
    uv_freeaddrinfo(end(lookup, &status));
}
