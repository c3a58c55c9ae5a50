/* Unix sockets. A socket file remains when its process is killed, so an existing one is tested: if
 * connect is refused, the file is stale. */
#include "platform/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "platform/socket.h"

enum {
    LOCK_TRIES = 100,
    LOCK_PAUSE_MS = 10,
};

_Static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) > UVH_UNIX_SOCKET_PATH_MAX, "paths fit");

static int make_address(const char *path, struct sockaddr_un *address, socklen_t *length)
{
    size_t size = strlen(path);
    bool abstract = path[0] == '@';
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    if (size > UVH_UNIX_SOCKET_PATH_MAX)
        return -ENAMETOOLONG;
#if !defined(__linux__)
    if (abstract)
        return -EINVAL;
#endif
    if (size <= (abstract ? 1 : 0)) /* the kernel would choose a name */
        return -EINVAL;
    memcpy(address->sun_path, path, size);
    if (abstract)
        address->sun_path[0] = '\0';
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (abstract ? 0 : 1));
    return 0;
}

/* Stats the name itself; links are not followed. */
static int check(const char *path, struct stat *status)
{
    return lstat(path, status) == 0 ? 0 : -errno;
}

/* Returns 0 if no process accepts connections there. */
static int try_to_connect(const struct sockaddr_un *address, socklen_t length)
{
    int client = uvh_socket_new(AF_UNIX);
    if (client < 0)
        return client;
    int err = connect(client, (const struct sockaddr *)address, length) == 0 ? 0 : errno;
    uvh_socket_close(client);
    return err == ECONNREFUSED ? 0 : -EADDRINUSE;
}

/* Removes a stale socket file. */
static int remove_left_over(const char *path, const struct sockaddr_un *address, socklen_t length)
{
    struct stat before, after;
    int err = check(path, &before);
    if (err == -ENOENT)
        return 0;
    if (err == 0 && !S_ISSOCK(before.st_mode))
        err = -EEXIST;
    if (err == 0)
        err = try_to_connect(address, length);
    if (err == 0)
        err = check(path, &after);
    if (err != 0)
        return err == -ENOENT ? 0 : err;
    /* Another process may have replaced the file meanwhile. */
    if (before.st_dev != after.st_dev || before.st_ino != after.st_ino)
        return -EADDRINUSE;
    return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

/* The mode last: chown may clear bits of it. */
static int set_access(const char *path, const struct uvh_unix_socket_access *access)
{
    uid_t owner = access->owner < 0 ? (uid_t)-1 : (uid_t)access->owner;
    gid_t group = access->group < 0 ? (gid_t)-1 : (gid_t)access->group;
    if ((access->owner >= 0 || access->group >= 0) && lchown(path, owner, group) != 0)
        return -1;
    return access->mode == 0 ? 0 : chmod(path, access->mode & 0777);
}

/* Binds so that the file never has more permissions than requested. The kernel refuses connections
 * until listen(), which follows. */
static int bind_with_access(int socket, const struct sockaddr_un *address, socklen_t length,
                            const struct uvh_unix_socket_access *access)
{
    const char *path = address->sun_path;
    bool is_file = path[0] != '\0';
    if (is_file && access->mode != 0)
        fchmod(socket, access->mode & 0777); /* on Linux the file gets this mode less the umask */
    if (bind(socket, (const struct sockaddr *)address, length) != 0)
        return -errno;
    if (!is_file || set_access(path, access) == 0)
        return 0;
    int err = -errno;
    unlink(path);
    return err;
}

static void remove_own(const char *path, const struct uvh_unix_socket_file *file)
{
    struct stat status;
    if (file->inode == 0 || check(path, &status) != 0 || !S_ISSOCK(status.st_mode))
        return;
    if (status.st_dev == file->device && status.st_ino == file->inode)
        unlink(path);
}

/* Serialises processes that start or end in the same directory; otherwise one could remove a
 * socket file as stale that another has bound but does not listen on yet. Closing the returned
 * descriptor releases the lock. If the directory cannot be opened (-1) or stays locked, the
 * start continues. */
static int lock_directory(const char *path)
{
    char directory[UVH_UNIX_SOCKET_PATH_MAX + 1] = ".";
    const char *name = strrchr(path, '/');
    if (name != NULL) {
        size_t length = name == path ? 1 : (size_t)(name - path);
        memcpy(directory, path, length);
        directory[length] = '\0';
    }
    int directory_lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0;
         directory_lock >= 0 && i < LOCK_TRIES && flock(directory_lock, LOCK_EX | LOCK_NB) != 0;
         i++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            break;
        /* There is no event for a free lock, and flock might block forever. */
        poll(NULL, 0, LOCK_PAUSE_MS);
    }
    return directory_lock;
}

static int listen_on(const char *path, const struct uvh_unix_socket_access *access, int backlog,
                     struct uvh_unix_socket_file *file)
{
    struct sockaddr_un address;
    struct stat status;
    socklen_t length = 0;
    int err = make_address(path, &address, &length);
    if (err == 0 && path[0] != '@')
        err = remove_left_over(path, &address, length);
    if (err != 0)
        return err;
    int listener = uvh_socket_new(AF_UNIX);
    if (listener < 0)
        return listener;
    err = bind_with_access(listener, &address, length, access);
    if (err == 0 && path[0] != '@' && (err = check(path, &status)) == 0)
        *file = (struct uvh_unix_socket_file){status.st_dev, status.st_ino};
    if (err == 0 && listen(listener, backlog) != 0)
        err = -errno;
    if (err == 0)
        return listener;
    remove_own(path, file);
    uvh_socket_close(listener);
    return err;
}

int uvh_unix_socket_listen(const char *path, const struct uvh_unix_socket_access *access,
                           int backlog, struct uvh_unix_socket_file *file)
{
    *file = (struct uvh_unix_socket_file){0, 0};
    bool is_file = path[0] != '@' && strlen(path) <= UVH_UNIX_SOCKET_PATH_MAX;
    int directory_lock = is_file ? lock_directory(path) : -1;
    int listener = listen_on(path, access, backlog, file);
    if (directory_lock >= 0)
        close(directory_lock);
    return listener;
}

void uvh_unix_socket_remove(const char *path, const struct uvh_unix_socket_file *file)
{
    int directory_lock = file->inode == 0 ? -1 : lock_directory(path);
    remove_own(path, file);
    if (directory_lock >= 0)
        close(directory_lock);
}
