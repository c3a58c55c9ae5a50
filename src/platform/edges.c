/* epoll(7). */
#include "platform/edges.h"

#include <errno.h>

#if defined(__linux__)

#include <netinet/in.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static bool is_tcp(int socket)
{
    int protocol = 0;
    socklen_t size = sizeof(protocol);
    return getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
}

static int change(int set, int socket, uint32_t how)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | how, .data.u64 = (uint64_t)socket};
    return epoll_ctl(set, EPOLL_CTL_MOD, socket, &event) == 0 ? 0 : -errno;
}

int uvh_edges_begin(int set, int socket)
{
    return is_tcp(socket) ? change(set, socket, EPOLLET) : -EPROTONOSUPPORT;
}

int uvh_edges_both(int set, int socket)
{
    return change(set, socket, EPOLLOUT | EPOLLET);
}

int uvh_edges_end(int set, int socket)
{
    return change(set, socket, 0);
}

bool uvh_edges_fit(int set, int descriptor)
{
    struct epoll_event event;
    return epoll_wait(set, &event, 1, 0) == 1 && event.data.u64 == (uint64_t)descriptor;
}

#else

int uvh_edges_begin(int set, int socket)
{
    (void)set;
    (void)socket;
    return -ENOSYS;
}

int uvh_edges_both(int set, int socket)
{
    return uvh_edges_begin(set, socket);
}

int uvh_edges_end(int set, int socket)
{
    return uvh_edges_begin(set, socket);
}

bool uvh_edges_fit(int set, int descriptor)
{
    (void)set;
    (void)descriptor;
    return false;
}

#endif
