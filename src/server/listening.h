/* The sources of a server's connections: addresses, paths, descriptors; see
 * include/uvhttp/embedding.h. */
#ifndef UVH_SERVER_LISTENING_H
#define UVH_SERVER_LISTENING_H

#include "platform/unix_socket.h"
#include "server/server.h"

/* Where a server listens: one address, path or descriptor. */
struct uvh_listening {
    struct uvh_listening *next;
    unsigned id; /* of its listeners */
    int port;    /* 0: none */
    char *name;  /* the address or path, as requested; "" for a descriptor */
    bool has_file;
    struct uvh_unix_socket_file file;
    size_t count;
    int sockets[]; /* which belong to the listeners */
};

/* With space for `count` sockets; NULL when out of memory. */
struct uvh_listening *uvh_listening_new(struct uvh_server *server, const char *name, size_t count);

/* Called when listening ends: removes the socket files that still belong to this server. */
void uvh_listening_forget(struct uvh_server *server);

#endif
