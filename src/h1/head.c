/* Writes response heads: appends the response's fields and the server's to the collected output,
 * and decides what the head says about the connection. */
#include "h1/h1.h"

#include <string.h>

#include "codec/fields/field.h"
#include "codec/http1/encode.h"
#include "codec/text/number.h"
#include "server/server.h"

/* Status line, Date, Content-Length, Connection, empty line: at most 160 bytes. */
enum { FIXED_HEAD_SIZE = 256 };

static size_t fields_size(const struct uvhttp_response *response)
{
    size_t size = response->content_type.base == NULL ? 0 : response->content_type.length + 18;
    for (uint16_t i = 0; i < response->headers.count; i++)
        size += response->headers.items[i].name.length + response->headers.items[i].value.length +
                UVH_H1_ENCODE_FIELD_EXTRA;
    return size + (response->prepared == NULL ? 0 : response->prepared->lines.length);
}

static char *put(char *out, const char *bytes, size_t length)
{
    memcpy(out, bytes, length);
    return out + length;
}

#define PUT(out, literal) put((out), (literal), sizeof(literal) - 1)

static char *put_fields(char *out, const struct uvhttp_response *response)
{
    static const uvhttp_slice_t content_type = {"Content-Type", 12};
    if (response->content_type.base != NULL) {
        out = PUT(out, "Content-Type: ");
        out = put(out, response->content_type.base, response->content_type.length);
        out = PUT(out, "\r\n");
    }
    bool typed = response->content_type.base != NULL ||
                 (response->prepared != NULL && response->prepared->has_content_type);
    for (uint16_t i = 0; i < response->headers.count; i++) {
        const struct uvh_header *header = &response->headers.items[i];
        if (typed && uvh_field_name_equal(header->name, content_type))
            continue;
        out = put(out, header->name.base, header->name.length);
        out = PUT(out, ": ");
        out = put(out, header->value.base, header->value.length);
        out = PUT(out, "\r\n");
    }
    if (response->prepared != NULL && response->prepared->lines.length > 0)
        out = put(out, response->prepared->lines.data, response->prepared->lines.length);
    return out;
}

static bool says_upgrade(const struct uvhttp_response *response)
{
    static const uvhttp_slice_t upgrade = {"Upgrade", 7};
    if (response->prepared != NULL && response->prepared->has_upgrade)
        return true;
    for (uint16_t i = 0; i < response->headers.count; i++) {
        if (uvh_field_name_equal(response->headers.items[i].name, upgrade))
            return true;
    }
    return false;
}

/* Writes the head into reserved space. */
static char *put_head(char *out, struct uvh_h1_exchange *exchange, enum uvh_h1_sends sends,
                      bool keep_alive)
{
    struct uvhttp_response *response = &exchange->base.response;
    const char *usual = uvh_worker_head_begin(exchange->base.worker);
    if (UVH_LIKELY(response->status == 200)) {
        out = put(out, usual, UVH_OK_LINE_SIZE + UVH_DATE_LINE_SIZE);
    } else {
        out += uvh_h1_encode_status_line(out, FIXED_HEAD_SIZE, response->status, "");
        out = put(out, usual + UVH_OK_LINE_SIZE, UVH_DATE_LINE_SIZE);
    }
    out = put_fields(out, response);
    /* 304 would need the length of the corresponding 200 (RFC 9110 section 8.6), which is not known
     * here. */
    if (sends == UVH_H1_SENDS_CHUNKS) {
        out = PUT(out, "Transfer-Encoding: chunked\r\n");
    } else if (!uvh_response_is_bodiless(response->status) &&
               response->body.size != UVHTTP_LENGTH_UNKNOWN) {
        out = PUT(out, "Content-Length: ");
        out += uvh_number_write(out, response->body.size);
        out = PUT(out, "\r\n");
    }
    /* HTTP/1.0: closing is the default */
    bool old_client = exchange->base.request.head->minor_version == 0;
    bool upgrade = says_upgrade(response); /* Connection lists it, RFC 9110 section 7.8 */
    if (upgrade || !keep_alive || old_client)
        out = PUT(out, "Connection: ");
    if (upgrade)
        out = !keep_alive || old_client ? PUT(out, "Upgrade, ") : PUT(out, "Upgrade\r\n");
    if (!keep_alive)
        out = PUT(out, "close\r\n");
    else if (old_client)
        out = PUT(out, "keep-alive\r\n");
    return PUT(out, "\r\n");
}

static inline bool keeps_alive(const struct uvh_h1_exchange *exchange)
{
    const struct uvh_worker *worker = exchange->base.worker;
    size_t most = worker->server->config.max_requests_per_connection;
    /* Response and request may be streamed at the same time. If the response ends first, the
     * connection closes all the same. */
    bool both_ways = exchange->base.response.body.source == UVH_BODY_STREAMED &&
                     uvh_exchange_streams_body(&exchange->base);
    bool complete = exchange->request_complete || uvh_h1_skips_body(exchange) || both_ways;
    return complete && exchange->base.request.framing.keep_alive &&
           !exchange->base.response.close_after && !worker->draining &&
           !uvh_conn_is_old(&exchange->h1->conn) && (most == 0 || exchange->h1->requests < most);
}

bool uvh_h1_head_keeps_alive(const struct uvh_h1_exchange *exchange)
{
    return keeps_alive(exchange);
}

int uvh_h1_head_put(struct uvh_h1 *h1, enum uvh_h1_sends sends, size_t space_after)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange(h1);
    const struct uvhttp_response *response = &exchange->base.response;
    const struct uvh_route *route = exchange->base.match.route;
    int err;
    char *begin =
        uvh_output_reserve(&h1->conn, FIXED_HEAD_SIZE + fields_size(response) + space_after, &err);
    if (begin == NULL)
        return err;
    h1->conn.write_timeout = route == NULL ? 0 : route->write_timeout;
    bool keep_alive = (keeps_alive(exchange) && sends != UVH_H1_SENDS_TO_END) ||
                      response->body.source == UVH_BODY_STREAM;
    /* A client that did not request to close may already be sending its next request. */
    if (!keep_alive)
        uvh_conn_close_when_sent(&h1->conn, !exchange->request_complete ||
                                                exchange->base.request.framing.keep_alive);
    size_t size = (size_t)(put_head(begin, exchange, sends, keep_alive) - begin);
    uvh_output_commit(&h1->conn, size);
    exchange->base.sent += size;
    h1->conn.shared->file_share.responses++;
    uvh_counters_response(&exchange->base.worker->counters, response->status);
    return 0;
}

int uvh_h1_head_interim(struct uvh_h1 *h1, int status)
{
    struct uvh_exchange *base = &uvh_h1_exchange(h1)->base;
    int err;
    char *begin =
        uvh_output_reserve(&h1->conn, FIXED_HEAD_SIZE + fields_size(&base->response), &err);
    if (begin == NULL)
        return err;
    char *out = begin + uvh_h1_encode_status_line(begin, FIXED_HEAD_SIZE, status, "");
    out = put_fields(out, &base->response);
    out = PUT(out, "\r\n");
    uvh_output_commit(&h1->conn, (size_t)(out - begin));
    uvh_counter_add(&base->worker->counters.responses_1xx, 1);
    return 0;
}

bool uvh_h1_head_only(const struct uvh_h1_exchange *exchange)
{
    int status = exchange->base.response.status;
    return exchange->head.method == UVHTTP_METHOD_HEAD || uvh_response_is_bodiless(status) ||
           status == 205;
}
