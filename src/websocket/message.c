/* Broadcast messages: framed when created, and compressed when a subscriber may need it. */
#include "websocket/message.h"

#include <string.h>

#include "base/alloc.h"
#include "codec/simd/utf8.h"
#include "websocket/websocket.h"

enum { WINDOWS_LEAVE = 4 /* divides the budget: one part is for messages */ };

/* ---- memory ---- */

struct uvh_ws_memory *uvh_ws_memory_new(const uvhttp_allocator_t *allocator, size_t limit,
                                        bool passing)
{
    struct uvh_ws_memory *memory = uvh_alloc_zero(allocator, sizeof(*memory));
    if (memory == NULL)
        return NULL;
    atomic_init(&memory->refs, 1);
    memory->allocator = allocator;
    memory->budget.limit = limit;
    memory->windows.limit = limit - limit / WINDOWS_LEAVE;
    memory->windows.whole = &memory->budget;
    memory->passing = passing;
    return memory;
}

struct uvh_ws_memory *uvh_ws_memory_ref(struct uvh_ws_memory *memory)
{
    atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
    return memory;
}

void uvh_ws_memory_unref(struct uvh_ws_memory *memory)
{
    if (memory != NULL && atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel) == 1)
        uvh_free(memory->allocator, memory);
}

bool uvh_websocket_message_settle(struct uvhttp_websocket_message *message,
                                  struct uvh_ws_memory *memory)
{
    struct uvh_ws_memory *before = atomic_load_explicit(&message->memory, memory_order_acquire);
    if (!before->passing)
        return true;
    if (!uvh_budget_take(&memory->budget, message->size))
        return false;
    uvh_ws_memory_ref(memory);
    /* another worker was first */
    if (!atomic_compare_exchange_strong(&message->memory, &before, memory))
        before = memory;
    uvh_budget_give(&before->budget, message->size);
    uvh_ws_memory_unref(before);
    return true;
}

/* ---- messages ---- */

struct uvhttp_websocket_message *uvh_websocket_message_of(struct uvh_ws_memory *memory, size_t size,
                                                          bool droppable)
{
    struct uvhttp_websocket_message *message;
    size_t whole = sizeof(*message) + size;
    if (!uvh_budget_take(&memory->budget, whole))
        return NULL;
    message = uvh_alloc(memory->allocator, whole);
    if (message == NULL) {
        uvh_budget_give(&memory->budget, whole);
        return NULL;
    }
    *message = (struct uvhttp_websocket_message){
        .allocator = memory->allocator, .size = whole, .plain_size = size, .droppable = droppable};
    atomic_init(&message->memory, uvh_ws_memory_ref(memory));
    atomic_init(&message->refs, 1);
    return message;
}

bool uvh_websocket_message_fits(uvhttp_websocket_kind_t kind, const void *data, size_t size)
{
    if (data == NULL && size > 0)
        return false;
    if (kind != UVHTTP_WEBSOCKET_TEXT)
        return kind == UVHTTP_WEBSOCKET_BINARY;
    return uvh_utf8_valid(data, size);
}

static bool is_compressing(const struct uvhttp_websocket_endpoint *endpoint)
{
    for (size_t i = 0; i < endpoint->worker_count; i++) {
        if (uvh_counter_read(&endpoint->workers[i].compressing) > 0)
            return true;
    }
    return false;
}

struct uvhttp_websocket_message *
uvh_websocket_message_make(struct uvh_ws_memory *memory,
                           const struct uvh_ws_deflate_settings *deflate,
                           uvhttp_websocket_kind_t kind, const void *data, size_t size)
{
    struct uvh_ws_frame frame = {.opcode = (uint8_t)kind, .last = true, .length = size};
    char head[UVH_WS_HEAD_MAX], compressed_head[UVH_WS_HEAD_MAX];
    size_t head_size = uvh_ws_frame_head(&frame, head), compressed_head_size = 0;
    struct uvh_bytes compressed;
    uvh_bytes_init(&compressed, memory->allocator, size);
    int window_bits = 0;
    if (deflate != NULL && size >= deflate->min_size)
        window_bits = uvh_ws_deflate_for_many(deflate, data, size, &compressed);
    if (window_bits > 0) {
        frame.compressed = true;
        frame.length = compressed.length;
        compressed_head_size = uvh_ws_frame_head(&frame, compressed_head);
    } else {
        compressed.length = 0;
    }
    size_t compressed_size = compressed_head_size + compressed.length;
    struct uvhttp_websocket_message *message =
        uvh_websocket_message_of(memory, head_size + size + compressed_size, true);
    if (message != NULL) {
        char *out = message->bytes;
        message->plain_size = head_size + size;
        message->compressed_size = compressed_size;
        message->window_bits = (uint8_t)window_bits;
        memcpy(out, head, head_size);
        if (size > 0)
            memcpy(out + head_size, data, size);
        out += message->plain_size;
        if (compressed_size > 0) {
            memcpy(out, compressed_head, compressed_head_size);
            memcpy(out + compressed_head_size, compressed.data, compressed.length);
        }
    }
    uvh_bytes_release(&compressed);
    return message;
}

uvhttp_websocket_message_t *uvhttp_websocket_message_new(uvhttp_websocket_endpoint_t *endpoint,
                                                         uvhttp_websocket_kind_t kind,
                                                         const void *data, size_t size)
{
    if (endpoint == NULL || !uvh_websocket_message_fits(kind, data, size))
        return NULL;
    return uvh_websocket_message_make(
        endpoint->memory, is_compressing(endpoint) ? &endpoint->deflate : NULL, kind, data, size);
}

void uvhttp_websocket_message_ref(uvhttp_websocket_message_t *message)
{
    if (message != NULL)
        atomic_fetch_add_explicit(&message->refs, 1, memory_order_relaxed);
}

void uvhttp_websocket_message_unref(uvhttp_websocket_message_t *message)
{
    if (message == NULL || atomic_fetch_sub_explicit(&message->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct uvh_ws_memory *memory = atomic_load_explicit(&message->memory, memory_order_acquire);
    const uvhttp_allocator_t *allocator = message->allocator;
    uvh_budget_give(&memory->budget, message->size);
    uvh_free(allocator, message);
    uvh_ws_memory_unref(memory);
}
