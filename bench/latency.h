/* Shared by the load generators: the clock, and percentiles of latencies within 3 %. */
#ifndef UVH_BENCH_LATENCY_H
#define UVH_BENCH_LATENCY_H

#include <stddef.h>
#include <stdint.h>
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

#endif
