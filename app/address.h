/* Addresses to listen on, as people write them: "127.0.0.1:8080", "[::1]:8080", ":8080", "localhost".
 *
 * A parsed address is numeric, so nothing is ever looked up. Called by the options. */
#ifndef UVH_APP_ADDRESS_H
#define UVH_APP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#define UVH_ADDRESS_HOST_SIZE 48
#define UVH_ADDRESS_NO_PORT   (-1)

struct uvh_address {
    char host[UVH_ADDRESS_HOST_SIZE]; /* numeric, without brackets */
    int port;                         /* UVH_ADDRESS_NO_PORT: none was given */
};

/* Takes `length` bytes of `text` apart. False when they are no address. */
bool uvh_address_parse(const char *text, size_t length, struct uvh_address *address);

bool uvh_address_is_ipv6(const char *host);

/* "0.0.0.0" and "::": reachable under every address of the machine. */
bool uvh_address_is_any(const char *host);

/* Reachable from this machine only. */
bool uvh_address_is_loopback(const char *host);

#endif
