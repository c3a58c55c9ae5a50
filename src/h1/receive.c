/* Parses requests from received bytes: heads here, bodies in body.c. Input is parsed in place, as
 * many requests as have arrived; handlers get slices of the receive buffer. */
#include "h1/h1.h"

#include <string.h>

#include <uvhttp/error.h>

#include "codec/fields/authority.h"
#include "conn/conn_io.h"
#include "server/server.h"
#include "tls/info.h"

/* Without memory for an exchange, sends a constant response, unless it would be in the middle of
 * other output. */
void uvh_h1_out_of_memory(struct uvh_conn *conn)
{
    const struct uvh_h1_exchange *exchange = conn->owner;
    static const char response[] =
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    bool open = exchange == NULL || exchange->base.response.state == UVH_RESPONSE_OPEN;
    conn->shared->callbacks->failed(conn->shared, "request refused", UVHTTP_ENOMEM);
    /* Sends responses to earlier requests first. */
    if (open && uvh_output_flush(conn) == 0 && uvh_output_is_empty(&conn->out))
        uvh_conn_io_send(conn, &(uvhttp_slice_t){response, sizeof(response) - 1}, 1,
                         sizeof(response) - 1, false);
    uvh_conn_close(conn);
}

static void log_refusal(const struct uvh_h1 *h1, int status, const char *detail)
{
    struct uvh_server *server = uvh_h1_worker(h1)->server;
    char peer[UVH_SOCKET_ADDRESS_TEXT];
    if (uvh_server_logs(server, UVHTTP_LOG_DEBUG))
        uvh_server_log(server, UVHTTP_LOG_DEBUG, "%s refused with %d: %s",
                       uvh_conn_peer(&h1->conn, peer), status, detail);
}

/* The bytes of the target of a rejected head that begins at `data`: all if the request line is
 * valid, those within the limit if it is too long; else 0. */
static size_t readable_target(const struct uvh_h1 *h1, const uvhttp_head_t *head, size_t length)
{
    size_t most = uvh_h1_worker(h1)->head_limits.max_target;
    if (head->size > 0)
        return head->target_length;
    if (head->reason != UVHTTP_REASON_TARGET_TOO_LONG || head->target_offset >= length)
        return 0;
    return length - head->target_offset < most ? length - head->target_offset : most;
}

/* Clears a head that was not parsed completely. A HEAD method is still respected; method and target
 * are copied from `data`, which may be NULL, for logs. */
static void clear_head(struct uvh_h1 *h1, struct uvh_h1_exchange *exchange, const char *data,
                       size_t length)
{
    uvhttp_head_t *head = &exchange->head;
    const uint8_t method = head->method, minor_version = head->minor_version;
    const uint16_t method_length = head->method_length;
    const uint32_t name = head->start, target = head->target_offset;
    size_t target_length = data == NULL ? 0 : readable_target(h1, head, length);
    char *copy = target_length == 0
                     ? NULL
                     : uvh_arena_alloc(&exchange->base.arena, method_length + target_length + 2);
    uvhttp_head_init(head, NULL, 0);
    head->method = method;
    uvh_request_clear(&exchange->base.request, head);
    if (copy == NULL)
        return;
    memcpy(copy, data + name, method_length);
    memcpy(copy + method_length + 1, data + target, target_length);
    copy[method_length] = copy[method_length + 1 + target_length] = '\0';
    head->minor_version = minor_version;
    head->method_length = method_length;
    head->target_offset = method_length + 1u;
    head->target_length = (uint32_t)target_length;
    exchange->base.request.bytes = copy;
}

void uvh_h1_refuse(struct uvh_h1 *h1, int status, const char *detail)
{
    log_refusal(h1, status, detail);
    h1->state = UVH_H1_WAIT;
    uvh_exchange_refuse(&uvh_h1_exchange(h1)->base, status, detail);
}

/* `data` is the rejected head, or NULL. */
static void reject(struct uvh_h1 *h1, int status, const char *detail, const char *data,
                   size_t length)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    if (uvh_conn_is_closed(&h1->conn))
        return;
    if (exchange == NULL && (exchange = uvh_h1_exchange_new(h1)) == NULL) {
        uvh_h1_out_of_memory(&h1->conn);
        return;
    }
    if (exchange->base.began == 0)
        clear_head(h1, exchange, data, length);
    uvh_conn_close_when_sent(&h1->conn, true);
    exchange->base.response.close_after = true;
    uvh_h1_refuse(h1, status, detail);
}

void uvh_h1_reject(struct uvh_h1 *h1, int status, const char *detail)
{
    reject(h1, status, detail, NULL, 0);
}

static void reject_reason(struct uvh_h1 *h1, uvhttp_reason_t reason, const char *data,
                          size_t length)
{
    uvh_counter_add(&uvh_h1_worker(h1)->counters.parse_errors, 1);
    if (h1->requests == 0 && data != NULL)
        uvh_worker_warn_of_proxy(&h1->conn, data, length);
    reject(h1, uvhttp_reason_status(reason), uvhttp_reason_text(reason), data, length);
}

void uvh_h1_reject_reason(struct uvh_h1 *h1, uvhttp_reason_t reason)
{
    reject_reason(h1, reason, NULL, 0);
}

/* The request's host may require more of the client than the handshake of this connection did: then
 * it is not served here (RFC 9110 section 15.5.20). */
static bool admit_secure(struct uvh_h1 *h1, struct uvh_h1_exchange *exchange)
{
    uvhttp_slice_t host = {NULL, 0}, port;
    exchange->base.tls = uvh_tls_info_ref(h1->conn.tls->info);
    exchange->base.early = uvh_tls_session_is_early(h1->conn.tls);
    if (exchange->base.early)
        uvh_counter_add(&uvh_h1_worker(h1)->counters.early_requests, 1);
    uvh_authority_split(exchange->base.request.framing.authority, &host, &port);
    if (!uvh_tls_session_is_misdirected(h1->conn.tls, host))
        return true;
    uvh_h1_reject(
        h1, 421,
        "this host requires a client certificate: open a new connection with its name (SNI)");
    return false;
}

/* The head is parsed, `length` bytes follow it in `data`. Returns how many of them belong to the
 * request and are consumed. */
static size_t start_request(struct uvh_h1 *h1, char *data, size_t length)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    const uvhttp_framing_t *framing = &exchange->base.request.framing;
    uint64_t size = framing->body == UVHTTP_BODY_LENGTH ? framing->content_length : 0;
    bool at_hand = framing->body != UVHTTP_BODY_CHUNKED && size <= length;
    int err = uvh_exchange_route(&exchange->base);
    if (UVH_UNLIKELY(err != 0)) {
        uvh_h1_reject(h1, err == UVHTTP_ENOMEM ? 503 : 400,
                      err == UVHTTP_ENOMEM ? uvhttp_strerror(err)
                                           : "the rewritten path is invalid");
        return length;
    }
    h1->state = UVH_H1_WAIT;
    exchange->body_remaining = size;
    exchange->continue_owed = framing->expect_continue;
    exchange->request_complete = at_hand; /* then an error response need not close the connection */
    if (uvh_exchange_admit(&exchange->base)) {
        exchange->request_complete = false;
        return uvh_h1_body_start(h1, data, length);
    }
    bool undecided = h1->conn.owner == exchange && exchange->base.deciding;
    if (undecided) /* the body waits for the decision */
        exchange->request_complete = at_hand && size == 0;
    return undecided || !at_hand ? 0 : (size_t)size;
}

bool uvh_h1_larger_table(struct uvh_arena *arena, uvhttp_head_t *head,
                         const uvhttp_head_limits_t *limits, bool *out_of_memory)
{
    if (head->reason != UVHTTP_REASON_TOO_MANY_FIELDS || head->field_capacity >= limits->max_fields)
        return false;
    uvhttp_field_t *fields = uvh_arena_alloc(arena, limits->max_fields * sizeof(*fields));
    *out_of_memory = fields == NULL;
    if (fields != NULL)
        uvhttp_head_init(head, fields, (uint16_t)limits->max_fields);
    return fields != NULL;
}

/* Returns the bytes consumed; 0 when the head is incomplete. */
static size_t take_head(struct uvh_h1 *h1, char *data, size_t length)
{
    struct uvh_worker *worker = uvh_h1_worker(h1);
    /* exists if the head is incomplete from an earlier event */
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    if (exchange == NULL && (exchange = uvh_h1_exchange_new(h1)) == NULL) {
        uvh_h1_out_of_memory(&h1->conn);
        return length;
    }
    bool out_of_memory = false;
    uvhttp_reason_t reason = UVHTTP_REASON_NONE;
    const uvhttp_head_limits_t *limits = &worker->head_limits;
    uvhttp_parse_result_t result = uvhttp_request_head_parse(&exchange->head, data, length, limits);
    if (UVH_UNLIKELY(result == UVHTTP_PARSE_BAD) &&
        uvh_h1_larger_table(&exchange->base.arena, &exchange->head, limits, &out_of_memory))
        result = uvhttp_request_head_parse(&exchange->head, data, length, limits);
    if (result == UVHTTP_PARSE_MORE)
        return 0;
    struct uvhttp_request *request = &exchange->base.request;
    size_t head_size = exchange->head.size;
    if (result == UVHTTP_PARSE_BAD)
        reason = (uvhttp_reason_t)exchange->head.reason;
    else
        reason = uvhttp_request_framing(&exchange->head, &request->framing);
    if (reason == UVHTTP_REASON_NONE)
        reason = uvh_request_init(request, &exchange->base.arena, &exchange->head, &out_of_memory);
    if (out_of_memory) {
        uvh_h1_reject(h1, 503, uvhttp_strerror(UVHTTP_ENOMEM));
        return length;
    }
    if (reason != UVHTTP_REASON_NONE) {
        reject_reason(h1, reason, data, length);
        return length;
    }
    uvh_counter_add(&worker->counters.total_requests, 1);
    uvh_loop_stats_event(&worker->loop_stats);
    exchange->base.began = uvh_loop_stats_began(&worker->loop_stats);
    h1->requests++;
    if (UVH_UNLIKELY(h1->conn.tls != NULL) && !admit_secure(h1, exchange))
        return length;
    return head_size + start_request(h1, data + head_size, length - head_size);
}

/* Keeps the head's bytes for an exchange that outlives the event. */
static void pin_head(struct uvh_h1 *h1)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    if (exchange != NULL && exchange->pinned == NULL && h1->state != UVH_H1_HEAD)
        exchange->pinned = uvh_receive_pin(&h1->conn);
}

/* Discards the rest of the body of a request that already has its response. */
static size_t skip_body(struct uvh_h1 *h1, size_t size)
{
    size_t skipped = size < h1->skip ? size : h1->skip;
    h1->skip -= (uint32_t)skipped;
    return skipped;
}

size_t uvh_h1_receive(struct uvh_conn *conn, char *data, size_t size)
{
    struct uvh_h1 *h1 = uvh_h1_of(conn);
    const struct uvh_conn_user *user = conn->user;
    if (UVH_UNLIKELY(h1->skip > 0))
        return skip_body(h1, size);
    size_t used =
        h1->state == UVH_H1_HEAD ? take_head(h1, data, size) : uvh_h1_body_take(h1, data, size);
    if (conn->user == user) /* not after an upgrade, which has pinned it */
        pin_head(h1);
    return used;
}
