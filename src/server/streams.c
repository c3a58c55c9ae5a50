/* Creates streams: by upgrading a request, or by connecting to another server. */
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/stream.h>
#include <uvhttp/tls_client.h>

#include "base/alloc.h"
#include "codec/fields/field.h"
#include "conn/stream.h"
#include "conn/stream_connect.h"
#include "server/blocking.h"
#include "server/send.h"
#include "server/server.h"
#include "server/workers.h"

enum { MAX_PORT = 65535 };

bool uvhttp_request_offers_upgrade(const uvhttp_request_t *request, const char *protocol)
{
    if (protocol == NULL || !request->framing.upgrade)
        return false;
    uvhttp_slice_t wanted = {protocol, strlen(protocol)};
    for (uint16_t i = 0; i < request->head->field_count; i++) {
        const uvhttp_field_t *field = &request->head->fields[i];
        uvhttp_slice_t value = {request->bytes + field->value_offset, field->value_length};
        uvhttp_slice_t name;
        if (field->id != UVHTTP_FIELD_UPGRADE)
            continue;
        while (uvh_field_list_next(&value, &name)) {
            if (uvh_field_name_equal(name, wanted))
                return true;
        }
    }
    return false;
}

static int send_upgrade(uvhttp_response_t *response, const char *protocol,
                        struct uvhttp_stream *stream)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    uvh_exchange_ref(exchange); /* for what must be undone on failure */
    int err = uvhttp_response_set_header(response, "Upgrade", protocol);
    if (err == 0) {
        response->stream = stream;
        err = uvh_send(response, 101, NULL,
                       &(struct uvh_body){.source = UVH_BODY_STREAM, .descriptor = -1});
    }
    response->stream = NULL;
    if (err != 0)
        uvhttp_response_remove_header(response, "Upgrade");
    else if (exchange->use->is_retired && stream->carrier != UVH_CARRIER_NONE) {
        uvh_list_remove(&stream->link);
        uvh_list_append(&exchange->use->streams, &stream->link);
    }
    uvh_exchange_unref(exchange);
    /* the send has found the connection broken */
    if (err == 0 && stream->carrier == UVH_CARRIER_NONE)
        err = UVHTTP_EDISCONNECTED;
    return err;
}

int uvhttp_response_upgrade(uvhttp_response_t *response, const char *protocol,
                            const uvhttp_stream_events_t *events, void *arg, uvhttp_stream_t **out)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    struct uvh_worker *worker = exchange->worker;
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    int err = uvh_response_check_open(response);
    if (err != 0)
        return err;
    if (events == NULL || events->data == NULL || events->closed == NULL ||
        uvh_blocking_is(exchange) || !uvhttp_request_offers_upgrade(&exchange->request, protocol))
        return UVHTTP_EINVAL;
    if (worker->draining)
        return UVHTTP_ESTOPPED;
    struct uvhttp_stream *stream = uvh_stream_new(&worker->conns, events, arg);
    if (stream == NULL)
        return UVHTTP_ENOMEM;
    stream->starting = true;
    err = send_upgrade(response, protocol, stream);
    if (err != 0) {
        uvh_free(worker->server->allocator, stream);
        return err;
    }
    stream->starting = false;
    stream->is_websocket = uvh_field_name_equal((uvhttp_slice_t){protocol, strlen(protocol)},
                                                (uvhttp_slice_t){"websocket", 9});
    if (stream->is_websocket)
        uvh_counter_add(&worker->conns.websockets, 1);
    *out = stream;
    return 0;
}

static bool is_valid(const char *host, int port, uint32_t timeout_ms,
                     uvhttp_stream_connected_cb connected, const uvhttp_stream_events_t *events)
{
    return host != NULL && events != NULL && port > 0 && port <= MAX_PORT &&
           timeout_ms <= UVH_TIMEOUT_STEP_MOST && connected != NULL && events->data != NULL &&
           events->closed != NULL;
}

/* `tls` NULL: plain text. */
static int begin_connecting(struct uvh_server *server, uvhttp_tls_client_t *tls, const char *host,
                            int port, uint32_t timeout_ms, uvhttp_stream_connected_cb connected,
                            const uvhttp_stream_events_t *events, void *arg, uvhttp_stream_t **out)
{
    int err = uvh_server_start_for_streams(server);
    if (err != 0)
        return err;
    struct uvh_worker *worker = uvh_workers_current(server);
    err = uvh_stream_connect_start(&worker->conns, tls, host, port, timeout_ms, connected, events,
                                   arg, out);
    if (err == 0)
        uvh_worker_stats_time(worker);
    return err;
}

int uvhttp_stream_connect(uvhttp_server_t *view, const char *host, int port, uint32_t timeout_ms,
                          uvhttp_stream_connected_cb connected,
                          const uvhttp_stream_events_t *events, void *arg, uvhttp_stream_t **out)
{
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (view == NULL)
        return UVHTTP_ENOMEM;
    if (!is_valid(host, port, timeout_ms, connected, events))
        return UVHTTP_EINVAL;
    return begin_connecting(uvh_server_of(view), NULL, host, port, timeout_ms, connected, events,
                            arg, out);
}

/* The default client, with the system's CA certificates. If two workers create it concurrently, one
 * discards its own. */
static int default_client(struct uvh_server *server, uvhttp_tls_client_t **client)
{
    const uvhttp_tls_client_options_t options = {.allocator = server->allocator};
    uvhttp_tls_client_t *made, *before = NULL;
    *client = atomic_load(&server->tls_client);
    if (*client != NULL)
        return 0;
    int err = uvhttp_tls_client_new(&made, &options, NULL);
    if (err != 0)
        return err;
    if (!atomic_compare_exchange_strong(&server->tls_client, &before, made))
        uvhttp_tls_client_free(made);
    *client = before == NULL ? made : before;
    return 0;
}

int uvhttp_stream_connect_tls(uvhttp_server_t *view, uvhttp_tls_client_t *client, const char *host,
                              int port, uint32_t timeout_ms, uvhttp_stream_connected_cb connected,
                              const uvhttp_stream_events_t *events, void *arg,
                              uvhttp_stream_t **out)
{
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    if (!is_valid(host, port, timeout_ms, connected, events) || host[0] == '\0')
        return UVHTTP_EINVAL;
    int err = client != NULL ? 0 : default_client(server, &client);
    if (err != 0)
        return err;
    return begin_connecting(server, client, host, port, timeout_ms, connected, events, arg, out);
}
