/* See weighted.h. */
#include "codec/fields/weighted.h"

#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/text/chars.h"

/* Thousandths of a qvalue (RFC 9110 section 12.4.2); -1 if it is invalid. */
static int parse_quality(uvhttp_slice_t text)
{
    if (text.length == 0 || text.length > 5 || (text.base[0] != '0' && text.base[0] != '1'))
        return -1;
    int quality = (text.base[0] - '0') * 1000;
    if (text.length > 1 && text.base[1] != '.')
        return -1;
    for (size_t i = 2, unit = 100; i < text.length; i++, unit /= 10) {
        if (!uvh_chars_is(text.base[i], UVH_CHAR_DIGIT))
            return -1;
        quality += (text.base[i] - '0') * (int)unit;
    }
    return quality <= UVH_WEIGHT_MAX ? quality : -1;
}

bool uvh_weighted_is_weight(const struct uvh_parameter *parameter)
{
    return uvh_field_name_equal(parameter->name, UVH_SLICE("q"));
}

bool uvh_weighted_next(uvhttp_slice_t *rest, struct uvh_weighted *element)
{
    uvhttp_slice_t text;
    while (rest->length > 0 && uvh_field_list_next(rest, &text)) {
        struct uvh_parameter parameter;
        int found;
        bool weighed = false;
        *element =
            (struct uvh_weighted){.range = uvh_parameter_front(&text), .quality = UVH_WEIGHT_MAX};
        element->parameters = text;
        while ((found = uvh_parameter_next(&text, &parameter)) > 0) {
            if (!uvh_weighted_is_weight(&parameter)) {
                element->parameter_count++;
                continue;
            }
            element->quality = parameter.quoted || weighed ? -1 : parse_quality(parameter.value);
            weighed = true;
            if (element->quality < 0)
                break;
        }
        if (found == 0)
            return true;
    }
    return false;
}

uvhttp_slice_t uvh_weighted_coding(uvhttp_slice_t coding)
{
    if (uvh_field_name_equal(coding, UVH_SLICE("x-gzip")) ||
        uvh_field_name_equal(coding, UVH_SLICE("x-compress")))
        return (uvhttp_slice_t){coding.base + 2, coding.length - 2};
    return coding;
}
