/* epoll(7), edge-triggered: a set of sockets, each added once for all events. Linux only. */
#ifndef UVH_PLATFORM_EPOLL_H
#define UVH_PLATFORM_EPOLL_H

#if !defined(__linux__)
#define UVH_HAS_EPOLL 0
#else
#define UVH_HAS_EPOLL 1

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define uvh_epoll_event epoll_event

enum {
    UVH_EPOLL_FAILED = EPOLLERR | EPOLLHUP,
    UVH_EPOLL_PEER_ENDED = EPOLLRDHUP | EPOLLHUP,
    UVH_EPOLL_READABLE = EPOLLIN | EPOLLRDHUP | UVH_EPOLL_FAILED,
    UVH_EPOLL_WRITABLE = EPOLLOUT | UVH_EPOLL_FAILED,
    UVH_EPOLL_URGENT = EPOLLPRI,
};

/* A descriptor, or a negative errno. */
static inline int uvh_epoll_open(void)
{
    int set = epoll_create1(EPOLL_CLOEXEC);
    return set >= 0 ? set : -errno;
}

/* 0 or a negative errno. */
static inline int uvh_epoll_add(int set, int socket, void *data)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET,
                                .data.ptr = data};
    return epoll_ctl(set, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : -errno;
}

static inline void uvh_epoll_remove(int set, int socket)
{
    struct epoll_event unused = {0}; /* Linux before 2.6.9 requires one */
    epoll_ctl(set, EPOLL_CTL_DEL, socket, &unused);
}

/* The pending events, without blocking: their number, or a negative errno. */
static inline int uvh_epoll_wait(int set, struct epoll_event *events, int most)
{
    int count = epoll_wait(set, events, most, 0);
    return count >= 0 ? count : -errno;
}

static inline void *uvh_epoll_data(const struct epoll_event *event)
{
    return event->data.ptr;
}

/* UVH_EPOLL_* */
static inline unsigned uvh_epoll_bits(const struct epoll_event *event)
{
    return event->events;
}

#endif

#endif
