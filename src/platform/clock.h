/* The calendar clock, and the time of code without a loop. All other code gets the time of the loop
 * as an argument. */
#ifndef UVH_PLATFORM_CLOCK_H
#define UVH_PLATFORM_CLOCK_H

#include <stdint.h>

/* Milliseconds since 1970-01-01 00:00 UTC. */
int64_t uvh_clock_unix_ms(void);

/* Microseconds by a clock that is never set, for rates between two readings; not 0. */
uint64_t uvh_clock_monotonic_us(void);

/* Offset of local time from UTC in minutes at that second, in the time zone the process started
 * with. Any thread. */
int uvh_clock_zone_minutes(int64_t unix_seconds);

/* "2026-01-31T12:00:00Z", or "" for a year of more than four digits. Any thread. */
enum { UVH_CLOCK_STAMP_SIZE = 21 };
void uvh_clock_stamp(int64_t unix_seconds, char stamp[UVH_CLOCK_STAMP_SIZE]);

#endif
