/* Queries and percent-decoding. Holds: pairs lie in the query in order and hold no separator; decoding
 * never grows; in place gives the same; encoding everything and decoding gives the bytes back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/parser.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void walk(uvhttp_slice_t query)
{
    uvhttp_slice_t rest = query;
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    const char *reached = query.base;
    while (uvhttp_query_next(&rest, &name, &value)) {
        require(name.base >= reached && memchr(name.base, '=', name.length) == NULL);
        require(memchr(name.base, '&', name.length) == NULL);
        reached = name.base + name.length;
        if (value.base != NULL) {
            require(value.base == reached + 1 && memchr(value.base, '&', value.length) == NULL);
            reached = value.base + value.length;
        }
        require(reached <= query.base + query.length && rest.base + rest.length == query.base + query.length);
    }
    require(rest.length == 0);
}

static void decode(uvhttp_slice_t text, bool plus)
{
    char *output = malloc(text.length);
    char *in_place = malloc(text.length);
    require(output != NULL && in_place != NULL);
    memcpy(in_place, text.base, text.length);
    ptrdiff_t length = uvhttp_percent_decode(text, output, plus);
    require(length <= (ptrdiff_t)text.length);
    require(uvhttp_percent_decode((uvhttp_slice_t){in_place, text.length}, in_place, plus) == length);
    if (length > 0)
        require(memcmp(in_place, output, (size_t)length) == 0);
    free(output);
    free(in_place);
}

static void there_and_back(uvhttp_slice_t text)
{
    char *encoded = malloc(3 * text.length);
    require(encoded != NULL);
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.base[i];
        encoded[3 * i] = '%';
        encoded[3 * i + 1] = "0123456789abcdef"[c >> 4];
        encoded[3 * i + 2] = "0123456789ABCDEF"[c & 15];
    }
    ptrdiff_t length = uvhttp_percent_decode((uvhttp_slice_t){encoded, 3 * text.length}, encoded, true);
    require(length == (ptrdiff_t)text.length && memcmp(encoded, text.base, text.length) == 0);
    free(encoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *copy = malloc(size);
    require(copy != NULL);
    memcpy(copy, data, size);
    uvhttp_slice_t text = {copy, size};
    walk(text);
    decode(text, false);
    decode(text, true);
    there_and_back(text);
    free(copy);
    return 0;
}
