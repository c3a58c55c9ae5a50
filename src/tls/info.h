/* The negotiated parameters of a handshake, as uvhttp_request_tls returns them: one
 * reference-counted block, because an exchange may outlive its connection.
 *
 * Ref and unref on the worker's thread; any thread may read. */
#ifndef UVH_TLS_INFO_H
#define UVH_TLS_INFO_H

#include <uvhttp/tls.h>

struct ssl_st;

struct uvh_tls_info {
    uvhttp_tls_info_t public;
    const uvhttp_allocator_t *allocator;
    size_t refs;
};

/* Returns it with one reference; NULL if out of memory. */
struct uvh_tls_info *uvh_tls_info_new(struct ssl_st *ssl, const uvhttp_allocator_t *allocator);

static inline struct uvh_tls_info *uvh_tls_info_ref(struct uvh_tls_info *info)
{
    info->refs++;
    return info;
}
void uvh_tls_info_unref(struct uvh_tls_info *info);

#endif
