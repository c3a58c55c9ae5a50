/* Listening sockets that are open when the program starts. Those of systemd (socket activation, see
 * sd_listen_fds(3)) replace the configured addresses. Those of an older process (upgrade.h) are
 * used for the configured addresses that they have. */
#ifndef UVH_APP_INHERITED_H
#define UVH_APP_INHERITED_H

#include "options.h"
#include "setup.h"

/* Replaces the listen addresses by those of systemd's sockets, if there are any. Not listed are
 * the sockets at the addresses of the metrics and the status page, and those at the port `redirect`
 * (UVH_OPTION_OFF: none). A port that is listed with http:// before has no TLS. False after a
 * message was printed. */
bool uvh_inherited_replace(struct uvh_options *options, const struct uvh_setup *setup,
                           size_t redirect);

/* The next inherited socket of this address, or -1. The caller listens on it. Port 0 is any port of
 * an older process, and then that one. */
int uvh_inherited_take(struct uvh_address *address);

/* The program listens everywhere: logs how many sockets are in use, and closes the others. */
void uvh_inherited_done(uvhttp_server_t *server);

/* True if the sockets have replaced the configured addresses. */
bool uvh_inherited_replaces(void);

/* Ends listening at this address on inherited sockets. False if there are none. */
bool uvh_inherited_leave(uvhttp_server_t *server, const struct uvh_address *address);

/* Removes the files of unix sockets of an older process: of those that are not used when that
 * process has passed them on, and of the others when the program has stopped. */
void uvh_inherited_remove_unused_files(void);
void uvh_inherited_remove_files(void);

#endif
