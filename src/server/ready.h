/* The checks of an application, by which a server is ready for requests or not. */
#ifndef UVH_SERVER_READY_H
#define UVH_SERVER_READY_H

struct uvh_server;

void uvh_ready_free(struct uvh_server *server);

#endif
