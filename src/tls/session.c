/* An SSL object between two custom memory BIOs. */
#include "tls/session.h"

#include <errno.h>
#include <string.h>

#include <openssl/err.h>

#include "base/alloc.h"
#include "platform/socket_tls.h"
#include "tls/client.h"
#include "tls/context.h"
#include "tls/info.h"
#include "tls/reason.h"

enum {
    LARGE_RECORD = SSL3_RT_MAX_PLAIN_LENGTH,
    /* A record can be decrypted only when complete, so the first ones fit into one packet each. */
    SMALL_RECORD = 1370,
    SMALL_RECORDS = 16 * 1024, /* bytes sent in small records */
    IDLE_MS = 1000,
    /* bytes; OpenSSL rejects each renegotiation with an alert, without a limit */
    ALERTS_MOST = 4096,
    HANDSHAKE_HEAD = 4, /* bytes: type and length (RFC 8446 section 4) */
    /* The BIO control of OpenSSL 3 for SSL_OP_ENABLE_KTLS; bio.h has the number in a comment
     * only. */
    BIO_SET_KTLS = 72,
};

/* ---- BIOs ---- */

static int bio_read(BIO *bio, char *data, int size)
{
    struct uvh_tls_session *session = BIO_get_data(bio);
    uvhttp_slice_t *input = &session->input;
    BIO_clear_retry_flags(bio);
    if (input->length == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t count = (size_t)size < input->length ? (size_t)size : input->length;
    memcpy(data, input->base, count);
    input->base += count;
    input->length -= count;
    return (int)count;
}

/* Reserves `size` bytes at the end of the output. */
static bool reserve(struct uvh_tls_session *session, size_t size)
{
    struct uvh_buffer *output = session->output;
    if (output != NULL && output->capacity - output->used >= size)
        return true;
    size_t pending = uvh_tls_session_pending(session);
    struct uvh_buffer *larger = uvh_buffer_take(session->pool, 2 * pending + size);
    if (larger == NULL)
        return false;
    if (output != NULL) {
        memcpy(larger->data, output->data + session->sent, pending);
        uvh_buffer_unref(output);
    }
    larger->used = pending;
    session->output = larger;
    session->sent = 0;
    return true;
}

/* The buffer pool belongs to the loop's thread. */
static bool put_on_thread(struct uvh_tls_session *session, const void *data, size_t size)
{
    char *longer = uvh_realloc(session->pool->allocator, session->made, session->made_size + size);
    if (longer == NULL)
        return false;
    memcpy(longer + session->made_size, data, size);
    session->made = longer;
    session->made_size += size;
    return true;
}

static bool put(struct uvh_tls_session *session, const void *data, size_t size)
{
    if (session->working)
        return put_on_thread(session, data, size);
    if (!reserve(session, size))
        return false;
    memcpy(session->output->data + session->output->used, data, size);
    session->output->used += size;
    return true;
}

static int bio_write(BIO *bio, const char *data, int size)
{
    const struct uvh_tls_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    /* The kernel has used the nonces of these records, so they must not be sent. on_message handles
     * alerts. */
    if (session->offloaded)
        return size;
    return size > 0 && put(BIO_get_data(bio), data, (size_t)size) ? size : -1;
}

/* ---- kernel TLS ---- */

static void drop_keys(struct uvh_tls_session *session)
{
    if (session->keys != NULL)
        OPENSSL_cleanse(session->keys, sizeof(*session->keys));
    uvh_free(session->pool->allocator, session->keys);
    session->keys = NULL;
}

static bool is_key_update(const unsigned char *message, size_t size)
{
    return size > HANDSHAKE_HEAD && message[0] == SSL3_MT_KEY_UPDATE &&
           message[HANDSHAKE_HEAD] == SSL_KEY_UPDATE_REQUESTED;
}

/* Records and messages as OpenSSL sends and receives them, see SSL_set_msg_callback(3). */
static void on_message(int sent, int version, int type, const void *data, size_t size, SSL *ssl,
                       void *arg)
{
    static const unsigned char internal_error[] = {SSL3_AL_FATAL, SSL_AD_INTERNAL_ERROR};
    struct uvh_tls_session *session = arg;
    (void)version;
    (void)ssl;
    if (!session->offloaded) {
        session->records += sent && type == SSL3_RT_HEADER;
    } else if (sent && type == SSL3_RT_ALERT) {
        put(session, data, size); /* if out of memory the connection ends without the alert */
    } else if (!sent && type == SSL3_RT_HANDSHAKE && is_key_update(data, size) &&
               session->why == NULL) {
        session->why = "the client requested a KeyUpdate, which kernel TLS does not support";
        session->rekeyed = true;
        put(session, internal_error, sizeof(internal_error));
    }
}

/* OpenSSL offers the keys during the handshake. The BIO declines them, so that OpenSSL finishes the
 * handshake, including tickets, as without kernel TLS; the records are counted. */
static void keep_keys(struct uvh_tls_session *session, const void *info)
{
    struct uvh_socket_tls_keys keys;
    if (session->offloaded || session->context->kernel_refuses ||
        !uvh_socket_tls_copy_keys(&keys, info))
        return;
    if (session->keys == NULL)
        session->keys = uvh_alloc(session->pool->allocator, sizeof(keys));
    if (session->keys != NULL) {
        *session->keys = keys;
        session->records = 0;
        SSL_set_msg_callback(session->ssl, on_message);
        SSL_set_msg_callback_arg(session->ssl, session);
    }
    OPENSSL_cleanse(&keys, sizeof(keys));
}

const struct uvh_socket_tls_keys *uvh_tls_session_keys(struct uvh_tls_session *session)
{
    if (session->keys != NULL)
        uvh_socket_tls_skip_records(session->keys, session->records);
    session->records = 0;
    return session->keys;
}

void uvh_tls_session_offload(struct uvh_tls_session *session, int result)
{
    drop_keys(session);
    session->offloaded = result == 0;
    if (result == 0)
        return;
    SSL_set_msg_callback(session->ssl, NULL);
    session->context->kernel_refuses |= result == -ENOSYS;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    bool sending = number != 0;
    if (command == BIO_SET_KTLS && sending)
        keep_keys(BIO_get_data(bio), pointer);
    return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *uvh_tls_session_bio_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "uvhttp");
    if (method == NULL)
        return NULL;
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_control);
    return method;
}

/* ---- create and free ---- */

struct uvh_tls_session *uvh_tls_session_of(const SSL *ssl)
{
    return SSL_get_app_data(ssl);
}

static bool open_ssl(struct uvh_tls_session *session, SSL_CTX *ctx, BIO_METHOD *method)
{
    session->ssl = SSL_new(ctx);
    BIO *bio = session->ssl == NULL ? NULL : BIO_new(method);
    if (bio == NULL)
        return false;
    BIO_set_data(bio, session);
    BIO_set_init(bio, 1);
    SSL_set_bio(session->ssl, bio, bio);
    return SSL_set_app_data(session->ssl, session) == 1;
}

struct uvh_tls_session *uvh_tls_session_new(struct uvh_tls_context *context,
                                            struct uvh_buffer_pool *pool)
{
    struct uvh_tls_session *session = uvh_alloc_zero(pool->allocator, sizeof(*session));
    if (session == NULL)
        return NULL;
    session->context = context;
    session->pool = pool;
    context->refs++;
    if (context->generation->options->early_data > 0)
        session->early = UVH_TLS_EARLY_POSSIBLE;
    bool good = open_ssl(session, context->ctx, context->bio_method);
    if (good)
        SSL_set_accept_state(session->ssl);
    ERR_clear_error();
    if (good)
        return session;
    uvh_tls_session_free(session);
    return NULL;
}

struct uvh_tls_session *uvh_tls_session_connect(struct uvhttp_tls_client *client, const char *host,
                                                struct uvh_buffer_pool *pool)
{
    const char *name = uvh_tls_client_name(client, host);
    size_t size = strlen(name) + 1;
    struct uvh_tls_session *session = uvh_alloc_zero(pool->allocator, sizeof(*session) + size);
    if (session == NULL)
        return NULL;
    session->client = client;
    session->pool = pool;
    session->begun = true;
    uvh_tls_client_ref(client);
    memcpy(session->server_name, name, size);
    bool good = open_ssl(session, client->ctx, client->bio_method) &&
                uvh_tls_client_expect(session->ssl, session->server_name);
    if (good)
        SSL_set_connect_state(session->ssl);
    ERR_clear_error();
    if (good)
        return session;
    uvh_tls_session_free(session);
    return NULL;
}

void uvh_tls_session_free(struct uvh_tls_session *session)
{
    const uvhttp_allocator_t *allocator = session->pool->allocator;
    SSL_free(session->ssl);
    ERR_clear_error();
    uvh_free(allocator, session->made);
    drop_keys(session);
    if (session->kept != NULL)
        uvh_buffer_unref(session->kept);
    if (session->output != NULL)
        uvh_buffer_unref(session->output);
    if (session->info != NULL)
        uvh_tls_info_unref(session->info);
    if (session->context != NULL)
        uvh_tls_context_unref(session->context);
    else
        uvhttp_tls_client_free(session->client);
    uvh_free(allocator, session);
}

/* ---- results ---- */

/* Maps the result of an OpenSSL call that returned no bytes. */
static int outcome(struct uvh_tls_session *session, int result)
{
    int error = SSL_get_error(session->ssl, result);
    if (error == SSL_ERROR_WANT_READ)
        return -EAGAIN;
    if (error == SSL_ERROR_ZERO_RETURN) {
        session->close_received = true;
        return 0;
    }
    session->why = uvh_tls_reason(session->ssl);
    return -EPROTO;
}

/* After a failure OpenSSL must not be called again. */
static bool has_failed(const struct uvh_tls_session *session)
{
    return session->why != NULL;
}

/* Releases a kept input buffer after its last byte was read. */
static void drop_kept(struct uvh_tls_session *session)
{
    if (session->kept == NULL || session->input.length > 0)
        return;
    uvh_buffer_unref(session->kept);
    session->kept = NULL;
}

/* ---- handshake ---- */

static int ended(struct uvh_tls_session *session)
{
    session->why = "the peer closed the connection during the handshake";
    return -EPROTO;
}

/* The handshake parameters are known: plaintext is read and written from now on. */
static int note_facts(struct uvh_tls_session *session)
{
    if (session->info == NULL)
        session->info = uvh_tls_info_new(session->ssl, session->pool->allocator);
    ERR_clear_error();
    if (session->info != NULL)
        return 0;
    session->why = "out of memory";
    return -EPROTO;
}

/* Reads early data while the client may send some.
 * Returns the bytes; 0: end of early data, and the handshake continues; or as a read. */
static ssize_t read_early(struct uvh_tls_session *session, void *data, size_t size)
{
    size_t count = 0;
    int result;
    do
        result = SSL_read_early_data(session->ssl, data, size, &count);
    while (result == SSL_READ_EARLY_DATA_SUCCESS && count == 0);
    if (result == SSL_READ_EARLY_DATA_SUCCESS)
        return (ssize_t)count;
    if (result == SSL_READ_EARLY_DATA_FINISH) {
        bool open = session->early == UVH_TLS_EARLY_OPEN;
        session->early = open ? UVH_TLS_EARLY_ENDED : UVH_TLS_EARLY_NONE;
        return 0;
    }
    int err = outcome(session, 0);
    return err == 0 ? -EAGAIN : err; /* close_received */
}

/* Continues until the end of early data. Returns 0; 1: there is some (`first`); or as a
 * handshake. */
static int take_early(struct uvh_tls_session *session)
{
    char waste[1024];
    ssize_t count = 1;
    session->has_first = false;
    if (session->early == UVH_TLS_EARLY_POSSIBLE) {
        count = read_early(session, &session->first, 1);
        session->has_first = count == 1;
        session->early = count == 1 ? UVH_TLS_EARLY_OPEN : session->early;
        return (int)count;
    }
    while (session->early == UVH_TLS_EARLY_OPEN && count > 0)
        count = read_early(session, waste, sizeof(waste));
    return count > 0 ? 0 : (int)count;
}

static int finish_handshake(struct uvh_tls_session *session)
{
    int result = SSL_do_handshake(session->ssl);
    if (result != 1) {
        int err = outcome(session, result);
        return err == 0 ? ended(session) : err;
    }
    if (session->client != NULL && !uvh_tls_client_accepts(session->ssl, session->server_name)) {
        session->why = "the peer has no certificate for this host";
        return -EPROTO;
    }
    session->early = UVH_TLS_EARLY_NONE;
    return note_facts(session);
}

static int go_on(struct uvh_tls_session *session)
{
    if (has_failed(session))
        return -EPROTO;
    ERR_clear_error();
    int err = take_early(session);
    if (err == 0)
        err = finish_handshake(session);
    else if (err == 1)
        err = note_facts(session);
    return err == -EAGAIN && session->close_received ? ended(session) : err;
}

/* After a ClientHello that must be repeated (HelloRetryRequest, RFC 8446 section 4.1.4) the
 * expensive step is still to come: our Finished has not been sent. */
static void note_hello(struct uvh_tls_session *session)
{
    char byte;
    session->past_hello = session->host != NULL && (SSL_version(session->ssl) < TLS1_3_VERSION ||
                                                    SSL_get_finished(session->ssl, &byte, 1) > 0);
}

int uvh_tls_session_handshake(struct uvh_tls_session *session)
{
    int err = go_on(session);
    drop_kept(session);
    note_hello(session);
    return err;
}

void uvh_tls_session_work(struct uvh_tls_session *session)
{
    session->result = go_on(session);
}

int uvh_tls_session_worked(struct uvh_tls_session *session)
{
    session->working = false;
    drop_kept(session);
    note_hello(session);
    bool good = session->made == NULL || put(session, session->made, session->made_size);
    uvh_free(session->pool->allocator, session->made);
    session->made = NULL;
    session->made_size = 0;
    if (good)
        return session->result;
    session->why = "out of memory";
    return -EPROTO;
}

/* ---- reading ---- */

/* Plaintext before the end of the handshake; 0 if it has ended now. */
static ssize_t read_before_end(struct uvh_tls_session *session, char *data, size_t size)
{
    ssize_t count = 0;
    if (session->has_first && size > 0) {
        *data = session->first;
        session->has_first = false;
        return 1;
    }
    if (session->early == UVH_TLS_EARLY_OPEN)
        count = read_early(session, data, size);
    return count != 0 ? count : finish_handshake(session);
}

ssize_t uvh_tls_session_read(struct uvh_tls_session *session, void *data, size_t size)
{
    size_t count;
    if (has_failed(session))
        return -EPROTO;
    if (session->close_received)
        return 0;
    ERR_clear_error();
    if (uvh_tls_session_is_early(session)) {
        ssize_t early = read_before_end(session, data, size);
        drop_kept(session);
        if (early != 0)
            return early == -EAGAIN && session->close_received ? 0 : early;
    }
    size_t before = uvh_tls_session_pending(session);
    int result = SSL_read_ex(session->ssl, data, size, &count);
    drop_kept(session);
    session->alerts += uvh_tls_session_pending(session) - before;
    int err = result == 1 ? 0 : outcome(session, result);
    if (result == 1 && uvh_tls_session_pending(session) == 0)
        session->alerts = 0;
    if (session->why == NULL && session->alerts > ALERTS_MOST)
        session->why = "the peer requests too many key updates";
    /* After a KeyUpdate request only our own KeyUpdate may be sent (RFC 8446 section 4.6.3). */
    if (result == 1 && !session->rekeyed)
        return (ssize_t)count;
    return has_failed(session) ? -EPROTO : err;
}

bool uvh_tls_session_is_resumed(const struct uvh_tls_session *session)
{
    return session->info->public.resumed;
}

/* ---- writing ---- */

static bool write_record(struct uvh_tls_session *session, const void *data, size_t size)
{
    size_t written;
    ERR_clear_error();
    int result = uvh_tls_session_is_early(session)
                     ? SSL_write_early_data(session->ssl, data, size, &written)
                     : SSL_write_ex(session->ssl, data, size, &written);
    if (result == 1)
        return true;
    if (outcome(session, result) == -EAGAIN) /* impossible without renegotiation */
        session->why = "a write cannot continue before a read";
    return false;
}

static size_t record_size(const struct uvh_tls_session *session)
{
    return session->burst < SMALL_RECORDS ? SMALL_RECORD : LARGE_RECORD;
}

/* Areas smaller than a record are copied into one record. */
struct gathering {
    const uvhttp_slice_t *area;
    size_t offset; /* in the current area */
    char bytes[LARGE_RECORD];
};

/* The next `size` bytes of the areas, contiguous. */
static const char *gather(struct gathering *from, size_t size)
{
    while (from->offset == from->area->length) {
        from->area++;
        from->offset = 0;
    }
    const char *whole = from->area->base + from->offset;
    if (from->area->length - from->offset >= size) {
        from->offset += size;
        return whole;
    }
    for (size_t used = 0; used < size;) {
        size_t left = from->area->length - from->offset,
               part = size - used < left ? size - used : left;
        if (part > 0)
            memcpy(from->bytes + used, from->area->base + from->offset, part);
        used += part;
        from->offset += part;
        if (used < size) {
            from->area++;
            from->offset = 0;
        }
    }
    return from->bytes;
}

int uvh_tls_session_write(struct uvh_tls_session *session, const uvhttp_slice_t *areas, size_t size,
                          uint64_t now)
{
    struct gathering from; /* not cleared, because it is large */
    if (has_failed(session) || session->close_sent)
        return -EPROTO;
    from.area = areas;
    from.offset = 0;
    if (now - session->last >= IDLE_MS)
        session->burst = 0;
    session->last = now;
    while (size > 0) {
        size_t most = record_size(session), part = size < most ? size : most;
        if (!write_record(session, gather(&from, part), part))
            return -EPROTO;
        session->burst += part;
        size -= part;
    }
    return 0;
}

void uvh_tls_session_close(struct uvh_tls_session *session)
{
    if (session->close_sent)
        return;
    session->close_sent = true;
    if (has_failed(session) || session->info == NULL || uvh_tls_session_is_early(session))
        return;
    ERR_clear_error();
    SSL_shutdown(session->ssl);
    ERR_clear_error();
}

/* ---- ciphertext ---- */

bool uvh_tls_session_has_input(const struct uvh_tls_session *session)
{
    return session->input.length > 0 || session->has_first ||
           (session->info != NULL && SSL_pending(session->ssl) > 0);
}

void uvh_tls_session_consume(struct uvh_tls_session *session, size_t count)
{
    session->sent += count;
    if (session->output == NULL || session->sent < session->output->used)
        return;
    uvh_buffer_unref(session->output);
    session->output = NULL;
    session->sent = 0;
}

bool uvh_tls_session_keep_input(struct uvh_tls_session *session)
{
    uvhttp_slice_t *input = &session->input;
    if (input->length == 0 || session->kept != NULL)
        return true; /* nothing is left, or it is in our own memory */
    session->kept = uvh_buffer_take_fitting(session->pool, input->length);
    if (session->kept == NULL)
        return false;
    memcpy(session->kept->data, input->base, input->length);
    input->base = session->kept->data;
    return true;
}

bool uvh_tls_session_is_misdirected(const struct uvh_tls_session *session, uvhttp_slice_t host)
{
    const struct uvh_tls_generation *generation = session->context->generation;
    if (!generation->auth_differs)
        return false;
    return uvh_tls_generation_host(generation, host.base, host.length)->client_auth >
           session->host->client_auth;
}
