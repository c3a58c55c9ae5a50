/* The client of a request behind proxies; see include/uvhttp/embedding.h. */
#ifndef UVH_SERVER_CLIENT_H
#define UVH_SERVER_CLIENT_H

#include <uvhttp/embedding.h>

#include "codec/fields/address_prefix.h"

/* The trusted proxies. Owned by the server. */
struct uvh_proxies {
    const uvhttp_allocator_t *allocator;
    uvhttp_forwarding_t fields;
    bool unix_peers; /* peers of unix sockets are trusted */
    size_t count;
    struct uvh_address_prefix prefixes[];
};

/* What proxies report about a request's client. Owned by the exchange. */
struct uvh_client {
    const char *address;
    const char *scheme;
    const char *host; /* NULL: not reported */
};

#endif
