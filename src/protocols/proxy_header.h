/* The start of a connection from a source of the PROXY protocol: its header, before TLS and HTTP.
 */
#ifndef UVH_PROTOCOLS_PROXY_HEADER_H
#define UVH_PROTOCOLS_PROXY_HEADER_H

#include <stdbool.h>

struct uvh_conn;
struct uvh_tls_session;
struct uvh_worker;

/* What becomes of an accepted connection. */
enum uvh_proxy_start {
    UVH_PROXY_START_DIRECT,
    UVH_PROXY_START_HEADER, /* uvh_proxy_header_await */
    UVH_PROXY_START_REFUSE,
};
enum uvh_proxy_start uvh_proxy_header_start(struct uvh_worker *worker, const struct uvh_conn *conn);

/* Within the event of uvh_conn_open: a header comes first. Takes ownership of the session, which
 * starts after it; NULL: plain text. */
void uvh_proxy_header_await(struct uvh_conn *conn, struct uvh_tls_session *session);

#endif
