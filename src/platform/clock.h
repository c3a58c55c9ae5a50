/* The calendar clock. Everything else gets its time as an argument, from the loop. */
#ifndef UVH_PLATFORM_CLOCK_H
#define UVH_PLATFORM_CLOCK_H

#include <stdint.h>

/* Milliseconds since 1970-01-01 00:00 UTC. */
int64_t uvh_clock_unix_ms(void);

/* Minutes that local time was ahead of UTC at that second, in the time zone the process started with. Any thread. */
int uvh_clock_zone_minutes(int64_t unix_seconds);

#endif
