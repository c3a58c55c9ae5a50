/* The client as reported by proxies: Forwarded (RFC 7239) and X-Forwarded-For, evaluated with a
 * list of trusted proxies.
 *
 * A proxy appends the address of its client, so only what trusted proxies have appended is
 * reliable; any client can send the elements before that. The list is read from its end, as long as
 * the addresses are those of trusted proxies. Always true: each byte is read once, no allocation.
 * Called by server/client.c. */
#ifndef UVH_CODEC_FIELDS_FORWARDED_H
#define UVH_CODEC_FIELDS_FORWARDED_H

#include "codec/fields/address_prefix.h"

/* The element of one proxy. `base` is NULL for missing parameters. */
struct uvh_forwarded_hop {
    uvhttp_slice_t node;  /* "for": the client's address */
    uvhttp_slice_t proto; /* its protocol */
    uvhttp_slice_t host;  /* its Host */
};

/* Parses one element of a Forwarded list (RFC 7239 section 4). False if it is malformed or repeats
 * a parameter. */
bool uvh_forwarded_element(uvhttp_slice_t element, struct uvh_forwarded_hop *hop);

/* The address of a node: "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]:4711". False
 * for "unknown", for obfuscated identifiers, and if malformed. */
bool uvh_forwarded_node(uvhttp_slice_t node, struct uvh_ip_address *address);

/* Removes the last non-empty element from a list and returns it without surrounding white space;
 * false if there is none. If `quotes`, commas in quoted strings do not separate. Parsed from the
 * end, because earlier elements may be arbitrary, for instance contain an open quote. */
bool uvh_forwarded_last(uvhttp_slice_t *rest, bool quotes, uvhttp_slice_t *element);

struct uvh_forwarded {
    const struct uvh_address_prefix *prefixes; /* of trusted proxies */
    size_t prefix_count;
    bool standard; /* lines of Forwarded, otherwise of X-Forwarded-For */
    /* The result so far. Without a client only the trusted proxy that sent the request is known. */
    bool has_client;
    struct uvh_ip_address client;
    struct uvh_forwarded_hop hop; /* from the farthest trusted proxy */
    size_t hops;                  /* elements from there to the end of the list */
};

/* Reads one line's value; the last line of a head first. The caller sets the first three members,
 * and the others to 0. False if the lines before this one do not count. */
bool uvh_forwarded_read(struct uvh_forwarded *forwarded, uvhttp_slice_t value);

#endif
