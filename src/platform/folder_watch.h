/* Says that something has changed in folders below a root, by inotify, on a thread of its own.
 *
 * A folder that is watched has a number which goes up with every change in it: whoever keeps
 * something that came from the folder keeps the number, too, and needs to look again once they
 * differ. A change of a folder above is one of all that lie below. One more number, of the user's,
 * goes up with every change anywhere, after that of the folder, so that a look at it is enough as
 * long as nothing happens.
 *
 * When something is mounted or unmounted anywhere, all folders count as changed, since there may be
 * another one at their paths.
 *
 * What the system does not tell: changes through another name of the same file, behind a link that
 * leads to another folder, through a mapping, and on other machines of a network file system.
 * Always true: at most so many folders as were allowed, whatever is asked for; a folder that is
 * here once stays until the end, watched or not. Called by files/static_fetch.c. */
#ifndef UVH_PLATFORM_FOLDER_WATCH_H
#define UVH_PLATFORM_FOLDER_WATCH_H

#include <stdatomic.h>
#include <stdint.h>

#include <uvhttp/types.h>

#include "platform/file.h"

struct uvh_folder_watch;
struct uvh_watched_folder;

/* `changed` goes up with each change of any folder, and may be read by any thread. 0,
 * UVHTTP_ENOMEM, or a negative errno: -EMFILE when there are no descriptors or the user has too
 * many watches of the kind, -ENOSYS without inotify. */
int uvh_folder_watch_open(struct uvh_folder_watch **watch, const uvhttp_allocator_t *allocator,
                          size_t most, _Atomic uint64_t *changed);
/* Nobody adds or reads any more. NULL is fine. */
void uvh_folder_watch_close(struct uvh_folder_watch *watch);

/* Watches the folder in which the last name of `path` stands ("a/b" for "a/b/c" and for "a/b/"),
 * and those above it. Returns it, or the nearest one above that is there; its changes from now on
 * are told. NULL when it cannot be watched: too many, no permission, no memory. `root` outlives the
 * watch. Any thread; costs no system call for a folder that is watched already. */
struct uvh_watched_folder *uvh_folder_watch_add(struct uvh_folder_watch *watch,
                                                const struct uvh_file_root *root,
                                                uvhttp_slice_t path);

/* Any thread, until the watch is closed. */
uint64_t uvh_folder_watch_changes(const struct uvh_watched_folder *folder);

/* How many folders are watched at the moment. Any thread. */
size_t uvh_folder_watch_count(const struct uvh_folder_watch *watch);

#endif
