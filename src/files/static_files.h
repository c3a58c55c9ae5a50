/* What one call of uvhttp_static_open has made, and what the files of this module ask of paths.
 *
 * Frozen once requests come, but for the caches, each of which is its worker's, and the watch. Made
 * by static_files.c, read by static_fetch.c and static_prewarm.c. */
#ifndef UVH_FILES_STATIC_FILES_H
#define UVH_FILES_STATIC_FILES_H

#include <stdatomic.h>

#include <uvhttp/static.h>

#include "files/static_cache.h"
#include "files/static_settings.h"
#include "platform/folder_watch.h"
#include "platform/lock.h"

struct uvhttp_static {
    struct uvh_static_settings settings;
    struct uvh_lock uploading; /* see static_publish.h */
    struct uvh_path_versions versions;
    uint64_t seed; /* of the caches */
    struct uvh_static_cache
        /* with several workers not changed any more once requests come: each copies it */
        prewarmed;
    /* each is touched by its worker only */
    struct uvh_static_cache *_Atomic caches[UVHTTP_WORKERS_MAX];
    /* Whose workers the caches are for: the first server that mounts or uses it. NULL: none yet. */
    const uvhttp_server_t *_Atomic server;
    atomic_bool foreign_told; /* another server has used it, and that has been logged */
    /* of every path that comes through its first mount; 0: see file_path */
    size_t prefix_length;

    /* goes up when something has changed in a watched folder or by an upload */
    _Atomic uint64_t changed;
    struct uvh_folder_watch *folders; /* NULL: nothing is watched */
    int watch_error;                  /* why nothing is, although it should be */
    atomic_bool watch_told;           /* that has been logged */
};

/* Something has changed since `seen`, maybe where the entry comes from. */
static inline bool uvh_static_files_stirred(const struct uvhttp_static *context, uint64_t seen)
{
    return seen != atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&context->changed,
                                        memory_order_acquire);
}

#endif
