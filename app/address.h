/* Listen addresses as users write them: "127.0.0.1:8080", "[::1]:8080", ":8080", "8080",
 * "localhost", "unix:/run/site.sock". All but the last may have the prefix "http://" or "https://".
 *
 * A parsed address is numeric; no name is ever resolved. Called by the options. */
#ifndef UVH_APP_ADDRESS_H
#define UVH_APP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#define UVH_ADDRESS_UNIX "unix:"
#define UVH_ADDRESS_ANY  "*" /* every IPv4 and IPv6 address, for the library, too */
/* the longest path of a unix socket has 107 bytes */
#define UVH_ADDRESS_HOST_SIZE (sizeof(UVH_ADDRESS_UNIX) + 107)
/* for error messages */
#define UVH_ADDRESS_ALLOWED                                                                 \
    "allowed are a port, or an IPv4 address, an IPv6 address in brackets, localhost or *, " \
    "optionally with :PORT (0 to 65535) and http:// or https://; or unix:PATH"
#define UVH_ADDRESS_NO_PORT (-1)
#define UVH_ADDRESS_NEVER   (-2)

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
};

/* Parses `length` bytes of `text`. False if they are not an address. */
bool uvh_address_parse(const char *text, size_t length, struct uvh_address *address);

/* The path of a unix socket; NULL for other addresses. */
const char *uvh_address_path(const struct uvh_address *address);

bool uvh_address_is_ipv6(const char *host);

/* "*", "0.0.0.0" and "::": all addresses of the machine, of both families or of one. */
bool uvh_address_is_any(const char *host);
bool uvh_address_has_family(const char *host, int family);

/* Loopback: reachable from this machine only. */
bool uvh_address_is_loopback(const char *host);

#endif
