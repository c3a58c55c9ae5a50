/* Steps of TLS handshakes on threads of the server's own (config->handshake_threads), since one is
 * worth thousands of requests. Called by worker.c. */
#ifndef UVH_SERVER_HANDSHAKE_JOBS_H
#define UVH_SERVER_HANDSHAKE_JOBS_H

#include <stdbool.h>

struct uvh_conn;

/* Queues a step of the handshake of a connection; uvh_conn_worked runs on its loop after it. False
 * when memory ran out. */
bool uvh_handshake_jobs_start(struct uvh_conn *conn);

#endif
