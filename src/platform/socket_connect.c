/* See the header: connect(2) on a non-blocking socket. */
#include "platform/socket_connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "platform/socket.h"

int uvh_socket_connect(const struct sockaddr *address)
{
    if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
        return -EAFNOSUPPORT;
    socklen_t length =
        address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int made = uvh_socket_new(address->sa_family);
    if (made < 0)
        return made;
    int err = uvh_socket_set_tcp(made);
    /* After EINTR the connect continues asynchronously. */
    if (err == 0 && connect(made, address, length) != 0 && errno != EINPROGRESS && errno != EINTR)
        err = -errno;
    if (err == 0)
        return made;
    uvh_socket_close(made);
    return err;
}

int uvh_socket_connect_result(int socket)
{
    int err = 0;
    socklen_t size = sizeof(err);
    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &err, &size) != 0)
        return -errno;
    return -err;
}
