/* See tls_advice.h. */
#include "tls_advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "certificate.h"
#include "utc.h"

#define DAY       ((int64_t)86400)
#define WARN_DAYS 14
#define TEXT_SIZE 1024
#define NAME_SIZE 200

struct adviser {
    const uvhttp_tls_options_t *config;
    uvh_advice_cb tell;
    void *arg;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
advise(const struct adviser *adviser, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    adviser->tell(text, adviser->arg);
}

static int no_passphrase(char *buffer, int size, int writing, void *arg)
{
    (void)buffer, (void)size, (void)writing, (void)arg;
    return -1;
}

/* ---- revocation lists ---- */

static void write_name(const X509_NAME *name, char text[NAME_SIZE])
{
    FILE *out = fmemopen(text, NAME_SIZE - 1, "w");
    text[0] = text[NAME_SIZE - 1] = '\0';
    if (out == NULL)
        return;
    uvh_certificate_print_name(name, out);
    fclose(out);
}

static STACK_OF(X509_INFO) * read_infos(const char *path)
{
    FILE *file = path == NULL ? NULL : fopen(path, "re");
    STACK_OF(X509_INFO) *infos =
        file == NULL ? NULL : PEM_X509_INFO_read(file, NULL, no_passphrase, NULL);
    if (file != NULL)
        fclose(file);
    ERR_clear_error();
    return infos;
}

static bool has_list(STACK_OF(X509_INFO) * lists, const X509_NAME *authority)
{
    for (int i = 0; i < sk_X509_INFO_num(lists); i++) {
        const X509_CRL *list = sk_X509_INFO_value(lists, i)->crl;
        if (list != NULL && X509_NAME_cmp(X509_CRL_get_issuer(list), authority) == 0)
            return true;
    }
    return false;
}

static void look_at_authorities(const struct adviser *adviser, STACK_OF(X509_INFO) * lists)
{
    STACK_OF(X509_INFO) *authorities = read_infos(adviser->config->client_ca_file);
    char name[NAME_SIZE];
    for (int i = 0; i < sk_X509_INFO_num(authorities); i++) {
        const X509 *one = sk_X509_INFO_value(authorities, i)->x509;
        if (one == NULL || has_list(lists, X509_get_subject_name(one)))
            continue;
        write_name(X509_get_subject_name(one), name);
        advise(adviser,
               "the authority '%s' in '%s' has no revocation list in '%s', so its certificates "
               "are rejected",
               name, adviser->config->client_ca_file, adviser->config->client_crl_file);
    }
    sk_X509_INFO_pop_free(authorities, X509_INFO_free);
}

static void look_at_date(const struct adviser *adviser, const X509_CRL *list)
{
    const ASN1_TIME *next = X509_CRL_get0_nextUpdate(list);
    char name[NAME_SIZE], until[UVH_UTC_SIZE];
    if (next == NULL)
        return;
    int64_t expires = uvh_certificate_seconds(next), left = expires - (int64_t)time(NULL);
    if (left >= WARN_DAYS * DAY)
        return;
    write_name(X509_CRL_get_issuer(list), name);
    uvh_utc_format(expires, until);
    if (left < 0)
        advise(adviser,
               "the revocation list of '%s' in '%s' expired on %s, so certificates of this "
               "authority are rejected",
               name, adviser->config->client_crl_file, until);
    else
        advise(adviser, "the revocation list of '%s' in '%s' expires in %" PRId64 " days, on %s",
               name, adviser->config->client_crl_file, (left + DAY - 1) / DAY, until);
}

static void look_at_lists(const struct adviser *adviser, bool dates)
{
    STACK_OF(X509_INFO) *lists = read_infos(adviser->config->client_crl_file);
    if (lists == NULL)
        return;
    look_at_authorities(adviser, lists);
    for (int i = 0; i < sk_X509_INFO_num(lists) && dates; i++) {
        if (sk_X509_INFO_value(lists, i)->crl != NULL)
            look_at_date(adviser, sk_X509_INFO_value(lists, i)->crl);
    }
    sk_X509_INFO_pop_free(lists, X509_INFO_free);
}

/* ---- names ---- */

/* A name in a certificate. */
struct name {
    char *text;
    int key_type;
    size_t certificate;
};

struct names {
    struct name *items;
    size_t count, capacity;
};

static bool add_name(struct names *names, const ASN1_STRING *text, int key_type, size_t certificate)
{
    if (names->count == names->capacity) {
        size_t capacity = names->capacity == 0 ? 16 : 2 * names->capacity;
        struct name *items = realloc(names->items, capacity * sizeof(*items));
        if (items == NULL)
            return false;
        names->items = items;
        names->capacity = capacity;
    }
    char *copy =
        strndup((const char *)ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text));
    if (copy == NULL)
        return false;
    names->items[names->count++] = (struct name){copy, key_type, certificate};
    return true;
}

/* The DNS names of subjectAltName, or without it the common name, as in the library. */
static bool add_names(struct names *names, X509 *leaf, size_t certificate)
{
    GENERAL_NAMES *found = X509_get_ext_d2i(leaf, NID_subject_alt_name, NULL, NULL);
    int key_type = EVP_PKEY_get_base_id(X509_get0_pubkey(leaf));
    bool added = true;
    if (found == NULL) {
        X509_NAME *subject = X509_get_subject_name(leaf);
        int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
        return at < 0 || add_name(names, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)),
                                  key_type, certificate);
    }
    for (int i = 0; i < sk_GENERAL_NAME_num(found) && added; i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(found, i);
        if (one->type == GEN_DNS)
            added = add_name(names, one->d.dNSName, key_type, certificate);
    }
    GENERAL_NAMES_free(found);
    return added;
}

static int compare_names(const void *one, const void *other)
{
    const struct name *a = one, *b = other;
    int order = strcasecmp(a->text, b->text);
    if (order != 0)
        return order;
    if (a->key_type != b->key_type)
        return a->key_type < b->key_type ? -1 : 1;
    return a->certificate < b->certificate ? -1 : a->certificate > b->certificate;
}

/* A certificate is never selected if earlier ones with the same key type serve all of its names. */
static void look_at_names(const struct adviser *adviser, struct names *names)
{
    const uvhttp_tls_certificate_t *all = adviser->config->certificates;
    size_t count = adviser->config->certificate_count;
    /* for each, the certificate with the same name */
    const struct name **before = calloc(count, sizeof(*before));
    bool *used = calloc(count, sizeof(*used));
    if (names->count > 0)
        qsort(names->items, names->count, sizeof(names->items[0]), compare_names);
    const struct name *first = names->items; /* of those with the same name and type */
    for (size_t i = 0; i < names->count && before != NULL && used != NULL; i++) {
        const struct name *one = &names->items[i];
        if (one->key_type != first->key_type || strcasecmp(one->text, first->text) != 0)
            first = one;
        if (one->certificate == first->certificate)
            used[one->certificate] = true;
        else
            before[one->certificate] = first;
    }
    for (size_t i = 1; i < count && before != NULL && used != NULL; i++) {
        if (!used[i] && before[i] != NULL)
            advise(adviser,
                   "the certificate '%s' is never used: '%s' precedes it with the same name (%s) "
                   "and the same type of key",
                   all[i].certificate_file, all[before[i]->certificate].certificate_file,
                   before[i]->text);
    }
    free(before);
    free(used);
}

/* ---- certificates ---- */

static void look_at_leaf(const struct adviser *adviser, X509 *leaf, const char *path)
{
    if (X509_get_ext_by_NID(leaf, NID_subject_alt_name, -1) < 0)
        advise(adviser, "the certificate '%s' has no names (subjectAltName), so clients reject it",
               path);
    if ((X509_get_extension_flags(leaf) & EXFLAG_XKUSAGE) != 0 &&
        (X509_get_extended_key_usage(leaf) & (XKU_SSL_SERVER | XKU_ANYEKU)) == 0)
        advise(adviser,
               "the certificate '%s' is not for servers (its extendedKeyUsage has no serverAuth), "
               "so clients reject it",
               path);
}

static void look_at_certificate(const struct adviser *adviser, size_t index, struct names *names)
{
    const char *path = adviser->config->certificates[index].certificate_file;
    STACK_OF(X509_INFO) *infos = read_infos(path);
    X509 *before = NULL;
    int number = 0;
    bool reported = false;
    for (int i = 0; i < sk_X509_INFO_num(infos); i++) {
        X509 *one = sk_X509_INFO_value(infos, i)->x509;
        if (one == NULL)
            continue;
        if (before == NULL) {
            look_at_leaf(adviser, one, path);
            add_names(names, one, index);
        } else if (!reported && !uvh_certificate_is_issued_by(before, one)) {
            advise(adviser,
                   "the chain in '%s' is not in order: certificate %d is not issued by certificate "
                   "%d, so some clients reject it",
                   path, number, number + 1);
            reported = true;
        }
        before = one;
        number++;
    }
    sk_X509_INFO_pop_free(infos, X509_INFO_free);
}

static void look_at_key_file(const struct adviser *adviser, size_t index)
{
    const uvhttp_tls_certificate_t *one = &adviser->config->certificates[index];
    const char *path = one->key_file != NULL ? one->key_file : one->certificate_file;
    struct stat facts;
    if (path != NULL && stat(path, &facts) == 0 && (facts.st_mode & S_IROTH) != 0)
        advise(adviser, "every user of this machine can read the key in '%s'; use chmod 600", path);
}

static void look_at_certificates(const struct adviser *adviser)
{
    struct names names = {.items = NULL};
    for (size_t i = 0; i < adviser->config->certificate_count; i++) {
        look_at_certificate(adviser, i, &names);
        look_at_key_file(adviser, i);
    }
    if (adviser->config->certificate_count > 1)
        look_at_names(adviser, &names);
    for (size_t i = 0; i < names.count; i++)
        free(names.items[i].text);
    free(names.items);
}

/* ---- all files ---- */

void uvh_tls_advise(const uvhttp_tls_options_t *config, bool dates, uvh_advice_cb tell, void *arg)
{
    const struct adviser adviser = {config, tell, arg};
    look_at_certificates(&adviser);
    look_at_lists(&adviser, dates);
    ERR_clear_error();
}

void uvh_tls_read_settings(void)
{
    OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL);
}
