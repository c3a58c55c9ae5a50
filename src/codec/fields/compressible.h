/* Media types worth compressing: text in the widest sense, and no format that is compressed itself.
 *
 * Called for the compression of responses and files. */
#ifndef UVH_CODEC_FIELDS_COMPRESSIBLE_H
#define UVH_CODEC_FIELDS_COMPRESSIBLE_H

#include <uvhttp/types.h>

/* `type` is a Content-Type; parameters and case are ignored. */
bool uvh_compressible_type(uvhttp_slice_t type);

#endif
