/* The context created by one call of uvhttp_static_new, shared by the files of this module.
 *
 * Immutable while the server runs, except for the caches, each of which belongs to its worker, and
 * the directory watch. Created by static_files.c, read by static_fetch.c, static_mount.c and
 * static_prewarm.c. */
#ifndef UVH_FILES_STATIC_FILES_H
#define UVH_FILES_STATIC_FILES_H

#include <stdatomic.h>

#include <uvhttp/static.h>

#include "files/static_cache.h"
#include "files/static_settings.h"
#include "platform/dir_watch.h"
#include "platform/lock.h"

struct uvhttp_static {
    struct uvh_static_settings settings;
    struct uvh_lock uploading; /* see static_publish.h */
    struct uvh_path_versions versions;
    uint64_t seed; /* of the caches */
    /* With several workers immutable once requests arrive: each worker copies it. */
    struct uvh_static_cache prewarmed;
    /* Each is used by its worker only. */
    struct uvh_static_cache *_Atomic caches[UVHTTP_WORKERS_MAX];
    /* The server whose workers own the caches: the first one that mounts or uses the context. NULL:
     * none yet. */
    const uvhttp_server_t *_Atomic server;
    atomic_bool foreign_logged; /* use by another server has been logged */
    /* Of every path of its first mount; 0: see file_path. */
    size_t prefix_length;

    /* Incremented when a watched directory changes, by an upload, and by
     * uvhttp_static_invalidate. */
    _Atomic uint64_t changed;
    struct uvh_dir_watch *directories; /* NULL: nothing is watched */
    int watch_error;                   /* why watching failed */
    atomic_bool watch_error_logged;    /* that error has been logged */
};

/* The handlers below a prefix of fixed length (prefix_length). */
int uvh_static_files_serve_mounted(uvhttp_request_t *request, uvhttp_response_t *response,
                                   void *context);
int uvh_static_files_store_mounted(uvhttp_request_t *request, uvhttp_response_t *response,
                                   void *context);

/* True when the context belongs to this server, or is assigned to it now. */
bool uvh_static_files_belongs_to(struct uvhttp_static *files, const uvhttp_server_t *server);

/* Something has changed since `seen`, possibly at the entry's path. */
static inline bool uvh_static_files_changed(const struct uvhttp_static *context, uint64_t seen)
{
    return seen != atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&context->changed,
                                        memory_order_acquire);
}

#endif
