/* Addresses to listen on, as people write them: "127.0.0.1:8080", "[::1]:8080", ":8080",
 * "localhost", "unix:/run/site.sock". "http://" or "https://" may stand before all but the last.
 *
 * A parsed address is numeric, so nothing is ever looked up. Called by the options. */
#ifndef UVH_APP_ADDRESS_H
#define UVH_APP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#define UVH_ADDRESS_UNIX "unix:"
#define UVH_ADDRESS_HOST_SIZE \
    (sizeof(UVH_ADDRESS_UNIX) + 107) /* the longest path of a unix socket */
#define UVH_ADDRESS_NO_PORT (-1)
#define UVH_ADDRESS_NEVER   (-2)

enum uvh_scheme {
    UVH_SCHEME_NONE, /* TLS where there is a certificate */
    UVH_SCHEME_HTTP,
    UVH_SCHEME_HTTPS
};

struct uvh_address {
    char host[UVH_ADDRESS_HOST_SIZE]; /* numeric, without brackets; or "unix:" and a path */
    /* UVH_ADDRESS_NO_PORT: none was given; _NEVER: there is none */
    int port;
    enum uvh_scheme scheme; /* as given; of a unix socket always NONE */
};

/* Takes `length` bytes of `text` apart. False when they are no address. */
bool uvh_address_parse(const char *text, size_t length, struct uvh_address *address);

/* The path of a unix socket; NULL for other addresses. */
const char *uvh_address_path(const struct uvh_address *address);

bool uvh_address_is_ipv6(const char *host);

/* "0.0.0.0" and "::": reachable under every address of the machine. */
bool uvh_address_is_any(const char *host);

/* Reachable from this machine only. */
bool uvh_address_is_loopback(const char *host);

#endif
