/* Atomic creation of files: bytes are written to a file with a hidden name in a directory, and the
 * complete file is renamed. For uploads: a partial file is never visible under its final name, and
 * an aborted one is removed.
 *
 * All functions may block on disk I/O, so they run in jobs; any thread, one at a time for one
 * store. Functions return 0 or a negative errno, which is libuv's code. */
#ifndef UVH_PLATFORM_STORE_H
#define UVH_PLATFORM_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include <uvhttp/types.h>

/* Prefix of hidden names; their suffix is ".part". */
#define UVH_STORE_PREFIX ".uvhttp-"

enum {
    UVH_STORE_NAME_SIZE = 32, /* bytes of a hidden name, NUL included */
    UVH_STORE_SLICES = 16,    /* areas per write */
    UVH_STORE_NAME_MOST = 255 /* longest file name, bytes */
};

/* The directory of all files of one store, and its open file. */
struct uvh_store {
    int directory;  /* -1: not open */
    int descriptor; /* -1: none */
};

void uvh_store_init(struct uvh_store *store);

/* Opens the directory; the store keeps it even if its path changes later. `create`: creates it if
 * it is absent, but no parents. */
int uvh_store_open(struct uvh_store *store, const char *directory, bool create);

/* Creates a file with a unique hidden name, which is written to `name`. `mode`: its permission
 * bits, or 0 for 0666 less the umask. With other bits only its owner can open the file before it is
 * complete. */
int uvh_store_begin(struct uvh_store *store, unsigned mode, char name[UVH_STORE_NAME_SIZE]);

/* Appends at most UVH_STORE_SLICES areas. */
int uvh_store_write(struct uvh_store *store, const uvhttp_slice_t *slices, size_t count);

/* Completes the file: sets its permissions as in begin, flushes it to disk if `sync`, and closes
 * it. */
int uvh_store_end(struct uvh_store *store, unsigned mode, bool sync);

/* Renames a completed file to `to` in the same directory and replaces an existing file; `*created`
 * is false then. `keep`: fails with -EEXIST instead. `sync` flushes the directory to disk. */
int uvh_store_publish(struct uvh_store *store, const char *name, const char *to, bool keep,
                      bool sync, bool *created);

/* The same to any path of the same file system, which must not exist (-EEXIST; -EXDEV for another
 * file system). */
int uvh_store_move(struct uvh_store *store, const char *name, const char *path);

/* Flushes renames and removals in the directory to disk. */
int uvh_store_sync(const struct uvh_store *store);

/* Writes bytes to a new file; -EEXIST if the path exists. */
int uvh_store_write_new(const char *path, const void *data, size_t size, unsigned mode);

/* Removes an aborted file. */
void uvh_store_remove(struct uvh_store *store, const char *name);

/* Closes the open file and the directory. */
void uvh_store_close(struct uvh_store *store);

/* True if a name from an untrusted source is safe for a file: 1 to 255 bytes, no slash, no control
 * character, not "." or "..", and not a name that hidden files may have. */
bool uvh_store_name_is_plain(uvhttp_slice_t name);

#endif
