/* Shared by both floors: a listener on the loopback address, and an epoll loop. The floors validate
 * nothing, so do not use them as servers. */
#ifndef UVH_BENCH_FLOOR_H
#define UVH_BENCH_FLOOR_H

#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static inline int listen_on(unsigned long port)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener, (struct sockaddr *)&address, size) != 0 ||
        listen(listener, SOMAXCONN) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        err(1, "cannot listen");
    printf("listening on http://127.0.0.1:%d/\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

/* Clears the client with the index of each new descriptor, and calls `serve` for each event on a
 * connection. */
static inline noreturn void run_floor(unsigned long port, void *clients, size_t client_size,
                                      int client_max, void (*serve)(int epoll, int fd))
{
    int epoll = epoll_create1(0), listener = listen_on(port), on = 1;
    struct epoll_event events[256], event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd != listener) {
                serve(epoll, events[i].data.fd);
                continue;
            }
            int fd;
            while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                event.data.fd = fd;
                if (fd >= client_max || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
                    close(fd);
                    continue;
                }
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
                memset((char *)clients + (size_t)fd * client_size, 0, client_size);
            }
        }
    }
}

#endif
