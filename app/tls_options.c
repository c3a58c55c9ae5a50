/* See tls_options.h. Symbolic links are not resolved: certificate tools point them to the renewed
 * file, and a resolved path would keep the old one. */
#include "tls_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "absolute_path.h"

/* Stores the path of a file in `*path`. `read`: the file must be readable. */
static int add_path(struct uvh_tls_files *made, const char *option, const char *file, bool read,
                    const char **path)
{
    char *whole = *file == '\0' ? NULL : uvh_absolute_path(file);
    if (*file == '\0')
        errno = ENOENT;
    else if (whole == NULL)
        errno = ENOMEM;
    else
        made->paths[made->path_count++] = whole;
    if (whole == NULL || (read && access(whole, R_OK) != 0)) {
        fprintf(stderr, "uvhttp: --%s: '%s' cannot be read: %s\n", option, file,
                uvhttp_strerror(-errno));
        return UVH_EXIT_FAILED;
    }
    *path = whole;
    return UVH_EXIT_OK;
}

static int add_path_if(struct uvh_tls_files *made, const char *option, const char *file, bool read,
                       const char **path)
{
    return file == NULL ? UVH_EXIT_OK : add_path(made, option, file, read, path);
}

/* The n-th key belongs to the n-th certificate; "": the certificate's file contains the key. */
static int add_certificates(struct uvh_tls_files *made, const struct uvh_tls_options *given,
                            uvhttp_tls_options_t *config)
{
    int code = UVH_EXIT_OK;
    if (given->keys.count > given->certificates.count) {
        fprintf(
            stderr,
            "uvhttp: more --tls-key (%zu) than --tls-cert (%zu): each key needs a certificate\n",
            given->keys.count, given->certificates.count);
        return UVH_EXIT_USAGE;
    }
    for (size_t i = 0; i < given->certificates.count && code == UVH_EXIT_OK; i++) {
        uvhttp_tls_certificate_t *one = &made->certificates[i];
        const char *key =
            i < given->keys.count && *given->keys.items[i] != '\0' ? given->keys.items[i] : NULL;
        code =
            add_path(made, "tls-cert", given->certificates.items[i], true, &one->certificate_file);
        if (code == UVH_EXIT_OK)
            code = add_path_if(made, "tls-key", key, true, &one->key_file);
        one->passphrase_file = i == 0 ? NULL : made->certificates[0].passphrase_file;
        if (code == UVH_EXIT_OK && i == 0)
            code = add_path_if(made, "tls-passphrase-file", given->passphrase_file, true,
                               &one->passphrase_file);
    }
    config->certificates = made->certificates;
    config->certificate_count = given->certificates.count;
    return code;
}

/* An option that has no effect without a certificate, or NULL. */
static const char *find_idle(const struct uvh_tls_options *given)
{
    const struct {
        const char *option;
        bool given;
    } idle[] = {
        {"tls-key", given->keys.count > 0},
        {"tls-passphrase-file", given->passphrase_file != NULL},
        {"tls-profile", given->profile != UVHTTP_TLS_INTERMEDIATE},
        {"tls-client-auth", given->client_auth != 0},
        {"tls-client-ca", given->client_ca != NULL},
        {"tls-client-crl", given->client_crl != NULL},
        {"tls-key-log", given->key_log != NULL},
        {"tls-one-time-tickets", given->one_time_tickets},
        {"tls-early-data", given->early_data != 0},
        {"tls-ktls", given->ktls},
        {"redirect-http", given->redirect_http != UVH_OPTION_OFF},
        {"hsts", given->hsts != UVH_OPTION_OFF},
    };
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        if (idle[i].given)
            return idle[i].option;
    }
    return NULL;
}

/* Rejects options that contradict or require each other. */
static int check(const struct uvh_tls_options *given, bool wanted)
{
    const char *idle = wanted ? NULL : find_idle(given);
    if (idle != NULL) {
        fprintf(stderr, "uvhttp: --%s requires --tls-cert%s\n", idle,
                strcmp(idle, "tls-key") == 0 ? "" : " or --tls-self-signed");
        return UVH_EXIT_USAGE;
    }
    if (given->self_signed && given->certificates.count > 0) {
        fputs("uvhttp: --tls-self-signed cannot be combined with --tls-cert\n", stderr);
        return UVH_EXIT_USAGE;
    }
    if (given->client_auth != 0 && given->client_ca == NULL) {
        fputs("uvhttp: --tls-client-auth requires --tls-client-ca, the authority of the clients\n",
              stderr);
        return UVH_EXIT_USAGE;
    }
    return UVH_EXIT_OK;
}

int uvh_tls_options_make(struct uvh_tls_files *made, const struct uvh_tls_options *given,
                         struct uvh_setup_tls *tls)
{
    *made = (struct uvh_tls_files){.path_count = 0};
    *tls = (struct uvh_setup_tls){.wanted = given->self_signed || given->certificates.count > 0,
                                  .self_signed = given->self_signed,
                                  .redirect_http = given->redirect_http,
                                  .hsts = given->hsts};
    uvhttp_tls_options_t *config = &tls->config;
    int code = check(given, tls->wanted);
    if (code != UVH_EXIT_OK || !tls->wanted)
        return code;
    config->profile = (uvhttp_tls_profile_t)given->profile;
    config->client_auth = (uvhttp_tls_client_auth_t)given->client_auth;
    config->one_time_tickets = given->one_time_tickets;
    config->early_data = given->early_data;
    config->ktls = given->ktls;
    config->watch = given->watch;
    code = add_certificates(made, given, config);
    if (code == UVH_EXIT_OK)
        code = add_path_if(made, "tls-client-ca", given->client_ca, true, &config->client_ca_file);
    if (code == UVH_EXIT_OK)
        code =
            add_path_if(made, "tls-client-crl", given->client_crl, true, &config->client_crl_file);
    if (code == UVH_EXIT_OK)
        code = add_path_if(made, "tls-key-log", given->key_log, false, &config->key_log_file);
    return code;
}

void uvh_tls_options_release(struct uvh_tls_files *made)
{
    for (size_t i = 0; i < made->path_count; i++)
        free(made->paths[i]);
}
