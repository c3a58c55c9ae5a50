/* Files that come into being: bytes go to a file with a hidden name in a folder, and only when all
 * are there it gets its own name, in one step. For uploads: nobody ever sees half a file under the
 * name that was meant, and what is given up is removed.
 *
 * All functions may wait for the disk, so they run in jobs; any thread, one at a time for one
 * store. Results are 0 or a negative errno, which is libuv's code. Called by uploads/spool.c and
 * files/static_upload.c. */
#ifndef UVH_PLATFORM_STORE_H
#define UVH_PLATFORM_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include <uvhttp/types.h>

/* How hidden names begin. They end with ".part". */
#define UVH_STORE_PREFIX ".uvhttp-"

enum {
    UVH_STORE_NAME_SIZE = 32, /* of a hidden name, NUL included */
    UVH_STORE_PIECES = 16,    /* that are written at once */
    UVH_STORE_NAME_MOST = 255 /* bytes of a file's name */
};

/* The folder of all files of one store, and the one of them that is open. */
struct uvh_store {
    int folder;     /* -1: not open */
    int descriptor; /* -1: none */
};

void uvh_store_init(struct uvh_store *store);

/* Opens the folder; it stays the same one whatever happens to its path. */
int uvh_store_open(struct uvh_store *store, const char *folder);

/* Makes a file with a name of its own, which is written to `name`. `mode` are its permission bits,
 * 0: what the process's umask leaves of 0666. With other bits nobody else can open the file before
 * it is complete. */
int uvh_store_begin(struct uvh_store *store, unsigned mode, char name[UVH_STORE_NAME_SIZE]);

/* Writes all bytes of at most UVH_STORE_PIECES pieces behind what was written. */
int uvh_store_write(struct uvh_store *store, const uvhttp_slice_t *pieces, size_t count);

/* The file is complete: sets its permissions as in begin, brings it to the disk if `sync`, and
 * closes it. */
int uvh_store_end(struct uvh_store *store, unsigned mode, bool sync);

/* Gives a file that has ended its name, `to` in the same folder, whatever stood there; `*created`
 * is false when something did, and with `keep` that is -EEXIST and nothing happens. `sync` brings
 * the folder to the disk. */
int uvh_store_publish(struct uvh_store *store, const char *name, const char *to, bool keep,
                      bool sync, bool *created);

/* The same to any path of the same file system, which must not exist (-EEXIST; -EXDEV for another
 * file system). */
int uvh_store_move(struct uvh_store *store, const char *name, const char *path);

/* Brings what happened to names in the folder to the disk. */
int uvh_store_sync(const struct uvh_store *store);

/* Writes bytes to a new file; -EEXIST when there is something. */
int uvh_store_write_new(const char *path, const void *data, size_t size, unsigned mode);

/* Removes a file that nobody wants. */
void uvh_store_remove(struct uvh_store *store, const char *name);

/* Closes what is open. */
void uvh_store_close(struct uvh_store *store);

/* True for a name that can be given to a file by somebody who is not trusted: 1 to 255 bytes, no
 * slash, no control character, not "." or "..", and not one that a hidden file may have. */
bool uvh_store_name_is_plain(uvhttp_slice_t name);

#endif
