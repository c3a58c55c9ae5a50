/* Dates, ranges, entity tags and conditions: values of fields that clients send back. The input up
 * to the first NUL is one value, the rest another one. Properties: a date that is parsed and
 * written parses to the same date. A range is within the representation. A tag is equal to
 * itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/fields/authority.h"
#include "codec/fields/conditional.h"
#include "codec/fields/field.h"
#include "codec/fields/http_date.h"
#include "codec/fields/mime.h"
#include "codec/fields/range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_date(uvhttp_slice_t text)
{
    int64_t seconds;
    if (!uvh_http_date_parse(text, &seconds))
        return;
    char out[UVH_HTTP_DATE_SIZE];
    int64_t again;
    uvh_http_date_format(seconds, out);
    require(uvh_http_date_parse((uvhttp_slice_t){out, sizeof out}, &again));
    /* The leap second at the end of the year 9999 cannot be written. */
    require(again == seconds || seconds == INT64_C(253402300800));
}

/* Each range is within the representation, and any two have a gap that justifies separate parts. */
static void check_set(const struct uvh_range_set *set, uint64_t size)
{
    require(set->count > 0 && set->count <= UVH_RANGE_MAX_COUNT);
    for (size_t i = 0; i < set->count; i++) {
        const struct uvh_range *one = &set->items[i];
        require(one->first <= one->last && one->last < size);
        for (size_t j = 0; j < i; j++) {
            const struct uvh_range *other = &set->items[j];
            bool before = other->last < one->first && one->first - other->last > UVH_RANGE_GAP;
            bool after = one->last < other->first && other->first - one->last > UVH_RANGE_GAP;
            require(before || after);
        }
    }
}

static void check_range(uvhttp_slice_t text)
{
    static const uint64_t sizes[] = {0, 1, 1000, UINT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        struct uvh_range_set set;
        if (uvh_range_parse(text, sizes[i], &set) == UVH_RANGE_SATISFIABLE)
            check_set(&set, sizes[i]);
    }
}

static void check_tags(uvhttp_slice_t a, uvhttp_slice_t b)
{
    bool weak;
    uvhttp_slice_t opaque;
    bool valid = uvh_conditional_etag_parse(a, &weak, &opaque);
    require(uvh_conditional_etag_equal_weak(a, a) == valid);
    require(uvh_conditional_etag_equal_strong(a, a) == (valid && !weak));
    require(uvh_conditional_etag_equal_weak(a, b) == uvh_conditional_etag_equal_weak(b, a));
    require(!uvh_conditional_etag_equal_strong(a, b) || uvh_conditional_etag_equal_weak(a, b));
    if (uvh_conditional_etag_list_matches(a, b, true))
        require(uvh_conditional_etag_list_matches(a, b, false));
    struct uvh_conditional_fields fields = {a, b, a, b};
    struct uvh_conditional_entity entity = {
        .etag = b, .modified = 784111777, .has_modified = true, .exists = true};
    for (int i = 0; i < 16; i++) {
        struct uvh_conditional_fields some = fields;
        some.if_match.base = i & 1 ? a.base : NULL;
        some.if_none_match.base = i & 2 ? b.base : NULL;
        some.if_modified_since.base = i & 4 ? a.base : NULL;
        some.if_unmodified_since.base = i & 8 ? b.base : NULL;
        enum uvh_conditional_outcome outcome = uvh_conditional_evaluate(&some, &entity, true);
        require(i != 0 || outcome == UVH_CONDITIONAL_PROCEED);
        require(uvh_conditional_evaluate(&some, &entity, false) != UVH_CONDITIONAL_NOT_MODIFIED);
    }
    uvh_range_if_range_holds(a, b, true, 784111777, 784111778);
}

static void check_host(uvhttp_slice_t text)
{
    uvhttp_slice_t host;
    uvhttp_slice_t port;
    if (!uvh_authority_split(text, &host, &port))
        return;
    require(host.length > 0 && host.base == text.base);
    require(host.length + (port.base != NULL ? 1 + port.length : 0) == text.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);
    require(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    const char *nul = memchr(copy, '\0', size);
    size_t length = nul != NULL ? (size_t)(nul - copy) : size;
    uvhttp_slice_t a = {copy, length};
    uvhttp_slice_t b = nul != NULL ? (uvhttp_slice_t){nul + 1, size - length - 1} : a;
    check_date(a);
    check_range(a);
    check_tags(a, b);
    check_host(a);
    require(uvh_mime_type(a)[0] != '\0');
    uvhttp_slice_t rest = a;
    uvhttp_slice_t element;
    while (uvh_field_list_next(&rest, &element))
        require(element.length > 0 && element.base >= a.base &&
                element.base + element.length <= a.base + a.length);
    free(copy);
    return 0;
}
