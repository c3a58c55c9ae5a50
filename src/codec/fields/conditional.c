/* Conditional requests, see conditional.h: entity tags (RFC 9110 section 8.8.3), the preconditions
 * (section 13.1) and their order (section 13.2.2). */
#include "codec/fields/conditional.h"

#include <string.h>

#include "codec/fields/http_date.h"
#include "codec/text/chars.h"

/* The length of the entity tag at the start of `text`, 0 if there is none; `*prefix` is the length
 * of "W/". */
static size_t etag_length(uvhttp_slice_t text, size_t *prefix)
{
    const char *p = text.base;
    const char *end = p + text.length;
    *prefix = text.length >= 2 && p[0] == 'W' && p[1] == '/' ? 2 : 0;
    p += *prefix;
    if (p == end || *p != '"')
        return 0;
    p++;
    while (p < end && uvh_chars_is(*p, UVH_CHAR_ETAG))
        p++;
    return p < end && *p == '"' ? (size_t)(p + 1 - text.base) : 0;
}

bool uvh_conditional_etag_parse(uvhttp_slice_t tag, bool *weak, uvhttp_slice_t *opaque)
{
    size_t prefix;
    if (tag.length == 0 || etag_length(tag, &prefix) != tag.length)
        return false;
    *weak = prefix > 0;
    *opaque = (uvhttp_slice_t){tag.base + prefix, tag.length - prefix};
    return true;
}

static bool etag_equal(uvhttp_slice_t a, uvhttp_slice_t b, bool strong)
{
    bool weak_a;
    bool weak_b;
    uvhttp_slice_t opaque_a;
    uvhttp_slice_t opaque_b;
    if (!uvh_conditional_etag_parse(a, &weak_a, &opaque_a) ||
        !uvh_conditional_etag_parse(b, &weak_b, &opaque_b))
        return false;
    if (strong && (weak_a || weak_b))
        return false;
    return opaque_a.length == opaque_b.length &&
           memcmp(opaque_a.base, opaque_b.base, opaque_a.length) == 0;
}

bool uvh_conditional_etag_equal_strong(uvhttp_slice_t a, uvhttp_slice_t b)
{
    return etag_equal(a, b, true);
}

bool uvh_conditional_etag_equal_weak(uvhttp_slice_t a, uvhttp_slice_t b)
{
    return etag_equal(a, b, false);
}

static uvhttp_slice_t skip(uvhttp_slice_t text, size_t count)
{
    return (uvhttp_slice_t){text.base + count, text.length - count};
}

/* Skips white space and empty elements (RFC 9110 section 5.6.1.2). */
static uvhttp_slice_t skip_separators(uvhttp_slice_t text)
{
    size_t count = 0;
    while (count < text.length &&
           (text.base[count] == ',' || uvh_chars_is(text.base[count], UVH_CHAR_SPACE)))
        count++;
    return skip(text, count);
}

static bool is_asterisk(uvhttp_slice_t text)
{
    return text.length == 1 && text.base[0] == '*';
}

bool uvh_conditional_etag_list_matches(uvhttp_slice_t list, uvhttp_slice_t etag, bool strong)
{
    if (etag.base == NULL)
        return false;
    if (is_asterisk(list))
        return true;
    for (uvhttp_slice_t rest = skip_separators(list); rest.length > 0;) {
        size_t prefix;
        size_t length = etag_length(rest, &prefix);
        if (length == 0)
            return false;
        if (etag_equal((uvhttp_slice_t){rest.base, length}, etag, strong))
            return true;
        rest = skip(rest, length);
        uvhttp_slice_t next = skip_separators(rest);
        if (next.length > 0 && memchr(rest.base, ',', rest.length - next.length) == NULL)
            return false;
        rest = next;
    }
    return false;
}

/* If-Match and If-None-Match: true if the entity tag matches. "*" matches any existing
 * representation. */
static bool tag_matches(uvhttp_slice_t list, const struct uvh_conditional_entity *entity,
                        bool strong)
{
    if (!entity->exists)
        return false;
    return is_asterisk(list) || uvh_conditional_etag_list_matches(list, entity->etag, strong);
}

/* True if the modification time is not after the field's date. `*known` is false if there is
 * nothing to compare; then the field is ignored (RFC 9110 sections 13.1.3 and 13.1.4). */
static bool modified_by(uvhttp_slice_t field, const struct uvh_conditional_entity *entity,
                        bool *known)
{
    int64_t date = 0;
    *known = entity->exists && entity->has_modified && uvh_http_date_parse(field, &date);
    return *known && entity->modified <= date;
}

/* Steps 1 and 2: If-Match and If-Unmodified-Since. */
static bool precondition_holds(const struct uvh_conditional_fields *fields,
                               const struct uvh_conditional_entity *entity)
{
    if (fields->if_match.base != NULL)
        return tag_matches(fields->if_match, entity, true);
    if (fields->if_unmodified_since.base == NULL)
        return true;
    bool known;
    bool unmodified = modified_by(fields->if_unmodified_since, entity, &known);
    return !known || unmodified;
}

enum uvh_conditional_outcome uvh_conditional_evaluate(const struct uvh_conditional_fields *fields,
                                                      const struct uvh_conditional_entity *entity,
                                                      bool is_get_or_head)
{
    if (!precondition_holds(fields, entity))
        return UVH_CONDITIONAL_FAILED;
    if (fields->if_none_match.base != NULL) { /* step 3 */
        if (!tag_matches(fields->if_none_match, entity, false))
            return UVH_CONDITIONAL_PROCEED;
        return is_get_or_head ? UVH_CONDITIONAL_NOT_MODIFIED : UVH_CONDITIONAL_FAILED;
    }
    if (fields->if_modified_since.base == NULL || !is_get_or_head) /* step 4 */
        return UVH_CONDITIONAL_PROCEED;
    bool known;
    return modified_by(fields->if_modified_since, entity, &known) ? UVH_CONDITIONAL_NOT_MODIFIED
                                                                  : UVH_CONDITIONAL_PROCEED;
}
