/* Dates of HTTP (RFC 9110 section 5.6.7), without libc's time functions: no locale, no time zone,
 * no clock.
 *
 * Called for Date, Last-Modified, and by the conditional and range rules. */
#ifndef UVH_CODEC_FIELDS_HTTP_DATE_H
#define UVH_CODEC_FIELDS_HTTP_DATE_H

#include <uvhttp/types.h>

enum { UVH_HTTP_DATE_SIZE = 29, UVH_HTTP_DATE_ISO_SIZE = 20 };

/* Writes "Sun, 06 Nov 1994 08:49:37 GMT": exactly 29 bytes, no NUL. Seconds since 1970; years
 * outside 0000 to 9999 are clamped. */
void uvh_http_date_format(int64_t unix_seconds, char out[UVH_HTTP_DATE_SIZE]);

/* Writes the same time as in RFC 3339, "1994-11-06T08:49:37Z": exactly 20 bytes, no NUL. For JSON
 * and for HTML's <time>. */
void uvh_http_date_format_iso(int64_t unix_seconds, char out[UVH_HTTP_DATE_ISO_SIZE]);

/* Reads any of the three forms: IMF-fixdate, RFC 850, asctime. False for anything else;
 * `*unix_seconds` is unchanged then. Two-digit years of RFC 850 are 1970 to 2069, because there is
 * no clock here for the 50-year rule. */
bool uvh_http_date_parse(uvhttp_slice_t text, int64_t *unix_seconds);

#endif
