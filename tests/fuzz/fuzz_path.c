/* Paths. Holds: a normalized path is never longer, keeps no dot segment and no NUL; in place gives the
 * same; a path said to be normal stays as it is. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *raw = malloc(size);
    char *output = malloc(size);
    require(raw != NULL && output != NULL);
    memcpy(raw, data, size);
    size_t length = 0;
    uvhttp_slice_t path = {raw, size};
    bool normal = uvhttp_path_is_normal(path);
    uvhttp_reason_t reason = uvhttp_path_normalize(path, output, &length);
    bool raw_nul = memchr(raw, '\0', size) != NULL; /* the head parser lets none through */
    if (reason == UVHTTP_REASON_NONE) {
        require(length <= size && !has_dot_segment(output, length));
        require(raw_nul || memchr(output, '\0', length) == NULL);
        require(raw[0] != '/' || (length > 0 && output[0] == '/'));
    }
    if (normal)
        require(reason == UVHTTP_REASON_NONE && length == size && memcmp(output, raw, size) == 0);
    size_t length_in_place = 0;
    require(uvhttp_path_normalize(path, raw, &length_in_place) == reason);
    if (reason == UVHTTP_REASON_NONE)
        require(length_in_place == length && memcmp(raw, output, length) == 0);
    free(raw);
    free(output);
    return 0;
}
