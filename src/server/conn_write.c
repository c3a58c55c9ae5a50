/* Bytes out as they are, for bodies in pieces and for streams: behind what was collected, from where they lie when the socket takes them, copied
 * when it does not. */
#include "server/conn.h"

#include <errno.h>
#include <string.h>

enum { COPIED = 4096 }; /* up to this size they are copied beside what is collected, and leave with it */

int uvh_conn_write_now(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count)
{
    uvhttp_slice_t all[UVH_SOCKET_MAX_AREAS]; /* not cleared: that would cost as much as the rest of this */
    uvhttp_slice_t waiting = uvh_conn_tx_waiting(conn);
    size_t all_count = 0;
    if (waiting.length > 0)
        all[all_count++] = waiting;
    for (size_t i = 0; i < count; i++)
        all[all_count++] = areas[i];
    ssize_t sent = uvh_socket_send(conn->watch.socket, all, all_count, false);
    if (sent < 0 && sent != -EAGAIN) {
        uvh_conn_close(conn);
        return UVHTTP_EGONE;
    }
    size_t taken = uvh_conn_tx_sent(conn, sent < 0 ? 0 : (size_t)sent);
    for (size_t i = 0; i < count; i++) {
        size_t skipped = taken < areas[i].length ? taken : areas[i].length;
        taken -= skipped;
        if (skipped == areas[i].length)
            continue;
        conn->tx = UVH_TX_FLUSH;
        int err = uvh_conn_tx_append(conn, areas[i].base + skipped, areas[i].length - skipped);
        if (err == 0)
            continue;
        uvh_conn_close(conn); /* half of it is on its way */
        return UVHTTP_EGONE;
    }
    if (conn->tx == UVH_TX_IDLE)
        return uvh_conn_tx_flush(conn); /* gives the empty buffer back */
    if (!conn->corked)
        uvh_conn_settle(conn, true);
    return 0;
}

/* One area, with nothing before it. */
static int write_alone(struct uvh_conn *conn, const uvhttp_slice_t *area)
{
    ssize_t result = uvh_socket_send(conn->watch.socket, area, 1, false);
    if (result < 0 && result != -EAGAIN) {
        uvh_conn_close(conn);
        return UVHTTP_EGONE;
    }
    size_t sent = result < 0 ? 0 : (size_t)result;
    uvh_counter_add(&conn->worker->counters.bytes_sent, sent);
    if (UVH_LIKELY(sent == area->length))
        return 0; /* nothing has changed that would have to be settled */
    conn->tx = UVH_TX_FLUSH;
    int err = uvh_conn_tx_append(conn, area->base + sent, area->length - sent);
    if (err != 0 && sent == 0) {
        conn->tx = UVH_TX_IDLE;
        return err;
    }
    if (err != 0) {
        uvh_conn_close(conn); /* half of it is on its way */
        return UVHTTP_EGONE;
    }
    if (!conn->corked)
        uvh_conn_settle(conn, true);
    return 0;
}

int uvh_conn_write(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count, size_t size)
{
    if (conn->tx == UVH_TX_IDLE) {
        if (count == 1 && conn->out.buffer == NULL && (size > COPIED || !conn->corked))
            return write_alone(conn, areas);
        if (size > COPIED)
            return uvh_conn_write_now(conn, areas, count);
    }
    int err = uvh_conn_tx_reserve(conn, size);
    if (err != 0)
        return err;
    for (size_t i = 0; i < count; i++) {
        memcpy(conn->out.buffer->data + conn->out.end, areas[i].base, areas[i].length);
        conn->out.end += (uint32_t)areas[i].length;
    }
    return uvh_conn_write_push(conn);
}

int uvh_conn_write_push(struct uvh_conn *conn)
{
    if (conn->corked || conn->tx != UVH_TX_IDLE)
        return 0;
    int err = uvh_conn_tx_flush(conn);
    if (err == 0)
        uvh_conn_settle(conn, true);
    return err;
}
