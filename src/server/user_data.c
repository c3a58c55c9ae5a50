/* Application data of servers and connections, and the allocator for it. A connection has one
 * pointer for its data, so that unused data costs no more. */
#include <uvhttp/embedding.h>

#include "base/alloc.h"
#include "codec/proxy/header.h"
#include "conn/conn.h"
#include "server/blocking.h"
#include "server/exchange.h"
#include "server/server.h"

struct uvh_connection_data *uvh_connection_data_new(struct uvh_server *server, size_t extra)
{
    struct uvh_connection_data *data = uvh_alloc_zero(server->allocator, sizeof(*data) + extra);
    if (data != NULL)
        data->id = atomic_fetch_add_explicit(&server->connection_ids, 1, memory_order_relaxed) + 1;
    return data;
}

/* Allocates it on first use; NULL when out of memory. */
static struct uvh_connection_data *data_of(uvhttp_request_t *request)
{
    struct uvh_exchange *exchange = uvh_exchange_of_request(request);
    struct uvh_connection_data **data = exchange->protocol->connection_data(exchange);
    if (*data == NULL)
        *data = uvh_connection_data_new(exchange->worker->server, 0);
    return *data;
}

int uvhttp_request_set_connection_data(uvhttp_request_t *request, void *data,
                                       void (*release)(void *data))
{
    if (uvh_blocking_is(uvh_exchange_of_request(request))) /* only the loop may access it */
        return UVHTTP_EINVAL;
    struct uvh_connection_data *kept = data_of(request);
    if (kept == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_connection_data before = *kept;
    kept->data = data;
    kept->release = release;
    if (before.release != NULL)
        before.release(before.data);
    return 0;
}

void *uvhttp_request_connection_data(uvhttp_request_t *request)
{
    struct uvh_exchange *exchange = uvh_exchange_of_request(request);
    const struct uvh_connection_data *kept = *exchange->protocol->connection_data(exchange);
    return kept == NULL ? NULL : kept->data;
}

bool uvhttp_request_proxy_value(uvhttp_request_t *request, unsigned type, uvhttp_slice_t *value)
{
    struct uvh_exchange *exchange = uvh_exchange_of_request(request);
    const struct uvh_connection_data *kept = *exchange->protocol->connection_data(exchange);
    uvhttp_slice_t rest = kept == NULL ? (uvhttp_slice_t){NULL, 0} : kept->proxy_values, each;
    unsigned char found;
    bool has = false;
    while (!has && uvh_proxy_next_tlv(&rest, &found, &each))
        has = found == type;
    if (value != NULL)
        *value = has ? each : (uvhttp_slice_t){NULL, 0};
    return has;
}

uint64_t uvhttp_request_connection_id(uvhttp_request_t *request)
{
    const struct uvh_connection_data *kept = data_of(request);
    return kept == NULL ? 0 : kept->id;
}

void uvhttp_server_set_data(uvhttp_server_t *server, void *data)
{
    if (server != NULL)
        uvh_server_of(server)->data = data;
}

void *uvhttp_server_data(const uvhttp_server_t *server)
{
    return server == NULL ? NULL : uvh_server_of((uvhttp_server_t *)(uintptr_t)server)->data;
}

const uvhttp_allocator_t *uvhttp_server_allocator(const uvhttp_server_t *server)
{
    return server == NULL ? uvh_alloc_default()
                          : ((const struct uvh_server *)(const void *)server)->allocator;
}
