/* Lists are parsed from their end, see forwarded.h. */
#include "codec/fields/forwarded.h"

#include <string.h>

#include "codec/fields/authority.h"
#include "codec/fields/field.h"
#include "codec/fields/parameter.h"
#include "codec/text/chars.h"

/* The member for a parameter; NULL for an ignored one ("by", extensions). */
static uvhttp_slice_t *member_of(struct uvh_forwarded_hop *hop, uvhttp_slice_t name)
{
    static const uvhttp_slice_t node = {"for", 3}, proto = {"proto", 5}, host = {"host", 4};
    if (uvh_field_name_equal(name, node))
        return &hop->node;
    if (uvh_field_name_equal(name, proto))
        return &hop->proto;
    return uvh_field_name_equal(name, host) ? &hop->host : NULL;
}

bool uvh_forwarded_element(uvhttp_slice_t element, struct uvh_forwarded_hop *hop)
{
    struct uvh_parameter parameter;
    int found;
    memset(hop, 0, sizeof(*hop));
    for (found = uvh_parameter_first(&element, &parameter); found > 0;
         found = uvh_parameter_next(&element, &parameter)) {
        uvhttp_slice_t *member = member_of(hop, parameter.name);
        if (member == NULL)
            continue;
        if (member->base != NULL)
            return false;
        *member = parameter.value;
    }
    return found == 0;
}

bool uvh_forwarded_node(uvhttp_slice_t node, struct uvh_ip_address *address)
{
    uvhttp_slice_t host, port;
    if (uvh_ip_address_parse(node, address))
        return true;
    if (!uvh_authority_split(node, &host, &port))
        return false;
    if (host.base[0] == '[')
        return uvh_ip_address_parse_v6((uvhttp_slice_t){host.base + 1, host.length - 2}, address);
    return uvh_ip_address_parse(host, address);
}

/* The opening quote for the closing one at `close`; `start` if there is none. */
static const char *opening_quote(const char *start, const char *close)
{
    const char *p = close;
    while (p > start) {
        p--;
        const char *before = p;
        while (*p == '"' && before > start && before[-1] == '\\')
            before--;
        if (*p == '"' && (p - before) % 2 == 0) /* not an escaped one */
            return p;
        p = before;
    }
    return start;
}

/* The start of the last element. */
static const char *element_start(const char *start, const char *end, bool quotes)
{
    const char *p = end;
    while (p > start && p[-1] != ',') {
        p--;
        if (quotes && *p == '"')
            p = opening_quote(start, p);
    }
    return p;
}

bool uvh_forwarded_take_last(uvhttp_slice_t *list, bool quotes, uvhttp_slice_t *element)
{
    const char *end = list->base + list->length;
    while (end > list->base && (end[-1] == ',' || uvh_chars_is(end[-1], UVH_CHAR_SPACE)))
        end--;
    if (end == list->base) {
        list->length = 0;
        return false;
    }
    const char *start = element_start(list->base, end, quotes);
    list->length = (size_t)(start - list->base);
    while (uvh_chars_is(*start, UVH_CHAR_SPACE)) /* terminates: the last byte is none */
        start++;
    *element = (uvhttp_slice_t){start, (size_t)(end - start)};
    return true;
}

bool uvh_forwarded_read(struct uvh_forwarded *forwarded, uvhttp_slice_t value)
{
    uvhttp_slice_t element;
    struct uvh_ip_address address;
    while (uvh_forwarded_take_last(&value, forwarded->standard, &element)) {
        forwarded->hops++;
        forwarded->hop = (struct uvh_forwarded_hop){.node = element};
        if (forwarded->standard && !uvh_forwarded_element(element, &forwarded->hop))
            /* a malformed element is ignored */
            memset(&forwarded->hop, 0, sizeof(forwarded->hop));
        if (!uvh_forwarded_node(forwarded->hop.node, &address))
            return false;
        forwarded->has_client = true;
        forwarded->client = address;
        if (!uvh_address_prefix_any(forwarded->prefixes, forwarded->prefix_count, &address))
            return false;
    }
    return true;
}
