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

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* RFC 1123 section 2.1, and "_", which occurs in names of internal hosts. */
static bool has_valid_labels(const char *name)
{
    for (size_t length;; name += length + 1) {
        length = strcspn(name, ".");
        if (length == 0 || length > 63 || strspn(name, LETTERS) < length || name[0] == '-' ||
            name[length - 1] == '-')
            return false;
        if (name[length] == '\0')
            return true;
    }
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
    if (strpbrk(name, "~^$\\(") != NULL)
        return "a host is no regular expression; *.example.com is every name below example.com";
    if (strpbrk(name, " ,;") != NULL)
        return "it is more than one host; write several as a list: [a.example, b.example]";
    if (strcmp(given, "*") == 0 || strcmp(given, "_") == 0)
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
    if (name[0] == '.')
        return "a name does not begin with a dot; *.example.com is every name below example.com";
    if (name[0] != '\0' && name[strspn(name, LETTERS ".")] == '\0')
        return "each label has 1 to 63 characters, and no \"-\" as its first or last one";
    return "it is neither a host name nor \"*.\" followed by one";
}

const char *uvh_host_name(const char *given, char name[UVH_HOST_MAX + 1])
{
    size_t prefix = strncmp(given, "*.", 2) == 0 ? 2 : 0;
    uvhttp_slice_t host = {given + prefix, strlen(given) - prefix};
    memcpy(name, given, prefix);
    size_t length = normalize(host, name + prefix, UVH_HOST_MAX + 1 - prefix);
    /* Rejects a port, which would be ignored, and what would be literal and never match. */
    bool bare = host.length == length || (host.length == length + 1 && host.base[length] == '.');
    bool valid = length > 0 && bare && strcmp(given, "_") != 0 &&
                 (name[prefix] == '[' || has_valid_labels(name + prefix));
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
