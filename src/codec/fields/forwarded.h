/* The client as reported by proxies: Forwarded (RFC 7239) and X-Forwarded-For, evaluated with a
 * list of trusted proxies.
 *
 * A proxy appends the address of its client, so only what trusted proxies have appended is
 * reliable; any client can send the elements before that. So the list is read from its end: the
 * client is the first address found that is not a trusted proxy, or else the address at the start
 * of the list. A malformed or obfuscated address ends the search: the client is the last address
 * found before. The time is linear in the size of the list, and nothing is allocated. */
#ifndef UVH_CODEC_FIELDS_FORWARDED_H
#define UVH_CODEC_FIELDS_FORWARDED_H

#include "codec/fields/address_prefix.h"

/* One element: what a proxy reports about the request it received. `base` is NULL for missing
 * parameters. */
struct uvh_forwarded_hop {
    uvhttp_slice_t node;  /* "for": the address that sent the request to the proxy */
    uvhttp_slice_t proto; /* "proto": the scheme of the request */
    uvhttp_slice_t host;  /* "host": the Host of the request */
};

/* Parses one element of a Forwarded list (RFC 7239 section 4). False if it is malformed or repeats
 * a parameter. */
bool uvh_forwarded_element(uvhttp_slice_t element, struct uvh_forwarded_hop *hop);

/* Parses the address of a node (RFC 7239 section 6), for X-Forwarded-For also IPv6 without
 * brackets: "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]:4711". False for
 * "unknown", for obfuscated identifiers, and if malformed. */
bool uvh_forwarded_node(uvhttp_slice_t node, struct uvh_ip_address *address);

/* Removes the last non-empty element from a list, and stores it without surrounding white space;
 * false if there is none. `quotes`: commas in quoted strings do not separate elements. Only the
 * removed part is read: a client may have sent anything before it, even an open quote. */
bool uvh_forwarded_take_last(uvhttp_slice_t *list, bool quotes, uvhttp_slice_t *element);

struct uvh_forwarded {
    const struct uvh_address_prefix *prefixes; /* of trusted proxies */
    size_t prefix_count;
    bool standard; /* the field is Forwarded, otherwise X-Forwarded-For */
    /* The result so far. */
    bool has_client; /* false: no valid address was read, so the client is the connection's peer */
    struct uvh_ip_address client;
    struct uvh_forwarded_hop hop; /* the element read last; of Forwarded empty if it is malformed */
    size_t hops;                  /* number of elements read */
};

/* Reads the value of one field line. Call it for the last line of the head first, with the first
 * three members set and the others 0. False if the search has ended: ignore the lines before. */
bool uvh_forwarded_read(struct uvh_forwarded *forwarded, uvhttp_slice_t value);

#endif
