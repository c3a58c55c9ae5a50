/* See the header. After a flush, remaining output means that the socket is not writable or that
 * this event's limit is reached. */
#include "conn/output.h"

#include <string.h>

#include <uvhttp/error.h>

#include "conn/conn_io.h"
#include "conn/pace.h"

enum {
    /* bytes; beyond this no further entry is started before other connections run */
    FLUSH_MOST = 1 << 20,
    SHRINK_LEAST = 1024, /* bytes of a buffer; a smaller saving is not worth a copy */
};

uint64_t uvh_output_referenced(const struct uvh_output *out)
{
    uint64_t size = 0;
    for (const struct uvh_output_entry *entry = out->entries; entry != NULL; entry = entry->next)
        size += entry->size;
    return size;
}

static uint64_t allowed_by_rate(const struct uvh_conn *conn)
{
    struct uvh_pace *pace = conn->out.pace;
    return UVH_LIKELY(pace == NULL) ? UINT64_MAX
                                    : uvh_pace_allowed(pace, uv_now(conn->shared->loop));
}

bool uvh_output_is_paced(const struct uvh_conn *conn)
{
    return conn->out.entries != NULL && conn->out.buffer == NULL && allowed_by_rate(conn) == 0;
}

static uvhttp_slice_t collected(const struct uvh_output *out)
{
    if (out->buffer == NULL)
        return (uvhttp_slice_t){NULL, 0};
    return (uvhttp_slice_t){out->buffer->data + out->begin, out->end - out->begin};
}

static void drop_buffer(struct uvh_output *out)
{
    if (out->buffer != NULL)
        uvh_buffer_unref(out->buffer);
    out->buffer = NULL;
    out->begin = out->end = 0;
}

void uvh_output_release(struct uvh_conn *conn)
{
    drop_buffer(&conn->out);
}

/* ---- collecting ---- */

/* Bytes may stay for long when the socket is full. */
static struct uvh_buffer *take_buffer(struct uvh_conn *conn, size_t least)
{
    struct uvh_buffer_pool *pool = &conn->shared->buffers;
    return conn->socket.writable ? uvh_buffer_take(pool, least)
                                 : uvh_buffer_take_fitting(pool, least);
}

/* Moves the collected bytes to another buffer, which is large enough. */
static void move_collected(struct uvh_output *out, struct uvh_buffer *buffer)
{
    uvhttp_slice_t bytes = collected(out);
    if (bytes.length > 0)
        memcpy(buffer->data, bytes.base, bytes.length);
    drop_buffer(out);
    out->buffer = buffer;
    out->end = (uint32_t)bytes.length;
}

/* The current buffer has too little space at its end. */
static int make_space(struct uvh_conn *conn, size_t size)
{
    struct uvh_output *out = &conn->out;
    if (conn->socket.writable && uvh_output_flush(conn) != 0)
        return UVHTTP_EDISCONNECTED;
    uvhttp_slice_t bytes = collected(out);
    if (out->buffer != NULL && out->buffer->capacity - bytes.length >= size) {
        memmove(out->buffer->data, bytes.base, bytes.length);
        out->begin = 0;
        out->end = (uint32_t)bytes.length;
        return 0;
    }
    /* Twice the pending size, so that many small writes do not copy it again each time. */
    struct uvh_buffer *buffer =
        take_buffer(conn, bytes.length + (size > bytes.length ? size : bytes.length));
    if (buffer == NULL)
        return UVHTTP_ENOMEM;
    move_collected(out, buffer);
    return 0;
}

char *uvh_output_reserve(struct uvh_conn *conn, size_t size, int *error)
{
    struct uvh_output *out = &conn->out;
    *error = UVHTTP_EDISCONNECTED;
    if (UVH_UNLIKELY(uvh_conn_is_closed(conn))) /* the end of a stream responds on another one */
        return NULL;
    assert(out->entries == NULL); /* collected bytes are sent before entries */
    *error = 0;
    if (out->buffer != NULL) {
        if (UVH_UNLIKELY(out->buffer->capacity - out->end < size))
            *error = make_space(conn, size);
    } else {
        out->buffer = take_buffer(conn, size);
        *error = out->buffer == NULL ? UVHTTP_ENOMEM : 0;
    }
    return *error == 0 ? out->buffer->data + out->end : NULL;
}

void uvh_output_commit(struct uvh_conn *conn, size_t size)
{
    conn->out.end += (uint32_t)size;
    if (UVH_UNLIKELY(conn->out.begin == conn->out.end))
        drop_buffer(&conn->out);
}

void uvh_output_shrink(struct uvh_conn *conn)
{
    struct uvh_output *out = &conn->out;
    if (out->buffer == NULL || out->buffer->capacity <= SHRINK_LEAST ||
        collected(out).length > out->buffer->capacity / 8)
        return;
    struct uvh_buffer *buffer =
        uvh_buffer_take_fitting(&conn->shared->buffers, collected(out).length);
    if (buffer != NULL)
        move_collected(out, buffer);
}

/* ---- sending ---- */

/* Sent bytes are removed from the collected bytes first, then from the entries in order. */
static void consume(struct uvh_conn *conn, uint64_t count)
{
    struct uvh_output *out = &conn->out;
    uint64_t of_collected = collected(out).length;
    if (count < of_collected)
        of_collected = count;
    out->begin += (uint32_t)of_collected;
    if (out->begin == out->end)
        drop_buffer(out);
    uint64_t left = count - of_collected;
    if (left > 0 && out->pace != NULL)
        uvh_pace_take(out->pace, left);
    while (left > 0) {
        struct uvh_output_entry *entry = out->entries;
        uint64_t part = left < entry->size ? left : entry->size;
        entry->base += entry->descriptor < 0 ? part : 0;
        entry->offset += part;
        entry->size -= part;
        left -= part;
        if (entry->size == 0)
            out->entries = entry->next;
    }
    if (out->entries == NULL)
        out->pace = NULL; /* allocated with the entries */
}

size_t uvh_output_skip(struct uvh_conn *conn, size_t count)
{
    size_t skipped = collected(&conn->out).length;
    if (count < skipped)
        skipped = count;
    consume(conn, skipped);
    return count - skipped;
}

/* What the next call can send from memory, and whether a file follows. */
struct batch {
    uvhttp_slice_t areas[UVH_SOCKET_MAX_AREAS];
    size_t count;
    size_t size;
    bool file_follows;
};

static void gather(const struct uvh_output *out, uint64_t allowed, struct batch *batch)
{
    const struct uvh_output_entry *entry = out->entries;
    batch->count = out->buffer != NULL;
    batch->areas[0] = collected(out);
    batch->size = batch->areas[0].length;
    while (entry != NULL && entry->descriptor < 0 && allowed > 0 &&
           batch->count < UVH_SOCKET_MAX_AREAS) {
        size_t size = (size_t)(entry->size < allowed ? entry->size : allowed);
        batch->areas[batch->count++] = (uvhttp_slice_t){entry->base, size};
        batch->size += size;
        allowed -= size;
        entry = size == entry->size ? entry->next : NULL;
    }
    batch->file_follows = entry != NULL && entry->descriptor >= 0 && allowed > 0;
}

enum progress { AGAIN, PAUSED, BROKEN };

static enum progress send_memory(struct uvh_conn *conn, const struct batch *batch)
{
    ssize_t sent =
        uvh_conn_io_send(conn, batch->areas, batch->count, batch->size, batch->file_follows);
    if (sent < 0)
        return sent == -EAGAIN ? PAUSED : BROKEN;
    consume(conn, (uint64_t)sent);
    return (size_t)sent == batch->size || conn->socket.writable ? AGAIN : PAUSED;
}

/* Sends one slice of the file that is the first entry. */
static enum progress send_file(struct uvh_conn *conn, uint64_t allowed)
{
    const struct uvh_output_entry *file = conn->out.entries;
    uint64_t slice = uvh_file_share_next(&conn->shared->file_share, uv_now(conn->shared->loop));
    uint64_t left = file->size;
    left = left < slice ? left : slice;
    left = left < allowed ? left : allowed;
    bool whole = left == file->size;
    while (left > 0) {
        ssize_t sent = uvh_conn_io_send_file(conn, file->descriptor, file->offset, (size_t)left);
        if (sent == -EAGAIN)
            return PAUSED;
        if (sent <= 0) {
            conn->user->read_failed(conn, sent == 0 ? UVHTTP_ETRUNCATED : (int)sent);
            return BROKEN;
        }
        left -= (uint64_t)sent;
        consume(conn, (uint64_t)sent);
    }
    return whole ? AGAIN : PAUSED;
}

static enum progress send_next(struct uvh_conn *conn)
{
    uint64_t allowed = allowed_by_rate(conn);
    struct batch batch; /* not cleared: that would cost as much as the rest of this function */
    gather(&conn->out, allowed, &batch);
    if (batch.count > 0)
        return send_memory(conn, &batch);
    return allowed == 0 ? PAUSED : send_file(conn, allowed);
}

/* Does not notify the user. Returns 0 or UVHTTP_EDISCONNECTED. */
static int send_queue(struct uvh_conn *conn)
{
    struct uvh_output *out = &conn->out;
    uint64_t before = uvh_counter_read(&conn->shared->bytes_sent);
    enum progress progress = AGAIN;
    if (conn->state == UVH_CONN_HANDSHAKING)
        return 0;
    while (!uvh_output_is_empty(out) && conn->socket.writable && progress == AGAIN) {
        progress = send_next(conn);
        if (uvh_counter_read(&conn->shared->bytes_sent) - before >= FLUSH_MOST && progress == AGAIN)
            progress = PAUSED;
    }
    int flushed = progress == BROKEN ? 0 : uvh_conn_io_flush(conn);
    if (flushed != 0 && flushed != -EAGAIN)
        progress = BROKEN;
    conn->yielded = progress == PAUSED && conn->socket.writable;
    if (progress != BROKEN)
        return 0;
    uvh_conn_close(conn);
    return UVHTTP_EDISCONNECTED;
}

int uvh_output_flush(struct uvh_conn *conn)
{
    if (uvh_conn_is_closed(conn))
        return UVHTTP_EDISCONNECTED;
    bool queued = !uvh_output_is_empty(&conn->out);
    if (!queued && uvh_conn_encrypted(conn) == 0)
        return 0;
    if (send_queue(conn) != 0)
        return UVHTTP_EDISCONNECTED;
    if (queued && uvh_output_is_empty(&conn->out))
        conn->user->sent(conn);
    return uvh_conn_is_closed(conn) ? UVHTTP_EDISCONNECTED : 0;
}

int uvh_output_queue(struct uvh_conn *conn, struct uvh_output_entry *entries, struct uvh_pace *pace)
{
    assert(conn->out.entries == NULL);
    conn->out.entries = entries;
    conn->out.pace = pace;
    return conn->socket.writable ? uvh_output_flush(conn) : 0;
}

/* ---- writing ---- */

static int collect(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count, size_t size)
{
    int error;
    char *space = uvh_output_reserve(conn, size, &error);
    if (space == NULL)
        return error;
    for (size_t i = 0; i < count; i++) {
        memcpy(space, areas[i].base, areas[i].length);
        space += areas[i].length;
    }
    uvh_output_commit(conn, size);
    return 0;
}

/* The caller owns the areas' memory, so what the socket does not accept is copied. */
static int send_areas(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count, size_t size)
{
    struct uvh_output_entry entries[UVH_OUTPUT_AREAS]; /* not cleared */
    struct uvh_output *out = &conn->out;
    struct uvh_output_entry **link = &out->entries, *entry = entries;
    for (size_t i = 0; i < count; i++) {
        if (areas[i].length == 0)
            continue;
        *entry = (struct uvh_output_entry){
            .base = areas[i].base, .size = areas[i].length, .descriptor = -1};
        *link = entry;
        link = &entry++->next;
    }
    out->pace = NULL;
    if (send_queue(conn) != 0)
        return UVHTTP_EDISCONNECTED;
    uvhttp_slice_t rest[UVH_OUTPUT_AREAS];
    size_t rest_count = 0, rest_size = 0;
    for (entry = out->entries; entry != NULL; entry = entry->next) {
        rest[rest_count++] = (uvhttp_slice_t){entry->base, (size_t)entry->size};
        rest_size += (size_t)entry->size;
    }
    out->entries = NULL;
    int err = rest_size == 0 ? 0 : collect(conn, rest, rest_count, rest_size);
    if (err == UVHTTP_ENOMEM && rest_size < size) { /* a part of it was sent */
        uvh_conn_close(conn);
        err = UVHTTP_EDISCONNECTED;
    }
    return err;
}

int uvh_output_write(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count, size_t size)
{
    /* The only write of its event need not wait for others. */
    bool at_once = size > UVH_OUTPUT_COPIED || (conn->depth == 1 && conn->out.buffer == NULL);
    if (!at_once || uvh_conn_is_blocked(conn))
        return collect(conn, areas, count, size);
    return send_areas(conn, areas, count, size);
}
