/* Where a server gets its connections from: addresses, paths, descriptors; see
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

/* Listening ends: removes the files that are still those of this server. */
void uvh_listening_remove_files(struct uvh_server *server);

#endif
