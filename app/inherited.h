/* Listening sockets that systemd has opened for the program (socket activation), see
 * sd_listen_fds(3). They replace the configured addresses. Called by run.c, serve.c and those that
 * listen. */
#ifndef UVH_APP_INHERITED_H
#define UVH_APP_INHERITED_H

#include "options.h"

/* Replaces the listen addresses by those of the inherited sockets, if there are any. Not listed is
 * the socket at the address of `metrics` (or NULL), and those at the port `redirect`
 * (UVH_OPTION_OFF: none). A port that is listed with http:// before has no TLS. False after a
 * message was printed. */
bool uvh_inherited_replace(struct uvh_options *options, const struct uvh_address *metrics,
                           size_t redirect);

/* The inherited socket of this address, or -1. The caller listens on it. */
int uvh_inherited_take(const struct uvh_address *address);

/* Logs how many sockets are in use, and which are not. */
void uvh_inherited_log(uvhttp_server_t *server);

#endif
