/* Parses a listen address: HOST, HOST:PORT, IPV6, [IPV6], [IPV6]:PORT, :PORT or
 * unix:PATH[:KEY=VALUE], where HOST is a numeric address, "localhost" (127.0.0.1) or "*" (every
 * address); or PORT. Names are not resolved: a DNS change must not make a server listen
 * elsewhere. */
#include "address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Writes it in the form that the system has for this address, so that equal ones are the same. */
static bool make_numeric(int family, struct uvh_address *address)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(family, address->host, bytes) == 1 &&
           inet_ntop(family, bytes, address->host, sizeof(address->host)) != NULL;
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
    if (!set_host(address, text + 1, host_length) || !make_numeric(AF_INET6, address))
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

/* True if it has a mode, an owner or a group. */
static bool has_access(const struct uvh_address *address)
{
    return address->mode != 0 || address->owner[0] != '\0' || address->group[0] != '\0';
}

bool uvh_address_set_access(struct uvh_address *address, const char *key, const char *value,
                            char error[UVH_ADDRESS_ERROR_SIZE])
{
    if (strcmp(key, "mode") == 0) {
        size_t digits = strspn(value, "01234567");
        unsigned long mode = strtoul(value, NULL, 8);
        address->mode = (unsigned)mode;
        if (digits > 0 && value[digits] == '\0' && mode >= 0600 && mode <= 0777)
            return true;
        snprintf(error, UVH_ADDRESS_ERROR_SIZE,
                 "mode '%s' is invalid; allowed are 0600 to 0777, in octal digits", value);
        return false;
    }
    bool owner = strcmp(key, "owner") == 0;
    size_t length = strlen(value);
    if (length < UVH_USER_NAME_SIZE && (owner ? uvh_user_id(value) : uvh_group_id(value)) >= 0) {
        memcpy(owner ? address->owner : address->group, value, length + 1);
        return true;
    }
    snprintf(error, UVH_ADDRESS_ERROR_SIZE, owner ? UVH_USER_UNKNOWN : UVH_GROUP_UNKNOWN, value);
    return false;
}

bool uvh_address_set_path(struct uvh_address *address, const char *path,
                          char error[UVH_ADDRESS_ERROR_SIZE])
{
    size_t prefix = strlen(UVH_ADDRESS_UNIX), length = strlen(path);
    if (length == 0) {
        snprintf(error, UVH_ADDRESS_ERROR_SIZE, "the address of a unix socket has no path");
        return false;
    }
    if (length >= sizeof(address->host) - prefix) {
        snprintf(error, UVH_ADDRESS_ERROR_SIZE,
                 "the path of a unix socket is limited to %zu bytes; '%s' has %zu",
                 sizeof(address->host) - prefix - 1, path, length);
        return false;
    }
    if (*path == '@' && has_access(address)) {
        snprintf(error, UVH_ADDRESS_ERROR_SIZE,
                 "the abstract name '%s' has no mode, owner and group; give the path of a file",
                 path);
        return false;
    }
    memmove(address->host + prefix, path, length + 1); /* it may be the path of the address */
    memcpy(address->host, UVH_ADDRESS_UNIX, prefix);
    address->port = UVH_ADDRESS_NEVER;
    return true;
}

/* The first suffix of a unix socket, or the end of the text. */
static char *find_access(char *text)
{
    static const char *const keys[] = {":mode=", ":owner=", ":group="};
    char *first = text + strlen(text);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char *found = strstr(text, keys[i]);
        if (found != NULL && found < first)
            first = found;
    }
    return first;
}

/* PATH, with ":mode=MODE", ":owner=USER" and ":group=GROUP" in any order. Changes the text. */
static bool parse_path(char *path, struct uvh_address *address, char error[UVH_ADDRESS_ERROR_SIZE])
{
    char *access = find_access(path);
    while (*access != '\0') {
        char *key = access + 1;
        *access = '\0';
        access = find_access(key);
        char *value = strchr(key, '=') + 1;
        char end = *access;
        value[-1] = *access = '\0';
        bool valid = uvh_address_set_access(address, key, value, error);
        *access = end;
        if (!valid)
            return false;
    }
    return uvh_address_set_path(address, path, error);
}

static bool parse_host(const char *text, size_t length, struct uvh_address *address)
{
    if (text[0] == '[')
        return parse_bracketed(text, length, address);
    if (set_host(address, text, length) && make_numeric(AF_INET6, address))
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
    return make_numeric(AF_INET, address);
}

bool uvh_address_parse(const char *text, size_t length, struct uvh_address *address,
                       char error[UVH_ADDRESS_ERROR_SIZE])
{
    char path[UVH_ADDRESS_HOST_SIZE + 2 * UVH_USER_NAME_SIZE + sizeof(":mode=0660:owner=:group=")];
    *address = (struct uvh_address){.port = UVH_ADDRESS_NO_PORT};
    size_t scheme = parse_scheme(text, length, address), prefix = strlen(UVH_ADDRESS_UNIX);
    if (scheme == 0 && length > prefix && length - prefix < sizeof(path) &&
        memcmp(text, UVH_ADDRESS_UNIX, prefix) == 0) {
        memcpy(path, text + prefix, length - prefix);
        path[length - prefix] = '\0';
        return parse_path(path, address, error);
    }
    if (length > scheme && parse_host(text + scheme, length - scheme, address))
        return true;
    snprintf(error, UVH_ADDRESS_ERROR_SIZE,
             "'%.*s' is not an address; allowed are a port, or an IPv4 address, an IPv6 address in "
             "brackets, localhost or *, optionally with :PORT (0 to 65535) and http:// or "
             "https://; or unix:PATH with a path of at most 107 bytes",
             (int)(length < UVH_ADDRESS_ERROR_SIZE ? length : UVH_ADDRESS_ERROR_SIZE), text);
    return false;
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
