/* The table is at most half full. Names are stored in lower case without a final dot. */
#include "tls/hosts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

enum { LEAST_CAPACITY = 8 };

struct uvh_tls_host_entry {
    char *name; /* NULL: free */
    size_t length;
    struct uvh_tls_host host;
};

/* Returns the length; 0 for an invalid name. */
static size_t normalize(const char *name, size_t length, char text[UVH_TLS_NAME_MAX])
{
    if (length > 0 && name[length - 1] == '.')
        length--;
    if (length == 0 || length > UVH_TLS_NAME_MAX)
        return 0;
    for (size_t i = 0; i < length; i++)
        text[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
    return length;
}

/* Names come from our own certificates, so the hash needs no seed. */
static struct uvh_tls_host_entry *find_slot(const struct uvh_tls_hosts *hosts, const char *name,
                                            size_t length)
{
    size_t at = (size_t)uvh_hash(name, length, 0);
    for (;; at++) {
        struct uvh_tls_host_entry *entry = &hosts->entries[at & (hosts->capacity - 1)];
        if (entry->name == NULL ||
            (entry->length == length && memcmp(entry->name, name, length) == 0))
            return entry;
    }
}

static bool grow(struct uvh_tls_hosts *hosts)
{
    struct uvh_tls_hosts larger = *hosts;
    larger.capacity = hosts->capacity == 0 ? LEAST_CAPACITY : 2 * hosts->capacity;
    larger.entries = uvh_alloc_zero(hosts->allocator, larger.capacity * sizeof(*larger.entries));
    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < hosts->capacity; i++) {
        const struct uvh_tls_host_entry *entry = &hosts->entries[i];
        if (entry->name != NULL)
            *find_slot(&larger, entry->name, entry->length) = *entry;
    }
    uvh_free(hosts->allocator, hosts->entries);
    *hosts = larger;
    return true;
}

struct uvh_tls_host *uvh_tls_hosts_add(struct uvh_tls_hosts *hosts, const char *name, size_t length,
                                       bool *ignored)
{
    char text[UVH_TLS_NAME_MAX];
    length = normalize(name, length, text);
    *ignored = length == 0;
    if (length == 0 || (2 * (hosts->count + 1) > hosts->capacity && !grow(hosts)))
        return NULL;
    struct uvh_tls_host_entry *entry = find_slot(hosts, text, length);
    if (entry->name == NULL) {
        entry->name = uvh_alloc_string(hosts->allocator, text, length);
        if (entry->name == NULL)
            return NULL;
        entry->length = length;
        hosts->count++;
    }
    return &entry->host;
}

static const struct uvh_tls_host *find(const struct uvh_tls_hosts *hosts, const char *name,
                                       size_t length)
{
    const struct uvh_tls_host_entry *entry = find_slot(hosts, name, length);
    return entry->name == NULL ? NULL : &entry->host;
}

/* A wildcard matches one label (RFC 6125 section 6.4.3). */
const struct uvh_tls_host *uvh_tls_hosts_find(const struct uvh_tls_hosts *hosts, const char *name,
                                              size_t length)
{
    char text[UVH_TLS_NAME_MAX];
    length = normalize(name, length, text);
    if (length == 0 || hosts->capacity == 0)
        return NULL;
    const struct uvh_tls_host *host = find(hosts, text, length);
    const char *dot = memchr(text, '.', length);
    if (host != NULL || dot == NULL || dot == text)
        return host;
    char *wildcard = text + (dot - text) - 1;
    *wildcard = '*';
    return find(hosts, wildcard, length - (size_t)(wildcard - text));
}

void uvh_tls_hosts_release(struct uvh_tls_hosts *hosts)
{
    for (size_t i = 0; i < hosts->capacity; i++)
        uvh_free(hosts->allocator, hosts->entries[i].name);
    uvh_free(hosts->allocator, hosts->entries);
}
