/* SIGHUP: opens the access log and loads the certificates again. */
#ifndef UVH_APP_HANGUP_H
#define UVH_APP_HANGUP_H

#include <uv.h>

#include "tls_setup.h"

struct uvh_hangup {
    uv_signal_t signal;
    uvhttp_server_t *server;
    uvhttp_access_log_t *access_log; /* NULL: none */
    struct uvh_tls *tls;
    bool started;
    bool stops; /* when the terminal is gone */
};

/* Takes SIGHUP on the loop of `server`, and keeps no loop alive. `access_log` (or NULL) and `tls`
 * stay the caller's. `with_terminal`: when the signal comes because the terminal was closed that
 * the program was started from, the server is stopped, unless somebody (nohup) had the signal
 * ignored.
 * Returns 0 or libuv's code. Stop it in either case, before the server is freed. */
int uvh_hangup_start(struct uvh_hangup *hangup, uvhttp_server_t *server,
                     uvhttp_access_log_t *access_log, struct uvh_tls *tls, bool with_terminal);

void uvh_hangup_stop(struct uvh_hangup *hangup);

#endif
