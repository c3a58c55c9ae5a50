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

/* Reads the value of a member, `text` after its key: "=:BASE64:", then nothing or parameters. */
static bool read_bytes(struct uvh_digest_field *field, enum uvh_digest_algorithm algorithm,
                       uvhttp_slice_t text)
{
    unsigned char bytes[UVH_DIGEST_MAX_SIZE + 4]; /* uvh_base64_decode may write that many */
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

/* Reads "KEY", "KEY=VALUE", each with parameters or not. Keys are case-sensitive. Members with
 * other keys are ignored. */
static bool read_member(struct uvh_digest_field *field, uvhttp_slice_t member)
{
    for (size_t i = 0; i < UVH_DIGEST_ALGORITHMS; i++) {
        size_t length = strlen(algorithms[i].name);
        if (member.length >= length && memcmp(member.base, algorithms[i].name, length) == 0 &&
            (member.length == length || member.base[length] == '=' || member.base[length] == ';'))
            return read_bytes(field, (enum uvh_digest_algorithm)i,
                              (uvhttp_slice_t){member.base + length, member.length - length});
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
