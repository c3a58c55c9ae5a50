/* A hub has a branch for each worker that has had subscribers. A branch's subscribers are used on
 * its worker's thread only; the lock protects everything that publishers share.
 *
 * Events form a list in the order of publishing. A branch refers to the first event it has not sent
 * yet, and has a reference to each from there to the last: so publishing costs each worker one
 * message, however many events are pending.
 *
 * Subscribers form a ring, embedded in the memory of their exchanges. Sending to one may end its
 * exchange and, by callbacks, those of others. So the iteration over the ring is part of the
 * branch, and advances when the subscriber there is removed. A callback may also subscribe another
 * response, which sends missed events: sends may be nested. */
#include <uvhttp/error.h>
#include <uvhttp/event_hub.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/embedding.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/list.h"
#include "options/error.h"
#include "platform/lock.h"
#include "platform/random.h"

enum {
    MAX_KEEP = 1000000,
    MAX_PENDING = 65536, /* events that a worker has not sent yet */
    NAME_SIZE = 17,      /* up to 16 hexadecimal digits */
    ID_SIZE = 48,        /* "id: NAME-NUMBER\n" */
};

#define NEVER UINT64_MAX

static const char key; /* identifies a subscriber in its exchange */

struct event {
    atomic_size_t refs;
    struct event *next; /* without the lock, read only if a later event is known to exist */
    uint64_t number;
    size_t size;
    char *bytes; /* in `space` */
    char space[];
};

/* A send in progress. */
struct sending {
    struct sending *outer;
    struct subscriber *to; /* NULL: removed, and possibly freed */
};

struct branch {
    struct branch *next;
    uvhttp_event_hub_t *hub;
    uvhttp_server_t *server;
    size_t worker;
    /* On the worker's thread: */
    struct uvh_list subscribers;
    struct sending *sending; /* the innermost one; NULL: none */
    struct uvh_list *after;  /* the next one of the iteration in progress */
    /* Under the lock: */
    size_t count;          /* while it is not 0, `server` is not freed */
    struct event *pending; /* the first one; NULL: none, always so without subscribers */
    bool posted;           /* `deliver` will run */
    bool ended;            /* uvhttp_event_hub_end was called, see `mark_ended` */
    uint64_t last;         /* number of the last event before the first of these calls */
};

struct subscriber {
    struct uvh_list link;
    struct branch *branch; /* NULL once it is unsubscribed */
    uvhttp_response_t *response;
    uint64_t after; /* gets events with greater numbers */
    uint64_t last;  /* and up to this one, its end; NEVER: it has not ended */
};

struct uvhttp_event_hub {
    const uvhttp_allocator_t *allocator;
    atomic_size_t refs; /* the application, each subscriber, each posted branch */
    size_t keep;
    char name[NAME_SIZE]; /* part of ids, so that ids of another process are recognized */
    struct uvh_lock lock;
    /* Under the lock: */
    struct branch *branches;
    struct event *last;  /* NULL: nothing was published */
    struct event **kept; /* the last `keep` events, by number */
    uint64_t number;     /* of the last event */
    uint64_t dropped;
};

/* ---- events ---- */

static void event_ref(struct event *event)
{
    atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
}

static void event_unref(const uvhttp_event_hub_t *hub, struct event *event)
{
    if (event != NULL && atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel) == 1)
        uvh_free(hub->allocator, event);
}

/* Releases a reference to each event from `first` to `last`; `first` NULL: none. */
static void unref_list(const uvhttp_event_hub_t *hub, struct event *first, const struct event *last)
{
    while (first != NULL) {
        struct event *next = first == last ? NULL : first->next;
        event_unref(hub, first);
        first = next;
    }
}

/* Encodes an event, with space for an id before it. Returns 0, UVHTTP_EINVAL or UVHTTP_ENOMEM. */
static int event_new(const uvhttp_event_hub_t *hub, const uvhttp_sse_event_t *source,
                     struct event **out)
{
    ptrdiff_t size = uvhttp_sse_encode(source, NULL, 0);
    if (size < 0 || (hub->keep > 0 && source->id.base != NULL))
        return UVHTTP_EINVAL;
    struct event *event = uvh_alloc(hub->allocator, sizeof(*event) + ID_SIZE + (size_t)size);
    if (event == NULL)
        return UVHTTP_ENOMEM;
    *event = (struct event){.size = (size_t)size};
    atomic_init(&event->refs, 1);
    event->bytes = event->space + ID_SIZE;
    uvhttp_sse_encode(source, event->bytes, event->size);
    *out = event;
    return 0;
}

static void put_id(const uvhttp_event_hub_t *hub, struct event *event)
{
    char line[ID_SIZE];
    int length = snprintf(line, sizeof(line), "id: %s-%" PRIu64 "\n", hub->name, event->number);
    event->bytes -= length;
    event->size += (size_t)length;
    memcpy(event->bytes, line, (size_t)length);
}

/* The number in an id of this hub; otherwise 0, the number before the first event. */
static uint64_t number_of(const uvhttp_event_hub_t *hub, const char *id)
{
    size_t length = strlen(hub->name);
    char *end;
    if (strncmp(id, hub->name, length) != 0 || id[length] != '-')
        return 0;
    uint64_t number = strtoull(id + length + 1, &end, 10);
    return *end == '\0' && number <= hub->number ? number : 0;
}

/* ---- the hub ---- */

static void hub_unref(uvhttp_event_hub_t *hub)
{
    if (atomic_fetch_sub_explicit(&hub->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct branch *branch = hub->branches;
    while (branch != NULL) {
        struct branch *next = branch->next;
        unref_list(hub, branch->pending, hub->last);
        uvh_free(hub->allocator, branch);
        branch = next;
    }
    for (size_t i = 0; i < hub->keep; i++)
        event_unref(hub, hub->kept[i]);
    event_unref(hub, hub->last);
    uvh_lock_destroy(&hub->lock);
    uvh_free(hub->allocator, hub->kept);
    uvh_free(hub->allocator, hub);
}

static int create(uvhttp_event_hub_t **out, const uvhttp_event_hub_options_t *options,
                  uvhttp_error_t *error)
{
    static const uvhttp_event_hub_options_t defaults;
    uint64_t name;
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (options == NULL)
        options = &defaults;
    if (options->keep > MAX_KEEP)
        return uvh_error_size(error, "keep", options->keep, "allowed are 0 to %d events", MAX_KEEP);
    int err = uvh_random_number(&name);
    if (err != 0)
        return err;
    const uvhttp_allocator_t *allocator =
        options->allocator != NULL ? options->allocator : uvh_alloc_default();
    uvhttp_event_hub_t *hub = uvh_alloc_zero(allocator, sizeof(*hub));
    if (hub == NULL)
        return UVHTTP_ENOMEM;
    hub->allocator = allocator;
    hub->keep = options->keep;
    if (hub->keep > 0 &&
        (hub->kept = uvh_alloc_zero(allocator, hub->keep * sizeof(struct event *))) == NULL) {
        uvh_free(allocator, hub);
        return UVHTTP_ENOMEM;
    }
    atomic_init(&hub->refs, 1);
    uvh_lock_init(&hub->lock);
    snprintf(hub->name, sizeof(hub->name), "%" PRIx64, name);
    *out = hub;
    return 0;
}

int uvhttp_event_hub_new(uvhttp_event_hub_t **out, const uvhttp_event_hub_options_t *options,
                         uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(out, options, error));
}

void uvhttp_event_hub_free(void *hub)
{
    if (hub == NULL)
        return;
    uvhttp_event_hub_end(hub);
    hub_unref(hub);
}

/* ---- sending, on a worker's thread ---- */

/* Under the lock. */
static void drop_pending(struct branch *branch)
{
    unref_list(branch->hub, branch->pending, branch->hub->last);
    branch->pending = NULL;
}

static void leave(void *subscriber)
{
    struct subscriber *one = subscriber;
    struct branch *branch = one->branch;
    if (branch == NULL)
        return;
    if (branch->after == &one->link)
        branch->after = one->link.next;
    for (struct sending *now = branch->sending; now != NULL; now = now->outer) {
        if (now->to == one)
            now->to = NULL;
    }
    uvh_list_remove(&one->link);
    one->branch = NULL;
    uvh_lock_acquire(&branch->hub->lock);
    if (--branch->count == 0)
        drop_pending(branch);
    uvh_lock_release(&branch->hub->lock);
    hub_unref(branch->hub);
}

static void end_stream(struct subscriber *one)
{
    uvhttp_response_t *response = one->response;
    leave(one);
    (void)uvhttp_response_end(response); /* it may have ended already */
}

/* False when the stream has ended. */
static bool send_event(struct branch *branch, struct subscriber *one, const struct event *event)
{
    struct sending now = {.outer = branch->sending, .to = one};
    branch->sending = &now;
    int err = uvhttp_response_write(one->response, event->bytes, event->size);
    branch->sending = now.outer;
    if (err == 0)
        return now.to == one;
    if (err != UVHTTP_EDISCONNECTED && err != UVHTTP_ERESPONDED) {
        uvh_lock_acquire(&branch->hub->lock);
        branch->hub->dropped++;
        uvh_lock_release(&branch->hub->lock);
    }
    if (now.to == one && err != UVHTTP_EDISCONNECTED) /* unless the error has ended it */
        end_stream(one);
    return false;
}

/* Under the lock, on the worker's thread. Streams that subscribe later have not ended. */
static void mark_ended(struct branch *branch)
{
    if (!branch->ended)
        return;
    branch->ended = false;
    struct uvh_list *all = &branch->subscribers;
    for (struct uvh_list *link = all->next; link != all; link = link->next) {
        struct subscriber *one = UVH_CONTAINER_OF(link, struct subscriber, link);
        if (one->last == NEVER)
            one->last = branch->last;
    }
}

static void send_to_all(struct branch *branch, const struct event *event)
{
    branch->after = branch->subscribers.next;
    while (branch->after != &branch->subscribers) {
        struct subscriber *one = UVH_CONTAINER_OF(branch->after, struct subscriber, link);
        branch->after = one->link.next;
        if (event->number > one->after && event->number <= one->last)
            (void)send_event(branch, one, event);
    }
}

/* Of streams that have got all their events, up to `sent`. */
static void end_streams(struct branch *branch, uint64_t sent)
{
    branch->after = branch->subscribers.next;
    while (branch->after != &branch->subscribers) {
        struct subscriber *one = UVH_CONTAINER_OF(branch->after, struct subscriber, link);
        branch->after = one->link.next;
        if (one->last <= sent)
            end_stream(one);
    }
}

static void deliver(uvhttp_server_t *server, size_t worker, void *arg)
{
    struct branch *branch = arg;
    uvhttp_event_hub_t *hub = branch->hub;
    (void)server, (void)worker;
    uvh_lock_acquire(&hub->lock);
    struct event *first = branch->pending, *last = hub->last;
    uint64_t sent = hub->number;
    mark_ended(branch);
    branch->pending = NULL;
    branch->posted = false;
    uvh_lock_release(&hub->lock);
    while (first != NULL) {
        struct event *next = first == last ? NULL : first->next;
        send_to_all(branch, first);
        event_unref(hub, first);
        first = next;
    }
    end_streams(branch, sent);
    branch->after = NULL;
    hub_unref(hub);
}

/* ---- publishing, under the lock ---- */

/* Asks the worker of a branch with subscribers to send. Without memory for that the pending events
 * wait for the next one; `*late` is set to the first such branch, with a reference to its server:
 * see log_late. */
static void post(struct branch *branch, struct branch **late)
{
    uvhttp_event_hub_t *hub = branch->hub;
    if (branch->posted)
        return;
    atomic_fetch_add_explicit(&hub->refs, 1, memory_order_relaxed);
    int err = uvhttp_server_post(branch->server, branch->worker, deliver, branch);
    branch->posted = err == 0;
    if (err == 0)
        return;
    atomic_fetch_sub_explicit(&hub->refs, 1, memory_order_relaxed); /* the caller has one */
    if (err == UVHTTP_ESTOPPED) { /* nothing can be sent to its streams */
        drop_pending(branch);
    } else if (*late == NULL) {
        uvhttp_server_ref(branch->server);
        *late = branch;
    }
}

/* Without the lock, since the log callback may use the hub. */
static void log_late(struct branch *late)
{
    if (late == NULL)
        return;
    uvhttp_server_log(late->server, UVHTTP_LOG_ERROR, "events for worker %zu are late: %s",
                      late->worker, uvhttp_strerror(UVHTTP_ENOMEM));
    uvhttp_server_unref(late->server);
}

static bool is_full(const uvhttp_event_hub_t *hub)
{
    for (const struct branch *branch = hub->branches; branch != NULL; branch = branch->next) {
        if (branch->pending != NULL && hub->number - branch->pending->number >= MAX_PENDING - 1)
            return true;
    }
    return false;
}

/* Takes the caller's reference. `late` as for post. */
static void append(uvhttp_event_hub_t *hub, struct event *event, struct branch **late)
{
    event->number = ++hub->number;
    if (hub->keep > 0) {
        struct event **slot = &hub->kept[event->number % hub->keep];
        put_id(hub, event);
        event_unref(hub, *slot);
        event_ref(event);
        *slot = event;
    }
    if (hub->last != NULL)
        hub->last->next = event;
    event_unref(hub, hub->last);
    hub->last = event;
    for (struct branch *branch = hub->branches; branch != NULL; branch = branch->next) {
        if (branch->count == 0)
            continue;
        event_ref(event);
        if (branch->pending == NULL)
            branch->pending = event;
        post(branch, late);
    }
}

int uvhttp_event_hub_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                    void *hub)
{
    (void)request;
    return uvhttp_event_hub_subscribe(hub, response);
}

int uvhttp_event_hub_publish(uvhttp_event_hub_t *hub, const uvhttp_sse_event_t *source)
{
    struct event *event;
    if (hub == NULL)
        return UVHTTP_ENOMEM;
    struct branch *late = NULL;
    int err = event_new(hub, source, &event);
    if (err != 0)
        return err;
    uvh_lock_acquire(&hub->lock);
    if (is_full(hub))
        err = UVHTTP_EFULL;
    else
        append(hub, event, &late);
    uvh_lock_release(&hub->lock);
    log_late(late);
    if (err != 0)
        event_unref(hub, event);
    return err;
}

void uvhttp_event_hub_end(uvhttp_event_hub_t *hub)
{
    struct branch *late = NULL;
    if (hub == NULL)
        return;
    uvh_lock_acquire(&hub->lock);
    for (struct branch *branch = hub->branches; branch != NULL; branch = branch->next) {
        if (branch->count == 0)
            continue;
        if (!branch->ended)
            branch->last = hub->number;
        branch->ended = true;
        post(branch, &late);
    }
    uvh_lock_release(&hub->lock);
    log_late(late);
}

/* ---- subscribing ---- */

/* Finds or creates it; NULL when out of memory. */
static struct branch *branch_of(uvhttp_event_hub_t *hub, uvhttp_request_t *request)
{
    uvhttp_server_t *server = uvhttp_request_server(request);
    size_t worker = uvhttp_request_worker(request);
    uvh_lock_acquire(&hub->lock);
    struct branch *branch = hub->branches;
    while (branch != NULL && (branch->server != server || branch->worker != worker))
        branch = branch->next;
    if (branch == NULL && (branch = uvh_alloc_zero(hub->allocator, sizeof(*branch))) != NULL) {
        *branch =
            (struct branch){.next = hub->branches, .hub = hub, .server = server, .worker = worker};
        uvh_list_init(&branch->subscribers);
        hub->branches = branch;
    }
    uvh_lock_release(&hub->lock);
    return branch;
}

/* Adds the subscriber. Returns the first event it has missed, with a reference to each from there
 * to `*last`; NULL: none. */
static struct event *join(struct branch *branch, struct subscriber *one, const char *last_id,
                          struct event **last)
{
    uvhttp_event_hub_t *hub = branch->hub;
    struct event *first = NULL;
    atomic_fetch_add_explicit(&hub->refs, 1, memory_order_relaxed);
    one->branch = branch;
    uvh_lock_acquire(&hub->lock);
    mark_ended(branch);
    uvh_list_append(&branch->subscribers, &one->link);
    branch->count++;
    one->after = hub->number;
    one->last = NEVER;
    *last = hub->last;
    if (hub->keep > 0 && last_id != NULL) {
        uint64_t seen = number_of(hub, last_id);
        if (hub->number - seen > hub->keep)
            seen = hub->number - hub->keep;
        if (seen < hub->number)
            first = hub->kept[(seen + 1) % hub->keep];
        for (struct event *event = first; event != NULL; event = event->next)
            event_ref(event);
    }
    uvh_lock_release(&hub->lock);
    return first;
}

static void subscribe(struct branch *branch, struct subscriber *one, const char *last_id)
{
    uvhttp_event_hub_t *hub = branch->hub;
    struct event *last, *event = join(branch, one, last_id, &last);
    bool open = true;
    while (event != NULL) {
        struct event *next = event == last ? NULL : event->next;
        open = open && send_event(branch, one, event);
        event_unref(hub, event);
        event = next;
    }
}

int uvhttp_event_hub_subscribe(uvhttp_event_hub_t *hub, uvhttp_response_t *response)
{
    if (hub == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_request_t *request = uvhttp_response_request(response);
    if (uvhttp_request_is_blocking(request) || uvhttp_request_attached(request, &key) != NULL)
        return UVHTTP_EINVAL;
    struct branch *branch = branch_of(hub, request);
    struct subscriber *one = uvhttp_request_allocate(request, sizeof(*one));
    if (branch == NULL || one == NULL)
        return UVHTTP_ENOMEM;
    *one = (struct subscriber){.response = response};
    uvh_list_init(&one->link);
    int err = uvhttp_request_attach(request, &key, one, leave);
    if (err == 0 && uvhttp_response_open(response))
        err = uvhttp_response_begin_events(response);
    else if (err == 0)
        err = uvhttp_response_write(response, "", 0); /* tests whether it is writable */
    if (err != 0)
        return err;
    /* The server ends the stream of HEAD after the handler, which may send events of its own. */
    if (uvhttp_request_method(request) == UVHTTP_METHOD_HEAD)
        return 0;
    subscribe(branch, one, uvhttp_request_header(request, "Last-Event-ID"));
    return 0;
}

/* ---- counters ---- */

size_t uvhttp_event_hub_count(uvhttp_event_hub_t *hub)
{
    size_t count = 0;
    if (hub == NULL)
        return 0;
    uvh_lock_acquire(&hub->lock);
    for (const struct branch *branch = hub->branches; branch != NULL; branch = branch->next)
        count += branch->count;
    uvh_lock_release(&hub->lock);
    return count;
}

uint64_t uvhttp_event_hub_dropped(uvhttp_event_hub_t *hub)
{
    if (hub == NULL)
        return 0;
    uvh_lock_acquire(&hub->lock);
    uint64_t dropped = hub->dropped;
    uvh_lock_release(&hub->lock);
    return dropped;
}
