/* The HPACK encoder, then the decoder. The input is two bytes of a status, then fields: a byte of
 * the name's length, two of the value's, name, value. Properties: a field is written within its
 * bound, not at all with one byte less, and decoded as it was, with a name in lower case. The
 * table of the decoder is not used. */
#include "codec/http2/hpack.h"
#include "codec/text/chars.h"
#include "fuzz/fuzz_check.h"

static void check_status(int status)
{
    char block[UVH_HPACK_STATUS_MAX];
    char line[64];
    char expected[16];
    struct uvh_hpack_decoder decoder;
    struct uvh_hpack_field field;
    const char *at = block;
    uvh_hpack_decoder_init(&decoder, UVH_HPACK_CAPACITY_MIN);
    const char *end = block + uvh_hpack_encode_status(block, status);
    require(uvh_hpack_decode(&decoder, &at, end, line, sizeof line, &field) == UVH_HPACK_FIELD);
    snprintf(expected, sizeof expected, "%d", status);
    require(field.id == UVH_HPACK_STATUS && field.value_length == 3 && at == end);
    require(memcmp(line + 9, expected, 3) == 0);
}

static void check_field(uvhttp_slice_t name, uvhttp_slice_t value)
{
    size_t most = name.length + value.length + UVH_HPACK_FIELD_EXTRA;
    char *block = malloc(most);
    char *line = malloc(name.length + value.length + UVH_HPACK_LINE_EXTRA);
    require(block != NULL && line != NULL);
    size_t size = uvh_hpack_encode_field(block, most, name, value);
    require(size > 0 && size <= most);
    char *exact = malloc(size);
    require(exact != NULL);
    require(uvh_hpack_encode_field(exact, size - 1, name, value) == 0);
    require(uvh_hpack_encode_field(exact, size, name, value) == size);
    require(memcmp(exact, block, size) == 0);
    struct uvh_hpack_decoder decoder;
    struct uvh_hpack_field field;
    const char *at = exact;
    const char *end = exact + size;
    uvh_hpack_decoder_init(&decoder, UVH_HPACK_CAPACITY_MIN);
    require(uvh_hpack_decode(&decoder, &at, end, line,
                             name.length + value.length + UVH_HPACK_LINE_EXTRA,
                             &field) == UVH_HPACK_FIELD);
    require(at == end && field.name_length == name.length && field.value_length == value.length);
    for (size_t i = 0; i < name.length; i++)
        require(line[i] == uvh_chars_lower(name.base[i]));
    require(memcmp(line + name.length + 2, value.base, value.length) == 0);
    free(block);
    free(line);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    check_status(100 + (data[0] * 256 + data[1]) % 900);
    data += 2;
    size -= 2;
    while (size >= 3) {
        size_t name_length = data[0];
        size_t value_length = data[1] * 256u + data[2];
        data += 3;
        size -= 3;
        if (name_length > size)
            name_length = size;
        if (value_length > size - name_length)
            value_length = size - name_length;
        char *name = exact_copy(data, name_length);
        char *value = exact_copy(data + name_length, value_length);
        check_field((uvhttp_slice_t){name, name_length}, (uvhttp_slice_t){value, value_length});
        free(name);
        free(value);
        data += name_length + value_length;
        size -= name_length + value_length;
    }
    return 0;
}
