/* A ring of references that doubles when full. */
#include "websocket/queue.h"

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

static size_t cost_of(const struct uvh_ws_queue_entry *entry)
{
    return frame_of(entry).length + UVH_WS_QUEUE_ENTRY;
}

static size_t ring_size(const struct uvh_ws_queue *queue)
{
    return queue->capacity * sizeof(*queue->entries);
}

/* A ring of `capacity` entries, charged to the budget. */
static struct uvh_ws_queue_entry *ring_new(const struct uvh_ws_queue *queue, size_t capacity)
{
    size_t size = capacity * sizeof(*queue->entries);
    if (!uvh_budget_take(&queue->memory->budget, size))
        return NULL;
    struct uvh_ws_queue_entry *entries = uvh_alloc(queue->allocator, size);
    if (entries == NULL)
        uvh_budget_give(&queue->memory->budget, size);
    return entries;
}

struct uvh_ws_queue *uvh_ws_queue_new(const uvhttp_allocator_t *allocator,
                                      struct uvh_ws_memory *memory)
{
    struct uvh_ws_queue *queue = uvh_alloc_zero(allocator, sizeof(*queue));
    if (queue == NULL)
        return NULL;
    queue->allocator = allocator;
    queue->memory = memory;
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
    uvh_budget_give(&queue->memory->budget, ring_size(queue));
    uvh_free(queue->allocator, queue->entries);
    uvh_free(queue->allocator, queue);
}

static int grow(struct uvh_ws_queue *queue)
{
    struct uvh_ws_queue_entry *entries = ring_new(queue, 2 * (size_t)queue->capacity);
    if (entries == NULL)
        return UVHTTP_ENOMEM;
    uvh_budget_give(&queue->memory->budget, ring_size(queue));
    for (uint32_t i = 0; i < queue->count; i++)
        entries[i] = *at(queue, i);
    uvh_free(queue->allocator, queue->entries);
    queue->entries = entries;
    queue->first = 0;
    queue->capacity *= 2;
    return 0;
}

int uvh_ws_queue_push(struct uvh_ws_queue *queue, struct uvhttp_websocket_message *message,
                      bool compressed)
{
    if ((queue->count == queue->capacity && grow(queue) != 0) ||
        !uvh_websocket_message_settle(message, queue->memory))
        return UVHTTP_ENOMEM;
    struct uvh_ws_queue_entry *entry = at(queue, queue->count);
    *entry = (struct uvh_ws_queue_entry){message, compressed};
    uvhttp_websocket_message_ref(message);
    queue->count++;
    queue->bytes += cost_of(entry);
    if (message->droppable)
        queue->droppable += cost_of(entry);
    return 0;
}

size_t uvh_ws_queue_areas(const struct uvh_ws_queue *queue, uvhttp_slice_t *areas, size_t most,
                          size_t limit)
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

/* Removes the entry at `index` and moves those on its shorter side: the pongs of a peer that does
 * not read but pings are at the end of the queue. */
static void remove_at(struct uvh_ws_queue *queue, uint32_t index)
{
    struct uvhttp_websocket_message *message = at(queue, index)->message;
    uint32_t after = queue->count - 1 - index;
    if (index < after) {
        for (uint32_t i = index; i > 0; i--)
            *at(queue, i) = *at(queue, i - 1);
        queue->first = (queue->first + 1) & (queue->capacity - 1);
    } else {
        for (uint32_t i = index; i + 1 < queue->count; i++)
            *at(queue, i) = *at(queue, i + 1);
    }
    queue->count--;
    uvhttp_websocket_message_unref(message);
}

void uvh_ws_queue_advance(struct uvh_ws_queue *queue, size_t bytes)
{
    queue->bytes -= bytes;
    while (queue->count > 0 && bytes > 0) {
        const struct uvh_ws_queue_entry *entry = at(queue, 0);
        size_t left = frame_of(entry).length - queue->sent;
        if (queue->sent == 0 && entry->message->droppable) /* it is partly sent */
            queue->droppable -= cost_of(entry);
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

/* An entry that is not partly sent and is removed. */
static void uncount(struct uvh_ws_queue *queue, const struct uvh_ws_queue_entry *entry)
{
    queue->bytes -= cost_of(entry);
    if (entry->message->droppable)
        queue->droppable -= cost_of(entry);
}

static void drop_at(struct uvh_ws_queue *queue, uint32_t index)
{
    uncount(queue, at(queue, index));
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

/* Searches from the end, where it is unless messages were added since. */
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
    uint32_t kept = 0;
    for (uint32_t i = 0; i < queue->count; i++) {
        const struct uvh_ws_queue_entry entry = *at(queue, i);
        if (!entry.message->droppable || (i == 0 && queue->sent > 0)) {
            *at(queue, kept++) = entry;
        } else {
            uncount(queue, &entry);
            uvhttp_websocket_message_unref(entry.message);
        }
    }
    queue->count = kept;
}
