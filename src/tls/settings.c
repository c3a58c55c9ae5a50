/* The lists are those of Mozilla's guidelines 5.7 without finite-field Diffie-Hellman: every client
 * with these TLS versions supports elliptic curves. As in the guidelines, the client's order of
 * ciphers decides. */
#include "tls/settings.h"

#include <string.h>

#include <openssl/err.h>

#include <uvhttp/error.h>

static const char intermediate_ciphers[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
static const char default_suites[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
static const char default_groups[] = "X25519:prime256v1:secp384r1";

static const int versions[] = {
    [UVHTTP_TLS_VERSION_DEFAULT] = 0,
    [UVHTTP_TLS_1_2] = TLS1_2_VERSION,
    [UVHTTP_TLS_1_3] = TLS1_3_VERSION,
};

static int set_versions(SSL_CTX *ctx, const uvhttp_tls_options_t *options, uvhttp_error_t *error)
{
    if ((unsigned)options->profile > UVHTTP_TLS_MODERN)
        return uvh_error_int(error, "profile", (int)options->profile, "allowed are 0 and 1");
    if ((unsigned)options->min_version > UVHTTP_TLS_1_3)
        return uvh_error_int(error, "min_version", (int)options->min_version, "allowed are 0 to 2");
    if ((unsigned)options->max_version > UVHTTP_TLS_1_3)
        return uvh_error_int(error, "max_version", (int)options->max_version, "allowed are 0 to 2");
    uvhttp_tls_version_t least = options->min_version, most = options->max_version;
    if (least == UVHTTP_TLS_VERSION_DEFAULT)
        least = options->profile == UVHTTP_TLS_MODERN ? UVHTTP_TLS_1_3 : UVHTTP_TLS_1_2;
    if (most == UVHTTP_TLS_VERSION_DEFAULT)
        most = UVHTTP_TLS_1_3;
    if (least > most)
        return uvh_error_sentence(error, "min_version", "TLS 1.3",
                                  "min_version is TLS 1.3, but max_version is TLS 1.2");
    if (least == UVHTTP_TLS_1_3 && options->ciphers != NULL)
        return uvh_error_sentence(
            error, "ciphers", options->ciphers,
            "ciphers is for TLS 1.2, which is disabled (%s); for TLS 1.3 use cipher_suites",
            options->min_version == UVHTTP_TLS_1_3 ? "min_version" : "profile");
    if (most == UVHTTP_TLS_1_2 && options->cipher_suites != NULL)
        return uvh_error_sentence(error, "cipher_suites", options->cipher_suites,
                                  "cipher_suites is for TLS 1.3, which is disabled (max_version)");
    SSL_CTX_set_min_proto_version(ctx, versions[least]);
    SSL_CTX_set_max_proto_version(ctx, versions[most]);
    return 0;
}

/* OpenSSL's reason does not contain the value. */
static int refuse_list(uvhttp_error_t *error, const char *field, const char *value)
{
    return uvh_tls_refuse_by_openssl(error, field, value, "%s is \"%s\"", field, value);
}

/* OpenSSL silently drops unknown names from a list, so each name is tried alone. Items that exclude
 * or order ciphers (!aNULL, -SHA, +RSA, @STRENGTH) may match none. */
static int check_names(const char *field, const char *list,
                       int (*set)(SSL_CTX *ctx, const char *list), uvhttp_error_t *error)
{
    static const char separators[] = ":, ;";
    char name[80] = "";
    SSL_CTX *trial = SSL_CTX_new(TLS_server_method());
    bool known = trial != NULL;
    for (const char *at = list; known && *at != '\0'; at += strspn(at, separators)) {
        size_t length = strcspn(at, separators);
        snprintf(name, sizeof(name), "%.*s", (int)length, at);
        known = strchr("!-+@", *name) != NULL || set(trial, name) == 1;
        at += length;
    }
    SSL_CTX_free(trial);
    if (known)
        return 0;
    if (trial == NULL || uvh_tls_failure_is_memory())
        return UVHTTP_ENOMEM;
    ERR_clear_error();
    bool suite = set == SSL_CTX_set_cipher_list && strncmp(name, "TLS_", 4) == 0;
    return uvh_error_sentence(error, field, name,
                              suite ? "%s is \"%s\": '%s' is for TLS 1.3; use cipher_suites"
                                    : "%s is \"%s\": OpenSSL does not support '%s'",
                              field, list, name);
}

static int set_lists(SSL_CTX *ctx, const uvhttp_tls_options_t *options, uvhttp_error_t *error)
{
    const char *ciphers = options->ciphers != NULL ? options->ciphers : intermediate_ciphers;
    const char *suites = options->cipher_suites != NULL ? options->cipher_suites : default_suites;
    const char *groups = options->groups != NULL ? options->groups : default_groups;
    int err;
    ERR_clear_error();
    if (SSL_CTX_set_cipher_list(ctx, ciphers) != 1)
        return refuse_list(error, "ciphers", ciphers);
    if (options->ciphers != NULL &&
        (err = check_names("ciphers", ciphers, SSL_CTX_set_cipher_list, error)) != 0)
        return err;
    if (SSL_CTX_set_ciphersuites(ctx, suites) != 1)
        return refuse_list(error, "cipher_suites", suites);
    if (options->cipher_suites != NULL &&
        (err = check_names("cipher_suites", suites, SSL_CTX_set_ciphersuites, error)) != 0)
        return err;
    if (SSL_CTX_set1_groups_list(ctx, groups) != 1) {
        ERR_clear_error(); /* OpenSSL's reason is only "passed invalid argument" */
        return uvh_error_sentence(error, "groups", groups,
                                  "groups is \"%s\": OpenSSL does not support all of them", groups);
    }
    return 0;
}

static void set_sessions(SSL_CTX *ctx, const uvhttp_tls_options_t *options)
{
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    if (!options->no_tickets)
        return;
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(ctx, 0);
}

int uvh_tls_settings_apply(SSL_CTX *ctx, const uvhttp_tls_options_t *options, uvhttp_error_t *error)
{
    int err = set_versions(ctx, options, error);
    if (err == 0)
        err = set_lists(ctx, options, error);
    if (err != 0)
        return err;
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    if (options->ktls)
        SSL_CTX_set_options(ctx, SSL_OP_ENABLE_KTLS);
    /* 14 KB for an idle session instead of 47. */
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    set_sessions(ctx, options);
    return 0;
}
