/* Range and If-Range, see range.h. A Range field that is not understood is ignored, as RFC 9110 section
 * 14.2 lets a server do with any. */
#include "codec/range.h"

#include <string.h>

#include "codec/chars.h"
#include "codec/conditional.h"
#include "codec/field.h"
#include "codec/h1_encode.h"
#include "codec/http_date.h"

struct spec {
    bool has_first;
    bool has_last;
    uint64_t first;
    uint64_t last; /* the suffix length when has_first is false */
};

/* Decimal digits at the front of `rest`; a number beyond 64 bits counts as the largest, which is beyond
 * any size too. */
static bool take_number(uvhttp_slice_t *rest, uint64_t *number)
{
    size_t i = 0;
    uint64_t value = 0;
    for (; i < rest->length && uvh_chars_is(rest->base[i], UVH_CHAR_DIGIT); i++) {
        uint64_t digit = (uint64_t)(rest->base[i] - '0');
        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
    }
    *rest = (uvhttp_slice_t){rest->base + i, rest->length - i};
    *number = value;
    return i > 0;
}

/* int-range or suffix-range of RFC 9110 section 14.1.1. */
static bool parse_spec(uvhttp_slice_t text, struct spec *spec)
{
    spec->has_first = take_number(&text, &spec->first);
    if (text.length == 0 || text.base[0] != '-')
        return false;
    text = (uvhttp_slice_t){text.base + 1, text.length - 1};
    spec->has_last = take_number(&text, &spec->last);
    if (text.length > 0 || (!spec->has_first && !spec->has_last))
        return false;
    return !spec->has_first || !spec->has_last || spec->first <= spec->last;
}

static enum uvh_range_kind apply(const struct spec *spec, uint64_t size, uint64_t *first, uint64_t *last)
{
    if (!spec->has_first) {
        if (spec->last == 0)
            return UVH_RANGE_UNSATISFIABLE;
        if (size == 0)
            return UVH_RANGE_NONE; /* satisfiable, but 206 cannot express the last bytes of nothing */
        *first = spec->last < size ? size - spec->last : 0;
        *last = size - 1;
        return UVH_RANGE_SATISFIABLE;
    }
    if (spec->first >= size)
        return UVH_RANGE_UNSATISFIABLE;
    *first = spec->first;
    *last = spec->has_last && spec->last < size ? spec->last : size - 1;
    return UVH_RANGE_SATISFIABLE;
}

enum uvh_range_kind uvh_range_parse(uvhttp_slice_t value, uint64_t size, uint64_t *first, uint64_t *last)
{
    static const uvhttp_slice_t unit = {"bytes=", 6};
    if (value.base == NULL || value.length < unit.length ||
        !uvh_field_name_is((uvhttp_slice_t){value.base, unit.length}, unit))
        return UVH_RANGE_NONE;
    uvhttp_slice_t rest = {value.base + unit.length, value.length - unit.length};
    uvhttp_slice_t element;
    struct spec spec = {false, false, 0, 0};
    unsigned count = 0;
    while (uvh_field_list_next(&rest, &element)) {
        if (!parse_spec(element, &spec))
            return UVH_RANGE_NONE;
        count++;
    }
    if (count == 0)
        return UVH_RANGE_NONE;
    return count > 1 ? UVH_RANGE_SEVERAL : apply(&spec, size, first, last);
}

bool uvh_range_if_range_holds(uvhttp_slice_t value, uvhttp_slice_t etag, bool has_modified, int64_t modified,
                              int64_t now)
{
    if (value.base == NULL)
        return true;
    bool weak;
    uvhttp_slice_t opaque;
    if (uvh_conditional_etag_parse(value, &weak, &opaque))
        return uvh_conditional_etag_equal_strong(value, etag);
    int64_t date;
    if (!has_modified || !uvh_http_date_parse(value, &date))
        return false;
    return date == modified && modified < now;
}

static char *put_number(char *out, uint64_t number)
{
    return out + uvh_h1_encode_number(out, number);
}

size_t uvh_range_format(char out[UVH_RANGE_CONTENT_RANGE_SIZE], uint64_t first, uint64_t last, uint64_t size)
{
    memcpy(out, "bytes ", 6);
    char *p = put_number(out + 6, first);
    *p++ = '-';
    p = put_number(p, last);
    *p++ = '/';
    p = put_number(p, size);
    return (size_t)(p - out);
}

size_t uvh_range_format_unsatisfied(char out[UVH_RANGE_CONTENT_RANGE_SIZE], uint64_t size)
{
    memcpy(out, "bytes */", 8);
    return (size_t)(put_number(out + 8, size) - out);
}
