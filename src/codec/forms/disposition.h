/* Writes Content-Disposition (RFC 6266) for a file's name.
 *
 * Called by static_rules.c. */
#ifndef UVH_CODEC_FORMS_DISPOSITION_H
#define UVH_CODEC_FORMS_DISPOSITION_H

#include <uvhttp/types.h>

/* Bytes that a value can have at most, with its NUL. */
#define UVH_DISPOSITION_SIZE(kind_length, name_length) ((kind_length) + 5 * (name_length) + 40)

/* KIND; filename="NAME". A name that is not visible ASCII has its bytes replaced by '_' there, and
 * stands in UTF-8 in filename* (RFC 8187) behind it, if it is UTF-8: each client takes what it
 * understands. So does one with '%', '"' or '\', which clients read differently. NUL-terminated;
 * `out` has UVH_DISPOSITION_SIZE bytes. Returns the length. */
size_t uvh_disposition_write(char *out, const char *kind, uvhttp_slice_t name);

#endif
