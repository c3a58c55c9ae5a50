/* The sources of a server's connections: addresses, paths, descriptors; see
 * include/uvhttp/embedding.h. */
#ifndef UVH_SERVER_LISTENING_H
#define UVH_SERVER_LISTENING_H

#include "platform/unix_socket.h"
#include "server/server.h"

/* The file of a unix socket. */
struct uvh_listening_file {
    struct uvh_listening_file *next;
    struct uvh_unix_socket_file file;
    char path[];
};

/* Called when listening ends: removes the socket files that still belong to this server. */
void uvh_listening_remove_files(struct uvh_server *server);

#endif
