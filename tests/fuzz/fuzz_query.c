/* Queries, forms and percent-encoding. Properties: pairs are those of the reference parser and in
 * the order of the query. Decoded text is that of the reference parser, never longer than the
 * input, and the same when decoded in place and in chunks. A form is its decoded query. Decoding an
 * encoded text gives the text. */
#include "fuzz/fuzz_check.h"
#include "reference/text.h"

static void check_query(uvhttp_slice_t query)
{
    uvhttp_slice_t rest[2] = {query, query};
    uvhttp_slice_t name[2];
    uvhttp_slice_t value[2];
    const char *last_end = query.base;
    while (uvhttp_query_next(&rest[0], &name[0], &value[0])) {
        require(reference_query_next(&rest[1], &name[1], &value[1]));
        require(name[0].base == name[1].base && name[0].length == name[1].length);
        require(value[0].base == value[1].base && value[0].length == value[1].length);
        require(name[0].base >= last_end && slice_within(name[0], query));
        last_end = name[0].base + name[0].length;
        if (value[0].base != NULL) {
            require(value[0].base == last_end + 1 && slice_within(value[0], query));
            last_end = value[0].base + value[0].length;
        }
    }
    require(rest[0].length == 0 && !reference_query_next(&rest[1], &name[1], &value[1]));
}

/* The decoded chunks of `text` are `decoded`, up to a malformed escape at `bad` if `length` is
 * negative. */
static void check_chunks(uvhttp_slice_t text, bool plus, const char *decoded, ptrdiff_t length,
                         size_t bad)
{
    uvhttp_slice_t rest = text;
    uvhttp_slice_t chunk;
    size_t done = 0;
    int more;
    while ((more = uvhttp_percent_next(&rest, plus, &chunk)) > 0) {
        require(chunk.length > 0 && done + chunk.length <= text.length);
        require(memcmp(chunk.base, decoded + done, chunk.length) == 0);
        done += chunk.length;
    }
    if (length < 0)
        require(more == -1 && rest.base == text.base + bad);
    else
        require(more == 0 && rest.length == 0 && done == (size_t)length);
}

static void check_percent(uvhttp_slice_t text, bool plus)
{
    char *expected = exact_copy(text.base, text.length);
    char *output = exact_copy(text.base, text.length);
    char *in_place = exact_copy(text.base, text.length);
    size_t bad = 0;
    ptrdiff_t length = reference_percent(text, plus, expected, &bad);
    require(length <= (ptrdiff_t)text.length);
    require(uvhttp_percent_decode(text, output, plus) == length);
    require(uvhttp_percent_decode((uvhttp_slice_t){in_place, text.length}, in_place, plus) ==
            length);
    if (length > 0)
        require(memcmp(output, expected, (size_t)length) == 0 &&
                memcmp(in_place, expected, (size_t)length) == 0);
    check_chunks(text, plus, expected, length, bad);
    free(expected);
    free(output);
    free(in_place);
}

/* Checks that `decoded` is the decoded form of `raw`. Returns false when `raw` has a malformed
 * escape. */
static bool check_decoded(uvhttp_slice_t raw, uvhttp_slice_t decoded)
{
    char *expected = exact_copy(raw.base, raw.length);
    size_t bad;
    ptrdiff_t length = reference_percent(raw, true, expected, &bad);
    if (length >= 0)
        require(slice_equal(decoded, (uvhttp_slice_t){expected, (size_t)length}));
    free(expected);
    return length >= 0;
}

static bool well_formed(uvhttp_slice_t raw)
{
    char *scratch = exact_copy(raw.base, raw.length);
    size_t bad;
    bool valid = reference_percent(raw, true, scratch, &bad) >= 0;
    free(scratch);
    return valid;
}

static void check_form(uvhttp_slice_t form, bool in_place)
{
    char *copy = exact_copy(form.base, form.length);
    char *buffer = exact_copy(form.base, form.length);
    uvhttp_slice_t raw = form;
    uvhttp_slice_t rest = {copy, form.length};
    for (;;) {
        uvhttp_slice_t raw_name;
        uvhttp_slice_t raw_value;
        uvhttp_slice_t name;
        uvhttp_slice_t value;
        char *scratch =
            in_place ? copy + form.length - rest.length : buffer + form.length - rest.length;
        size_t before = rest.length;
        int result = uvhttp_form_next(&rest, scratch, &name, &value);
        require(rest.base + rest.length == copy + form.length && rest.length <= before);
        if (!reference_query_next(&raw, &raw_name, &raw_value)) {
            require(result == 0 && rest.length == 0);
            break;
        }
        if (!well_formed(raw_name) || !well_formed(raw_value)) {
            require(result == -1);
            break;
        }
        require(result == 1 && name.length + value.length <= raw_name.length + raw_value.length);
        require(check_decoded(raw_name, name) && check_decoded(raw_value, value));
    }
    free(copy);
    free(buffer);
}

static void check_round_trip(uvhttp_slice_t text)
{
    char *encoded = malloc(3 * text.length + 1);
    require(encoded != NULL);
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.base[i];
        encoded[3 * i] = '%';
        encoded[3 * i + 1] = "0123456789abcdef"[c >> 4];
        encoded[3 * i + 2] = "0123456789ABCDEF"[c & 15];
    }
    ptrdiff_t length =
        uvhttp_percent_decode((uvhttp_slice_t){encoded, 3 * text.length}, encoded, true);
    require(length == (ptrdiff_t)text.length && memcmp(encoded, text.base, text.length) == 0);
    free(encoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = exact_copy(data, size);
    uvhttp_slice_t text = {copy, size};
    check_query(text);
    check_form(text, false);
    check_form(text, true);
    check_percent(text, false);
    check_percent(text, true);
    check_round_trip(text);
    free(copy);
    return 0;
}
