/* Content negotiation, see uvhttp/negotiate.h. Each offer is evaluated separately: the most
 * specific matching element of the field gives its quality. Nothing is stored, so the cost is
 * bounded by the field's length times the number of offers. Called by users, and for compressed
 * variants of files. */
#include <uvhttp/negotiate.h>

#include <string.h>

#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/fields/weighted.h"
#include "codec/text/chars.h"

/* Matches one offer: how specific `element` is for it, 0 if it does not match, -1 if it is
 * malformed. */
typedef int (*nearness_cb)(const struct uvh_weighted *element, uvhttp_slice_t offer);

struct verdict {
    int quality;
    int nearness; /* 0: no element matches */
    bool any;     /* there is a well-formed element */
};

static struct verdict evaluate(uvhttp_slice_t field, uvhttp_slice_t offer, nearness_cb nearness_of)
{
    struct verdict verdict = {0, 0, false};
    struct uvh_weighted element;
    while (uvh_weighted_next(&field, &element)) {
        int nearness = nearness_of(&element, offer);
        verdict.any = verdict.any || nearness >= 0;
        if (nearness > verdict.nearness) {
            verdict.nearness = nearness;
            verdict.quality = element.quality;
        }
    }
    return verdict;
}

/* Takes the first byte of a quoted or plain value; false at its end. */
static bool next_byte(uvhttp_slice_t *value, bool quoted, char *byte)
{
    if (value->length == 0)
        return false;
    size_t length = quoted && value->base[0] == '\\' && value->length > 1 ? 2 : 1;
    *byte = uvh_chars_lower(value->base[length - 1]);
    *value = (uvhttp_slice_t){value->base + length, value->length - length};
    return true;
}

static bool same_value(const struct uvh_parameter *a, const struct uvh_parameter *b)
{
    uvhttp_slice_t left = a->value;
    uvhttp_slice_t right = b->value;
    for (;;) {
        char left_byte = 0;
        char right_byte = 0;
        bool has_left = next_byte(&left, a->quoted, &left_byte);
        if (has_left != next_byte(&right, b->quoted, &right_byte) || left_byte != right_byte)
            return false;
        if (!has_left)
            return true;
    }
}

static bool has_parameter(uvhttp_slice_t parameters, const struct uvh_parameter *wanted)
{
    struct uvh_parameter parameter;
    while (uvh_parameter_next(&parameters, &parameter) > 0) {
        if (uvh_field_name_equal(parameter.name, wanted->name) && same_value(&parameter, wanted))
            return true;
    }
    return false;
}

static bool has_all_parameters(uvhttp_slice_t offered, uvhttp_slice_t wanted)
{
    struct uvh_parameter parameter;
    while (uvh_parameter_next(&wanted, &parameter) > 0) {
        if (!uvh_weighted_is_weight(&parameter) && !has_parameter(offered, &parameter))
            return false;
    }
    return true;
}

/* type "/" subtype, both tokens, including "*". */
static bool split_type(uvhttp_slice_t text, uvhttp_slice_t *type, uvhttp_slice_t *subtype)
{
    const char *slash = text.length > 0 ? memchr(text.base, '/', text.length) : NULL;
    if (slash == NULL)
        return false;
    *type = (uvhttp_slice_t){text.base, (size_t)(slash - text.base)};
    *subtype = (uvhttp_slice_t){slash + 1, text.length - type->length - 1};
    return uvh_field_name_valid(*type) && uvh_field_name_valid(*subtype);
}

static int type_nearness(const struct uvh_weighted *element, uvhttp_slice_t offer)
{
    enum { KIND = 1 << 20 }; /* the kind of range has priority over the number of its parameters */
    uvhttp_slice_t wanted[2];
    uvhttp_slice_t offered[2];
    uvhttp_slice_t front = uvh_parameter_front(&offer);
    if (!split_type(element->range, &wanted[0], &wanted[1]))
        return -1;
    bool any_type = uvh_field_name_equal(wanted[0], UVH_SLICE("*"));
    bool any_subtype = uvh_field_name_equal(wanted[1], UVH_SLICE("*"));
    if (any_type && !any_subtype)
        return -1;
    if (!split_type(front, &offered[0], &offered[1]) ||
        !(any_type || uvh_field_name_equal(wanted[0], offered[0])) ||
        !(any_subtype || uvh_field_name_equal(wanted[1], offered[1])) ||
        !has_all_parameters(offer, element->parameters))
        return 0;
    size_t parameters = element->parameter_count < KIND ? element->parameter_count : KIND - 1;
    return (any_type ? 1 : any_subtype ? 2 : 3) * KIND + (int)parameters;
}

static int encoding_nearness(const struct uvh_weighted *element, uvhttp_slice_t offer)
{
    if (!uvh_field_name_valid(element->range) || element->parameter_count > 0)
        return -1;
    if (uvh_field_name_equal(element->range, UVH_SLICE("*")))
        return 1;
    return uvh_field_name_equal(uvh_weighted_coding(element->range), uvh_weighted_coding(offer))
               ? 2
               : 0;
}

/* 1*8ALPHA *( "-" 1*8alphanum ), or "*" (RFC 4647 section 2.1) */
static bool is_language_range(uvhttp_slice_t text)
{
    if (uvh_field_name_equal(text, UVH_SLICE("*")))
        return true;
    bool first = true;
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = uvh_chars_lower(text.base[i]);
        bool letter = c >= 'a' && c <= 'z';
        if (c == '-' && length > 0) {
            first = false;
            length = 0;
        } else if ((letter || (!first && uvh_chars_is(c, UVH_CHAR_DIGIT))) && length < 8) {
            length++;
        } else {
            return false;
        }
    }
    return length > 0;
}

/* `tag` begins with the subtags of `front`. */
static bool begins_with(uvhttp_slice_t tag, uvhttp_slice_t front)
{
    return tag.length > front.length && tag.base[front.length] == '-' &&
           uvh_field_name_equal((uvhttp_slice_t){tag.base, front.length}, front);
}

static int language_nearness(const struct uvh_weighted *element, uvhttp_slice_t offer)
{
    /* Far above any length in a field. A longer range cannot match an offer. */
    enum { PREFIX = 1 << 20, EXACT = 1 << 21 };
    uvhttp_slice_t range = element->range;
    if (!is_language_range(range) || element->parameter_count > 0)
        return -1;
    if (uvh_field_name_equal(range, UVH_SLICE("*")))
        return 1;
    if (uvh_field_name_equal(range, offer))
        return EXACT;
    if (range.length >= PREFIX - 2)
        return 0;
    if (begins_with(offer, range))
        return PREFIX + (int)range.length;
    if (begins_with(range, offer) && element->quality > 0)
        return PREFIX - (int)range.length;
    return 0;
}

int uvhttp_negotiate_type_quality(uvhttp_slice_t accept, const char *offer)
{
    if (offer == NULL)
        return 0;
    struct verdict verdict = evaluate(accept, uvh_slice(offer), type_nearness);
    return verdict.any ? verdict.quality : UVH_WEIGHT_MAX;
}

int uvhttp_negotiate_encoding_quality(uvhttp_slice_t accept_encoding, const char *offer)
{
    if (offer == NULL)
        return 0;
    struct verdict verdict = evaluate(accept_encoding, uvh_slice(offer), encoding_nearness);
    if (verdict.nearness > 0 || !uvh_field_name_equal(uvh_slice(offer), UVH_SLICE("identity")))
        return verdict.quality;
    return verdict.any ? UVH_WEIGHT_MIN : UVH_WEIGHT_MAX;
}

int uvhttp_negotiate_language_quality(uvhttp_slice_t accept_language, const char *offer)
{
    if (offer == NULL)
        return 0;
    struct verdict verdict = evaluate(accept_language, uvh_slice(offer), language_nearness);
    return verdict.any ? verdict.quality : UVH_WEIGHT_MAX;
}

static ptrdiff_t choose(uvhttp_slice_t field, const char *const *offers, size_t count,
                        int (*quality_of)(uvhttp_slice_t field, const char *offer))
{
    ptrdiff_t best = -1;
    int best_quality = 0;
    for (size_t i = 0; offers != NULL && i < count && best_quality < UVH_WEIGHT_MAX; i++) {
        int quality = quality_of(field, offers[i]);
        if (quality > best_quality) {
            best = (ptrdiff_t)i;
            best_quality = quality;
        }
    }
    return best;
}

ptrdiff_t uvhttp_negotiate_type(uvhttp_slice_t accept, const char *const *offers, size_t count)
{
    return choose(accept, offers, count, uvhttp_negotiate_type_quality);
}

ptrdiff_t uvhttp_negotiate_encoding(uvhttp_slice_t accept_encoding, const char *const *offers,
                                    size_t count)
{
    return choose(accept_encoding, offers, count, uvhttp_negotiate_encoding_quality);
}

ptrdiff_t uvhttp_negotiate_language(uvhttp_slice_t accept_language, const char *const *offers,
                                    size_t count)
{
    return choose(accept_language, offers, count, uvhttp_negotiate_language_quality);
}
