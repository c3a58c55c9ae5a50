/* What an application adds to the life of a server: timers and signals on the first worker's loop,
 * and references that keep the server from stopping. */
#ifndef UVH_SERVER_APPLICATION_H
#define UVH_SERVER_APPLICATION_H

#include <stdbool.h>

#include <uv.h>

#include "base/list.h"

struct uvh_server;

struct uvh_application {
    struct uvh_list handles; /* open timers and signals; on the first worker's thread */
    uv_mutex_t lock;
    uv_cond_t unused; /* the last reference was released */
    size_t refs;      /* uvhttp_server_ref; under the lock */
};

/* Returns 0, or libuv's code; then there is nothing to release. */
int uvh_application_init(struct uvh_application *application);
void uvh_application_release(struct uvh_application *application);

/* Closes timers and signals. Each counts in the server's open_handles. */
void uvh_application_close(struct uvh_application *application);

/* True while there is a reference, so that no worker may end. Any thread. */
bool uvh_application_is_busy(struct uvh_application *application);

/* Blocks while there is a reference. For a server without workers, whose loop no reference
 * wakes. */
void uvh_application_wait(struct uvh_application *application);

#endif
