/* Times as text. */
#ifndef UVH_APP_UTC_H
#define UVH_APP_UTC_H

#include <stdint.h>

#define UVH_UTC_SIZE 64

/* Seconds since 1970 as "2026-12-31 23:59:59 UTC". */
void uvh_utc_format(int64_t seconds, char text[UVH_UTC_SIZE]);

#endif
