/* A ring of references that doubles. */
#include "modules/websocket_queue.h"

#include <uvhttp/error.h>

#include "base/alloc.h"

enum { FIRST_CAPACITY = 8 };

static struct uvh_ws_queue_entry *at(const struct uvh_ws_queue *queue, uint32_t index)
{
    return &queue->entries[(queue->first + index) & (queue->capacity - 1)];
}

static uvhttp_slice_t frame_of(const struct uvh_ws_queue_entry *entry)
{
    return uvh_websocket_message_frame(entry->message, entry->compressed);
}

static size_t ring_size(const struct uvh_ws_queue *queue)
{
    return queue->capacity * sizeof(*queue->entries);
}

/* A ring of `capacity` entries, in the budget. */
static struct uvh_ws_queue_entry *ring_new(const struct uvh_ws_queue *queue, size_t capacity)
{
    size_t size = capacity * sizeof(*queue->entries);
    if (!uvh_budget_take(queue->budget, size))
        return NULL;
    struct uvh_ws_queue_entry *entries = uvh_alloc(queue->allocator, size);
    if (entries == NULL)
        uvh_budget_give(queue->budget, size);
    return entries;
}

struct uvh_ws_queue *uvh_ws_queue_new(const uvhttp_allocator_t *allocator, struct uvh_budget *budget)
{
    struct uvh_ws_queue *queue = uvh_alloc_zero(allocator, sizeof(*queue));
    if (queue == NULL)
        return NULL;
    queue->allocator = allocator;
    queue->budget = budget;
    queue->capacity = FIRST_CAPACITY;
    queue->entries = ring_new(queue, FIRST_CAPACITY);
    if (queue->entries == NULL) {
        uvh_free(allocator, queue);
        return NULL;
    }
    return queue;
}

void uvh_ws_queue_free(struct uvh_ws_queue *queue)
{
    if (queue == NULL)
        return;
    for (uint32_t i = 0; i < queue->count; i++)
        uvhttp_websocket_message_unref(at(queue, i)->message);
    uvh_budget_give(queue->budget, ring_size(queue));
    uvh_free(queue->allocator, queue->entries);
    uvh_free(queue->allocator, queue);
}

static int grow(struct uvh_ws_queue *queue)
{
    struct uvh_ws_queue_entry *entries = ring_new(queue, 2 * (size_t)queue->capacity);
    if (entries == NULL)
        return UVHTTP_ENOMEM;
    uvh_budget_give(queue->budget, ring_size(queue));
    for (uint32_t i = 0; i < queue->count; i++)
        entries[i] = *at(queue, i);
    uvh_free(queue->allocator, queue->entries);
    queue->entries = entries;
    queue->first = 0;
    queue->capacity *= 2;
    return 0;
}

int uvh_ws_queue_push(struct uvh_ws_queue *queue, struct uvhttp_websocket_message *message, bool compressed,
                      size_t sent)
{
    if (queue->count == queue->capacity && grow(queue) != 0)
        return UVHTTP_ENOMEM;
    struct uvh_ws_queue_entry *entry = at(queue, queue->count);
    *entry = (struct uvh_ws_queue_entry){message, compressed};
    uvhttp_websocket_message_ref(message);
    if (queue->count == 0)
        queue->sent = sent;
    queue->count++;
    queue->bytes += frame_of(entry).length - sent + UVH_WS_QUEUE_ENTRY;
    return 0;
}

size_t uvh_ws_queue_areas(const struct uvh_ws_queue *queue, uvhttp_slice_t *areas, size_t most, size_t limit)
{
    size_t count = 0, bytes = 0;
    for (; count < most && count < queue->count && bytes < limit; count++) {
        uvhttp_slice_t frame = frame_of(at(queue, (uint32_t)count));
        if (count == 0) {
            frame.base += queue->sent;
            frame.length -= queue->sent;
        }
        if (frame.length > limit - bytes)
            frame.length = limit - bytes;
        bytes += frame.length;
        areas[count] = frame;
    }
    return count;
}

/* The entry at `index` leaves the queue; those in front of it, few since they are control frames or have begun, move up. */
static void remove_at(struct uvh_ws_queue *queue, uint32_t index)
{
    struct uvhttp_websocket_message *message = at(queue, index)->message;
    for (uint32_t i = index; i > 0; i--)
        *at(queue, i) = *at(queue, i - 1);
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
    uvhttp_websocket_message_unref(message);
}

void uvh_ws_queue_advance(struct uvh_ws_queue *queue, size_t bytes)
{
    queue->bytes -= bytes;
    while (queue->count > 0) {
        size_t left = frame_of(at(queue, 0)).length - queue->sent;
        if (bytes < left) {
            queue->sent += bytes;
            return;
        }
        bytes -= left;
        queue->sent = 0;
        queue->bytes -= UVH_WS_QUEUE_ENTRY;
        remove_at(queue, 0);
    }
}

static void drop_at(struct uvh_ws_queue *queue, uint32_t index)
{
    queue->bytes -= frame_of(at(queue, index)).length + UVH_WS_QUEUE_ENTRY;
    remove_at(queue, index);
}

bool uvh_ws_queue_drop_oldest(struct uvh_ws_queue *queue)
{
    for (uint32_t i = queue->sent > 0 ? 1 : 0; i < queue->count; i++) {
        if (at(queue, i)->message->droppable) {
            drop_at(queue, i);
            return true;
        }
    }
    return false;
}

/* From the end, where it is unless messages have come since. */
void uvh_ws_queue_drop_pong(struct uvh_ws_queue *queue)
{
    for (uint32_t i = queue->count; i > (queue->sent > 0 ? 1u : 0u); i--) {
        if (at(queue, i - 1)->message->pong) {
            drop_at(queue, i - 1);
            return;
        }
    }
}

void uvh_ws_queue_drop_all(struct uvh_ws_queue *queue)
{
    while (uvh_ws_queue_drop_oldest(queue))
        ;
}
