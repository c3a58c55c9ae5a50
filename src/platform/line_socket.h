/* Lines as messages of syslog (RFC 3164 section 4.1, as syslog(3) sends them) or of systemd's
 * journal (https://systemd.io/JOURNAL_NATIVE_PROTOCOL), over the socket of that service. */
#ifndef UVH_PLATFORM_LINE_SOCKET_H
#define UVH_PLATFORM_LINE_SOCKET_H

#include <stddef.h>
#include <sys/types.h>

enum uvh_line_socket { UVH_LINE_SOCKET_NONE = 0, UVH_LINE_SOCKET_SYSLOG, UVH_LINE_SOCKET_JOURNAL };

/* The kind of a target, "syslog:" or "journal:" with an optional path; `*path` is that of its
 * socket. NONE for other targets. */
enum uvh_line_socket uvh_line_socket_kind(const char *target, const char **path);

/* Returns 0 and a non-blocking socket, or a negative errno. */
int uvh_line_socket_open(const char *path, int *descriptor);

/* Sends the first line. Returns its length with the line end, or a negative errno. */
ssize_t uvh_line_socket_send(enum uvh_line_socket kind, int descriptor, const char *lines,
                             size_t size);

#endif
