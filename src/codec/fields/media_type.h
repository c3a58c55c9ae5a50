/* Lists of media types: "text/html", all of a type "text/" + star, a structured syntax suffix
 * "+json", star "/" star; separated by spaces or commas. uvhttp_media_type_is (uvhttp/text.h) finds
 * a type in one.
 *
 * Called for the compression of responses. */
#ifndef UVH_CODEC_FIELDS_MEDIA_TYPE_H
#define UVH_CODEC_FIELDS_MEDIA_TYPE_H

#include <stddef.h>

/* NULL, or the first invalid element of a list, and its length. */
const char *uvh_media_type_check(const char *list, size_t *length);

#endif
