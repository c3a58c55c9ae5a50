/* Selects the content coding of a file for a client: a sibling, one made before, or one that a job
 * makes now and the file's entry in the cache keeps.
 *
 * uvh_static_variants_makeable is called in a job, the other on the loop's thread. */
#ifndef UVH_FILES_STATIC_VARIANTS_H
#define UVH_FILES_STATIC_VARIANTS_H

#include "files/static_entity.h"
#include "files/static_settings.h"

/* The codings available on the fly for a file of this path, type and size, as a set. */
unsigned uvh_static_variants_makeable(const struct uvh_static_settings *settings, const char *path,
                                      const char *type, uint64_t size);

/* Sends the entry, or one of its variants. Returns the result of a handler. */
int uvh_static_variants_respond(const struct uvh_static_settings *settings,
                                uvhttp_request_t *request, uvhttp_response_t *response,
                                struct uvh_file_entry *entry);

#endif
