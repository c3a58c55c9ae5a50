/* What objects of other modules need to know about a reload. The functions belong to the server. */
#ifndef UVH_OPTIONS_RELOAD_H
#define UVH_OPTIONS_RELOAD_H

#include <stdbool.h>

struct uvh_generation;
struct uvhttp_server;

/* A reload has begun, and is neither applied nor cancelled. On the first worker's thread. */
bool uvh_is_reloading(const struct uvhttp_server *server);

/* What set-up calls change now: it frees the objects that they leave to the server. */
struct uvh_generation *uvh_generation_of_set_up(struct uvhttp_server *server);

/* A reference, until uvh_generation_drop; for the use of such an object by what is no exchange and
 * no upgraded stream. Any thread that already uses the object. */
void uvh_generation_ref(struct uvh_generation *generation);
void uvh_generation_drop(struct uvh_generation *generation);

#endif
