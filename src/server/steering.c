/* Among sockets that share a port (SO_REUSEPORT) Linux chooses by SO_INCOMING_CPU from 6.2 on, and by its hash among those that are left. */
#include "server/steering.h"

#include "net/listener.h"
#include "platform/core.h"
#include "platform/socket.h"
#include "server/server.h"

enum {
    NONE = -1,
    JUDGED_AFTER = 512, /* accepted connections: what one client opens at once is less */
    HANDED_MOST = JUDGED_AFTER / 4,
    OFF_MS = 1000,
};

void uvh_steering_init(struct uvh_steering *steering)
{
    *steering = (struct uvh_steering){.core = NONE};
}

/* A listener's tag is 1 and its place among those of its worker; 0 for those that are not steered. */
static bool is_steered(const struct uvh_listener *listener)
{
    return listener->tag > 0;
}

void uvh_steering_add(struct uvh_worker *worker, struct uvh_listener *listener)
{
    struct uvh_steering *steering = &worker->steering;
    int core = uvh_core_at(worker->index);
    /* Two workers on one core would have less than others. */
    if (steering->count == UVH_STEERED_ADDRESSES || uvh_core_at(worker->server->worker_count - 1) == NONE ||
        uvh_socket_prefer_core(listener->watch.socket, core) != 0)
        return;
    steering->core = core;
    steering->listeners[steering->count++] = listener->watch.socket;
    listener->tag = (int)steering->count;
}

bool uvh_steering_fits(const struct uvh_worker *worker, const struct uvh_listener *listener, int socket)
{
    return is_steered(listener) && uvh_socket_core(socket) == worker->steering.core;
}

size_t uvh_steering_waiting(const struct uvh_worker *other, const struct uvh_listener *listener)
{
    size_t place = (size_t)listener->tag - 1;
    return place < other->steering.count ? uvh_socket_waiting(other->steering.listeners[place]) : 0;
}

static void prefer(struct uvh_worker *worker, int core)
{
    const struct uvh_list *listeners = &worker->listeners;
    for (struct uvh_list *link = listeners->next; link != listeners; link = link->next) {
        const struct uvh_listener *listener = UVH_CONTAINER_OF(link, struct uvh_listener, link);
        if (is_steered(listener))
            uvh_socket_prefer_core(listener->watch.socket, core);
    }
}

void uvh_steering_judge(struct uvh_worker *worker, const struct uvh_listener *listener, bool handed)
{
    struct uvh_steering *steering = &worker->steering;
    uint64_t now = uv_now(worker->loop);
    if (!is_steered(listener) || now < steering->off_until)
        return;
    if (steering->off_until != 0)
        prefer(worker, steering->core);
    steering->off_until = 0;
    steering->handed += handed;
    if (++steering->accepted < JUDGED_AFTER)
        return;
    if (steering->handed > HANDED_MOST) {
        uvh_server_log(
            worker->server, UVHTTP_LOG_DEBUG,
            "worker %zu: connections come in on few cores, and are shared out by the system for a while",
            worker->index);
        steering->off_until = now + OFF_MS;
        prefer(worker, NONE);
    }
    steering->accepted = 0;
    steering->handed = 0;
}
