/* Runs steps of TLS handshakes on threads of the server (config->handshake_threads), since one step
 * costs as much as thousands of requests. */
#ifndef UVH_SERVER_HANDSHAKE_JOBS_H
#define UVH_SERVER_HANDSHAKE_JOBS_H

#include <stdbool.h>

struct uvh_conn;

/* Queues a handshake step of a connection; uvh_conn_worked runs on its loop after it. False when
 * out of memory. */
bool uvh_handshake_jobs_start(struct uvh_conn *conn);

#endif
