/* Why a session has failed, in words for the log and for the user of a stream.
 *
 * Called by session.c. */
#ifndef UVH_TLS_REASON_H
#define UVH_TLS_REASON_H

struct ssl_st;

/* Of the last call, which has failed; empties the thread's queue of errors. Static. */
const char *uvh_tls_reason(const struct ssl_st *ssl);

#endif
