/* The block is filled in two passes: the first, without memory, computes its size. */
#include "tls/config_copy.h"

#include <string.h>

#include <openssl/crypto.h>

#include "base/alloc.h"
#include "base/compiler.h"

enum { ALIGNMENT = 16 };

struct copy {
    size_t size; /* of the whole block, bytes */
    uvhttp_tls_options_t options;
};

/* `base` NULL: only computes the size. */
struct writer {
    char *base;
    size_t used;
};

static void *put(struct writer *writer, const void *data, size_t size)
{
    size_t at = (writer->used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    writer->used = at + size;
    if (writer->base == NULL)
        return NULL;
    return memcpy(writer->base + at, data, size);
}

static const char *put_text(struct writer *writer, const char *text)
{
    return text == NULL ? NULL : put(writer, text, strlen(text) + 1);
}

static void put_certificate(struct writer *writer, uvhttp_tls_certificate_t *certificate)
{
    certificate->certificate_file = put_text(writer, certificate->certificate_file);
    certificate->key_file = put_text(writer, certificate->key_file);
    certificate->certificate = put_text(writer, certificate->certificate);
    certificate->key = put_text(writer, certificate->key);
    certificate->passphrase_file = put_text(writer, certificate->passphrase_file);
    certificate->ocsp_file = put_text(writer, certificate->ocsp_file);
}

static const uvhttp_tls_certificate_t *put_certificates(struct writer *writer,
                                                        const uvhttp_tls_options_t *options)
{
    size_t count = options->certificate_count;
    uvhttp_tls_certificate_t *made = put(writer, options->certificates, count * sizeof(*made));
    for (size_t i = 0; i < count; i++) {
        uvhttp_tls_certificate_t one = options->certificates[i];
        put_certificate(writer, &one);
        if (made != NULL)
            made[i] = one;
    }
    return made;
}

static const char *const *put_key_files(struct writer *writer, const uvhttp_tls_options_t *options)
{
    size_t count = options->ticket_key_file_count;
    const char **made =
        count == 0 ? NULL : put(writer, options->ticket_key_files, count * sizeof(*made));
    for (size_t i = 0; i < count; i++) {
        const char *one = put_text(writer, options->ticket_key_files[i]);
        if (made != NULL)
            made[i] = one;
    }
    return made;
}

static void put_config(struct writer *writer, const uvhttp_tls_options_t *options,
                       const uvhttp_allocator_t *allocator)
{
    struct copy copy = {.options = *options};
    struct copy *made = put(writer, &copy, sizeof(copy));
    copy.options.certificates = put_certificates(writer, options);
    copy.options.ciphers = put_text(writer, options->ciphers);
    copy.options.cipher_suites = put_text(writer, options->cipher_suites);
    copy.options.groups = put_text(writer, options->groups);
    copy.options.ticket_key_files = put_key_files(writer, options);
    copy.options.client_ca_file = put_text(writer, options->client_ca_file);
    copy.options.client_crl_file = put_text(writer, options->client_crl_file);
    copy.options.key_log_file = put_text(writer, options->key_log_file);
    copy.options.allocator = allocator;
    copy.size = writer->used;
    if (made != NULL)
        *made = copy;
}

uvhttp_tls_options_t *uvh_tls_config_copy(const uvhttp_tls_options_t *options,
                                          const uvhttp_allocator_t *allocator)
{
    struct writer writer = {NULL, 0};
    put_config(&writer, options, allocator);
    writer.base = uvh_alloc(allocator, writer.used);
    if (writer.base == NULL)
        return NULL;
    struct copy *copy = (struct copy *)(void *)writer.base;
    writer.used = 0;
    put_config(&writer, options, allocator);
    return &copy->options;
}

void uvh_tls_config_free(uvhttp_tls_options_t *options)
{
    if (options == NULL)
        return;
    struct copy *copy = UVH_CONTAINER_OF(options, struct copy, options);
    const uvhttp_allocator_t *allocator = options->allocator;
    OPENSSL_cleanse(copy, copy->size);
    uvh_free(allocator, copy);
}

static void tell(const char *path, uvh_tls_config_file_cb each, void *arg)
{
    if (path != NULL)
        each(path, arg);
}

void uvh_tls_config_each_file(const uvhttp_tls_options_t *options, uvh_tls_config_file_cb each,
                              void *arg)
{
    for (size_t i = 0; i < options->certificate_count; i++) {
        tell(options->certificates[i].certificate_file, each, arg);
        tell(options->certificates[i].key_file, each, arg);
        tell(options->certificates[i].passphrase_file, each, arg);
        tell(options->certificates[i].ocsp_file, each, arg);
    }
    for (size_t i = 0; i < options->ticket_key_file_count; i++)
        tell(options->ticket_key_files[i], each, arg);
    tell(options->client_ca_file, each, arg);
    tell(options->client_crl_file, each, arg);
}
