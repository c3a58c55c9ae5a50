/* Listening unix sockets (unix(7)) and their files.
 *
 * Always true: a file is removed only if it is a socket on which no process accepts connections, or
 * the one created here. Concurrent processes serialise this by a lock on the directory (flock(2)),
 * for at most a second. */
#ifndef UVH_PLATFORM_UNIX_SOCKET_H
#define UVH_PLATFORM_UNIX_SOCKET_H

#include <stdint.h>

/* Identity of the socket file, so that another one of the same name is not removed. Zero: none. */
struct uvh_unix_socket_file {
    uint64_t device;
    uint64_t inode;
};

/* Who may connect. */
struct uvh_unix_socket_access {
    unsigned mode;        /* permissions of the file, 0 for the umask's */
    int64_t owner, group; /* of the file; negative: those of the process */
};

/* Returns the socket, or a negative errno: ENAMETOOLONG (sun_path has UVH_UNIX_SOCKET_PATH_MAX
 * bytes), EADDRINUSE (a process accepts connections on it, or that cannot be checked), EEXIST (a
 * file that is no socket), EINVAL (nothing after '@', or no abstract names on this system), or an
 * error of bind, chown and chmod. A path that begins with '@' is an abstract name (Linux), which is
 * no file. */
enum { UVH_UNIX_SOCKET_PATH_MAX = 107 };
int uvh_unix_socket_listen(const char *path, const struct uvh_unix_socket_access *access,
                           int backlog, struct uvh_unix_socket_file *file);

/* Removes the file unless another one has replaced it. */
void uvh_unix_socket_remove(const char *path, const struct uvh_unix_socket_file *file);

#endif
