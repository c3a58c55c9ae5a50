/* Writes Content-Disposition (RFC 6266) for a file's name.
 *
 * Called by static_rules.c and static_listing.c. */
#ifndef UVH_CODEC_FORMS_DISPOSITION_H
#define UVH_CODEC_FORMS_DISPOSITION_H

#include <uvhttp/types.h>

/* Most bytes of a value, with its NUL. */
#define UVH_DISPOSITION_SIZE(kind_length, name_length) ((kind_length) + 5 * (name_length) + 40)

/* KIND; filename="NAME". If the name has bytes other than visible ASCII, they become '_' there, and
 * the UTF-8 name follows in filename* (RFC 8187) if it is valid UTF-8: clients use the form they
 * support. The same for names with '%', '"' or '\', which clients read differently. NUL-terminated;
 * `out` has UVH_DISPOSITION_SIZE bytes. Returns the length. */
size_t uvh_disposition_write(char *out, const char *kind, uvhttp_slice_t name);

#endif
