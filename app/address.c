/* Parses a listen address: HOST, HOST:PORT, IPV6, [IPV6], [IPV6]:PORT, :PORT or unix:PATH,
 * where HOST is a numeric address, "localhost" (127.0.0.1) or "*" (every address); or PORT. Names
 * are not resolved: a DNS change must not make a server listen elsewhere. Called by options.c
 * and banner.c. */
#include "address.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define PORT_MAX 65535

static bool parse_port(const char *text, size_t length, int *port)
{
    if (length == 0 || length > 5)
        return false;
    int value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *port = value;
    return value <= PORT_MAX;
}

static bool is_numeric(int family, const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(family, host, bytes) == 1;
}

static bool set_host(struct uvh_address *address, const char *text, size_t length)
{
    if (length >= sizeof(address->host))
        return false;
    memcpy(address->host, text, length);
    address->host[length] = '\0';
    return true;
}

/* "[IPV6]" with or without ":PORT". */
static bool parse_bracketed(const char *text, size_t length, struct uvh_address *address)
{
    const char *end = memchr(text, ']', length);
    if (end == NULL)
        return false;
    size_t host_length = (size_t)(end - text) - 1;
    if (!set_host(address, text + 1, host_length) || !is_numeric(AF_INET6, address->host))
        return false;
    size_t rest = length - host_length - 2;
    if (rest == 0)
        return true;
    return end[1] == ':' && parse_port(end + 2, rest - 1, &address->port);
}

/* The length of a scheme at the start of `text`, with its "://". */
static size_t parse_scheme(const char *text, size_t length, struct uvh_address *address)
{
    static const char *const schemes[] = {
        [UVH_SCHEME_HTTP] = "http://", [UVH_SCHEME_HTTPS] = "https://"};
    address->scheme = UVH_SCHEME_NONE;
    for (unsigned i = UVH_SCHEME_HTTP; i <= UVH_SCHEME_HTTPS; i++) {
        size_t own = strlen(schemes[i]);
        if (length < own || strncasecmp(text, schemes[i], own) != 0)
            continue;
        address->scheme = (enum uvh_scheme)i;
        return own;
    }
    return 0;
}

bool uvh_address_parse(const char *text, size_t length, struct uvh_address *address)
{
    size_t scheme_length = parse_scheme(text, length, address);
    address->port = UVH_ADDRESS_NO_PORT;
    text += scheme_length;
    length -= scheme_length;
    if (length == 0)
        return false;
    if (length > strlen(UVH_ADDRESS_UNIX) &&
        memcmp(text, UVH_ADDRESS_UNIX, strlen(UVH_ADDRESS_UNIX)) == 0) {
        address->port = UVH_ADDRESS_NEVER;
        return scheme_length == 0 && set_host(address, text, length);
    }
    if (text[0] == '[')
        return parse_bracketed(text, length, address);
    if (set_host(address, text, length) && is_numeric(AF_INET6, address->host))
        return true; /* without brackets there is no port, so it is unambiguous */

    if (parse_port(text, length, &address->port))
        return set_host(address, UVH_ADDRESS_ANY, strlen(UVH_ADDRESS_ANY));

    const char *colon = memchr(text, ':', length);
    size_t host_length = colon == NULL ? length : (size_t)(colon - text);
    address->port = UVH_ADDRESS_NO_PORT;
    if (colon != NULL && !parse_port(colon + 1, length - host_length - 1, &address->port))
        return false;
    if (!set_host(address, text, host_length))
        return false;
    if (host_length == 0 || strcmp(address->host, UVH_ADDRESS_ANY) == 0)
        return set_host(address, UVH_ADDRESS_ANY, strlen(UVH_ADDRESS_ANY));
    if (strcasecmp(address->host, "localhost") == 0)
        return set_host(address, "127.0.0.1", 9);
    return is_numeric(AF_INET, address->host);
}

const char *uvh_address_path(const struct uvh_address *address)
{
    return address->port == UVH_ADDRESS_NEVER ? address->host + strlen(UVH_ADDRESS_UNIX) : NULL;
}

bool uvh_address_is_ipv6(const char *host)
{
    return strchr(host, ':') != NULL;
}

bool uvh_address_is_any(const char *host)
{
    struct in6_addr six;
    struct in_addr four;
    if (strcmp(host, UVH_ADDRESS_ANY) == 0)
        return true;
    if (inet_pton(AF_INET6, host, &six) == 1)
        return IN6_IS_ADDR_UNSPECIFIED(&six);
    return inet_pton(AF_INET, host, &four) == 1 && four.s_addr == htonl(INADDR_ANY);
}

bool uvh_address_has_family(const char *host, int family)
{
    return strcmp(host, UVH_ADDRESS_ANY) == 0 ||
           family == (uvh_address_is_ipv6(host) ? AF_INET6 : AF_INET);
}

bool uvh_address_is_loopback(const char *host)
{
    struct in6_addr six;
    struct in_addr four;
    if (inet_pton(AF_INET6, host, &six) == 1)
        return IN6_IS_ADDR_LOOPBACK(&six);
    return inet_pton(AF_INET, host, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}
