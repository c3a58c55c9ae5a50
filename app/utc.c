/* See utc.h. */
#include "utc.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

void uvh_utc_format(int64_t seconds, char text[UVH_UTC_SIZE])
{
    struct tm parts;
    time_t moment = (time_t)seconds;
    if (gmtime_r(&moment, &parts) == NULL ||
        strftime(text, UVH_UTC_SIZE, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        snprintf(text, UVH_UTC_SIZE, "%" PRId64, seconds);
}
