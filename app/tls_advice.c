/* See tls_advice.h. Called by tls_setup.c. */
#include "tls_advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
    const uvhttp_tls_config_t *config;
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
    STACK_OF(X509_INFO) *infos = file == NULL ? NULL : PEM_X509_INFO_read(file, NULL, no_passphrase, NULL);
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
               "the authority '%s' in '%s' has no revocation list in '%s', so the certificates that it has "
               "issued are refused",
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
               "the revocation list of '%s' in '%s' has expired, on %s: certificates of that authority are "
               "refused",
               name, adviser->config->client_crl_file, until);
    else
        advise(adviser, "the revocation list of '%s' in '%s' expires in %" PRId64 " days, on %s", name,
               adviser->config->client_crl_file, (left + DAY - 1) / DAY, until);
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

/* ---- the whole ---- */

void uvh_tls_advise(const uvhttp_tls_config_t *config, bool dates, uvh_advice_cb tell, void *arg)
{
    const struct adviser adviser = {config, tell, arg};
    look_at_lists(&adviser, dates);
    ERR_clear_error();
}
