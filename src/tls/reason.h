/* Why a session failed, as text for the log and for the user of a stream. */
#ifndef UVH_TLS_REASON_H
#define UVH_TLS_REASON_H

struct ssl_st;

/* The reason of the last call, which failed; clears the thread's error queue. Static text. */
const char *uvh_tls_reason(const struct ssl_st *ssl);

#endif
