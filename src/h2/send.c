/* The order of output: DATA frames of all streams that are ready, the most urgent first (RFC 9218).
 *
 * Runs at the end of each event, so that all responses of an event are known. It stops when the
 * socket is full: what is queued before the socket cannot be overtaken by a more urgent stream. */
#include <string.h>

#include <uvhttp/error.h>

#include "conn/pace.h"
#include "h2/h2.h"
#include "platform/file.h"

enum {
    FIRST_DATA = 4096,    /* bytes of the first frame of a long response */
    MOST_BYTES = 1 << 20, /* in one event */
    UPDATE_BYTES = 1024,  /* a client may update its windows after so many */
};

bool uvh_h2_has_output(const struct uvh_h2_stream *stream)
{
    return stream->entries != NULL || uvh_h2_queued(stream) > 0;
}

/* ---- the list of streams that are ready ---- */

void uvh_h2_ready(struct uvh_h2_stream *stream)
{
    struct uvh_h2 *h2 = stream->h2;
    stream->stalled = stream->send_window <= 0;
    if (stream->stalled)
        uvh_h2_unready(stream); /* the client has reduced its window */
    if (stream->stalled || stream->closed || !uvh_list_empty(&stream->ready))
        return;
    uvh_list_append(&h2->ready[stream->priority.urgency], &stream->ready);
    h2->ready_mask |= (unsigned char)(1u << stream->priority.urgency);
}

void uvh_h2_unready(struct uvh_h2_stream *stream)
{
    struct uvh_h2 *h2 = stream->h2;
    unsigned urgency = stream->priority.urgency;
    uvh_list_remove(&stream->ready);
    if (uvh_list_empty(&h2->ready[urgency]))
        h2->ready_mask &= (unsigned char)~(1u << urgency);
}

void uvh_h2_set_priority(struct uvh_h2_stream *stream, struct uvh_h2_priority priority)
{
    bool ready = !uvh_list_empty(&stream->ready);
    uvh_h2_unready(stream);
    stream->priority = priority;
    if (ready)
        uvh_h2_ready(stream);
}

static struct uvh_h2_stream *first_ready(const struct uvh_h2 *h2)
{
    unsigned urgency = 0;
    while ((h2->ready_mask >> urgency & 1) == 0)
        urgency++;
    return UVH_CONTAINER_OF(h2->ready[urgency].next, struct uvh_h2_stream, ready);
}

/* ---- one frame ---- */

size_t uvh_h2_allowed(const struct uvh_h2_stream *stream)
{
    const struct uvh_h2 *h2 = stream->h2;
    int32_t window = stream->send_window < h2->send_window ? stream->send_window : h2->send_window;
    return window <= 0 ? 0 : (size_t)window;
}

char *uvh_h2_put_data_head(struct uvh_h2_stream *stream, char *out, size_t size, bool ends)
{
    struct uvh_h2 *h2 = stream->h2;
    struct uvh_h2_frame frame = {.length = (uint32_t)size,
                                 .stream = stream->id,
                                 .type = UVH_H2_DATA,
                                 .flags = ends ? UVH_H2_END_STREAM : 0};
    stream->send_window -= (int32_t)size;
    h2->send_window -= (int32_t)size;
    h2->data_sent |= size > 0;
    /* updates of the stream and the connection; a PING by which clients measure the bandwidth */
    h2->replies_allowed += 3 + 2 * (size / UPDATE_BYTES);
    stream->base.sent += size + UVH_H2_HEAD_SIZE;
    return out + uvh_h2_write_head(out, &frame);
}

static void read_failed(struct uvh_h2_stream *stream, int error)
{
    struct uvhttp_response *response = &stream->base.response;
    uvh_server_log(stream->base.worker->server, UVHTTP_LOG_ERROR, "%s: %s",
                   uvhttp_request_path(&stream->base.request), uvhttp_strerror(error));
    if (response->on_read_error != NULL)
        response->on_read_error(error, response->read_error_arg);
}

/* Copies from the first entry. Returns the bytes, 0 on a read error. */
static size_t copy_entry(struct uvh_h2_stream *stream, char *out, size_t size)
{
    struct uvh_output_entry *entry = stream->entries;
    if (size > entry->size)
        size = (size_t)entry->size;
    if (entry->descriptor < 0) {
        memcpy(out, entry->base, size);
        entry->base += size;
    } else {
        int64_t count = uvh_file_read(entry->descriptor, out, size, entry->offset);
        if (count <= 0) {
            read_failed(stream, count == 0 ? UVHTTP_ETRUNCATED : (int)count);
            return 0;
        }
        size = (size_t)count;
    }
    entry->offset += size;
    entry->size -= size;
    if (entry->size == 0)
        stream->entries = entry->next;
    return size;
}

static size_t copy_queue(struct uvh_h2_stream *stream, char *out, size_t size)
{
    struct uvh_queue *queue = stream->queue;
    size_t left = uvh_queue_size(queue);
    if (size > left)
        size = left;
    memcpy(out, uvh_queue_front(queue), size);
    uvh_queue_take(queue, size);
    stream->h2->queued -= size;
    if (size == left)
        uvh_queue_release(queue);
    return size;
}

/* Fills a frame. Returns its bytes, fewer than `size` if the output ends, or 0 on a read error. */
static size_t copy_output(struct uvh_h2_stream *stream, char *out, size_t size)
{
    size_t used = 0;
    while (used < size && uvh_h2_has_output(stream)) {
        size_t part = stream->entries != NULL ? copy_entry(stream, out + used, size - used)
                                              : copy_queue(stream, out + used, size - used);
        if (part == 0)
            return 0;
        used += part;
    }
    return used;
}

/* Bytes of the next frame; 0: none may be sent now. */
static size_t next_size(struct uvh_h2_stream *stream)
{
    size_t size = uvh_h2_allowed(stream);
    uint64_t rate = uvh_exchange_allowed(&stream->base);
    bool is_long = stream->entries == NULL || stream->entries->size > UVH_H2_DATA_SIZE;
    size_t most = stream->began || !is_long ? UVH_H2_DATA_SIZE : FIRST_DATA;
    if (size > most)
        size = most;
    return rate < size ? (size_t)rate : size;
}

/* After the last frame. For the trailers the connection may be found broken, and end the stream. */
static void end_stream(struct uvh_h2_stream *stream)
{
    bool has_trailers = stream->base.response.trailers.count > 0;
    uvh_exchange_ref(&stream->base);
    if (!has_trailers || uvh_h2_fields_put_trailers(stream) == 0)
        uvh_h2_complete(stream);
    else
        uvh_h2_reset(stream, UVH_H2_INTERNAL_ERROR);
    uvh_exchange_unref(&stream->base);
}

/* After a frame that was not the last one: only this restarts a write timeout. */
static void go_on(struct uvh_h2_stream *stream)
{
    stream->stalled = stream->send_window <= 0;
    if (!uvh_h2_has_output(stream) || stream->stalled) {
        uvh_h2_unready(stream);
    } else if (stream->priority.incremental) {
        uvh_h2_unready(stream);
        uvh_h2_ready(stream);
    }
    uvh_exchange_set_timeout(&stream->base, UVH_EXCHANGE_TIMEOUT_NONE, false);
    uvh_h2_set_timeout(stream, true);
}

/* Appends a frame. Returns its bytes; 0 if nothing was sent, and the stream is not ready any more.
 */
static size_t send_frame(struct uvh_h2_stream *stream)
{
    struct uvh_conn *conn = stream->h2->conn;
    size_t size = next_size(stream);
    int err;
    if (size == 0) { /* its rate is limited */
        uvh_h2_unready(stream);
        uvh_h2_set_timeout(stream, false);
        return 0;
    }
    char *out = uvh_output_reserve(conn, UVH_H2_HEAD_SIZE + size, &err);
    if (out == NULL) {
        if (err == UVHTTP_ENOMEM)
            uvh_h2_reset(stream, UVH_H2_INTERNAL_ERROR);
        return 0;
    }
    size = copy_output(stream, out + UVH_H2_HEAD_SIZE, size);
    if (size == 0) {
        uvh_output_commit(conn, 0);
        uvh_h2_reset(stream, UVH_H2_INTERNAL_ERROR);
        return 0;
    }
    bool last = stream->ending && !uvh_h2_has_output(stream);
    bool has_trailers = stream->base.response.trailers.count > 0;
    uvh_h2_put_data_head(stream, out, size, last && !has_trailers);
    uvh_output_commit(conn, UVH_H2_HEAD_SIZE + size);
    stream->began = true;
    if (stream->base.response.pace != NULL)
        uvh_pace_take(stream->base.response.pace, size);
    if (last)
        end_stream(stream);
    else
        go_on(stream);
    return size;
}

/* ---- all streams ---- */

bool uvh_h2_can_fill(const struct uvh_h2 *h2)
{
    const struct uvh_conn *conn = h2->conn;
    return h2->ready_mask != 0 && h2->send_window > 0 &&
           (conn->socket.writable || !uvh_conn_has_output(conn));
}

/* As much as one connection may send before others run. */
static void send_frames(struct uvh_h2 *h2)
{
    const struct uvh_conn *conn = h2->conn;
    uint64_t left = uvh_file_share_next(&conn->shared->file_share, uv_now(conn->shared->loop));
    left = left < MOST_BYTES ? left : MOST_BYTES;
    while (left > 0 && !uvh_conn_is_closed(conn) && uvh_h2_can_fill(h2)) {
        size_t sent = send_frame(first_ready(h2));
        left -= sent < left ? sent : left;
    }
}

void uvh_h2_fill(struct uvh_conn *conn)
{
    struct uvh_h2 *h2 = conn->owner;
    if (h2->failed)
        return;
    uvh_h2_ref(h2);
    uvh_h2_give_window(h2);
    if (h2->ready_mask != 0)
        send_frames(h2);
    if (UVH_UNLIKELY(conn->end_reported) && !uvh_conn_is_closed(conn))
        uvh_h2_abort_hopeless(h2);
    uvh_h2_unref(h2);
}
