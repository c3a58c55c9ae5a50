/* The certificates of a setup, ready to listen with. */
#ifndef UVH_APP_TLS_SETUP_H
#define UVH_APP_TLS_SETUP_H

#include <uv.h>

#include "self_signed.h"
#include "setup.h"

#define UVH_TLS_MESSAGE_SIZE 1024 /* the library's TLS messages contain file paths */

struct uvh_tls {
    uvhttp_tls_t *tls; /* NULL: not configured */
    const struct uvh_setup_tls *setup;
    struct uvh_self_signed self_signed; /* if configured */
    uvhttp_tls_certificate_t own;       /* the same for the library */
    /* of each certificate, in seconds since 1970; set by a check only */
    int64_t *expires;
    uvhttp_log_level_t log_level; /* a copy, because other threads read it */
    bool has_reloader;
    uv_thread_t reloader; /* the last one, which has ended or will end soon */
};

/* Loads the certificates of `setup`, which must outlive `tls`; `options` contain the addresses.
 * `only_check`: no file is created or watched. False with a problem noted. Close `tls` in either
 * case. */
bool uvh_tls_open(struct uvh_tls *tls, const struct uvh_setup_tls *setup,
                  const struct uvh_options *options, bool only_check,
                  struct uvh_problems *problems);

/* Checks that an address of the options uses TLS if there are certificates; otherwise everything
 * would be plain HTTP without a warning. False with a problem noted. */
bool uvh_tls_check_addresses(const struct uvh_setup_tls *setup, const struct uvh_options *options,
                             struct uvh_problems *problems);

/* The position of a key of the setup's map in the file, or of the map; line 0 if configured by
 * options. */
struct uvh_mark uvh_tls_mark(const struct uvh_setup_tls *setup, const char *key);

typedef void (*uvh_tls_file_cb)(const char *path, void *arg);

/* Calls `visit` for each configured file that is read, again at each reload: all but those of the
 * self-signed certificate and `key_log`. */
void uvh_tls_each_file(const struct uvh_setup_tls *setup, uvh_tls_file_cb visit, void *arg);

/* Call after the servers that listen with it are freed. */
void uvh_tls_close(struct uvh_tls *tls);

/* Uses another setup, and the current files, for new connections. Does nothing without TLS before
 * and after. False with a problem noted; then nothing has changed. */
bool uvh_tls_replace(struct uvh_tls *tls, const struct uvh_setup_tls *setup,
                     const struct uvh_options *options, struct uvh_problems *problems);

/* Reloads all files on a separate thread, which logs the result. Does nothing without TLS. */
void uvh_tls_reload(struct uvh_tls *tls);

/* Prints the expiry of each certificate to `out`, in lines that begin with `file`. Prints warnings
 * to standard error for certificates that have expired or expire within 14 days, and those of
 * tls_advice.h. */
void uvh_tls_print(const struct uvh_tls *tls, const char *file, FILE *out);

/* Logs warnings: if session secrets are written to a file, and those of tls_advice.h. */
void uvh_tls_warn(struct uvh_tls *tls);

/* Adds Strict-Transport-Security to responses over TLS, if configured. Returns 0, or an error of
 * uvhttp_server_use or uvhttp_server_own. */
int uvh_tls_add_hsts(uvhttp_server_t *server, const struct uvh_setup_tls *setup);

#endif
