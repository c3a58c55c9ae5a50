/* What a handshake has agreed on, as uvhttp_request_tls gives it: one block, counted, since an
 * exchange may outlive its connection.
 *
 * Referred to and dropped on the worker's thread; read by any. */
#ifndef UVH_TLS_INFO_H
#define UVH_TLS_INFO_H

#include <uvhttp/tls.h>

struct ssl_st;

struct uvh_tls_info {
    uvhttp_tls_info_t public;
    const uvhttp_allocator_t *allocator;
    size_t refs;
};

/* With one reference; NULL when memory ran out. */
struct uvh_tls_info *uvh_tls_info_new(struct ssl_st *ssl, const uvhttp_allocator_t *allocator);

static inline struct uvh_tls_info *uvh_tls_info_ref(struct uvh_tls_info *info)
{
    info->refs++;
    return info;
}
void uvh_tls_info_unref(struct uvh_tls_info *info);

#endif
