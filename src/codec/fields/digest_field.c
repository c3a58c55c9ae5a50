/* The values are dictionaries of byte sequences (RFC 8941 sections 3.2 and 3.3.5): "sha-256=:...:,
 * sha-512=:...:". */
#include "codec/fields/digest_field.h"

#include <string.h>

#include "codec/fields/field.h"
#include "codec/text/base64.h"

static const struct {
    const char *name;
    size_t size;
} kinds[UVH_DIGEST_KINDS] = {
    [UVH_DIGEST_SHA_256] = {"sha-256", 32},
    [UVH_DIGEST_SHA_512] = {"sha-512", 64},
};

/* "=:" before the base64 text and ":" after it. */
static bool read_bytes(struct uvh_digest_field *field, enum uvh_digest_kind kind,
                       uvhttp_slice_t text)
{
    unsigned char bytes[3 * UVH_DIGEST_MOST];
    if (text.length < 3 || text.base[0] != '=' || text.base[1] != ':')
        return false;
    uvhttp_slice_t coded = {text.base + 2, 0};
    const char *end = memchr(coded.base, ':', text.length - 2);
    if (end == NULL)
        return false;
    coded.length = (size_t)(end - coded.base);
    /* Parameters may follow and are ignored. */
    const char *rest = end + 1;
    if (rest != text.base + text.length && *rest != ';')
        return false;
    if (coded.length != uvh_base64_encoded_size(kinds[kind].size, UVH_BASE64_STANDARD) ||
        uvh_base64_decode(coded, UVH_BASE64_STANDARD, bytes) != (ptrdiff_t)kinds[kind].size)
        return false;
    if (field->present[kind])
        return memcmp(field->value[kind], bytes, kinds[kind].size) == 0;
    field->present[kind] = true;
    memcpy(field->value[kind], bytes, kinds[kind].size);
    return true;
}

static bool read_member(struct uvh_digest_field *field, uvhttp_slice_t member)
{
    for (size_t i = 0; i < UVH_DIGEST_KINDS; i++) {
        size_t length = strlen(kinds[i].name);
        if (member.length >= length && memcmp(member.base, kinds[i].name, length) == 0 &&
            (member.length == length || member.base[length] == '=' || member.base[length] == ';'))
            return read_bytes(field, (enum uvh_digest_kind)i,
                              (uvhttp_slice_t){member.base + length, member.length - length});
    }
    return true;
}

size_t uvh_digest_field_size(enum uvh_digest_kind kind)
{
    return kinds[kind].size;
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
