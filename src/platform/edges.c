/* epoll(7). */
#include "platform/edges.h"

#include <errno.h>

#if defined(__linux__)

#include <sys/epoll.h>

int uvh_edges_read(int set, int socket)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.fd = socket};
    return epoll_ctl(set, EPOLL_CTL_MOD, socket, &event) == 0 ? 0 : -errno;
}

bool uvh_edges_fit(int set, int descriptor)
{
    struct epoll_event event;
    return epoll_wait(set, &event, 1, 0) == 1 && event.data.fd == descriptor;
}

#else

int uvh_edges_read(int set, int socket)
{
    (void)set;
    (void)socket;
    return -ENOSYS;
}

bool uvh_edges_fit(int set, int descriptor)
{
    (void)set;
    (void)descriptor;
    return false;
}

#endif
