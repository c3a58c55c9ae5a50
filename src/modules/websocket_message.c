/* Messages for many: framed when they are made, and compressed when somebody there may want it. */
#include "modules/websocket_message.h"

#include <string.h>

#include "base/alloc.h"
#include "codec/utf8.h"
#include "modules/websocket.h"

struct uvhttp_websocket_message *uvh_websocket_message_of(struct uvhttp_websocket_endpoint *endpoint,
                                                          size_t size, bool droppable)
{
    struct uvhttp_websocket_message *message;
    size_t memory = sizeof(*message) + size;
    if (!uvh_budget_take(&endpoint->budget, memory))
        return NULL;
    message = uvh_alloc(endpoint->allocator, memory);
    if (message == NULL) {
        uvh_budget_give(&endpoint->budget, memory);
        return NULL;
    }
    *message = (struct uvhttp_websocket_message){
        .endpoint = endpoint, .memory = memory, .plain_size = size, .droppable = droppable};
    atomic_init(&message->refs, 1);
    return message;
}

static bool is_compressing(const struct uvhttp_websocket_endpoint *endpoint)
{
    for (size_t i = 0; i < endpoint->worker_count; i++) {
        if (uvh_counter_read(&endpoint->workers[i].compressing) > 0)
            return true;
    }
    return false;
}

uvhttp_websocket_message_t *uvhttp_websocket_message_new(uvhttp_websocket_endpoint_t *endpoint,
                                                         uvhttp_websocket_kind_t kind, const void *data,
                                                         size_t size)
{
    struct uvh_ws_frame frame = {.opcode = (uint8_t)kind, .last = true, .length = size};
    char head[UVH_WS_HEAD_MAX], compressed_head[UVH_WS_HEAD_MAX];
    size_t head_size = uvh_ws_frame_head(&frame, head), compressed_head_size = 0;
    struct uvh_bytes compressed;
    if (kind == UVHTTP_WEBSOCKET_TEXT && !uvh_utf8_valid(data, size))
        return NULL;
    uvh_bytes_init(&compressed, endpoint->allocator, size);
    int window_bits = 0;
    if (size >= endpoint->options.compression_min_size && is_compressing(endpoint))
        window_bits = uvh_ws_deflate_for_many(&endpoint->deflate, data, size, &compressed);
    if (window_bits > 0) {
        frame.compressed = true;
        frame.length = compressed.length;
        compressed_head_size = uvh_ws_frame_head(&frame, compressed_head);
    } else {
        compressed.length = 0;
    }
    size_t compressed_size = compressed_head_size + compressed.length;
    struct uvhttp_websocket_message *message =
        uvh_websocket_message_of(endpoint, head_size + size + compressed_size, true);
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

void uvhttp_websocket_message_ref(uvhttp_websocket_message_t *message)
{
    atomic_fetch_add_explicit(&message->refs, 1, memory_order_relaxed);
}

void uvhttp_websocket_message_unref(uvhttp_websocket_message_t *message)
{
    if (message == NULL || atomic_fetch_sub_explicit(&message->refs, 1, memory_order_acq_rel) != 1)
        return;
    struct uvhttp_websocket_endpoint *endpoint = message->endpoint;
    uvh_budget_give(&endpoint->budget, message->memory);
    uvh_free(endpoint->allocator, message);
}
