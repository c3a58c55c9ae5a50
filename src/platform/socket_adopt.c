/* Checks the type and state of a descriptor before it is used. */
#include "platform/socket_adopt.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/socket.h"

enum { FIRST_INHERITED = 3 }; /* SD_LISTEN_FDS_START */

static int option_of(int socket, int option, int *value)
{
    socklen_t size = sizeof(*value);
    return getsockopt(socket, SOL_SOCKET, option, value, &size) == 0 ? 0 : -errno;
}

static int adopt(int socket, bool listens)
{
    struct sockaddr_storage own, peer;
    socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
    int type = 0, accepts = 0;
    int err = option_of(socket, SO_TYPE, &type);
    if (err == 0)
        err = option_of(socket, SO_ACCEPTCONN, &accepts);
    if (err == 0 && getsockname(socket, (struct sockaddr *)&own, &own_size) != 0)
        err = -errno;
    if (err != 0)
        return err;
    bool is_tcp = own.ss_family == AF_INET || own.ss_family == AF_INET6;
    if (type != SOCK_STREAM || (accepts != 0) != listens || !(is_tcp || own.ss_family == AF_UNIX))
        return -EINVAL;
    if (!listens && getpeername(socket, (struct sockaddr *)&peer, &peer_size) != 0)
        return errno == ENOTCONN ? -EINVAL : -errno;
    err = uvh_socket_make_ours(socket);
    return err == 0 && is_tcp ? uvh_socket_set_tcp(socket) : err;
}

int uvh_socket_adopt_listener(int socket)
{
    return adopt(socket, true);
}

int uvh_socket_adopt_connection(int socket)
{
    return adopt(socket, false);
}

/* The number that is the whole value of an environment variable; 0 if it is not from 1 to
 * `most`. */
static long number_of(const char *name, long most)
{
    const char *text = getenv(name);
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return 0;
    errno = 0;
    long number = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && number <= most ? number : 0;
}

int uvh_socket_inherited(int *first)
{
    *first = FIRST_INHERITED;
    if (number_of("LISTEN_PID", LONG_MAX) != (long)getpid())
        return 0;
    return (int)number_of("LISTEN_FDS", INT_MAX - FIRST_INHERITED);
}
