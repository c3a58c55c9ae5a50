/* Listening sockets that have a path instead of a port (unix(7)), and the files that stand for
 * them.
 *
 * Always true: a file is removed only when it is a socket nobody accepts connections on, or the one
 * that was made here, and several processes that do this at once take turns by a lock on the folder
 * (flock(2)), a second at most. Called by server/listening.c. */
#ifndef UVH_PLATFORM_UNIX_SOCKET_H
#define UVH_PLATFORM_UNIX_SOCKET_H

#include <stdint.h>

/* Which file it was, so that another one of the same name is left alone. Zero: there is none. */
struct uvh_unix_socket_file {
    uint64_t device;
    uint64_t inode;
};

/* The socket, or a negative errno: ENAMETOOLONG (sun_path has UVH_UNIX_SOCKET_PATH_MAX bytes),
 * EADDRINUSE (somebody accepts on it, or it cannot be found out), EEXIST (a file that is no
 * socket), EINVAL (nothing behind '@', or abstract names do not exist here), those of bind. `mode`
 * are the permissions of the file, 0 for what the umask leaves. A path that begins with '@' is an
 * abstract name (Linux), which is no file. */
enum { UVH_UNIX_SOCKET_PATH_MAX = 107 };
int uvh_unix_socket_listen(const char *path, unsigned mode, int backlog,
                           struct uvh_unix_socket_file *file);

/* Removes the file unless another one has taken its name. */
void uvh_unix_socket_remove(const char *path, const struct uvh_unix_socket_file *file);

#endif
