/* Deliveries are in one array, and those of a member form a chain in it: so a loop iteration
 * allocates nothing once the array has grown, and resetting a number empties it. */
#include "websocket/topic_fanout.h"

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "websocket/websocket.h"

enum {
    /* Pending deliveries, 4 MiB; or one per member, if that is more. */
    MAX_DELIVERIES = 1 << 18,
    KEPT_DELIVERIES = 1 << 12, /* beyond one per member, between iterations */
    USUAL_COUNT = 64,          /* messages per member that fit on the stack */
};

void uvh_topic_fanout_init(struct uvh_topic_fanout *fanout, const uvhttp_allocator_t *allocator)
{
    *fanout = (struct uvh_topic_fanout){.allocator = allocator};
    uvh_list_init(&fanout->pending);
}

void uvh_topic_fanout_release(struct uvh_topic_fanout *fanout)
{
    uvh_free(fanout->allocator, fanout->deliveries);
}

static bool resize(struct uvh_topic_fanout *fanout, uint32_t capacity)
{
    struct uvh_topic_delivery *deliveries =
        uvh_realloc(fanout->allocator, fanout->deliveries, capacity * sizeof(*deliveries));
    if (deliveries == NULL)
        return false;
    fanout->deliveries = deliveries;
    fanout->capacity = capacity;
    return true;
}

int uvh_topic_fanout_join(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member)
{
    if (fanout->members == fanout->capacity &&
        !resize(fanout, fanout->capacity < USUAL_COUNT ? USUAL_COUNT : fanout->capacity * 2))
        return UVHTTP_ENOMEM;
    uvh_list_init(&member->link);
    member->count = 0;
    fanout->members++;
    return 0;
}

void uvh_topic_fanout_leave(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member)
{
    uvh_list_remove(&member->link);
    fanout->members--;
    if (fanout->sending == member)
        fanout->sending = NULL;
}

bool uvh_topic_fanout_reserve(struct uvh_topic_fanout *fanout)
{
    uint32_t needed = fanout->used + fanout->members;
    if (needed <= fanout->capacity)
        return true;
    if (needed > MAX_DELIVERIES)
        return false;
    return resize(fanout, needed < MAX_DELIVERIES / 2 ? needed * 2 : MAX_DELIVERIES);
}

void uvh_topic_fanout_collect(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member,
                              uvhttp_websocket_message_t *message)
{
    uint32_t index = fanout->used++;
    fanout->deliveries[index].message = message;
    if (member->count == 0) {
        member->first = index;
        uvh_list_append(&fanout->pending, &member->link);
    } else {
        fanout->deliveries[member->last].next = index;
    }
    member->last = index;
    member->count++;
    if (member->count > fanout->max_count)
        fanout->max_count = member->count;
}

/* Sends all messages of a member. Those collected meanwhile form a new chain. */
static void send_to(struct uvh_topic_fanout *fanout, struct uvh_topic_member *member,
                    uvhttp_websocket_message_t **messages, uint32_t capacity)
{
    uint32_t next = member->first, left = member->count;
    member->count = 0;
    fanout->sending = member;
    while (left > 0 && fanout->sending != NULL) {
        uint32_t count = left < capacity ? left : capacity;
        for (uint32_t i = 0; i < count; i++) {
            messages[i] = fanout->deliveries[next].message;
            next = fanout->deliveries[next].next;
        }
        left -= count;
        uvh_websocket_send_many(member->ws, messages, count);
    }
    fanout->sending = NULL;
}

void uvh_topic_fanout_send(struct uvh_topic_fanout *fanout)
{
    uvhttp_websocket_message_t *usual[USUAL_COUNT], **many = NULL;
    if (fanout->max_count > USUAL_COUNT) /* when out of memory it takes more calls */
        many =
            uvh_alloc(fanout->allocator, fanout->max_count * sizeof(uvhttp_websocket_message_t *));
    uint32_t capacity = many == NULL ? USUAL_COUNT : fanout->max_count;
    while (!uvh_list_empty(&fanout->pending)) {
        struct uvh_topic_member *member =
            UVH_CONTAINER_OF(fanout->pending.next, struct uvh_topic_member, link);
        uvh_list_remove(&member->link);
        send_to(fanout, member, many == NULL ? usual : many, capacity);
    }
    uvh_free(fanout->allocator, many);
    fanout->used = fanout->max_count = 0;
    if (fanout->capacity > fanout->members + 2 * KEPT_DELIVERIES)
        (void)resize(fanout, fanout->members + KEPT_DELIVERIES);
}
