/* All workers of a server: created before it listens, given threads when it runs, stopped
 * together.
 *
 * Invariants: the first worker is on the thread that runs the server's loop, the only one that
 * calls these functions, except uvh_workers_ended; every started thread is joined before the first
 * worker ends. */
#ifndef UVH_SERVER_WORKERS_H
#define UVH_SERVER_WORKERS_H

#include "server/worker.h"

/* Creates the workers with their loops. Returns 0, UVHTTP_ENOMEM or libuv's code; an error is
 * logged, and then there are none. */
int uvh_workers_open(struct uvh_server *server);

struct uvh_listening;
struct uvh_tls_contexts;

/* Listens with every worker, on one port. `tls` NULL: plain text. Returns 0, or an error; then no
 * worker listens. */
int uvh_workers_listen(struct uvh_server *server, const char *address, int port,
                       struct uvh_tls_contexts *tls);

/* Accepts on the only socket of `listening`: one worker does, each time the next one, and hands
 * connections over. Takes ownership of `listening`. Returns 0, or an error; then the caller keeps
 * both. */
int uvh_workers_listen_on(struct uvh_server *server, struct uvh_listening *listening,
                          struct uvh_tls_contexts *tls);

/* Starts the threads of all workers but the first, unless they are started. Returns 0 or libuv's
 * code, logged: then only some run. */
int uvh_workers_start(struct uvh_server *server);

/* The worker of the calling thread; the first one on a thread that the server has not created. */
struct uvh_worker *uvh_workers_current(struct uvh_server *server);

/* Raises the requested state of every worker. Those without a thread end at once, in this call. */
void uvh_workers_set_state(struct uvh_server *server, enum uvh_worker_state state);

/* True when every thread has ended or is about to return. Any thread. */
bool uvh_workers_ended(struct uvh_server *server);

/* Joins the threads when they have ended. */
void uvh_workers_join(struct uvh_server *server);

/* Passes the pools of a worker to another thread (base/owner.h); no thread may be using them. */
void uvh_workers_hand_over(struct uvh_worker *worker);

/* Frees the workers, which must all have ended. */
void uvh_workers_free(struct uvh_server *server);

#endif
