/* Cookie fields. Properties: the pairs are those of the reference parser, in the order of the
 * field. They contain no semicolon and are trimmed. Written and read again they are the same. */
#include "fuzz/fuzz_check.h"
#include "reference/text.h"

enum { MAX_PAIRS = 64 };

struct pairs {
    size_t count;
    uvhttp_slice_t names[MAX_PAIRS];
    uvhttp_slice_t values[MAX_PAIRS];
};

static bool is_trimmed(uvhttp_slice_t text)
{
    return text.length == 0 ||
           (!reference_is_space(text.base[0]) && !reference_is_space(text.base[text.length - 1]));
}

static bool has_byte(uvhttp_slice_t text, char byte)
{
    return text.length > 0 && memchr(text.base, byte, text.length) != NULL;
}

static void check_pairs(uvhttp_slice_t text, struct pairs *pairs)
{
    uvhttp_slice_t rest[2] = {text, text};
    uvhttp_slice_t name[2];
    uvhttp_slice_t value[2];
    const char *last_end = text.base;
    pairs->count = 0;
    while (uvhttp_cookie_next(&rest[0], &name[0], &value[0])) {
        require(reference_cookie_next(&rest[1], &name[1], &value[1]));
        require(slice_equal(name[0], name[1]) && slice_equal(value[0], value[1]));
        require(value[0].length == 0 || value[0].base == value[1].base);
        require(slice_within(name[0], text) && slice_within(value[0], text) &&
                name[0].base >= last_end);
        require(is_trimmed(name[0]) && is_trimmed(value[0]) &&
                name[0].length + value[0].length > 0);
        require(!has_byte(name[0], ';') && !has_byte(name[0], '=') && !has_byte(value[0], ';'));
        require(value[0].base >= name[0].base + name[0].length);
        last_end = value[0].base + value[0].length;
        if (pairs->count < MAX_PAIRS) {
            pairs->names[pairs->count] = name[0];
            pairs->values[pairs->count++] = value[0];
        }
    }
    require(rest[0].length == 0 && !reference_cookie_next(&rest[1], &name[1], &value[1]));
}

static void append(char *text, size_t *length, uvhttp_slice_t bytes)
{
    if (bytes.length > 0)
        memcpy(text + *length, bytes.base, bytes.length);
    *length += bytes.length;
}

/* "name=value; name=value", as browsers write it. */
static void write_and_read(const struct pairs *pairs, size_t size)
{
    char *text = malloc(size + 3 * MAX_PAIRS);
    require(text != NULL);
    size_t length = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        append(text, &length, pairs->names[i]);
        append(text, &length, (uvhttp_slice_t){"=", 1});
        append(text, &length, pairs->values[i]);
        append(text, &length, (uvhttp_slice_t){"; ", 2});
    }
    uvhttp_slice_t rest = {text, length};
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    for (size_t i = 0; i < pairs->count; i++) {
        require(uvhttp_cookie_next(&rest, &name, &value));
        require(slice_equal(name, pairs->names[i]) && slice_equal(value, pairs->values[i]));
    }
    require(!uvhttp_cookie_next(&rest, &name, &value));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pairs pairs;
    char *copy = exact_copy(data, size);
    check_pairs((uvhttp_slice_t){copy, size}, &pairs);
    write_and_read(&pairs, size);
    free(copy);
    return 0;
}
