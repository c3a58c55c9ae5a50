/* Figures of this process as the system reports them. */
#ifndef UVH_PLATFORM_PROCESS_H
#define UVH_PLATFORM_PROCESS_H

#include <stdint.h>

/* 0: unknown, for example without /proc. */
struct uvh_process_figures {
    uint64_t cpu_us; /* user and system time */
    uint64_t resident_bytes;
    uint64_t open_fds;
    uint64_t max_fds;
    int64_t started_ms; /* since 1970-01-01 00:00 UTC; of the first call */
};

/* Any thread. Takes some microseconds; before Linux 6.2 up to a few milliseconds. */
void uvh_process_read(struct uvh_process_figures *figures);

#endif
