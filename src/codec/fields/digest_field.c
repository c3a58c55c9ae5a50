/* The values are dictionaries of byte sequences (RFC 8941 sections 3.2 and 3.3.5): "sha-256=:...:,
 * sha-512=:...:". */
#include "codec/fields/digest_field.h"

#include <string.h>

#include "codec/fields/field.h"
#include "codec/text/base64.h"

static const struct {
    const char *name;
    size_t size;
} algorithms[UVH_DIGEST_ALGORITHMS] = {
    [UVH_DIGEST_SHA_256] = {"sha-256", 32},
    [UVH_DIGEST_SHA_512] = {"sha-512", 64},
};

/* Finds BASE64 in "=:BASE64:", which nothing or parameters follow; those are ignored. */
static bool find_bytes(uvhttp_slice_t text, uvhttp_slice_t *coded)
{
    if (text.length < 3 || text.base[0] != '=' || text.base[1] != ':')
        return false;
    const char *begin = text.base + 2;
    const char *end = memchr(begin, ':', text.length - 2);
    if (end == NULL || (end + 1 != text.base + text.length && end[1] != ';'))
        return false;
    *coded = (uvhttp_slice_t){begin, (size_t)(end - begin)};
    return true;
}

static bool read_digest(struct uvh_digest_field *field, enum uvh_digest_algorithm algorithm,
                        uvhttp_slice_t coded)
{
    unsigned char bytes[UVH_DIGEST_MAX_SIZE + 4]; /* uvh_base64_decode may write that many */
    if (coded.length != uvh_base64_encoded_size(algorithms[algorithm].size, UVH_BASE64_STANDARD) ||
        uvh_base64_decode(coded, UVH_BASE64_STANDARD, bytes) !=
            (ptrdiff_t)algorithms[algorithm].size)
        return false;
    /* Stricter than RFC 8941, in which the last of several members with one key counts: different
     * digests of one body are an error. */
    if (field->present[algorithm] &&
        memcmp(field->value[algorithm], bytes, algorithms[algorithm].size) != 0)
        field->conflict = true;
    field->present[algorithm] = true;
    memcpy(field->value[algorithm], bytes, algorithms[algorithm].size);
    return true;
}

/* Keys have no upper case. Members with unknown ones are ignored, but must have the same form: a
 * digest without its key is not overlooked. */
static bool read_member(struct uvh_digest_field *field, uvhttp_slice_t member)
{
    size_t length = 0;
    uvhttp_slice_t coded;
    while (length < member.length &&
           strchr("abcdefghijklmnopqrstuvwxyz0123456789_-.*", member.base[length]) != NULL &&
           member.base[length] != '\0')
        length++;
    if (length == 0 ||
        !find_bytes((uvhttp_slice_t){member.base + length, member.length - length}, &coded))
        return false;
    for (size_t i = 0; i < UVH_DIGEST_ALGORITHMS; i++) {
        if (length == strlen(algorithms[i].name) &&
            memcmp(member.base, algorithms[i].name, length) == 0)
            return read_digest(field, (enum uvh_digest_algorithm)i, coded);
    }
    return true;
}

size_t uvh_digest_field_size(enum uvh_digest_algorithm algorithm)
{
    return algorithms[algorithm].size;
}

bool uvh_digest_field_read(struct uvh_digest_field *field, uvhttp_slice_t value)
{
    uvhttp_slice_t member;
    while (uvh_field_list_next(&value, &member)) {
        if (!read_member(field, member))
            return false;
    }
    return true;
}
