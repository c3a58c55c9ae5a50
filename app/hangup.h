/* SIGHUP, SIGUSR1, SIGUSR2 and SIGQUIT, which stops as SIGTERM does, as with nginx. While the
 * server stops, SIGHUP and SIGUSR2 have no effect; afterwards no signal has. */
#ifndef UVH_APP_HANGUP_H
#define UVH_APP_HANGUP_H

#include <uv.h>

#include <uvhttp/server.h>

struct uvh_hangup {
    uv_signal_t signals[4];
    size_t started; /* number of signals in use */
    uvhttp_server_t *server;
    void (*act)(int number, void *arg); /* for SIGHUP, SIGUSR1 and SIGUSR2 */
    void *arg;
    bool stops;    /* when the terminal is closed */
    bool replaced; /* set by the caller: by another process, which tells systemd */
};

/* Handles the signals on the loop of `server`; the handles do not keep the loop alive. `act` and
 * `arg` are set. `with_terminal`: the server stops if SIGHUP comes from
 * closing the terminal it was started from, unless the signal was ignored at the start (nohup).
 * Returns 0 or libuv's code. Stop it in either case, before the server is freed; it outlives
 * the server. */
int uvh_hangup_start(struct uvh_hangup *hangup, uvhttp_server_t *server, bool with_terminal);

void uvh_hangup_stop(struct uvh_hangup *hangup);

#endif
