/* Shared by the load generators: arguments, connections, the clock, percentiles of latencies within
 * 3 %, and the result as JSON. */
#ifndef UVH_BENCH_LOAD_H
#define UVH_BENCH_LOAD_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"

#define NS            1000000000ull
#define LATENCY_SLOTS (64 * 32) /* 32 steps for each power of two of nanoseconds */

static uint64_t histogram[LATENCY_SLOTS], latency_max;

static inline uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_nsec;
}

/* Removes "NAME NUMBER" from the arguments. Returns the number, 0 for one that makes no sense, or
 * `missing` without the option. */
static inline double take_double(const char *name, int *argc, char **argv, double missing)
{
    const char *text = take_option(name, argc, argv);
    double number = text != NULL ? strtod(text, NULL) : missing;
    return number >= 0 && number < 1e9 ? number : 0;
}

/* Connects to a server on this machine, blocking. Returns -1 with errno after an error. */
static inline int connect_to(int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    return fd;
}

/* Adds a connection to epoll. Returns false with errno after an error. */
static inline bool add_events(int epoll, int fd, uint32_t events, void *slot)
{
    struct epoll_event event = {.events = events, .data.ptr = slot};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static inline void record_latency(uint64_t ns)
{
    unsigned power = ns < 32 ? 0 : 63u - (unsigned)__builtin_clzll(ns) - 5;
    histogram[power * 32 + (ns >> power)]++;
    if (ns > latency_max)
        latency_max = ns;
}

/* The latency in microseconds that `part` of all `count` latencies do not exceed. */
static inline double percentile_us(uint64_t count, double part)
{
    uint64_t wanted = (uint64_t)((double)count * part), seen = 0;
    for (size_t i = 0; i < LATENCY_SLOTS; i++) {
        seen += histogram[i];
        if (seen > wanted) /* a value of 32 to 63, shifted by its power */
            return (i < 64 ? (double)i : (double)((32 + i % 32) << (i / 32 - 1))) / 1e3;
    }
    return (double)latency_max / 1e3;
}

/* For the table of counters of `result`: a member, and its output. */
#define COUNTER(name)       uint64_t name;
#define PRINT_COUNTER(name) printf("\"" #name "\": %" PRIu64 ", ", result.name);

/* Prints the last members of the object. */
static inline void print_latency(uint64_t duration, uint64_t count)
{
    printf("\"duration_us\": %" PRIu64 ", \"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, "
           "\"max_us\": %.1f}\n",
           duration / 1000, percentile_us(count, 0.5), percentile_us(count, 0.9),
           percentile_us(count, 0.99), (double)latency_max / 1e3);
    fflush(stdout);
}

#endif
