/* Media types worth compressing: text in the widest sense, and no format that is compressed itself.
 *
 * Called for the compression of responses and files. */
#ifndef UVH_CODEC_FIELDS_COMPRESSIBLE_H
#define UVH_CODEC_FIELDS_COMPRESSIBLE_H

#include <uvhttp/types.h>

/* `type` is a Content-Type; parameters and case are ignored. */
bool uvh_compressible_type(uvhttp_slice_t type);

/* The same for a custom list, separated by spaces or commas: "text/html", all of a type "text/" +
 * star, a structured syntax suffix "+json", and star "/" star. */
bool uvh_compressible_type_in(const char *list, uvhttp_slice_t type);

/* NULL, or the first invalid element of a list. */
const char *uvh_compressible_check(const char *list, size_t *length);

#endif
