/* The certificates of a setup, ready to listen with. */
#ifndef UVH_APP_TLS_SETUP_H
#define UVH_APP_TLS_SETUP_H

#include "self_signed.h"
#include "setup.h"

struct uvh_tls {
    uvhttp_tls_t *tls; /* NULL: the setup wants none */
    const struct uvh_setup_tls *setup;
    struct uvh_self_signed self_signed; /* where the setup wants one */
    uvhttp_tls_certificate_t own;       /* the same for the library */
    int64_t *expires;                   /* of each certificate, in seconds since 1970; when only checked */
    uvhttp_log_level_t log_level;       /* of its own, since the thread that watches reads it */
};

/* Loads what the setup names; it outlives `tls`. `only_check`: no file is made or watched. False with a problem
 * noted. To be closed, whatever the result. */
bool uvh_tls_open(struct uvh_tls *tls, const struct uvh_setup_tls *setup, bool only_check,
                  uvhttp_log_level_t level, struct uvh_problems *problems);

/* After the servers that listen with it. */
void uvh_tls_close(struct uvh_tls *tls);

/* Says on `out` until when each certificate is valid, a line each that begins with `file`, and on standard error
 * of those that are not, or not for long. */
void uvh_tls_print(const struct uvh_tls *tls, const char *file, FILE *out);

/* Says in the log that the secrets of sessions are written to a file, if they are. */
void uvh_tls_warn(struct uvh_tls *tls);

/* Strict-Transport-Security for responses over TLS, if the setup wants it. 0, or an error of the server. */
int uvh_tls_add_hsts(uvhttp_server_t *server, const struct uvh_setup_tls *setup);

#endif
