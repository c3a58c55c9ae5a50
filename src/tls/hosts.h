/* Which certificates serve which name: exact names, and wildcards in the leftmost label.
 *
 * Always true: a look-up takes two probes of a hash table, however many names there are. Built once
 * and never changed. Called by generation.c and context.c. */
#ifndef UVH_TLS_HOSTS_H
#define UVH_TLS_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/tls.h>

enum {
    UVH_TLS_HOST_CERTIFICATES = 4, /* of one name, each with another type of key */
    UVH_TLS_NAME_MAX = 255,        /* bytes (RFC 1035 section 2.3.4) */
};

struct uvh_tls_host {
    uint32_t certificates[UVH_TLS_HOST_CERTIFICATES]; /* indexes */
    unsigned char count;
    unsigned char client_auth; /* uvhttp_tls_client_auth_t, the most demanding of them */
};

struct uvh_tls_host_entry;

struct uvh_tls_hosts {
    const uvhttp_allocator_t *allocator;
    struct uvh_tls_host_entry *entries; /* open addressing; a power of two of them */
    size_t capacity;
    size_t count;
};

/* The name's host, which is made if there is none; names are compared without case. NULL when
 * memory ran out. A name that cannot be one (empty, too long) is NULL with `*ignored`. */
struct uvh_tls_host *uvh_tls_hosts_add(struct uvh_tls_hosts *hosts, const char *name, size_t length,
                                       bool *ignored);

/* Of the exact name, else of a wildcard; NULL: none. */
const struct uvh_tls_host *uvh_tls_hosts_find(const struct uvh_tls_hosts *hosts, const char *name,
                                              size_t length);

void uvh_tls_hosts_release(struct uvh_tls_hosts *hosts);

#endif
