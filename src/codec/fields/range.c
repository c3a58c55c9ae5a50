/* Range and If-Range, see range.h. An invalid or unsupported Range field is ignored, as RFC 9110
 * section 14.2 allows. */
#include "codec/fields/range.h"

#include <string.h>

#include "codec/fields/conditional.h"
#include "codec/fields/field.h"
#include "codec/fields/http_date.h"
#include "codec/text/chars.h"
#include "codec/text/number.h"

struct spec {
    bool has_first;
    bool has_last;
    uint64_t first;
    uint64_t last; /* the suffix length if has_first is false */
};

/* Decimal digits at the start of `rest`. A number above 64 bits becomes the largest one, which is
 * also beyond any size. */
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

static uvhttp_slice_t without_zeros(const char *digits, const char *end)
{
    while (digits < end && *digits == '0')
        digits++;
    return (uvhttp_slice_t){digits, (size_t)(end - digits)};
}

/* Compares two numbers as text, because they may exceed 64 bits. */
static bool at_most(uvhttp_slice_t a, uvhttp_slice_t b)
{
    return a.length < b.length || (a.length == b.length && memcmp(a.base, b.base, a.length) <= 0);
}

/* int-range or suffix-range of RFC 9110 section 14.1.1. */
static bool parse_spec(uvhttp_slice_t text, struct spec *spec)
{
    const char *first = text.base;
    const char *end = text.base + text.length;
    spec->has_first = take_number(&text, &spec->first);
    if (text.length == 0 || text.base[0] != '-')
        return false;
    const char *dash = text.base;
    text = (uvhttp_slice_t){dash + 1, text.length - 1};
    spec->has_last = take_number(&text, &spec->last);
    if (text.length > 0 || (!spec->has_first && !spec->has_last))
        return false;
    if (!spec->has_first || !spec->has_last || spec->first < spec->last)
        return true;
    return at_most(without_zeros(first, dash), without_zeros(dash + 1, end));
}

static enum uvh_range_kind apply(const struct spec *spec, uint64_t size, struct uvh_range *range)
{
    if (!spec->has_first) {
        if (spec->last == 0)
            return UVH_RANGE_UNSATISFIABLE;
        if (size == 0)
            /* satisfiable, but 206 cannot express the last bytes of an empty file */
            return UVH_RANGE_NONE;
        range->first = spec->last < size ? size - spec->last : 0;
        range->last = size - 1;
        return UVH_RANGE_SATISFIABLE;
    }
    if (spec->first >= size)
        return UVH_RANGE_UNSATISFIABLE;
    range->first = spec->first;
    range->last = spec->has_last && spec->last < size ? spec->last : size - 1;
    return UVH_RANGE_SATISFIABLE;
}

/* True if ranges overlap, or the gap between them is too small for separate parts. */
static bool belong_together(const struct uvh_range *a, const struct uvh_range *b)
{
    const struct uvh_range *before = a->first <= b->first ? a : b;
    const struct uvh_range *after = before == a ? b : a;
    return after->first <= before->last || after->first - before->last - 1 < UVH_RANGE_GAP;
}

/* Adds a range and merges it with those it overlaps or nearly touches, at the position of the first
 * of them. One pass is enough: merging adds an existing item, which keeps its distance from all
 * others. */
static void add(struct uvh_range_set *set, struct uvh_range range)
{
    size_t index = set->count;
    for (size_t i = 0; i < set->count;) {
        const struct uvh_range *one = &set->items[i];
        if (!belong_together(one, &range)) {
            i++;
            continue;
        }
        if (one->first < range.first)
            range.first = one->first;
        if (one->last > range.last)
            range.last = one->last;
        set->count--;
        memmove(&set->items[i], &set->items[i + 1], (set->count - i) * sizeof(*one));
        if (i < index)
            index = i;
    }
    memmove(&set->items[index + 1], &set->items[index], (set->count - index) * sizeof(range));
    set->items[index] = range;
    set->count++;
}

enum uvh_range_kind uvh_range_parse(uvhttp_slice_t value, uint64_t size, struct uvh_range_set *set)
{
    static const uvhttp_slice_t unit = {"bytes=", 6};
    if (value.base == NULL || value.length < unit.length ||
        !uvh_field_name_is((uvhttp_slice_t){value.base, unit.length}, unit))
        return UVH_RANGE_NONE;
    uvhttp_slice_t rest = {value.base + unit.length, value.length - unit.length};
    uvhttp_slice_t element;
    struct spec spec = {false, false, 0, 0};
    struct uvh_range range = {0, 0};
    bool inexpressible = false;
    unsigned count = 0;
    set->count = 0;
    while (uvh_field_list_next(&rest, &element)) {
        if (++count > UVH_RANGE_MAX_COUNT || !parse_spec(element, &spec))
            return UVH_RANGE_NONE;
        enum uvh_range_kind kind = apply(&spec, size, &range);
        if (kind == UVH_RANGE_SATISFIABLE)
            add(set, range);
        inexpressible = inexpressible || kind == UVH_RANGE_NONE;
    }
    if (count == 0 || inexpressible)
        return UVH_RANGE_NONE;
    return set->count > 0 ? UVH_RANGE_SATISFIABLE : UVH_RANGE_UNSATISFIABLE;
}

bool uvh_range_if_range_holds(uvhttp_slice_t value, uvhttp_slice_t etag, bool has_modified,
                              int64_t modified, int64_t now)
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
    return out + uvh_number_write(out, number);
}

size_t uvh_range_format(char out[UVH_RANGE_CONTENT_RANGE_SIZE], uint64_t first, uint64_t last,
                        uint64_t size)
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
