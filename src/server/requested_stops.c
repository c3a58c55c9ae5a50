/* One list for the process, since a loop has no place for it. Servers on other loops belong to
 * other threads, hence the lock. */
#include "server/requested_stops.h"

#include "platform/lock.h"
#include "server/accept.h"
#include "server/listening.h"

static struct uvh_lock lock = {PTHREAD_MUTEX_INITIALIZER};
static struct uvh_list running = {&running, &running};

void uvh_requested_stops_watch(struct uvh_server *server)
{
    uvh_list_init(&server->running);
    if (server->owns_loop)
        return;
    uvh_lock_acquire(&lock);
    uvh_list_append(&running, &server->running);
    uvh_lock_release(&lock);
}

void uvh_requested_stops_forget(struct uvh_server *server)
{
    if (server->owns_loop)
        return;
    uvh_lock_acquire(&lock);
    uvh_list_remove(&server->running);
    uvh_lock_release(&lock);
}

/* A server on this loop that listens although its stop is requested; NULL: none. */
static struct uvh_server *find(const uv_loop_t *loop)
{
    struct uvh_server *found = NULL;
    uvh_lock_acquire(&lock);
    for (struct uvh_list *link = running.next; found == NULL && link != &running;
         link = link->next) {
        struct uvh_server *server = UVH_CONTAINER_OF(link, struct uvh_server, running);
        if (server->loop == loop && uvh_server_is_stopping(server) &&
            (server->listening != NULL || !uvh_list_empty(&server->workers[0].listeners)))
            found = server;
    }
    uvh_lock_release(&lock);
    return found;
}

/* Without the lock, because an accepted connection may call functions of the application. */
void uvh_requested_stops_end_listening(const uv_loop_t *loop)
{
    struct uvh_server *server;
    while ((server = find(loop)) != NULL) {
        uvh_listening_forget(server);
        uvh_accept_end(&server->workers[0]);
    }
}
