/* The table has patterns as they are written. A lookup tries the host itself and then, longest
 * first, "*" plus each of its suffixes that starts with a dot. */
#include "route/host.h"

#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "codec/fields/authority.h"

static char small_letter(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Writes the host of an authority, normalized and NUL-terminated. Returns its length; 0 when there
 * is none or it is too long. */
static size_t normalize(uvhttp_slice_t authority, char *name, size_t space)
{
    uvhttp_slice_t host, port;
    if (!uvh_authority_split(authority, &host, &port))
        return 0;
    if (host.length > 1 && host.base[host.length - 1] == '.')
        host.length--;
    if (host.length >= space)
        return 0;
    for (size_t i = 0; i < host.length; i++)
        name[i] = small_letter(host.base[i]);
    name[host.length] = '\0';
    return host.length;
}

/* Why a name that is no host is none. */
static const char *fault_of(const char *given)
{
    const char *name = given + (strncmp(given, "*.", 2) == 0 ? 2 : 0);
    const char *colon = strchr(name, ':');
    if (strstr(name, "://") != NULL)
        return "a host has no scheme; write the name alone, such as www.example.com";
    if (strchr(name, '/') != NULL)
        return "a host has no path; routes have one";
    if (strcmp(given, "*") == 0)
        return "routes and sites without a host serve all others";
    if (strchr(name, '*') != NULL)
        return "\"*\" is allowed only before the first dot, as in *.example.com";
    if (colon != NULL && name[0] != '[' && strchr(colon + 1, ':') != NULL)
        return "an IPv6 address requires brackets, such as [::1]";
    if (colon != NULL && name[0] != '[')
        return "a host has no port; listeners have one";
    for (const char *c = name; *c != '\0'; c++) {
        if ((unsigned char)*c >= 0x80)
            return "an international name must be in its ASCII form, which begins with xn--";
    }
    return "it is neither a host name nor \"*.\" followed by one";
}

const char *uvh_host_name(const char *given, char name[UVH_HOST_MAX + 1])
{
    size_t prefix = strncmp(given, "*.", 2) == 0 ? 2 : 0;
    uvhttp_slice_t host = {given + prefix, strlen(given) - prefix};
    memcpy(name, given, prefix);
    size_t length = normalize(host, name + prefix, UVH_HOST_MAX + 1 - prefix);
    /* Rejects a port, which would be ignored, and "*" elsewhere, which would be literal: neither is
     * what the user means. */
    bool bare = host.length == length || (host.length == length + 1 && host.base[length] == '.');
    bool valid = length > 0 && bare && strchr(name + prefix, '*') == NULL;
    return valid ? NULL : fault_of(given);
}

struct uvh_site *uvh_host_named(const struct uvh_hash_table *hosts, uvhttp_slice_t name)
{
    struct uvh_hash_link *link = uvh_hash_table_find(hosts, uvh_hash(name.base, name.length, 0));
    for (; link != NULL; link = uvh_hash_table_next(link)) {
        struct uvh_site *site = UVH_CONTAINER_OF(link, struct uvh_site, link);
        if (strlen(site->host) == name.length && memcmp(site->host, name.base, name.length) == 0)
            return site;
    }
    return NULL;
}

void uvh_host_add(struct uvh_hash_table *hosts, struct uvh_site *site)
{
    uvh_hash_table_add(hosts, &site->link, uvh_hash(site->host, strlen(site->host), 0));
}

struct uvh_site *uvh_host_find(const struct uvh_hash_table *hosts, uvhttp_slice_t authority)
{
    char name[UVH_HOST_MAX + 1];
    size_t length = normalize(authority, name + 1, UVH_HOST_MAX);
    if (length == 0)
        return NULL;
    /* One byte before it, for the "*" before the first suffix. */
    struct uvh_site *site = uvh_host_named(hosts, (uvhttp_slice_t){name + 1, length});
    const char *end = name + 1 + length;
    for (char *dot = memchr(name + 2, '.', length - 1); site == NULL && dot != NULL;
         dot = memchr(dot + 1, '.', (size_t)(end - dot) - 1)) {
        dot[-1] = '*'; /* the byte overwritten is not part of a shorter suffix */
        site = uvh_host_named(hosts, (uvhttp_slice_t){dot - 1, (size_t)(end - dot) + 1});
    }
    return site;
}
