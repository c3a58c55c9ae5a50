/* Input: from the socket into the loop's receive buffer, where the user parses it in place.
 *
 * Only bytes that outlive the event are pinned: incomplete input, and what the user references. */
#include <string.h>

#include "conn/conn_io.h"

enum {
    MIN_READ = 2048,         /* bytes; minimum space for a read: most requests fit */
    DISCARDS_PER_EVENT = 16, /* so that a peer that never stops sending does not block the loop */
};

/* A range of a buffer that is being parsed. */
struct span {
    struct uvh_buffer *buffer; /* referenced while the span is processed */
    uint32_t offset;
    uint32_t length;
};

static struct span take_kept(struct uvh_conn *conn)
{
    struct span kept = {conn->in.buffer, conn->in.offset, conn->in.length};
    conn->in = (struct uvh_conn_input){NULL, 0, 0};
    conn->starved = false;
    return kept;
}

/* Keeps the rest of a span for the next event and releases the span's reference. `pinned`: the user
 * references it. */
static void keep_rest(struct uvh_conn *conn, struct span span, uint32_t used, bool pinned)
{
    struct uvh_buffer *buffer = span.buffer;
    if (conn->state == UVH_CONN_OPEN && used < span.length) {
        conn->in = (struct uvh_conn_input){buffer, span.offset + used, span.length - used};
        return; /* takes over the reference */
    }
    if (!pinned && buffer->used == span.offset + span.length)
        buffer->used = span.offset; /* the next read may reuse the space */
    uvh_buffer_unref(buffer);
}

/* Processes a span until input is incomplete or not accepted. */
static void process(struct uvh_conn *conn, struct span span)
{
    char *data = span.buffer->data + span.offset;
    uint32_t used = 0;
    bool starved = false;
    conn->shared->receiving = span.buffer;
    conn->shared->pinned = false;
    while (used < span.length && !starved && conn->state == UVH_CONN_OPEN &&
           conn->user->wants_bytes(conn)) {
        size_t taken = conn->user->receive(conn, data + used, span.length - used);
        starved = taken == 0;
        used += (uint32_t)taken;
    }
    conn->shared->receiving = NULL;
    if (used < span.length && conn->state == UVH_CONN_OPEN && conn->user->is_done(conn)) {
        conn->linger = true;
        used = span.length;
    }
    keep_rest(conn, span, used, conn->shared->pinned);
    conn->starved = starved && conn->in.length > 0;
}

struct uvh_buffer *uvh_receive_pin(struct uvh_conn *conn)
{
    struct uvh_buffer *buffer = conn->shared->receiving;
    if (buffer == NULL)
        return NULL;
    conn->shared->pinned = true;
    uvh_buffer_ref(buffer);
    return buffer;
}

/* Returns a span at the end of the receive buffer that begins with kept input, if any, and has free
 * space following it. */
static struct span make_space(struct uvh_conn *conn)
{
    struct span kept = take_kept(conn);
    struct uvh_buffer *current = conn->shared->receive_buffer;
    bool continues = kept.buffer != NULL && kept.buffer == current &&
                     kept.offset + kept.length == current->used &&
                     current->capacity - current->used >= MIN_READ;
    if (continues) /* no other connection has received in between: new bytes follow directly */
        return kept;
    struct uvh_buffer *buffer = uvh_shared_receive_buffer(conn->shared, kept.length + MIN_READ);
    struct span span = {buffer, 0, kept.length};
    if (buffer != NULL) {
        uvh_buffer_ref(buffer);
        span.offset = (uint32_t)buffer->used;
        if (kept.length > 0)
            memcpy(buffer->data + span.offset, kept.buffer->data + kept.offset, kept.length);
        buffer->used = span.offset + kept.length;
    }
    if (kept.buffer != NULL)
        uvh_buffer_unref(kept.buffer);
    return span;
}

void uvh_receive_end(struct uvh_conn *conn)
{
    conn->end_reported = true;
    conn->user->peer_ended(conn);
}

void uvh_receive_readable(struct uvh_conn *conn)
{
    bool starved = conn->starved;
    struct span span = make_space(conn);
    if (span.buffer == NULL) {
        conn->user->out_of_memory(conn);
        return;
    }
    struct uvh_buffer *buffer = span.buffer;
    ssize_t count =
        uvh_conn_io_receive(conn, buffer->data + buffer->used, buffer->capacity - buffer->used);
    if (UVH_LIKELY(count > 0)) {
        span.length += (uint32_t)count;
        buffer->used += (size_t)count;
        process(conn, span);
        return;
    }
    keep_rest(conn, span, 0, false);
    conn->starved = starved && conn->in.length > 0;
    if (count == -EAGAIN)
        return;
    if (count < 0) {
        uvh_conn_close(conn);
        return;
    }
    conn->peer_ended = true;
    if (!conn->end_reported)
        uvh_receive_end(conn);
}

void uvh_receive_kept(struct uvh_conn *conn)
{
    process(conn, take_kept(conn));
}

void uvh_receive_forget(struct uvh_conn *conn)
{
    if (conn->in.buffer != NULL)
        uvh_buffer_unref(conn->in.buffer);
    conn->in = (struct uvh_conn_input){NULL, 0, 0};
    conn->starved = false;
}

void uvh_receive_discard(struct uvh_conn *conn)
{
    char waste[16384];
    for (int i = 0; i < DISCARDS_PER_EVENT && conn->socket.readable && !conn->peer_ended; i++) {
        ssize_t count = uvh_conn_io_receive(conn, waste, sizeof(waste));
        if (count == -EAGAIN) /* with TLS more may be readable in the next loop iteration */
            return;
        if (count > 0)
            continue;
        if (count == 0 && conn->state == UVH_CONN_OPEN)
            conn->peer_ended = true; /* output is still sent */
        else
            uvh_conn_close(conn);
    }
}
