/* OpenSSL writes the client's texts to a memory BIO, each followed by a NUL. */
#include "tls/info.h"

#include <stdio.h>
#include <string.h>

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/alloc.h"
#include "tls/certificate.h"

enum { TEXTS = 6 };

static bool end_text(BIO *texts)
{
    return BIO_write(texts, "", 1) == 1;
}

static bool put_text(BIO *texts, const void *text, size_t length)
{
    return (length == 0 || BIO_write(texts, text, (int)length) == (int)length) && end_text(texts);
}

static bool put_name(BIO *texts, const X509_NAME *name)
{
    return X509_NAME_print_ex(texts, name, 0, XN_FLAG_RFC2253) >= 0 && end_text(texts);
}

static bool put_fingerprint(BIO *texts, const X509 *client)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size;
    if (X509_digest(client, EVP_sha256(), digest, &size) != 1)
        return false;
    for (unsigned i = 0; i < size; i++)
        if (BIO_printf(texts, "%02x", digest[i]) != 2)
            return false;
    return end_text(texts);
}

/* Escapes characters that would look like the end of the name with a backslash. */
static bool put_escaped(BIO *texts, const char *text, size_t length)
{
    bool good = true;
    for (size_t i = 0; i < length && good; i++)
        good = ((text[i] != ',' && text[i] != '\\') || BIO_write(texts, "\\", 1) == 1) &&
               BIO_write(texts, text + i, 1) == 1;
    return good;
}

static bool put_names(BIO *texts, const X509 *client)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(client, NID_subject_alt_name, NULL, NULL);
    BIO *name = BIO_new(BIO_s_mem());
    bool good = name != NULL;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && good; i++) {
        char *text;
        good =
            BIO_reset(name) == 1 && GENERAL_NAME_print(name, sk_GENERAL_NAME_value(names, i)) == 1;
        long length = good ? BIO_get_mem_data(name, &text) : 0;
        good = good && (i == 0 || BIO_puts(texts, ", ") == 2) &&
               put_escaped(texts, text, (size_t)length);
    }
    BIO_free(name);
    GENERAL_NAMES_free(names);
    return good && end_text(texts);
}

/* All texts, each NUL-terminated, in the order of `fill`. */
static bool write_texts(BIO *texts, SSL *ssl, X509 *client)
{
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    const unsigned char *protocol;
    unsigned length;
    SSL_get0_alpn_selected(ssl, &protocol, &length);
    if (!put_text(texts, name, name == NULL ? 0 : strlen(name)) ||
        !put_text(texts, protocol, length))
        return false;
    if (client == NULL)
        return put_text(texts, "\0\0\0", TEXTS - 3);
    return put_name(texts, X509_get_subject_name(client)) &&
           put_name(texts, X509_get_issuer_name(client)) && put_fingerprint(texts, client) &&
           put_names(texts, client);
}

static const char *next_text(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

static void fill(uvhttp_tls_info_t *info, const char *texts)
{
    info->server_name = next_text(&texts);
    info->protocol = next_text(&texts);
    info->client_subject = next_text(&texts);
    info->client_issuer = next_text(&texts);
    info->client_fingerprint = next_text(&texts);
    info->client_names = next_text(&texts);
}

static struct uvh_tls_info *make(SSL *ssl, X509 *client, BIO *texts,
                                 const uvhttp_allocator_t *allocator)
{
    char *data;
    long size = BIO_get_mem_data(texts, &data);
    struct uvh_tls_info *info = uvh_alloc_zero(allocator, sizeof(*info) + (size_t)size);
    if (info == NULL)
        return NULL;
    info->allocator = allocator;
    info->refs = 1;
    memcpy(info + 1, data, (size_t)size);
    fill(&info->public, (const char *)(info + 1));
    info->public.version = SSL_get_version(ssl);
    info->public.cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(ssl));
    info->public.resumed = SSL_session_reused(ssl) == 1;
    if (client != NULL)
        info->public.client_expires = uvh_tls_time(X509_get0_notAfter(client));
    return info;
}

struct uvh_tls_info *uvh_tls_info_new(SSL *ssl, const uvhttp_allocator_t *allocator)
{
    X509 *client = SSL_is_server(ssl) ? SSL_get0_peer_certificate(ssl) : NULL;
    BIO *texts = BIO_new(BIO_s_mem());
    struct uvh_tls_info *info = NULL;
    if (texts != NULL && write_texts(texts, ssl, client))
        info = make(ssl, client, texts, allocator);
    BIO_free(texts);
    return info;
}

void uvh_tls_info_unref(struct uvh_tls_info *info)
{
    if (--info->refs == 0)
        uvh_free(info->allocator, info);
}
