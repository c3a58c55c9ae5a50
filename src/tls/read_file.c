/* See the header. */
#include "tls/read_file.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pemerr.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "platform/file.h"

static const uint64_t most_bytes = (uint64_t)16 << 20;

static int read_all(const char *field, const char *path, int descriptor, uint64_t size,
                    char *memory, uvhttp_error_t *error)
{
    int64_t count = uvh_file_read(descriptor, memory, (size_t)size, 0);
    if (count < 0)
        return uvh_error_sentence(error, field, path, "%s '%s' cannot be read: %s", field, path,
                                  uvhttp_strerror((int)count));
    if ((uint64_t)count < size)
        return uvh_error_sentence(error, field, path, "%s '%s' was truncated while it was read",
                                  field, path);
    return 0;
}

int uvh_tls_read_file(const char *field, const char *path, const uvhttp_allocator_t *allocator,
                      char **data, size_t *size, uvhttp_error_t *error)
{
    struct uvh_file_facts facts;
    int descriptor;
    if (path == NULL)
        return uvh_error_sentence(error, field, NULL, "%s contains NULL instead of a path", field);
    if (strstr(path, "-----BEGIN") != NULL) /* maybe a key, which is not to be shown */
        return uvh_error_sentence(error, field, NULL,
                                  "%s is PEM text, but must be the path of a file", field);
    int err = uvh_file_open_anywhere(path, &descriptor, &facts);
    if (err != 0)
        return uvh_error_sentence(error, field, path, "%s '%s' cannot be opened: %s", field, path,
                                  uvhttp_strerror(err));
    char *memory = NULL;
    if (facts.kind != UVH_FILE_REGULAR)
        err = uvh_error_sentence(error, field, path, "%s '%s' is not a regular file", field, path);
    else if (facts.size > most_bytes)
        err = uvh_error_sentence(error, field, path, "%s '%s' is larger than 16 MiB", field, path);
    else if ((memory = uvh_alloc(allocator, (size_t)facts.size + 1)) == NULL)
        err = UVHTTP_ENOMEM;
    else
        err = read_all(field, path, descriptor, facts.size, memory, error);
    uvh_file_close(descriptor);
    if (err != 0) {
        uvh_tls_forget_file(allocator, memory, memory == NULL ? 0 : (size_t)facts.size);
        return err;
    }
    memory[facts.size] = '\0';
    *data = memory;
    *size = (size_t)facts.size;
    return 0;
}

void uvh_tls_forget_file(const uvhttp_allocator_t *allocator, char *data, size_t size)
{
    if (data != NULL)
        OPENSSL_cleanse(data, size);
    uvh_free(allocator, data);
}

int uvh_tls_no_passphrase(char *buffer, int size, int writing, void *arg)
{
    (void)buffer, (void)size, (void)writing, (void)arg;
    return -1;
}

/* At the end of the text OpenSSL reports the error "no start line". */
bool uvh_tls_is_end_of_text(void)
{
    unsigned long error = ERR_peek_last_error();
    bool end = ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
    if (end)
        ERR_clear_error();
    return end;
}

/* ---- detection of other formats ---- */

/* DER begins with a SEQUENCE; its first element shows the type. */
enum der { DER_NONE, DER_CERTIFICATE, DER_KEY, DER_PKCS12 };

static enum der check_der(const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t head = size > 8 && bytes[0] == 0x30 && bytes[1] >= 0x80 && bytes[1] <= 0x83
                      ? 2U + (bytes[1] & 3U)
                  : size > 8 && bytes[0] == 0x30 && bytes[1] < 0x80 ? 2U
                                                                    : 0;
    if (head == 0)
        return DER_NONE;
    if (bytes[head] == 0x30)
        return head > 2 ? DER_CERTIFICATE : DER_NONE; /* none is so short, but "000" is text */
    if (bytes[head] != 0x02 || bytes[head + 1] != 1)
        return DER_NONE;
    return bytes[head + 2] == 3 ? DER_PKCS12 : DER_KEY;
}

static const char *const empty = "it is empty";
static const char *const pkcs12 =
    "it is in PKCS #12 format; convert it: openssl pkcs12 -in FILE -nodes -out FILE.pem";

const char *uvh_tls_no_certificate(const char *text, size_t size)
{
    enum der form = check_der(text, size);
    if (size == 0)
        return empty;
    if (form == DER_PKCS12)
        return pkcs12;
    if (form == DER_CERTIFICATE)
        return "it is in DER format; convert it: openssl x509 -inform DER -in FILE -out FILE.pem";
    if (strstr(text, "-----BEGIN CERTIFICATE") != NULL ||
        strstr(text, "-----BEGIN TRUSTED CERT") != NULL)
        return NULL; /* a damaged one */
    if (form == DER_KEY || strstr(text, "PRIVATE KEY-----") != NULL)
        return "it contains a private key: are certificate and key swapped?";
    return NULL;
}

const char *uvh_tls_no_key(const char *text, size_t size, bool own_file)
{
    enum der form = check_der(text, size);
    if (size == 0)
        return empty;
    if (form == DER_PKCS12)
        return pkcs12;
    if (form == DER_KEY)
        return "it is in DER format; convert it: openssl pkey -inform DER -in FILE -out FILE.pem";
    if (!own_file || strstr(text, "PRIVATE KEY-----") != NULL)
        return NULL;
    if (form == DER_CERTIFICATE || strstr(text, "-----BEGIN CERTIFICATE-----") != NULL)
        return "it contains a certificate and no private key: are certificate and key swapped?";
    return NULL;
}
