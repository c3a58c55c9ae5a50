/* Detects changes in directories below a root with inotify, on its own thread.
 *
 * A watched directory has a change counter that goes up with every change in it. A cache stores the
 * counter with each entry and revalidates the entry when they differ. A change of a directory also
 * counts for all directories below it. One more counter, the caller's, goes up after every change
 * anywhere, so that a cache needs to read only this one while nothing changes.
 *
 * After a mount or unmount all directories count as changed, because other ones may be at their
 * paths. So they do after the root was followed to another directory, by a lookup or by this thread
 * ten times per second: inotify reports neither the links on the root's path nor their targets.
 *
 * inotify does not report changes through a hard link or a symbolic link to another directory,
 * through a memory mapping, or by other machines of a network file system. Always true: at most the
 * configured number of directories is watched. A directory in the table stays there until close,
 * watched or not; so does the root's while no directory is at its path. */
#ifndef UVH_PLATFORM_DIR_WATCH_H
#define UVH_PLATFORM_DIR_WATCH_H

#include <stdatomic.h>
#include <stdint.h>

#include <uvhttp/types.h>

#include "platform/file.h"

struct uvh_dir_watch;
struct uvh_watched_dir;

/* `root` outlives the watch. `changed` goes up with each change of any directory; any thread may
 * read it. Returns 0, UVHTTP_ENOMEM, or a negative errno: -EMFILE (no descriptors left, or the
 * user's limit of inotify instances), -ENOSYS (no inotify). */
int uvh_dir_watch_open(struct uvh_dir_watch **watch, const uvhttp_allocator_t *allocator,
                       const struct uvh_file_root *root, size_t most, _Atomic uint64_t *changed);
/* No other thread may use the watch during and after the call. NULL is allowed. */
void uvh_dir_watch_close(struct uvh_dir_watch *watch);

/* Watches the parent directory of the last name of `path` ("a/b" for "a/b/c" and for "a/b/") and
 * those above it. Returns it, or the nearest existing one above; its counter covers all changes
 * from now on. NULL if it cannot be watched: too many, no permission, no memory. Any thread; no
 * system call for a directory that is already watched. */
struct uvh_watched_dir *uvh_dir_watch_add(struct uvh_dir_watch *watch, uvhttp_slice_t path);

/* Any thread, until the watch is closed. */
uint64_t uvh_dir_watch_changes(const struct uvh_watched_dir *directory);

/* The number of watched directories. Any thread. */
size_t uvh_dir_watch_count(const struct uvh_dir_watch *watch);

#endif
