/* Compressed files next to their source: "app.js.br" next to "app.js". A sibling is valid when it
 * is a regular file and at least as new as its source; so changing a source invalidates its old
 * siblings.
 *
 * Called in jobs. */
#ifndef UVH_FILES_STATIC_SIBLINGS_H
#define UVH_FILES_STATIC_SIBLINGS_H

#include "files/file_entry.h"
#include "files/static_settings.h"

struct uvh_static_siblings {
    unsigned found;  /* set of codings */
    uint64_t digest; /* of their facts, which identifies their state; 0: none was found */
};

/* Checks those of a source with these facts. Finds none when they are disabled. */
struct uvh_static_siblings uvh_static_siblings_find(const struct uvh_static_settings *settings,
                                                    const char *path,
                                                    const struct uvh_file_facts *source);

/* Loads those found as variants of the entry. Skips one that can no longer be loaded. */
void uvh_static_siblings_load(const struct uvh_static_settings *settings, const char *path,
                              const struct uvh_static_siblings *siblings,
                              struct uvh_file_entry *entry);

/* The facts of the sibling that a GET with this Accept-Encoding (one line, or base NULL) gets of a
 * source with these facts, from the disk. False when it gets none of them: the source, or one
 * encoded on the fly. */
bool uvh_static_siblings_select(const struct uvh_static_settings *settings, const char *path,
                                const struct uvh_file_facts *source, uvhttp_slice_t accept_encoding,
                                struct uvh_file_facts *facts);

#endif
