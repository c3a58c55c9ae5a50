/* Map from host names to certificates: exact names, and wildcards in the leftmost label.
 *
 * Always true: a lookup takes two probes of a hash table, independent of the number of names.
 * Immutable after creation. */
#ifndef UVH_TLS_HOSTS_H
#define UVH_TLS_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/tls.h>

#include "base/hash_table.h"

enum {
    UVH_TLS_HOST_CERTIFICATES = 4, /* for one name, each with another key type */
    UVH_TLS_NAME_MAX = 255,        /* bytes (RFC 1035 section 2.3.4) */
};

struct uvh_tls_host {
    uint32_t certificates[UVH_TLS_HOST_CERTIFICATES]; /* indexes */
    unsigned char count;
    unsigned char client_auth; /* uvhttp_tls_client_auth_t, the strictest of its certificates */
};

struct uvh_tls_hosts {
    struct uvh_hash_table table;
};

void uvh_tls_hosts_init(struct uvh_tls_hosts *hosts, const uvhttp_allocator_t *allocator);
void uvh_tls_hosts_release(struct uvh_tls_hosts *hosts);

/* The host of a name, created if missing; names are case-insensitive. NULL if out of memory. An
 * invalid name (empty, too long) gives NULL with `*ignored`. */
struct uvh_tls_host *uvh_tls_hosts_add(struct uvh_tls_hosts *hosts, const char *name, size_t length,
                                       bool *ignored);

/* Matches the exact name, else a wildcard; NULL: none. */
const struct uvh_tls_host *uvh_tls_hosts_find(const struct uvh_tls_hosts *hosts, const char *name,
                                              size_t length);

#endif
