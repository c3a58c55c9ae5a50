/* What an application adds to the life of a server: timers and signals on the first worker's loop,
 * and references that keep the server from stopping. Called by server_life.c and worker.c. */
#ifndef UVH_SERVER_APPLICATION_H
#define UVH_SERVER_APPLICATION_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/list.h"

struct uvh_server;

struct uvh_application {
    struct uvh_list handles; /* open timers and signals; on the first worker's thread */
    atomic_size_t refs;      /* uvhttp_server_ref */
};

void uvh_application_init(struct uvh_application *application);

/* Closes timers and signals. Each counts in the server's open_handles. */
void uvh_application_close(struct uvh_application *application);

/* True while there is a reference, so that no worker may end. Any thread. */
static inline bool uvh_application_is_busy(struct uvh_application *application)
{
    return atomic_load(&application->refs) > 0;
}

#endif
