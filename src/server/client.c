/* Determines a request's client: the peer of the connection or, when that is a trusted proxy, the
 * client that the proxy names. Evaluated on first use; without trusted proxies only the peer's
 * address is read. */
#include "server/client.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "codec/fields/authority.h"
#include "codec/fields/field.h"
#include "codec/fields/forwarded.h"
#include "options/error.h"
#include "options/frozen.h"
#include "platform/socket.h"
#include "route/router.h"
#include "server/exchange.h"
#include "server/server.h"
#include "tls/info.h"

static const char unix_peer[] = "unix:"; /* as written by uvh_socket_peer_text */

static uvhttp_slice_t slice_of(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

/* ---- proxies ---- */

static void release_proxies(void *arg)
{
    struct uvh_proxies *proxies = arg;
    uvh_free(proxies->allocator, proxies);
}

static void refuse_proxy(struct uvh_server *server, size_t index, const char *prefix)
{
    uvhttp_error_t *error = uvh_server_error(server);
    char field[32];
    snprintf(field, sizeof(field), "prefixes[%zu]", index);
    uvh_error_sentence(error, field, prefix,
                       "'%s' is neither the address nor the prefix of a proxy", prefix);
    uvh_server_log(server, UVHTTP_LOG_ERROR, "%s", error->text);
}

/* Makes the list, which the server owns. */
static int read_list(struct uvh_server *server, const char *const *prefixes, size_t count,
                     struct uvh_proxies **list)
{
    *list = NULL;
    if (count == 0)
        return 0;
    if (prefixes == NULL)
        return UVHTTP_EINVAL;
    if (count > (SIZE_MAX - sizeof(struct uvh_proxies)) / sizeof(struct uvh_address_prefix))
        return UVHTTP_ENOMEM;
    struct uvh_proxies *proxies =
        uvh_alloc(server->allocator, sizeof(*proxies) + count * sizeof(proxies->prefixes[0]));
    if (proxies == NULL)
        return UVHTTP_ENOMEM;
    *proxies = (struct uvh_proxies){.allocator = server->allocator};
    for (size_t i = 0; i < count; i++) {
        if (prefixes[i] != NULL && strcmp(prefixes[i], "unix") == 0) {
            proxies->unix_peers = true;
        } else if (prefixes[i] == NULL ||
                   !uvh_address_prefix_parse(slice_of(prefixes[i]),
                                             &proxies->prefixes[proxies->count++])) {
            refuse_proxy(server, i, prefixes[i] == NULL ? "" : prefixes[i]);
            release_proxies(proxies);
            return UVHTTP_EINVAL;
        }
    }
    int err = uvhttp_server_own(&server->view, release_proxies, proxies);
    if (err != 0)
        release_proxies(proxies);
    else
        *list = proxies;
    return err;
}

static int trust(struct uvh_server *server, const char *const *prefixes, size_t count,
                 uvhttp_forwarding_t fields)
{
    struct uvh_proxies *proxies;
    int err = uvh_check_not_frozen(&server->view, uvh_server_error(server),
                                   "trusted proxies must be set");
    if (err == 0 && (unsigned)fields > UVHTTP_FORWARDING_STANDARD)
        err = UVHTTP_EINVAL;
    if (err == 0)
        err = read_list(server, prefixes, count, &proxies);
    if (err != 0)
        return err;
    if (proxies != NULL)
        proxies->fields = fields;
    server->setup->proxies = proxies;
    return 0;
}

static int accept_proxy_protocol(struct uvh_server *server, const char *const *sources,
                                 size_t count, uvhttp_proxy_others_t others)
{
    struct uvh_proxies *list;
    int err = uvh_check_not_frozen(&server->view, uvh_server_error(server),
                                   "sources of the PROXY protocol must be set");
    if (err == 0 && (unsigned)others > UVHTTP_PROXY_OTHERS_REFUSE)
        err = UVHTTP_EINVAL;
    if (err == 0)
        err = read_list(server, sources, count, &list);
    if (err != 0)
        return err;
    server->setup->proxy_sources = list;
    server->setup->proxy_others = others;
    return 0;
}

int uvhttp_server_trust_proxies(uvhttp_server_t *view, const char *const *prefixes, size_t count,
                                uvhttp_forwarding_t fields)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvh_error_clear(uvh_server_error(server));
    return uvh_router_end(server->setup->router, trust(server, prefixes, count, fields));
}

int uvhttp_server_accept_proxy_protocol(uvhttp_server_t *view, const char *const *sources,
                                        size_t count, uvhttp_proxy_others_t others)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    uvh_error_clear(uvh_server_error(server));
    return uvh_router_end(server->setup->router,
                          accept_proxy_protocol(server, sources, count, others));
}

bool uvh_proxies_include(const struct uvh_proxies *proxies, const char *peer)
{
    struct uvh_ip_address address;
    if (strcmp(peer, unix_peer) == 0)
        return proxies->unix_peers;
    return uvh_ip_address_parse(slice_of(peer), &address) &&
           uvh_address_prefix_any(proxies->prefixes, proxies->count, &address);
}

/* ---- forwarding fields ---- */

/* Finds the last field of that name among the first `*index`, sets `*index` to its index and
 * returns its value; false when there is none. */
static bool previous_line(const uvhttp_request_t *request, uvhttp_slice_t name, uint32_t *index,
                          uvhttp_slice_t *value)
{
    while (*index > 0) {
        const uvhttp_field_t *field = &request->head->fields[--*index];
        uvhttp_slice_t found = {request->bytes + field->name_offset, field->name_length};
        if (!uvh_field_name_equal(found, name))
            continue;
        *value = (uvhttp_slice_t){request->bytes + field->value_offset, field->value_length};
        return true;
    }
    return false;
}

/* The element at `hops` from the end of a list over all lines, or the first one. */
static uvhttp_slice_t element_at(const uvhttp_request_t *request, const char *name, size_t hops)
{
    uvhttp_slice_t element = {NULL, 0}, line;
    uint32_t index = request->head->field_count;
    while (previous_line(request, slice_of(name), &index, &line))
        while (uvh_forwarded_take_last(&line, false, &element))
            if (hops-- <= 1)
                return element;
    return element;
}

static const char *scheme_of(uvhttp_slice_t proto)
{
    static const uvhttp_slice_t https = {"https", 5};
    return uvh_field_name_equal(proto, https) ? "https" : "http";
}

/* A copy when it is well-formed. */
static const char *host_of(struct uvh_exchange *exchange, uvhttp_slice_t text)
{
    uvhttp_slice_t host, port;
    if (!uvh_authority_split(text, &host, &port))
        return NULL;
    return uvh_arena_copy(&exchange->arena, text.base, text.length);
}

/* Out of memory leaves the client unknown: access control and rate limits by address must not take
 * the proxy for its client. */
static void read_forwarding(struct uvh_exchange *exchange, const struct uvh_proxies *proxies,
                            struct uvh_client *client)
{
    const uvhttp_request_t *request = &exchange->request;
    struct uvh_forwarded forwarded = {.prefixes = proxies->prefixes,
                                      .prefix_count = proxies->count,
                                      .standard = proxies->fields == UVHTTP_FORWARDING_STANDARD};
    uvhttp_slice_t name = slice_of(forwarded.standard ? "forwarded" : "x-forwarded-for"), line;
    uint32_t index = request->head->field_count;
    while (previous_line(request, name, &index, &line) && uvh_forwarded_read(&forwarded, line))
        ;
    if (forwarded.has_client) {
        char *text = uvh_arena_text(&exchange->arena, UVH_IP_ADDRESS_TEXT_SIZE);
        if (text != NULL)
            uvh_ip_address_format(&forwarded.client, text);
        client->address = text != NULL ? text : "";
    }
    if (!forwarded.standard) {
        forwarded.hop.proto = element_at(request, "x-forwarded-proto", forwarded.hops);
        forwarded.hop.host = element_at(request, "x-forwarded-host", forwarded.hops);
    }
    client->scheme = scheme_of(forwarded.hop.proto);
    client->host = host_of(exchange, forwarded.hop.host);
}

static const char *own_scheme(const struct uvh_exchange *exchange)
{
    return exchange->tls == NULL ? "http" : "https";
}

static const struct uvh_client *client_of(uvhttp_request_t *request)
{
    static const struct uvh_client unknown = {"", "http", NULL};
    struct uvh_exchange *exchange = uvh_exchange_of_request(request);
    const struct uvh_proxies *proxies = exchange->use->generation->proxies;
    if (exchange->client != NULL)
        return exchange->client;
    struct uvh_client *client = uvh_arena_alloc(&exchange->arena, sizeof(*client));
    if (client == NULL)
        return &unknown;
    *client = (struct uvh_client){uvhttp_request_peer_address(request), own_scheme(exchange), NULL};
    if (proxies != NULL && uvh_proxies_include(proxies, client->address))
        read_forwarding(exchange, proxies, client);
    exchange->client = client;
    return client;
}

/* ---- public functions ---- */

const char *uvhttp_request_peer_address(uvhttp_request_t *request)
{
    struct uvh_exchange *exchange = uvh_exchange_of_request(request);
    if (exchange->peer_text == NULL) {
        exchange->peer_text = uvh_arena_text(&exchange->arena, UVH_SOCKET_ADDRESS_TEXT);
        if (exchange->peer_text == NULL)
            return "";
        exchange->protocol->peer(exchange, exchange->peer_text);
    }
    return exchange->peer_text;
}

static bool trusts_proxies(uvhttp_request_t *request)
{
    return uvh_exchange_of_request(request)->use->generation->proxies != NULL;
}

const char *uvhttp_request_client_address(uvhttp_request_t *request)
{
    return trusts_proxies(request) ? client_of(request)->address
                                   : uvhttp_request_peer_address(request);
}

const char *uvhttp_request_scheme(uvhttp_request_t *request)
{
    return trusts_proxies(request) ? client_of(request)->scheme
                                   : own_scheme(uvh_exchange_of_request(request));
}

const uvhttp_tls_info_t *uvhttp_request_tls(const uvhttp_request_t *request)
{
    const struct uvh_exchange *exchange =
        uvh_exchange_of_request((uvhttp_request_t *)(uintptr_t)request);
    return exchange->tls == NULL ? NULL : &exchange->tls->public;
}

const char *uvhttp_request_host(uvhttp_request_t *request)
{
    const char *host = trusts_proxies(request) ? client_of(request)->host : NULL;
    uvhttp_slice_t own = request->framing.authority;
    if (host == NULL && own.length > 0)
        host = uvh_arena_copy(request->arena, own.base, own.length);
    return host == NULL ? "" : host;
}

bool uvhttp_request_is_early(const uvhttp_request_t *request)
{
    return uvh_exchange_of_request((uvhttp_request_t *)(uintptr_t)request)->early;
}
