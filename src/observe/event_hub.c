/* Subscribers form a ring, embedded in the memory of their exchanges. Sending to one may end its
 * exchange and, by callbacks, those of others. So each iteration over the ring registers its
 * position (struct walk), which advances when the subscriber there is removed. */
#include <uvhttp/error.h>
#include <uvhttp/event_hub.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/list.h"

enum { USUAL_EVENT = 1024 }; /* an event up to this size is built on the stack */

static const char key; /* identifies a subscriber in its exchange */

struct subscriber {
    struct uvh_list link;
    uvhttp_event_hub_t *hub; /* NULL once it is unsubscribed */
    uvhttp_response_t *response;
};

struct walk {
    struct subscriber *at; /* NULL: removed, and possibly freed */
    struct uvh_list *next;
    struct walk *outer; /* of the call whose callback started this one */
};

struct uvhttp_event_hub {
    const uvhttp_allocator_t *allocator;
    struct uvh_list subscribers;
    struct walk *walks;
    size_t count;
    uint64_t dropped;
};

static void leave(void *subscriber)
{
    struct subscriber *one = subscriber;
    uvhttp_event_hub_t *hub = one->hub;
    if (hub == NULL)
        return;
    for (struct walk *walk = hub->walks; walk != NULL; walk = walk->outer) {
        if (walk->next == &one->link)
            walk->next = one->link.next;
        if (walk->at == one)
            walk->at = NULL;
    }
    uvh_list_remove(&one->link);
    one->hub = NULL;
    hub->count--;
}

static void end_stream(struct subscriber *one)
{
    uvhttp_response_t *response = one->response;
    leave(one);
    (void)uvhttp_response_end(response); /* it may have ended already */
}

/* Calls `visit` for all subscribers, including those added meanwhile. */
static void for_each(uvhttp_event_hub_t *hub,
                     void (*visit)(struct subscriber *one, uvhttp_slice_t bytes),
                     uvhttp_slice_t bytes)
{
    struct walk walk = {.next = hub->subscribers.next, .outer = hub->walks};
    hub->walks = &walk;
    while (walk.next != &hub->subscribers) {
        struct subscriber *one = UVH_CONTAINER_OF(walk.next, struct subscriber, link);
        walk.next = one->link.next;
        walk.at = one;
        visit(one, bytes);
    }
    hub->walks = walk.outer;
}

static void send_bytes(struct subscriber *one, uvhttp_slice_t bytes)
{
    uvhttp_event_hub_t *hub = one->hub;
    int err = uvhttp_response_write(one->response, bytes.base, bytes.length);
    if (err == 0 || err == UVHTTP_EDISCONNECTED)
        return;
    if (err != UVHTTP_ERESPONDED)
        hub->dropped++;
    if (hub->walks->at == one) /* some errors end the stream themselves */
        end_stream(one);
}

static void send_end(struct subscriber *one, uvhttp_slice_t bytes)
{
    (void)bytes;
    end_stream(one);
}

uvhttp_event_hub_t *uvhttp_event_hub_new(const uvhttp_allocator_t *allocator)
{
    if (allocator == NULL)
        allocator = uvh_alloc_default();
    uvhttp_event_hub_t *hub = uvh_alloc_zero(allocator, sizeof(*hub));
    if (hub == NULL)
        return NULL;
    hub->allocator = allocator;
    uvh_list_init(&hub->subscribers);
    return hub;
}

void uvhttp_event_hub_free(void *hub)
{
    uvhttp_event_hub_t *old = hub;
    if (old == NULL)
        return;
    uvhttp_event_hub_end(old);
    uvh_free(old->allocator, old);
}

int uvhttp_event_hub_subscribe(uvhttp_event_hub_t *hub, uvhttp_response_t *response)
{
    if (hub == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_request_t *request = uvhttp_response_request(response);
    if (uvhttp_request_is_blocking(request) || uvhttp_request_attached(request, &key) != NULL)
        return UVHTTP_EINVAL;
    struct subscriber *one = uvhttp_request_allocate(request, sizeof(*one));
    if (one == NULL)
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
    /* The server ends the stream after the handler, which may still send events of its own. */
    if (uvhttp_request_method(request) == UVHTTP_METHOD_HEAD)
        return 0;
    one->hub = hub;
    uvh_list_append(&hub->subscribers, &one->link);
    hub->count++;
    return 0;
}

int uvhttp_event_hub_publish(uvhttp_event_hub_t *hub, const uvhttp_sse_event_t *event)
{
    char usual[USUAL_EVENT];
    char *bytes = usual;
    if (hub == NULL)
        return UVHTTP_ENOMEM;
    ptrdiff_t size = uvhttp_sse_encode(event, usual, sizeof(usual));
    if (size < 0)
        return UVHTTP_EINVAL;
    if ((size_t)size > sizeof(usual)) {
        bytes = uvh_alloc(hub->allocator, (size_t)size);
        if (bytes == NULL)
            return UVHTTP_ENOMEM;
        uvhttp_sse_encode(event, bytes, (size_t)size);
    }
    for_each(hub, send_bytes, (uvhttp_slice_t){bytes, (size_t)size});
    if (bytes != usual)
        uvh_free(hub->allocator, bytes);
    return 0;
}

void uvhttp_event_hub_end(uvhttp_event_hub_t *hub)
{
    if (hub != NULL)
        for_each(hub, send_end, (uvhttp_slice_t){NULL, 0});
}

size_t uvhttp_event_hub_count(const uvhttp_event_hub_t *hub)
{
    return hub == NULL ? 0 : hub->count;
}

uint64_t uvhttp_event_hub_dropped(const uvhttp_event_hub_t *hub)
{
    return hub == NULL ? 0 : hub->dropped;
}
