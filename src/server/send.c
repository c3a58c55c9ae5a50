/* The send functions: each describes a body and passes the response, complete as a value, to the
 * exchange's protocol. */
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "codec/fields/field.h"
#include "server/blocking.h"
#include "server/send.h"
#include "server/server.h"

static const char type_text[] = "text/plain; charset=utf-8";
static const char type_html[] = "text/html; charset=utf-8";
static const char type_json[] = "application/json";

static int check_sendable(const struct uvhttp_response *response, int status,
                          uvhttp_slice_t content_type, const struct uvh_body *body)
{
    if (response->sending)
        return UVHTTP_ERESPONDED;
    int err = uvh_response_check_open(response);
    if (err != 0)
        return err;
    if (status != 0 && body->source != UVH_BODY_STREAM && (status < 200 || status > 599))
        return UVHTTP_EINVAL;
    if (body->source == UVH_BODY_MEMORY && body->base == NULL && body->size > 0)
        return UVHTTP_EINVAL;
    if (content_type.base != NULL && !uvh_field_value_valid(content_type))
        return UVHTTP_EHEADER;
    return 0;
}

/* Runs the send hooks, which may change the response, from this one on; until one defers it. */
static int run_hooks(struct uvhttp_response *response, struct uvh_send_hook *hook)
{
    int err = uvh_response_own_headers(response);
    response->sending = true;
    for (; hook != NULL && err >= 0 && response->deferred == NULL; hook = hook->next)
        err = hook->send(uvhttp_response_request(response), response, hook->arg);
    response->sending = false;
    err = err < 0 ? err : 0;
    return response->deferred == NULL ? err : uvh_send_suspend(response, hook, err);
}

static int hand_over(struct uvh_exchange *exchange)
{
    switch ((enum uvh_body_source)exchange->response.body.source) {
    case UVH_BODY_STREAMED:
        return exchange->protocol->begin(exchange);
    case UVH_BODY_STREAM:
        return exchange->protocol->upgrade(exchange);
    default:
        return exchange->protocol->respond(exchange);
    }
}

int uvh_send_from(struct uvhttp_response *response, struct uvh_send_hook *hook)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    int err = hook == NULL ? 0 : run_hooks(response, hook);
    if (response->deferred != NULL)
        return err;
    if (response->prepared != NULL && response->prepared->has_content_type)
        response->content_type = (uvhttp_slice_t){NULL, 0};
    if (response->status == 205)
        response->body.size = 0; /* RFC 9110 section 15.3.6 */
    uint64_t size = response->filters != NULL ? response->length_left : response->body.size;
    bool too_large = size > response->body_limit && size != UVHTTP_LENGTH_UNKNOWN;
    if (err == 0 && too_large && !uvh_response_is_bodiless(response->status))
        err = UVHTTP_ETOOLARGE;
    bool streamed = response->body.source == UVH_BODY_STREAMED;
    if (err == 0 && streamed && response->heartbeat && !uvh_blocking_is(exchange) &&
        exchange->worker->draining)
        err = UVHTTP_ESTOPPED; /* an event stream would delay the stop of the server */
    if (err == 0) {
        response->state = streamed ? UVH_RESPONSE_BEGUN : UVH_RESPONSE_SENT;
        err = hand_over(exchange);
        if (err == 0 && streamed && response->heartbeat && !uvh_blocking_is(exchange) &&
            !exchange->finished)
            uvh_exchange_begin_events(exchange);
    }
    if (err == 0 && !uvh_blocking_is(exchange)) /* the proxy exchange has a copy */
        uvh_response_forget_lent(response);
    return err;
}

int uvh_send(struct uvhttp_response *response, int status, const char *content_type,
             const struct uvh_body *body)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    uvhttp_slice_t type = {content_type, content_type == NULL ? 0 : strlen(content_type)};
    int err = check_sendable(response, status, type, body);
    if (err != 0) {
        if (body->release != NULL)
            body->release(body->release_arg);
        return err;
    }
    uint16_t status_before = response->status;
    struct uvh_header_list headers_before = response->headers;
    const uvhttp_prepared_t *prepared_before = response->prepared;
    uvhttp_slice_t type_before = response->content_type;
    if (status != 0)
        response->status = (uint16_t)status;
    response->content_type = type;
    response->body = *body;
    uvh_exchange_ref(exchange);
    if (response->error_reason != NULL)
        uvh_send_error_form(exchange);
    err = uvh_send_from(response, response->hooks);
    if (err != 0 && !exchange->finished) {
        response->state = UVH_RESPONSE_OPEN;
        response->status = status_before;
        response->headers = headers_before; /* hooks see the next response again */
        response->prepared = prepared_before;
        response->content_type = type_before; /* the caller owns its arguments again */
        uvh_response_release_body(response);
    }
    uvh_exchange_unref(exchange);
    return err;
}

int uvhttp_response_send(uvhttp_response_t *response, int status, const char *content_type,
                         const void *data, size_t size)
{
    return uvh_send(
        response, status, content_type,
        &(struct uvh_body){.base = data, .size = size, .descriptor = -1, .transient = true});
}

int uvhttp_response_send_static(uvhttp_response_t *response, int status, const char *content_type,
                                const void *data, size_t size)
{
    return uvh_send(response, status, content_type,
                    &(struct uvh_body){.base = data, .size = size, .descriptor = -1});
}

int uvhttp_response_send_borrowed(uvhttp_response_t *response, int status, const char *content_type,
                                  const void *data, size_t size, uvhttp_release_cb release,
                                  void *arg)
{
    return uvh_send(
        response, status, content_type,
        &(struct uvh_body){
            .base = data, .size = size, .descriptor = -1, .release = release, .release_arg = arg});
}

int uvhttp_response_send_descriptor(uvhttp_response_t *response, int status,
                                    const char *content_type, int descriptor, uint64_t offset,
                                    uint64_t size, uvhttp_release_cb release, void *arg)
{
    return uvh_send(response, status, content_type,
                    &(struct uvh_body){.source = UVH_BODY_FILE,
                                       .descriptor = descriptor,
                                       .offset = offset,
                                       .size = size,
                                       .release = release,
                                       .release_arg = arg});
}

/* A file ends at INT64_MAX, memory at PTRDIFF_MAX. */
static bool can_be_sent(const uvhttp_part_t *part)
{
    if (part->descriptor < 0)
        return part->size <= PTRDIFF_MAX && (part->data != NULL || part->size == 0);
    return part->offset <= INT64_MAX && part->size <= INT64_MAX - part->offset;
}

/* The sum of the parts; UVHTTP_LENGTH_UNKNOWN when they cannot be sent. */
static uint64_t size_of_parts(const uvhttp_part_t *parts, size_t count)
{
    uint64_t size = 0;
    for (size_t i = 0; i < count; i++) {
        if (!can_be_sent(&parts[i]) || parts[i].size > INT64_MAX - size)
            return UVHTTP_LENGTH_UNKNOWN;
        size += parts[i].size;
    }
    return size;
}

int uvhttp_response_send_parts(uvhttp_response_t *response, int status, const char *content_type,
                               const uvhttp_part_t *parts, size_t count, uvhttp_release_cb release,
                               void *arg)
{
    uint64_t size = UVHTTP_LENGTH_UNKNOWN;
    struct uvh_body_parts *copy = NULL;
    if ((parts != NULL || count == 0) && count < (SIZE_MAX - sizeof(*copy)) / sizeof(*parts))
        size = size_of_parts(parts, count);
    if (size != UVHTTP_LENGTH_UNKNOWN)
        copy = uvh_arena_alloc(response->arena, sizeof(*copy) + count * sizeof(*parts));
    if (copy == NULL) {
        if (release != NULL)
            release(arg);
        return size == UVHTTP_LENGTH_UNKNOWN ? UVHTTP_EINVAL : UVHTTP_ENOMEM;
    }
    *copy = (struct uvh_body_parts){(const uvhttp_part_t *)(copy + 1), count};
    if (count > 0)
        memcpy(copy + 1, parts, count * sizeof(*parts));
    return uvh_send(response, status, content_type,
                    &(struct uvh_body){.source = UVH_BODY_PARTS,
                                       .descriptor = -1,
                                       .size = size,
                                       .parts = copy,
                                       .release = release,
                                       .release_arg = arg});
}

/* NULL is a likely result of a getter. */
static int send_string(uvhttp_response_t *response, int status, const char *type,
                       const char *string)
{
    return string == NULL ? UVHTTP_EINVAL
                          : uvhttp_response_send(response, status, type, string, strlen(string));
}

int uvhttp_response_send_text(uvhttp_response_t *response, int status, const char *text)
{
    return send_string(response, status, type_text, text);
}

int uvhttp_response_send_html(uvhttp_response_t *response, int status, const char *html)
{
    return send_string(response, status, type_html, html);
}

int uvhttp_response_send_json(uvhttp_response_t *response, int status, const char *json)
{
    return send_string(response, status, type_json, json);
}

int uvhttp_response_redirect(uvhttp_response_t *response, int status, const char *location)
{
    if (status != 301 && status != 302 && status != 303 && status != 307 && status != 308)
        return UVHTTP_EINVAL;
    int err = uvhttp_response_set_header(response, "Location", location);
    return err != 0 ? err : uvhttp_response_send_status(response, status);
}

int uvhttp_response_fail(uvhttp_response_t *response, int error)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    if (error >= 0 || response->sending || uvh_blocking_is(exchange))
        return UVHTTP_EINVAL;
    if (response->state != UVH_RESPONSE_BEGUN && !uvhttp_response_open(response))
        return uvh_response_over_code(response);
    uvh_exchange_ref(exchange);
    uvh_exchange_conclude(exchange, error);
    uvh_exchange_unref(exchange);
    return 0;
}
