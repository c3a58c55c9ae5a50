/* What proxies say of the client they stand before: Forwarded (RFC 7239) and X-Forwarded-For, read
 * with a list of proxies that are believed.
 *
 * A proxy appends the address it was called from, so a list is worth what the last believed proxy
 * has written, and nothing that stands before that: whoever sends a request can put there what he
 * likes. Read from its end, the list is followed as long as the addresses are those of believed
 * proxies. Always true: each byte is looked at once, no allocation. Called by server/client.c. */
#ifndef UVH_CODEC_FIELDS_FORWARDED_H
#define UVH_CODEC_FIELDS_FORWARDED_H

#include "codec/fields/address_prefix.h"

/* What one proxy has said. `base` is NULL for what it did not say. */
struct uvh_forwarded_hop {
    uvhttp_slice_t node;  /* "for": who called it */
    uvhttp_slice_t proto; /* and how */
    uvhttp_slice_t host;  /* and what for */
};

/* Takes one element of a Forwarded list apart (RFC 7239 section 4). False when it is malformed or
 * says something twice. */
bool uvh_forwarded_element(uvhttp_slice_t element, struct uvh_forwarded_hop *hop);

/* The address of a node: "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]:4711". False
 * for "unknown", for names that hide the address, and for what is malformed. */
bool uvh_forwarded_node(uvhttp_slice_t node, struct uvh_ip_address *address);

/* Takes the last element that is not empty off a list, without the white space around it; false
 * when there is none. Commas in quoted strings do not separate if `quotes`. From the end, since
 * what stands before an element may be anything, an open quote for instance. */
bool uvh_forwarded_last(uvhttp_slice_t *rest, bool quotes, uvhttp_slice_t *element);

struct uvh_forwarded {
    const struct uvh_address_prefix *prefixes; /* of believed proxies */
    size_t prefix_count;
    bool standard; /* lines of Forwarded, otherwise of X-Forwarded-For */
    /* Found so far. Without a client the believed proxy that sent the request is all that is
     * known. */
    bool has_client;
    struct uvh_ip_address client;
    struct uvh_forwarded_hop hop; /* what the believed proxy that is farthest from here has said */
    size_t hops;                  /* elements from there to the end of the list */
};

/* Reads one line's value; the last line of a head first. The first three members are set before,
 * the others 0. False when lines before this one do not count any more. */
bool uvh_forwarded_read(struct uvh_forwarded *forwarded, uvhttp_slice_t value);

#endif
