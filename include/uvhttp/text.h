/* Encoders for texts in responses, numbers and UTF-8 of requests, and the comparison of media
 * types.
 *
 * Part of uvhttp_parser: no I/O, no allocation. Any thread.
 *
 * Each encoder returns the length of its result without the NUL. It writes the result and a NUL to
 * `out` if `size` is larger than that, and otherwise nothing: call it with NULL and 0 to get the
 * length. A text that is NULL is empty.
 *
 *     char shown[512];
 *     if (uvhttp_html_escape(name, strlen(name), shown, sizeof shown) >= sizeof shown)
 *         return UVHTTP_EFULL; */
#ifndef UVHTTP_TEXT_H
#define UVHTTP_TEXT_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* True if a media type is one of `types`; its parameters are ignored, as is case (RFC 9110 section
 * 8.3.1). `types` is a list, separated by spaces or commas: "text/html", all of "text" with a star
 * after the slash, a suffix such as "+json" (RFC 6839), or star, slash, star. False for base NULL
 * and for an empty value.
 *
 *     uvhttp_slice_t type = uvhttp_request_field(req, UVHTTP_FIELD_CONTENT_TYPE);
 *     if (!uvhttp_media_type_is(type, "application/json"))
 *         return uvhttp_response_send_status(res, 415); */
UVHTTP_EXPORT bool uvhttp_media_type_is(uvhttp_slice_t value, const char *types);

/* Percent-encodes all bytes except letters, digits and "-._~" (RFC 3986 section 2.3), for one
 * segment of a path, or a name or value of a query. */
UVHTTP_EXPORT size_t uvhttp_percent_encode(const char *text, size_t length, char *out, size_t size);

/* Replaces & < > " and ' by character references, for text and quoted attributes of HTML. */
UVHTTP_EXPORT size_t uvhttp_html_escape(const char *text, size_t length, char *out, size_t size);

/* The value of a Content-Disposition field for a file's name in UTF-8 (RFC 6266): with `kind`
 * "attachment" (also for NULL and for what is no token) the browser saves the file, with "inline"
 * it shows it. A name that is not plain ASCII is sent in both forms that clients know, filename and
 * filename* (RFC 8187). */
UVHTTP_EXPORT size_t uvhttp_content_disposition(const char *kind, const char *name, size_t length,
                                                char *out, size_t size);

/* Writes a text as a JSON string, with its quotes (RFC 8259 section 7). Control characters are
 * escaped; a byte that is not UTF-8 becomes U+FFFD. */
UVHTTP_EXPORT size_t uvhttp_json_quote(const char *text, size_t length, char *out, size_t size);

/* Writes a time as in RFC 3339, in UTC: "2026-11-22T02:04:05Z". Seconds since 1970, as of time();
 * years outside 0000 to 9999 are clamped. */
UVHTTP_EXPORT size_t uvhttp_rfc3339_encode(int64_t unix_seconds, char *out, size_t size);

/* Reads a decimal number: digits, after a '-' if it is negative, and nothing else. Unlike strtol it
 * accepts no spaces, no '+' and no rest.
 *
 *     int64_t port;
 *     if (!uvhttp_number_parse(getenv("PORT"), 0, 65535, &port))
 *         return UVHTTP_EINVAL;
 *
 * Returns true with the number in `*number`; false, and `*number` is unchanged, for anything else,
 * for a number below `min` or above `max`, and for NULL. */
UVHTTP_EXPORT bool uvhttp_number_parse(const char *text, int64_t min, int64_t max, int64_t *number);

/* The number of characters (code points) of a text in UTF-8, or -1 if it is no valid UTF-8 (RFC
 * 3629). For limits in characters, and to check a text before it is stored. */
UVHTTP_EXPORT ptrdiff_t uvhttp_utf8_count(const char *text, size_t length);

/* Writes base64 with padding, or base64url without padding (RFC 4648 sections 4 and 5). */
UVHTTP_EXPORT size_t uvhttp_base64_encode(const void *data, size_t length, char *out, size_t size);
UVHTTP_EXPORT size_t uvhttp_base64url_encode(const void *data, size_t length, char *out,
                                             size_t size);

/* Decodes the same forms to at most `size` bytes, without a NUL; length / 4 * 3 + 2 is always
 * enough. Strict: no white space, padding exactly as above. `out` may be the memory of the text.
 * Returns the number of bytes, or -1 if the text is invalid or the result does not fit; then `out`
 * is undefined. */
UVHTTP_EXPORT ptrdiff_t uvhttp_base64_decode(const char *text, size_t length, void *out,
                                             size_t size);
UVHTTP_EXPORT ptrdiff_t uvhttp_base64url_decode(const char *text, size_t length, void *out,
                                                size_t size);

#ifdef __cplusplus
}
#endif

#endif
