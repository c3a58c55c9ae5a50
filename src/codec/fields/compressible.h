/* Which media types are worth compressing: text in the widest sense, and not what is compressed by
 * its own format.
 *
 * Called by what compresses answers and files. */
#ifndef UVH_CODEC_FIELDS_COMPRESSIBLE_H
#define UVH_CODEC_FIELDS_COMPRESSIBLE_H

#include <uvhttp/types.h>

/* `type` is a Content-Type, whose parameters do not count, nor its case. */
bool uvh_compressible_type(uvhttp_slice_t type);

/* The same for a list of one's own, separated by spaces or commas: "text/html", all of a type
 * "text/" + star, a structured syntax suffix "+json", and star "/" star. */
bool uvh_compressible_type_in(const char *list, uvhttp_slice_t type);

/* NULL, or the first element of a list that is none of these. */
const char *uvh_compressible_check(const char *list, size_t *length);

#endif
