/* The upgrade of a running server: a new process of the program, which may be another version of it
 * or have another configuration, takes the listening sockets; when it serves, this process serves
 * its connections to the end. A new process that fails changes nothing. */
#ifndef UVH_APP_UPGRADE_H
#define UVH_APP_UPGRADE_H

#include <uv.h>

#include <uvhttp/tls.h>

enum { UVH_UPGRADE_SERVERS = 4 };

struct uvh_upgrade {
    uvhttp_server_t *servers[UVH_UPGRADE_SERVERS]; /* NULL: none; the first has the loop */
    uvhttp_tls_t *tls;                             /* or NULL */
    bool (*done)(long pid, void *arg);             /* the new process serves; false: it is to end */
    void (*failed)(void *arg);                     /* it has ended before */
    void *arg;
    uv_process_t process;
    uv_pipe_t ready; /* the new process writes to it when it serves, and closes it at its end */
    uv_loop_t *loop;
    int open;    /* handles */
    bool passed; /* the sockets belong to the new process */
};

/* Call first in the process, with the arguments of main. */
void uvh_upgrade_remember(int argc, char **argv);

/* Starts the new process; the members of `upgrade` before `process` are set. Errors are logged. */
void uvh_upgrade_start(struct uvh_upgrade *upgrade);

/* Ends a new process that does not serve yet. Call before the loop is closed. */
void uvh_upgrade_stop(struct uvh_upgrade *upgrade);

/* In the new process: the number of sockets that it got, 0 if it is not one. `*replace`: they
 * replace the configured addresses, as those of systemd. */
size_t uvh_upgrade_sockets(bool *replace);

/* In the new process: the keys of session tickets. Others are created if that fails. */
void uvh_upgrade_restore_tickets(uvhttp_tls_t *tls);

/* In the new process: the older one waits until it serves. */
bool uvh_upgrade_is_awaited(void);

/* In the new process: it serves. */
void uvh_upgrade_tell_ready(void);

#endif
