/* Virtual hosts by name: a table of hosts, exact ones and "*." patterns, each with its routes.
 *
 * Invariants: names in the table and looked-up names are lower case, without port and without a
 * trailing dot. A lookup does not allocate. */
#ifndef UVH_ROUTE_HOST_H
#define UVH_ROUTE_HOST_H

#include "base/hash_table.h"
#include "route/tree.h"

/* The routes of a host, or those of the server itself. */
struct uvh_site {
    struct uvh_tree tree;
    struct uvh_tree rewrites; /* routes whose `arg` is a template; initialized with the first one */
    struct uvh_route *rewrite_list; /* the same, linked by next_added; NULL: none */
    struct uvhttp_router *router;   /* the outermost router of this host */
    char *host;                     /* "example.com", "*.example.com"; NULL: the server itself */
    struct uvh_hash_link link;      /* in the table of hosts */
};

/* The maximum length of a host name that is looked up (RFC 1035 section 2.3.4), plus "*.". */
enum { UVH_HOST_MAX = 255 + 2 };

/* Writes the normalized name of a host or host pattern. Returns NULL, or why it is invalid. */
const char *uvh_host_name(const char *given, char name[UVH_HOST_MAX + 1]);

/* The site of exactly this name, or NULL. */
struct uvh_site *uvh_host_named(const struct uvh_hash_table *hosts, uvhttp_slice_t name);

/* Adds a site that does not exist yet. */
void uvh_host_add(struct uvh_hash_table *hosts, struct uvh_site *site);

/* The site for the authority of a request: the host itself, else the longest pattern that matches;
 * NULL: none. */
struct uvh_site *uvh_host_find(const struct uvh_hash_table *hosts, uvhttp_slice_t authority);

#endif
