/* A build without OpenSSL: no uvhttp_tls_t or uvhttp_tls_client_t can be created, so the other
 * functions are never called with one. */
#include <errno.h>

#include <uvhttp/error.h>
#include <uvhttp/tls.h>
#include <uvhttp/tls_client.h>

#include "options/error.h"
#include "tls/contexts.h"
#include "tls/info.h"
#include "tls/session.h"

int uvhttp_tls_new(uvhttp_tls_t **tls, const uvhttp_tls_options_t *options, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    if (tls != NULL)
        *tls = NULL;
    return uvh_error_end(error, tls == NULL || options == NULL ? UVHTTP_EINVAL : UVHTTP_ENOTSUP);
}

int uvhttp_tls_make_self_signed(char **pem, const char *const *names, uvhttp_error_t *error)
{
    (void)names;
    uvh_error_clear(error);
    if (pem != NULL)
        *pem = NULL;
    return uvh_error_end(error, pem == NULL ? UVHTTP_EINVAL : UVHTTP_ENOTSUP);
}

void uvhttp_tls_free(uvhttp_tls_t *tls)
{
    (void)tls;
}

int uvhttp_tls_replace(uvhttp_tls_t *tls, const uvhttp_tls_options_t *options,
                       uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, tls == NULL || options == NULL ? UVHTTP_EINVAL : UVHTTP_ENOTSUP);
}

int uvhttp_tls_reload(uvhttp_tls_t *tls, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, tls == NULL ? UVHTTP_EINVAL : UVHTTP_ENOTSUP);
}

int uvhttp_tls_save_tickets(uvhttp_tls_t *tls, unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE])
{
    return tls == NULL || state == NULL ? UVHTTP_EINVAL : UVHTTP_ENOTSUP;
}

int uvhttp_tls_restore_tickets(uvhttp_tls_t *tls,
                               const unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE])
{
    return tls == NULL || state == NULL ? UVHTTP_EINVAL : UVHTTP_ENOTSUP;
}

int64_t uvhttp_tls_expires(uvhttp_tls_t *tls)
{
    (void)tls;
    return 0;
}

int uvhttp_tls_client_new(uvhttp_tls_client_t **client, const uvhttp_tls_client_options_t *options,
                          uvhttp_error_t *error)
{
    uvh_error_clear(error);
    if (client != NULL)
        *client = NULL;
    return uvh_error_end(error, client == NULL || options == NULL ? UVHTTP_EINVAL : UVHTTP_ENOTSUP);
}

void uvhttp_tls_client_free(uvhttp_tls_client_t *client)
{
    (void)client;
}

struct uvh_tls_contexts *uvh_tls_contexts_new(struct uvhttp_tls *tls, size_t workers, bool http2,
                                              const uvhttp_allocator_t *allocator)
{
    (void)tls, (void)workers, (void)http2, (void)allocator;
    return NULL;
}

void uvh_tls_contexts_free(struct uvh_tls_contexts *contexts)
{
    (void)contexts;
}

struct uvh_tls_session *uvh_tls_contexts_accept(struct uvh_tls_contexts *contexts, size_t worker,
                                                struct uvh_buffer_pool *pool)
{
    (void)contexts, (void)worker, (void)pool;
    return NULL;
}

struct uvh_tls_session *uvh_tls_session_connect(struct uvhttp_tls_client *client, const char *host,
                                                struct uvh_buffer_pool *pool)
{
    (void)client, (void)host, (void)pool;
    return NULL;
}

void uvh_tls_session_free(struct uvh_tls_session *session)
{
    (void)session;
}

int uvh_tls_session_handshake(struct uvh_tls_session *session)
{
    (void)session;
    return -EPROTO;
}

void uvh_tls_session_work(struct uvh_tls_session *session)
{
    (void)session;
}

int uvh_tls_session_worked(struct uvh_tls_session *session)
{
    (void)session;
    return -EPROTO;
}

ssize_t uvh_tls_session_read(struct uvh_tls_session *session, void *data, size_t size)
{
    (void)session, (void)data, (void)size;
    return -EPROTO;
}

const struct uvh_socket_tls_keys *uvh_tls_session_keys(struct uvh_tls_session *session)
{
    (void)session;
    return NULL;
}

void uvh_tls_session_offload(struct uvh_tls_session *session, int result)
{
    (void)session, (void)result;
}

int uvh_tls_session_write(struct uvh_tls_session *session, const uvhttp_slice_t *areas, size_t size,
                          uint64_t now)
{
    (void)session, (void)areas, (void)size, (void)now;
    return -EPROTO;
}

void uvh_tls_session_close(struct uvh_tls_session *session)
{
    (void)session;
}

bool uvh_tls_session_has_input(const struct uvh_tls_session *session)
{
    (void)session;
    return false;
}

bool uvh_tls_session_is_resumed(const struct uvh_tls_session *session)
{
    (void)session;
    return false;
}

void uvh_tls_session_consume(struct uvh_tls_session *session, size_t count)
{
    (void)session, (void)count;
}

bool uvh_tls_session_keep_input(struct uvh_tls_session *session)
{
    (void)session;
    return true;
}

bool uvh_tls_session_is_misdirected(const struct uvh_tls_session *session, uvhttp_slice_t host)
{
    (void)session, (void)host;
    return false;
}

void uvh_tls_info_unref(struct uvh_tls_info *info)
{
    (void)info;
}
