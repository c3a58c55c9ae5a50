/* The certificates of a setup, ready to listen with. */
#ifndef UVH_APP_TLS_SETUP_H
#define UVH_APP_TLS_SETUP_H

#include <uv.h>

#include "self_signed.h"
#include "setup.h"

#define UVH_TLS_MESSAGE_SIZE 1024 /* what the library says of TLS has paths of files */

struct uvh_tls {
    uvhttp_tls_t *tls; /* NULL: the setup wants none */
    const struct uvh_setup_tls *setup;
    struct uvh_self_signed self_signed; /* where the setup wants one */
    uvhttp_tls_certificate_t own;       /* the same for the library */
    /* of each certificate, in seconds since 1970; when only checked */
    int64_t *expires;
    uvhttp_log_level_t log_level; /* a copy, since other threads read it */
    bool has_reloader;
    uv_thread_t reloader; /* the last one, which has ended or will soon */
};

/* Loads the certificates of `setup`, which has to outlive `tls`; `options` name the addresses.
 * `only_check`: no file is created or watched. False with a problem noted. Close `tls` in either
 * case. */
bool uvh_tls_open(struct uvh_tls *tls, const struct uvh_setup_tls *setup,
                  const struct uvh_options *options, bool only_check,
                  struct uvh_problems *problems);

/* Whether an address that the options name has TLS, if there are certificates: everything would be
 * plain HTTP without a word. False with a problem noted. */
bool uvh_tls_check_addresses(const struct uvh_setup_tls *setup, const struct uvh_options *options,
                             struct uvh_problems *problems);

/* The place of a key of the setup's map in the file, or of the map; line 0 when options asked for
 * it. */
struct uvh_mark uvh_tls_mark(const struct uvh_setup_tls *setup, const char *key);

/* After the servers that listen with it. */
void uvh_tls_close(struct uvh_tls *tls);

/* Loads all files again on a thread of its own, which logs the result. Does nothing without TLS. */
void uvh_tls_reload(struct uvh_tls *tls);

/* Prints to `out` until when each certificate is valid, in lines that begin with `file`. Those that
 * have expired, or expire within 14 days, are warned of on standard error, and so is what
 * tls_advice.h finds. */
void uvh_tls_print(const struct uvh_tls *tls, const char *file, FILE *out);

/* Writes warnings to the log: if the secrets of sessions are written to a file, and of what
 * tls_advice.h finds. */
void uvh_tls_warn(struct uvh_tls *tls);

/* Adds Strict-Transport-Security to responses over TLS, if the setup has it. Returns 0, or an error
 * of uvhttp_server_use or uvhttp_server_own. */
int uvh_tls_add_hsts(uvhttp_server_t *server, const struct uvh_setup_tls *setup);

#endif
