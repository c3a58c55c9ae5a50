/* Request targets: their form and parts by framing, and their paths. Properties: form, authority,
 * path and query are those of the reference parser, and so is a normalized path. It is never
 * longer, has no dot segment, stays below its root, and is the same when normalized in place.
 * Normalizing it again changes nothing, unless an escaped '%' was decoded. A path reported as
 * normal is not changed. */
#include "fuzz/fuzz_check.h"
#include "reference/compare.h"
#include "reference/text.h"

static bool has_dot_segment(const char *path, size_t length)
{
    for (size_t start = 0; start < length;) {
        size_t end = start;
        while (end < length && path[end] != '/')
            end++;
        size_t size = end - start;
        if ((size == 1 || size == 2) && path[start] == '.' && path[end - 1] == '.')
            return true;
        start = end + 1;
    }
    return false;
}

/* A normalized path does not change when normalized again. */
static void check_again(uvhttp_slice_t raw, const char *normalized, size_t length)
{
    bool percent = false;
    for (size_t i = 0; i + 3 <= raw.length; i++)
        percent = percent || memcmp(raw.base + i, "%25", 3) == 0;
    if (percent)
        return;
    size_t again_length = length + 1;
    char *again = exact_copy(normalized, length);
    uvhttp_slice_t text = {again, length};
    require(uvhttp_path_normalize(text, again, &again_length) == UVHTTP_REASON_NONE);
    require(again_length == length && memcmp(again, normalized, length) == 0);
    free(again);
}

static void check_path(const char *bytes, size_t size)
{
    static char expected[REFERENCE_LONGEST_PATH];
    if (size == 0 || size > sizeof expected)
        return;
    char *raw = exact_copy(bytes, size);
    char *output = malloc(size);
    require(output != NULL);
    uvhttp_slice_t path = {raw, size};
    size_t expected_length = 0;
    size_t length = 0;
    bool normal = uvhttp_path_is_normal(path);
    uvhttp_reason_t reason = uvhttp_path_normalize(path, output, &length);
    require_same(reason != reference_path(path, expected, &expected_length) ? "the reason" : NULL,
                 "as a path");
    if (reason == UVHTTP_REASON_NONE) {
        bool same = length == expected_length && memcmp(output, expected, length) == 0;
        require_same(same ? NULL : "the path", "normalized");
        require(length <= size && !has_dot_segment(output, length));
        require(raw[0] != '/' || (length > 0 && output[0] == '/'));
        check_again(path, output, length);
        bool unchanged = length == size && memcmp(output, raw, size) == 0;
        require(raw[0] != '/' || normal == (unchanged && memchr(raw, '%', size) == NULL));
    }
    require(!normal ||
            (reason == UVHTTP_REASON_NONE && length == size && memcmp(output, raw, size) == 0));
    size_t length_in_place = 0;
    require(uvhttp_path_normalize(path, raw, &length_in_place) == reason);
    if (reason == UVHTTP_REASON_NONE)
        require(length_in_place == length && memcmp(raw, output, length) == 0);
    free(raw);
    free(output);
}

/* Checks the input as the target of a request with `method`. */
static void check_target(const char *method, const char *bytes, size_t size)
{
    static uvhttp_head_t head;
    static struct reference_head expected;
    static const char rest[] = " HTTP/1.1\r\nHost: example.com\r\n\r\n";
    struct reference_framing expected_framing;
    uvhttp_framing_t framing;
    uvhttp_head_limits_t limits = {UINT16_MAX, UINT16_MAX, 10};
    size_t method_length = strlen(method);
    size_t length = method_length + size + sizeof rest - 1;
    char *text = malloc(length);
    require(text != NULL);
    memcpy(text, method, method_length);
    memcpy(text + method_length, bytes, size);
    memcpy(text + method_length + size, rest, sizeof rest - 1);
    uvhttp_head_init(&head, NULL, 0);
    reference_request(&expected, text, length, &limits, UVHTTP_HEAD_INLINE_FIELDS);
    uvhttp_parse_result_t result = uvhttp_request_head_parse(&head, text, length, &limits);
    require_same(compare_head(&head, result, &expected), method);
    if (result == UVHTTP_PARSE_DONE) {
        reference_request_framing(&expected, text, &expected_framing);
        uvhttp_reason_t reason = uvhttp_request_framing(&head, &framing);
        require_same(compare_framing(&framing, reason, text, &expected_framing, text, head.size),
                     method);
        if (reason == UVHTTP_REASON_NONE)
            check_path(framing.path.base, framing.path.length);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    check_path(text, size);
    check_target("GET ", text, size);
    check_target("CONNECT ", text, size);
    check_target("OPTIONS ", text, size);
    return 0;
}
