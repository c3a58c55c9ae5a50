/* The client of a request behind proxies; see include/uvhttp/embedding.h. */
#ifndef UVH_SERVER_CLIENT_H
#define UVH_SERVER_CLIENT_H

#include <uvhttp/embedding.h>

#include "codec/fields/address_prefix.h"

/* Trusted proxies, or sources of the PROXY protocol. Owned by the server. */
struct uvh_proxies {
    const uvhttp_allocator_t *allocator;
    uvhttp_forwarding_t fields; /* of trusted proxies */
    bool unix_peers;            /* peers of unix sockets belong to them */
    size_t count;
    struct uvh_address_prefix prefixes[];
};

/* True if the peer with that address (uvh_socket_peer_text) is one of them. */
bool uvh_proxies_include(const struct uvh_proxies *proxies, const char *peer);

/* What proxies report about a request's client. Owned by the exchange. */
struct uvh_client {
    const char *address;
    const char *scheme;
    const char *host; /* NULL: not reported */
};

#endif
