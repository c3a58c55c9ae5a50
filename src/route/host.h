/* Virtual servers by name: a table of hosts, exact ones and "*." patterns, each with its routes.
 *
 * Always true: names in the table are in small letters, without port and without a dot at the end,
 * and so are those that are looked for. Looking up allocates nothing. Called by route/router.c. */
#ifndef UVH_ROUTE_HOST_H
#define UVH_ROUTE_HOST_H

#include "route/tree.h"

/* The routes of a host, or those of the server itself. */
struct uvh_site {
    struct uvh_tree tree;
    struct uvhttp_router *router; /* the outermost of this host */
    char *host;                   /* "example.com", "*.example.com"; NULL: the server itself */
};

struct uvh_hosts {
    struct uvh_site **slots; /* NULL where empty */
    size_t capacity;         /* a power of two, or 0 */
    size_t count;
};

/* The longest host name that is looked for (RFC 1035 section 2.3.4), and "*." before it. */
enum { UVH_HOST_MAX = 255 + 2 };

/* Writes the name of a host or of a pattern for hosts as the table has it: 0, or UVHTTP_EROUTE when
 * it is none. */
int uvh_host_name(const char *given, char name[UVH_HOST_MAX + 1]);

/* The site of exactly this name, or NULL. */
struct uvh_site *uvh_host_named(const struct uvh_hosts *hosts, uvhttp_slice_t name);

/* Adds a site that is not there yet. 0 or UVHTTP_ENOMEM. */
int uvh_host_add(struct uvh_hosts *hosts, const uvhttp_allocator_t *allocator,
                 struct uvh_site *site);

/* The site that a request for this authority is for: the host itself, else the longest pattern;
 * NULL when neither is named. */
struct uvh_site *uvh_host_find(const struct uvh_hosts *hosts, uvhttp_slice_t authority);

#endif
