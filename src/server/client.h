/* The client of a request when there may be proxies in between; see include/uvhttp/embedding.h. */
#ifndef UVH_SERVER_CLIENT_H
#define UVH_SERVER_CLIENT_H

#include <uvhttp/embedding.h>

#include "codec/fields/address_prefix.h"

/* Who is believed. Belongs to the server. */
struct uvh_proxies {
    const uvhttp_allocator_t *allocator;
    uvhttp_forwarding_t fields;
    bool unix_peers; /* whoever connects to a unix socket */
    size_t count;
    struct uvh_address_prefix prefixes[];
};

/* What they say of a request's client. Belongs to the exchange. */
struct uvh_client {
    const char *address;
    const char *scheme;
    const char *host; /* NULL: nothing */
};

#endif
