/* Servers on loops of the caller whose stop may be requested and not yet begun.
 *
 * uvhttp_server_stop may run on any thread and in a signal handler, so it only requests the stop,
 * which begins in a later loop iteration. A caller that stops a server and listens on its address
 * in one callback would get UV_EADDRINUSE. Therefore listening first ends that of the servers on
 * the same loop whose stop is requested. A server with its own loop has stopped when
 * uvhttp_server_run returns. */
#ifndef UVH_SERVER_REQUESTED_STOPS_H
#define UVH_SERVER_REQUESTED_STOPS_H

#include "server/server.h"

/* The server runs; it begins to stop. Loop thread. */
void uvh_requested_stops_watch(struct uvh_server *server);
void uvh_requested_stops_forget(struct uvh_server *server);

/* Ends the listening of all servers on this loop whose stop is requested. Queued connections are
 * accepted. Loop thread. */
void uvh_requested_stops_end_listening(const uv_loop_t *loop);

#endif
