/* What a connection of HTTP/1 does for its exchanges, as struct uvh_protocol of exchange.h wants it: the table, and what is too little for a file of its own. */
#include "server/conn.h"

#include "platform/socket.h"
#include "server/server.h"

static void abandon(struct uvh_exchange *base)
{
    uvh_conn_tx_abandon(uvh_h1_exchange_of(base)->conn);
}

static void released(struct uvh_exchange *base)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(base);
    struct uvh_conn *conn = exchange->conn;
    if (exchange->pinned != NULL)
        uvh_buffer_unref(exchange->pinned);
    if (exchange->body.data != NULL)
        uvh_bytes_release(&exchange->body);
    /* A response in pieces can be over before the request's body is. */
    if (!exchange->request_complete) {
        conn->close_after = true;
        conn->unread = true;
    }
    conn->exchange = NULL;
    uvh_arena_release(&base->arena);
    uvh_conn_continue(conn);
}

static void peer(struct uvh_exchange *base, char *text)
{
    uvh_socket_peer(uvh_h1_exchange_of(base)->conn->watch.socket, text);
}

static struct uvh_connection_data **connection_data(struct uvh_exchange *base)
{
    return &uvh_h1_exchange_of(base)->conn->data;
}

const struct uvh_protocol uvh_conn_protocol = {
    .respond = uvh_conn_tx_respond,
    .begin = uvh_conn_pieces_begin,
    .write = uvh_conn_pieces_write,
    .has_room = uvh_conn_pieces_has_room,
    .pending = uvh_conn_pieces_pending,
    .await_room = uvh_conn_pieces_await_room,
    .end = uvh_conn_pieces_end,
    .upgrade = uvh_conn_upgrade,
    .interim = uvh_conn_pieces_interim,
    .admitted = uvh_conn_body_admitted,
    .pause_body = uvh_conn_body_pause,
    .read_body = uvh_conn_body_read,
    .abandon = abandon,
    .released = released,
    .peer = peer,
    .connection_data = connection_data,
};
