/* Names are stored in lower case without a final dot. They come from our own certificates, so the
 * hash needs no seed. */
#include "tls/hosts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"

struct entry {
    struct uvh_hash_link link;
    struct uvh_tls_host host;
    size_t length;
    char name[];
};

void uvh_tls_hosts_init(struct uvh_tls_hosts *hosts, const uvhttp_allocator_t *allocator)
{
    uvh_hash_table_init(&hosts->table, allocator);
}

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

static struct uvh_tls_host *find(const struct uvh_tls_hosts *hosts, const char *name, size_t length)
{
    struct uvh_hash_link *link = uvh_hash_table_find(&hosts->table, uvh_hash(name, length, 0));
    for (; link != NULL; link = uvh_hash_table_next(link)) {
        struct entry *entry = UVH_CONTAINER_OF(link, struct entry, link);
        if (entry->length == length && memcmp(entry->name, name, length) == 0)
            return &entry->host;
    }
    return NULL;
}

struct uvh_tls_host *uvh_tls_hosts_add(struct uvh_tls_hosts *hosts, const char *name, size_t length,
                                       bool *ignored)
{
    char text[UVH_TLS_NAME_MAX];
    length = normalize(name, length, text);
    *ignored = length == 0;
    if (length == 0)
        return NULL;
    struct uvh_tls_host *known = find(hosts, text, length);
    if (known != NULL)
        return known;
    struct entry *entry = uvh_alloc_zero(hosts->table.allocator, sizeof(*entry) + length);
    if (entry == NULL)
        return NULL;
    entry->length = length;
    memcpy(entry->name, text, length);
    uvh_hash_table_add(&hosts->table, &entry->link, uvh_hash(text, length, 0));
    return &entry->host;
}

/* A wildcard matches one label (RFC 6125 section 6.4.3). */
const struct uvh_tls_host *uvh_tls_hosts_find(const struct uvh_tls_hosts *hosts, const char *name,
                                              size_t length)
{
    char text[UVH_TLS_NAME_MAX];
    length = normalize(name, length, text);
    if (length == 0)
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
    struct uvh_hash_link *link = uvh_hash_table_walk(&hosts->table, NULL);
    while (link != NULL) {
        struct entry *entry = UVH_CONTAINER_OF(link, struct entry, link);
        link = uvh_hash_table_walk(&hosts->table, link);
        uvh_free(hosts->table.allocator, entry);
    }
    uvh_hash_table_release(&hosts->table);
}
