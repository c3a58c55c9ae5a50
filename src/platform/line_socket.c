/* See the header. */
#include "platform/line_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { PREFIX_SIZE = 128 };

static const struct {
    const char *prefix, *usual;
} kinds[] = {
    [UVH_LINE_SOCKET_SYSLOG] = {"syslog:", "/dev/log"},
    [UVH_LINE_SOCKET_JOURNAL] = {"journal:", "/run/systemd/journal/socket"},
};

enum uvh_line_socket uvh_line_socket_kind(const char *target, const char **path)
{
    for (int kind = UVH_LINE_SOCKET_SYSLOG; kind <= UVH_LINE_SOCKET_JOURNAL; kind++) {
        size_t length = strlen(kinds[kind].prefix);
        if (strncmp(target, kinds[kind].prefix, length) != 0)
            continue;
        *path = target[length] == '\0' ? kinds[kind].usual : target + length;
        return (enum uvh_line_socket)kind;
    }
    *path = NULL;
    return UVH_LINE_SOCKET_NONE;
}

int uvh_line_socket_open(const char *path, int *descriptor)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    int opened = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (opened >= 0 && connect(opened, (struct sockaddr *)&address, sizeof(address)) == 0) {
        *descriptor = opened;
        return 0;
    }
    int err = -errno;
    if (opened >= 0)
        close(opened);
    return err;
}

/* The names of months are those of the C locale. */
static size_t syslog_prefix(char prefix[PREFIX_SIZE])
{
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    int length = snprintf(prefix, PREFIX_SIZE,
                          "<%d>%s %2d %02d:%02d:%02d uvhttp[%ld]: ", LOG_DAEMON | LOG_INFO,
                          months[local.tm_mon % 12], local.tm_mday, local.tm_hour, local.tm_min,
                          local.tm_sec, (long)getpid());
    return (size_t)length;
}

static size_t journal_prefix(char prefix[PREFIX_SIZE])
{
    return (size_t)snprintf(prefix, PREFIX_SIZE,
                            "PRIORITY=%d\nSYSLOG_IDENTIFIER=uvhttp\nMESSAGE=", LOG_INFO);
}

ssize_t uvh_line_socket_send(enum uvh_line_socket kind, int descriptor, const char *lines,
                             size_t size)
{
    char prefix[PREFIX_SIZE];
    const char *end = memchr(lines, '\n', size);
    size_t length = end == NULL ? size : (size_t)(end - lines) + 1;
    bool syslog = kind == UVH_LINE_SOCKET_SYSLOG;
    /* the journal needs the line end, syslog must not have it */
    struct iovec parts[] = {
        {.iov_base = prefix, .iov_len = syslog ? syslog_prefix(prefix) : journal_prefix(prefix)},
        {.iov_base = (char *)(uintptr_t)lines, .iov_len = length - (syslog && end != NULL)}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(descriptor, &message, MSG_NOSIGNAL) >= 0 ? (ssize_t)length : -errno;
}
