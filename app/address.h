/* Listen addresses as users write them: "127.0.0.1:8080", "[::1]:8080", ":8080", "8080",
 * "localhost", "unix:/run/site.sock". All but the last may have the prefix "http://" or "https://".
 * The last may have the suffixes ":mode=0660", ":owner=www" and ":group=www".
 *
 * A parsed address is numeric; no name is ever resolved. */
#ifndef UVH_APP_ADDRESS_H
#define UVH_APP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "user_id.h"

#define UVH_ADDRESS_UNIX "unix:"
#define UVH_ADDRESS_ANY  "*" /* every IPv4 and IPv6 address, for the library, too */
/* the longest path of a unix socket has 107 bytes */
#define UVH_ADDRESS_HOST_SIZE (sizeof(UVH_ADDRESS_UNIX) + 107)
#define UVH_ADDRESS_NO_PORT   (-1)
#define UVH_ADDRESS_NEVER     (-2)

#define UVH_ADDRESS_ERROR_SIZE 512

enum uvh_scheme {
    UVH_SCHEME_NONE, /* TLS if there is a certificate */
    UVH_SCHEME_HTTP,
    UVH_SCHEME_HTTPS
};

struct uvh_address {
    char host[UVH_ADDRESS_HOST_SIZE]; /* numeric, without brackets; "*"; or "unix:" and a path */
    /* UVH_ADDRESS_NO_PORT: not given; _NEVER: has no port */
    int port;
    enum uvh_scheme scheme; /* as given; NONE for a unix socket */
    /* of the file of a unix socket */
    unsigned mode;                                             /* 0: by the umask */
    char owner[UVH_USER_NAME_SIZE], group[UVH_USER_NAME_SIZE]; /* "": those of the process */
};

/* Parses `length` bytes of `text`. False with a message if they are not an address, or if it names
 * a user or group that does not exist. */
bool uvh_address_parse(const char *text, size_t length, struct uvh_address *address,
                       char error[UVH_ADDRESS_ERROR_SIZE]);

/* Sets "mode", "owner" or "group". False with a message if the value is invalid. */
bool uvh_address_set_access(struct uvh_address *address, const char *key, const char *value,
                            char error[UVH_ADDRESS_ERROR_SIZE]);

/* Makes it a unix socket, after its mode, owner and group have been set; `path` may be that of the
 * address. False with a message if the path is invalid, or is no file but there is a mode. */
bool uvh_address_set_path(struct uvh_address *address, const char *path,
                          char error[UVH_ADDRESS_ERROR_SIZE]);

/* The path of a unix socket; NULL for other addresses. */
const char *uvh_address_path(const struct uvh_address *address);

bool uvh_address_is_ipv6(const char *host);

/* "*", "0.0.0.0" and "::": all addresses of the machine, of both families or of one. */
bool uvh_address_is_any(const char *host);
bool uvh_address_has_family(const char *host, int family);

/* Loopback: reachable from this machine only. */
bool uvh_address_is_loopback(const char *host);

#endif
