/* What a service manager sees of the program: the pid file, and the messages of sd_notify(3) to
 * systemd, or to any other that sets NOTIFY_SOCKET. */
#ifndef UVH_APP_SERVICE_H
#define UVH_APP_SERVICE_H

#include <stdatomic.h>

#include <uvhttp/server.h>

#include "setup.h"

struct uvh_service {
    const char *pid_file; /* NULL: none was written */
    size_t workers;
    atomic_size_t alive; /* workers that have answered since the last message of the watchdog */
};

/* Writes the pid file. False, with a problem noted, if that fails. */
bool uvh_service_write_pid(struct uvh_service *service, const struct uvh_text *path,
                           struct uvh_problems *problems);

/* Writes the pid file again, after another process has written or removed it. */
void uvh_service_restore_pid(struct uvh_service *service);

/* Removes the pid file, unless it is that of another process. */
void uvh_service_remove_pid(struct uvh_service *service);

/* The server listens. Tells systemd, unless the process that this one replaces does that: systemd
 * accepts messages of the main process only. Starts the watchdog if WATCHDOG_USEC asks for one: the
 * message is sent while the loops of all workers run. Returns 0 or an error. */
int uvh_service_ready(struct uvh_service *service, uvhttp_server_t *server, bool tells);

void uvh_service_reloading(void);
void uvh_service_reloaded(const char *status);
void uvh_service_stopping(void);

/* Another process replaces this one, and systemd is told. */
void uvh_service_replaced(long pid);

/* The server of the unit whose ExecReload= this process is (MAINPID), or -1. */
long uvh_service_main_pid(void);

/* The process of a pid file, or -1 after a message was printed. The process of another program is
 * not accepted. */
long uvh_service_read_pid(const char *path);

#endif
