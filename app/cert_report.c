/* See cert_report.h. */
#include "cert_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <uvhttp/tls.h>

#include "certificate.h"
#include "options.h"
#include "utc.h"

#define DAY              86400
#define CERTIFICATES_MAX 100

struct chain {
    X509 *items[CERTIFICATES_MAX];
    size_t count;
};

/* With the reason that errno has. */
static void print_unreadable(const char *path)
{
    fprintf(stderr, "uvhttp cert: '%s' cannot be read: %s\n", path, strerror(errno));
}

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        print_unreadable(path);
    return file;
}

static int no_passphrase(char *buffer, int size, int writing, void *arg)
{
    (void)buffer, (void)size, (void)writing, (void)arg;
    return -1;
}

/* Pipes and terminals, which the library does not read. */
static bool is_stream(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode));
}

/* Prints the library's error message for a pair of files that it cannot load because of `field`,
 * the file at `path`; false if it finds no such error, or reads no such file. */
static bool print_library_reason(const struct uvh_cert_command *command, const char *field,
                                 const char *path)
{
    static const char note[] = "(passphrase_file)";
    const uvhttp_tls_certificate_t pair = {.certificate_file = command->file,
                                           .key_file = command->key_file,
                                           .passphrase_file = command->passphrase_file};
    const uvhttp_tls_options_t config = {.certificates = &pair, .certificate_count = 1};
    uvhttp_error_t error;
    uvhttp_tls_t *tls;
    if (is_stream(path))
        return false;
    int err = uvhttp_tls_new(&tls, &config, &error);
    uvhttp_tls_free(tls);
    if (err != UVHTTP_ECONFIG || strcmp(error.field, field) != 0)
        return false;
    char *option = strstr(error.text, note);
    if (option != NULL)
        *option = '\0';
    fprintf(stderr, "uvhttp cert: %s%s\n", error.text, option == NULL ? "" : "(--passphrase-file)");
    return true;
}

/* Reads the certificates of a file, at most CERTIFICATES_MAX; other PEM blocks are ignored. False
 * after a message; the chain then has those before the error. */
static bool read_chain(const struct uvh_cert_command *command, struct chain *chain)
{
    const char *path = command->file;
    char reason[120];
    X509 *one = NULL;
    FILE *file = open_file(path);
    if (file == NULL)
        return false;
    while ((one = PEM_read_X509(file, NULL, no_passphrase, NULL)) != NULL &&
           chain->count < CERTIFICATES_MAX)
        chain->items[chain->count++] = one;
    fclose(file);
    if (one != NULL) {
        X509_free(one);
        fprintf(stderr,
                "uvhttp cert: '%s' has more than %d certificates; the rest is not checked\n", path,
                CERTIFICATES_MAX);
        return false;
    }
    bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (ended && chain->count > 0) {
        ERR_clear_error();
        return true;
    }
    bool reported =
        ended && print_library_reason(command, "certificates[0].certificate_file", path);
    if (reported)
        ERR_clear_error();
    else if (ended)
        fprintf(stderr,
                "uvhttp cert: no certificate in '%s'; the format must be PEM (BEGIN CERTIFICATE)\n",
                path);
    else
        fprintf(stderr, "uvhttp cert: certificate %zu in '%s' cannot be read: %s\n",
                chain->count + 1, path, uvh_certificate_reason(reason, sizeof(reason)));
    return false;
}

/* False if it is not valid now. */
static bool print_times(const X509 *certificate)
{
    int64_t from = uvh_certificate_seconds(X509_get0_notBefore(certificate));
    int64_t until = uvh_certificate_seconds(X509_get0_notAfter(certificate));
    int64_t now = (int64_t)time(NULL);
    char text[UVH_UTC_SIZE];
    uvh_utc_format(from, text);
    printf("  valid from:   %s%s\n", text, from > now ? " (NOT YET VALID)" : "");
    uvh_utc_format(until, text);
    if (until < now)
        printf("  valid until:  %s (EXPIRED)\n", text);
    else
        printf("  valid until:  %s (%" PRId64 " days left)\n", text, (until - now + DAY - 1) / DAY);
    return from <= now && now <= until;
}

static bool print_one(const X509 *certificate)
{
    char fingerprint[UVH_CERTIFICATE_FINGERPRINT_SIZE];
    const char *signature = OBJ_nid2ln(X509_get_signature_nid(certificate));
    fputs("  subject:      ", stdout);
    uvh_certificate_print_name(X509_get_subject_name(certificate), stdout);
    fputs("\n  issuer:       ", stdout);
    uvh_certificate_print_name(X509_get_issuer_name(certificate), stdout);
    fputs("\n  names:        ", stdout);
    uvh_certificate_print_names(certificate, stdout);
    putchar('\n');
    bool valid = print_times(certificate);
    fputs("  key:          ", stdout);
    uvh_certificate_print_key(X509_get0_pubkey(certificate), stdout);
    printf("\n  signature:    %s\n", signature == NULL ? "unknown" : signature);
    if (uvh_certificate_fingerprint(certificate, fingerprint))
        printf("  SHA-256:      %s\n", fingerprint);
    return valid;
}

/* X509_check_issued would reject certificates that may not sign others. */
static bool is_self_signed(X509 *certificate)
{
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    bool same =
        X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0;
    bool signed_by_it = same && key != NULL && X509_verify(certificate, key) == 1;
    ERR_clear_error();
    return signed_by_it;
}

/* False if the chain is out of order. */
static bool print_order(const struct chain *chain)
{
    for (size_t i = 0; i + 1 < chain->count; i++) {
        if (uvh_certificate_is_issued_by(chain->items[i], chain->items[i + 1]))
            continue;
        printf("chain: NOT IN ORDER: certificate %zu is not issued by certificate %zu\n", i + 1,
               i + 2);
        return false;
    }
    X509 *last = chain->items[chain->count - 1];
    bool self_signed = is_self_signed(last);
    if (chain->count > 1)
        printf("chain: in order%s\n",
               self_signed ? "; the last one is self-signed and need not be sent" : "");
    else
        printf("chain: %s\n", self_signed ? "one certificate, self-signed"
                                          : "one certificate, without intermediates");
    return true;
}

struct passphrase {
    char line[PEM_BUFSIZE + sizeof("\r\n")];
    bool given;
    bool requested; /* by OpenSSL: the key is encrypted */
};

/* Reads the first line of the file at `path`; NULL: no pass phrase. False after a message. */
static bool read_passphrase(const char *path, struct passphrase *phrase)
{
    FILE *file = path == NULL ? NULL : open_file(path);
    if (file == NULL)
        return path == NULL;
    phrase->given = fgets(phrase->line, sizeof(phrase->line), file) != NULL || feof(file);
    if (!phrase->given)
        print_unreadable(path);
    fclose(file);
    return phrase->given;
}

static int give_passphrase(char *buffer, int size, int writing, void *arg)
{
    struct passphrase *phrase = arg;
    size_t length = strcspn(phrase->line, "\r\n");
    (void)writing;
    phrase->requested = true;
    if (!phrase->given || length > (size_t)size)
        return -1;
    memcpy(buffer, phrase->line, length);
    return (int)length;
}

static void print_why_no_key(const struct uvh_cert_command *command,
                             const struct passphrase *phrase)
{
    char reason[120];
    uvh_certificate_reason(reason, sizeof(reason)); /* the library clears it */
    if (print_library_reason(command, "certificates[0].key_file", command->key_file))
        return;
    fprintf(stderr, "uvhttp cert: the key '%s' cannot be read: %s%s\n", command->key_file, reason,
            !phrase->requested ? ""
            : phrase->given    ? "; is the pass phrase wrong?"
                               : " (for a key with a pass phrase use --passphrase-file)");
}

/* False if it does not match the certificate, or is not readable. */
static bool compare_key(const struct uvh_cert_command *command, const X509 *certificate)
{
    struct passphrase phrase = {.given = false};
    FILE *file = open_file(command->key_file);
    bool readable = file != NULL && read_passphrase(command->passphrase_file, &phrase);
    EVP_PKEY *key = readable ? PEM_read_PrivateKey(file, NULL, give_passphrase, &phrase) : NULL;
    if (readable && key == NULL)
        print_why_no_key(command, &phrase);
    if (file != NULL)
        fclose(file);
    bool belongs = key != NULL && X509_check_private_key(certificate, key) == 1;
    ERR_clear_error();
    if (key != NULL)
        printf("key: %s\n",
               belongs ? "belongs to certificate 1" : "DOES NOT BELONG to certificate 1");
    EVP_PKEY_free(key);
    return belongs;
}

int uvh_cert_report(const struct uvh_cert_command *command)
{
    struct chain chain = {.count = 0};
    bool good = read_chain(command, &chain);
    for (size_t i = 0; i < chain.count; i++) {
        printf("certificate %zu of %zu\n", i + 1, chain.count);
        good = print_one(chain.items[i]) && good;
    }
    if (chain.count > 0)
        good = print_order(&chain) && good;
    if (chain.count > 0 && command->key_file != NULL)
        good = compare_key(command, chain.items[0]) && good;
    for (size_t i = 0; i < chain.count; i++)
        X509_free(chain.items[i]);
    return good ? UVH_EXIT_OK : UVH_EXIT_FAILED;
}
