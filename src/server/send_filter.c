/* Filters change the bytes of a streamed body before they are sent. The output of each filter is
 * the input of the next; the output of the last is one chunk for the protocol, so nothing is sent
 * while a filter runs. The backlog is checked before, since a filter cannot undo its input. */
#include <uvhttp/error.h>

#include "base/bytes.h"
#include "server/send.h"
#include "server/server.h"

struct uvhttp_filter_output {
    struct uvh_bytes bytes;
};

int uvhttp_response_filter(uvhttp_response_t *response, uvhttp_filter_cb filter,
                           uvhttp_release_cb release, void *arg)
{
    struct uvh_filter *made = NULL;
    int err = UVHTTP_EINVAL;
    if (filter != NULL && response->sending && response->body.source == UVH_BODY_STREAMED) {
        made = uvh_arena_alloc(response->arena, sizeof(*made));
        err = UVHTTP_ENOMEM;
    }
    if (made == NULL) {
        if (release != NULL)
            release(arg);
        return err;
    }
    *made = (struct uvh_filter){.filter = filter, .release = release, .arg = arg};
    if (response->filters == NULL)
        response->length_left = response->body.size;
    response->body.size = UVHTTP_LENGTH_UNKNOWN;
    struct uvh_filter **link = &response->filters;
    while (*link != NULL)
        link = &(*link)->next;
    *link = made;
    return 0;
}

int uvhttp_filter_output_append(uvhttp_filter_output_t *output, const void *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data == NULL)
        return UVHTTP_EINVAL;
    return uvh_bytes_append(&output->bytes, data, size) == 0 ? 0 : UVHTTP_ENOMEM;
}

/* Passes a chunk to the filter, then the event. */
static int run_filter(uvhttp_response_t *response, const struct uvh_filter *filter,
                      uvhttp_filter_event_t event, uvhttp_slice_t chunk,
                      uvhttp_filter_output_t *output)
{
    int err = 0;
    if (chunk.length > 0)
        err = filter->filter(response, UVHTTP_FILTER_CHUNK, chunk.base, chunk.length, output,
                             filter->arg);
    if (err == 0 && event != UVHTTP_FILTER_CHUNK)
        err = filter->filter(response, event, NULL, 0, output, filter->arg);
    if (err == 0 && output->bytes.failed) /* whatever the filter returned */
        err = UVHTTP_ENOMEM;
    return err <= 0 ? err : UVHTTP_EINVAL;
}

static int run_filters(struct uvh_exchange *exchange, uvhttp_filter_event_t event,
                       uvhttp_slice_t chunk, struct uvh_bytes *result)
{
    const uvhttp_allocator_t *allocator = exchange->worker->server->allocator;
    int err = 0;
    uvh_bytes_init(result, allocator, SIZE_MAX / 2);
    for (struct uvh_filter *filter = exchange->response.filters; filter != NULL && err == 0;
         filter = filter->next) {
        uvhttp_filter_output_t output;
        uvh_bytes_init(&output.bytes, allocator, SIZE_MAX / 2);
        err = run_filter(&exchange->response, filter, event, chunk, &output);
        uvh_bytes_release(result);
        *result = output.bytes;
        chunk = (uvhttp_slice_t){result->data, result->length};
    }
    return err;
}

/* The client must not take an incomplete body for a complete one. */
static int give_up(struct uvh_exchange *exchange, int err)
{
    uvh_server_log(exchange->worker->server, UVHTTP_LOG_ERROR, "%s: a response filter failed: %s",
                   uvhttp_request_path(&exchange->request), uvhttp_strerror(err));
    exchange->protocol->abandon(exchange);
    return err;
}

int uvh_send_filtered(struct uvh_exchange *exchange, uvhttp_filter_event_t event,
                      uvhttp_slice_t chunk)
{
    uvhttp_response_t *response = &exchange->response;
    struct uvh_bytes made;
    if (uvh_exchange_discards_body(exchange))
        return event == UVHTTP_FILTER_CHUNK ? exchange->protocol->write(exchange, chunk) : 0;
    bool known = response->length_left != UVHTTP_LENGTH_UNKNOWN;
    if (chunk.length > response->length_left)
        return UVHTTP_ELENGTH;
    if (event == UVHTTP_FILTER_END && known && response->length_left > 0) {
        exchange->protocol->abandon(exchange);
        return UVHTTP_ELENGTH;
    }
    if (event != UVHTTP_FILTER_END && !exchange->protocol->is_writable(exchange))
        return UVHTTP_EFULL;
    int err = run_filters(exchange, event, chunk, &made);
    if (err == 0 && made.length > 0)
        err = exchange->protocol->write(exchange, (uvhttp_slice_t){made.data, made.length});
    uvh_bytes_release(&made);
    if (err == UVHTTP_EDISCONNECTED)
        return err;
    if (err != 0)
        return give_up(exchange, err);
    if (known)
        response->length_left -= chunk.length;
    return 0;
}

int uvh_send_beside(struct uvh_exchange *exchange, uvhttp_slice_t chunk)
{
    if (exchange->response.filters == NULL)
        return exchange->protocol->write(exchange, chunk);
    uvh_exchange_ref(exchange);
    int err = uvh_send_filtered(exchange, UVHTTP_FILTER_FLUSH, chunk);
    uvh_exchange_unref(exchange);
    return err;
}
