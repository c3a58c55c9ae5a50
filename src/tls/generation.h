/* The result of one load of a configuration: certificates, names, authorities, ticket keys.
 *
 * Always true: immutable after the load, so all workers read it without a lock. Freed with the last
 * context that uses it. */
#ifndef UVH_TLS_GENERATION_H
#define UVH_TLS_GENERATION_H

#include <stdatomic.h>

#include <openssl/x509_vfy.h>

#include "tls/certificate.h"
#include "tls/hosts.h"
#include "tls/tickets.h"

enum { UVH_TLS_EARLY_DATA_MAX = 1024 * 1024 }; /* bytes */

struct uvh_tls_generation {
    atomic_size_t refs;
    uint64_t number; /* set when it is published */
    uvhttp_tls_options_t *options;
    struct uvh_tls_certificate *certificates;
    size_t count;
    struct uvh_tls_hosts hosts;
    struct uvh_tls_host default_host;
    X509_STORE *authorities; /* for client certificates, or NULL */
    STACK_OF(X509_NAME) * authority_names;
    STACK_OF(X509_CRL) * lists; /* revocation lists of `authorities`, or NULL */
    /* the earliest nextUpdate, seconds since 1970; INT64_MAX: none is set */
    int64_t lists_expire;
    unsigned char authorities_id[UVH_TLS_ID_SIZE]; /* identifies the set of authorities and lists */
    struct uvh_tls_ticket_files ticket_files;
    int64_t session_lifetime; /* seconds */
    bool one_time_tickets;
    size_t max_used_tickets; /* of one-time tickets */
    int64_t expires;         /* the earliest notAfter, seconds since 1970 */
    uint64_t files_state;    /* of the files before the load (watch.h) */
    bool auth_differs;       /* a host has another client_auth than the default one */
};

/* Loads and checks everything. Copies the configuration.
 * Returns 0 and a generation with one reference, or
 *   UVHTTP_ENOMEM,
 *   UVHTTP_ECONFIG with a filled `error`. */
int uvh_tls_generation_load(struct uvh_tls_generation **out, const uvhttp_tls_options_t *options,
                            const uvhttp_allocator_t *allocator, uvhttp_error_t *error);

static inline void uvh_tls_generation_ref(struct uvh_tls_generation *generation)
{
    atomic_fetch_add_explicit(&generation->refs, 1, memory_order_relaxed);
}
void uvh_tls_generation_unref(struct uvh_tls_generation *generation);

/* The host of a name, or the default one. */
const struct uvh_tls_host *uvh_tls_generation_host(const struct uvh_tls_generation *generation,
                                                   const char *name, size_t length);

#endif
