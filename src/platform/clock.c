/* CLOCK_REALTIME, which Linux reads without a system call (vDSO), and libc's time zone. */
#include "platform/clock.h"

#include <time.h>

int64_t uvh_clock_unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t uvh_clock_monotonic_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 + 1;
}

int uvh_clock_zone_minutes(int64_t unix_seconds)
{
    struct tm local;
    time_t seconds = (time_t)unix_seconds;
    return localtime_r(&seconds, &local) == NULL ? 0 : (int)(local.tm_gmtoff / 60);
}

void uvh_clock_stamp(int64_t unix_seconds, char stamp[UVH_CLOCK_STAMP_SIZE])
{
    struct tm utc;
    time_t seconds = (time_t)unix_seconds;
    if (gmtime_r(&seconds, &utc) == NULL ||
        strftime(stamp, UVH_CLOCK_STAMP_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        stamp[0] = '\0';
}
