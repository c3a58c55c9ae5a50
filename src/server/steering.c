/* Among sockets that share a port (SO_REUSEPORT) Linux chooses by SO_INCOMING_CPU from 6.2 on, and by its hash among those that are left. */
#include "server/steering.h"

#include "net/listener.h"
#include "platform/core.h"
#include "platform/socket.h"
#include "server/server.h"

enum {
    NONE = -1,
    JUDGED_AFTER = 256, /* accepted connections */
    HANDED_MOST = JUDGED_AFTER / 4,
    OFF_FOR = 16 * JUDGED_AFTER,
};

void uvh_steering_init(struct uvh_steering *steering)
{
    *steering = (struct uvh_steering){.listener = NONE, .core = NONE};
}

void uvh_steering_prefer(struct uvh_worker *worker, int listener)
{
    struct uvh_steering *steering = &worker->steering;
    steering->listener = listener;
    /* Two for one core would have less than others. */
    if (uvh_core_at(worker->server->worker_count - 1) == NONE)
        return;
    int core = uvh_core_at(worker->index);
    if (uvh_socket_prefer_core(listener, core) == 0)
        steering->core = core;
}

bool uvh_steering_is_on(const struct uvh_worker *worker)
{
    return worker->steering.core != NONE && !worker->steering.off;
}

size_t uvh_steering_waiting(const struct uvh_worker *worker)
{
    return worker->steering.listener == NONE ? 0 : uvh_socket_waiting(worker->steering.listener);
}

void uvh_steering_judge(struct uvh_worker *worker, bool handed)
{
    struct uvh_steering *steering = &worker->steering;
    if (steering->core == NONE)
        return;
    steering->handed += handed;
    if (++steering->accepted < (steering->off ? OFF_FOR : JUDGED_AFTER))
        return;
    if (steering->off || steering->handed > HANDED_MOST) {
        steering->off = !steering->off;
        if (steering->off)
            uvh_server_log(
                worker->server, UVHTTP_LOG_DEBUG,
                "worker %zu: connections come in on few cores, and are shared out by the system for a while",
                worker->index);
        const struct uvh_list *listeners = &worker->listeners;
        for (struct uvh_list *link = listeners->next; link != listeners; link = link->next)
            uvh_socket_prefer_core(UVH_CONTAINER_OF(link, struct uvh_listener, link)->watch.socket,
                                   steering->off ? NONE : steering->core);
    }
    steering->accepted = 0;
    steering->handed = 0;
}
