/* Shared by the load generators: the address of the server, the clock, percentiles of latencies
 * within 3 %, and the result as JSON. */
#ifndef UVH_BENCH_LATENCY_H
#define UVH_BENCH_LATENCY_H

#include <inttypes.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#define NS            1000000000ull
#define LATENCY_SLOTS (64 * 32) /* 32 steps for each power of two of nanoseconds */

static uint64_t histogram[LATENCY_SLOTS], latency_max;

static inline uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_nsec;
}

static inline struct sockaddr_in loopback_address(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
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
