/* Which coding of a file a client gets: a sibling, one that was made before, or one that is made
 * for it now, by a job, and kept with the file's entry in the cache.
 *
 * Called by static_files.c and static_fetch.c on the loop's thread. */
#ifndef UVH_FILES_STATIC_VARIANTS_H
#define UVH_FILES_STATIC_VARIANTS_H

#include "files/static_entity.h"
#include "files/static_settings.h"

/* The codings that a file of this path, type and size may be made in, as a set. */
unsigned uvh_static_variants_makeable(const struct uvh_static_settings *settings, const char *path,
                                      const char *type, uint64_t size);

/* Answers with the entry, or one of its variants. Results are those of a handler. */
int uvh_static_variants_answer(const struct uvh_static_settings *settings,
                               uvhttp_request_t *request, uvhttp_response_t *response,
                               struct uvh_file_entry *entry);

#endif
