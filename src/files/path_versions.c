/* The number of a path is the hash of its stem: without a trailing slash, and without the part of
 * its last name from the first dot on. */
#include "files/path_versions.h"

#include <string.h>

#include "base/hash.h"

void uvh_path_versions_init(struct uvh_path_versions *versions, bool shared,
                            _Atomic uint64_t *changed)
{
    versions->shared = shared;
    versions->changed = changed;
}

/* The length of the directory of a path; 0: it is the root. */
static size_t dir_length(uvhttp_slice_t path)
{
    const char *slash = path.length == 0 ? NULL : memrchr(path.base, '/', path.length);
    return slash == NULL ? 0 : (size_t)(slash - path.base);
}

static uvhttp_slice_t stem_of(uvhttp_slice_t path)
{
    if (path.length > 0 && path.base[path.length - 1] == '/')
        path.length--;
    size_t directory = dir_length(path);
    size_t name = directory == 0 ? 0 : directory + 1;
    if (name + 1 >= path.length)
        return path;
    /* A dot at the beginning of a name, or after the slash of the root, is no extension. */
    const char *dot = memchr(path.base + name + 1, '.', path.length - name - 1);
    if (dot != NULL)
        path.length = (size_t)(dot - path.base);
    return path;
}

unsigned uvh_path_versions_index(const struct uvh_path_versions *versions, uvhttp_slice_t path)
{
    uvhttp_slice_t stem = stem_of(path);
    return versions->shared ? 0
                            : (unsigned)(uvh_hash(stem.base, stem.length, 0) % UVH_PATH_VERSIONS);
}

static void raise_one(struct uvh_path_versions *versions, uvhttp_slice_t path)
{
    unsigned index = uvh_path_versions_index(versions, path);
    atomic_fetch_add_explicit(&versions->numbers[index], 1, memory_order_release);
}

void uvh_path_versions_raise(struct uvh_path_versions *versions, uvhttp_slice_t path)
{
    raise_one(versions, path);
    raise_one(versions, (uvhttp_slice_t){path.base, dir_length(path)});
    atomic_fetch_add_explicit(versions->changed, 1, memory_order_release);
}

void uvh_path_versions_raise_directories(struct uvh_path_versions *versions,
                                         uvhttp_slice_t directory)
{
    for (;; directory.length = dir_length(directory)) {
        raise_one(versions, directory);
        if (directory.length == 0)
            break;
    }
    atomic_fetch_add_explicit(versions->changed, 1, memory_order_release);
}

void uvh_path_versions_raise_all(struct uvh_path_versions *versions)
{
    for (size_t i = 0; i < UVH_PATH_VERSIONS; i++)
        atomic_fetch_add_explicit(&versions->numbers[i], 1, memory_order_release);
    atomic_fetch_add_explicit(versions->changed, 1, memory_order_release);
}
