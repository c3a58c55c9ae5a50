/* Bodies in several parts, one after the other: each becomes the response's body when its turn comes, and is sent as if it were the only
 * one. Short parts in memory go to what is collected, so that they leave with the head before them or the large part behind
 * them: a file follows by the system call after the next, and with MSG_MORE in the same packet. Called by conn_tx.c. */
#include "server/conn.h"

#include <string.h>

enum { COPIED_PART = 4096 }; /* in memory, up to this size */

/* Room behind `out` without sending or moving any of it. */
static size_t room_in_out(struct uvh_conn *conn)
{
    struct uvh_conn_output *out = &conn->out;
    if (out->buffer == NULL)
        out->buffer = uvh_buffer_take(&conn->worker->buffers, 0);
    if (out->buffer == NULL) /* then the part is sent from where it lies */
        return 0;
    if (out->begin == out->end)
        out->begin = out->end = 0;
    return out->buffer->capacity - out->end;
}

static bool copy_part(struct uvh_conn *conn, const uvhttp_part_t *part)
{
    bool limited =
        conn->exchange->base.response.pace != NULL; /* what is collected leaves whatever the rate */
    if (limited || part->descriptor >= 0 || part->size > COPIED_PART || part->size > room_in_out(conn))
        return false;
    memcpy(conn->out.buffer->data + conn->out.end, part->data, (size_t)part->size);
    conn->out.end += (uint32_t)part->size;
    conn->exchange->base.sent += part->size;
    return true;
}

static void become_body(struct uvh_body *body, const uvhttp_part_t *part)
{
    body->source = part->descriptor >= 0 ? UVH_BODY_FILE : UVH_BODY_MEMORY;
    body->descriptor = part->descriptor;
    body->base = part->data;
    body->offset = part->offset;
    body->size = part->size;
}

bool uvh_conn_parts_next(struct uvh_conn *conn)
{
    struct uvh_body *body = &conn->exchange->base.response.body;
    struct uvh_body_parts *parts = body->parts;
    bool copied = false;
    if (parts == NULL)
        return false;
    body->source = UVH_BODY_MEMORY;
    body->size = 0;
    while (parts->count > 0) {
        const uvhttp_part_t *part = parts->next++;
        parts->count--;
        if (part->size == 0)
            continue;
        if (!copy_part(conn, part)) {
            become_body(body, part);
            return true;
        }
        copied = true;
    }
    return copied;
}
