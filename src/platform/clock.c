/* CLOCK_REALTIME, which Linux answers without a system call. */
#include "platform/clock.h"

#include <time.h>

int64_t uvh_clock_unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
