/* The header that a proxy sends before the bytes of its client: the PROXY protocol, versions 1 and
 * 2 (https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt). No I/O. */
#ifndef UVH_CODEC_PROXY_HEADER_H
#define UVH_CODEC_PROXY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/fields/ip_address.h"

enum {
    UVH_PROXY_V1_MOST = 107, /* bytes of a header of version 1, with CR LF */
    UVH_PROXY_V2_HEAD = 16,  /* of the fixed part of version 2 */
    UVH_PROXY_MOST = 4096,   /* of version 2, with addresses and TLVs; more is refused */
};

enum uvh_proxy_result {
    UVH_PROXY_DONE,
    UVH_PROXY_MORE,    /* so far it can become a header */
    UVH_PROXY_INVALID, /* it is none, or a malformed one */
};

enum uvh_proxy_source {
    UVH_PROXY_LOCAL,   /* a connection of the proxy itself: a health check */
    UVH_PROXY_UNKNOWN, /* of another kind of address */
    UVH_PROXY_IP,
    UVH_PROXY_UNIX,
};

struct uvh_proxy_header {
    enum uvh_proxy_source source;
    struct uvh_ip_address client;
    uint16_t port;       /* of the client */
    uvhttp_slice_t tlvs; /* in the bytes that were parsed; version 2 */
    size_t size;         /* of the header */
};

enum uvh_proxy_result uvh_proxy_parse(const char *data, size_t size,
                                      struct uvh_proxy_header *header);

/* True if bytes of any client begin as a header does. */
bool uvh_proxy_has_signature(const char *data, size_t size);

/* The next TLV, which is removed from `tlvs`. False at the end; the parser has checked them. */
bool uvh_proxy_next_tlv(uvhttp_slice_t *tlvs, unsigned char *type, uvhttp_slice_t *value);

#endif
