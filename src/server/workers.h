/* All workers of a server: made together before it listens, given threads when it runs, told to end
 * together.
 *
 * Always true: the first worker is on the thread that runs the server's loop, which is the only one
 * to call what stands here but for uvh_workers_ended; every thread that was started is joined
 * before the first worker ends. Called by server.c, server_life.c and worker.c. */
#ifndef UVH_SERVER_WORKERS_H
#define UVH_SERVER_WORKERS_H

#include "server/worker.h"

/* Makes the workers with their loops. 0, UVHTTP_ENOMEM or libuv's code, logged, and then there are
 * none. */
int uvh_workers_open(struct uvh_server *server);

struct uvh_tls_contexts;

/* Listens with every worker, on one port. `tls` NULL: plain text. 0, or an error, and then nobody
 * does. */
int uvh_workers_listen(struct uvh_server *server, const char *address, int port,
                       struct uvh_tls_contexts *tls);

/* Accepts on a socket that listens already: the first worker does, and hands connections on. 0, or
 * an error, and the socket stays the caller's. */
int uvh_workers_listen_on(struct uvh_server *server, int socket, struct uvh_tls_contexts *tls);

/* Starts the threads of all but the first worker; does nothing when that was done. 0 or libuv's
 * code, logged: some run, others do not. */
int uvh_workers_start(struct uvh_server *server);

/* The worker whose thread this is; the first one on a thread that the server has not made. */
struct uvh_worker *uvh_workers_current(struct uvh_server *server);

/* Raises the order of every worker. Those that have no thread end at once, here. */
void uvh_workers_order(struct uvh_server *server, enum uvh_worker_order order);

/* Every thread has ended or is about to return. Any thread. */
bool uvh_workers_ended(struct uvh_server *server);

/* Waits for the threads, when they have ended. */
void uvh_workers_join(struct uvh_server *server);

/* The pools of a worker are for another thread from now on (base/owner.h); nobody uses them at the
 * moment. */
void uvh_workers_hand_over(struct uvh_worker *worker);

/* Frees the workers, which have all ended. */
void uvh_workers_free(struct uvh_server *server);

#endif
