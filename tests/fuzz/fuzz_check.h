/* Helpers of the fuzz targets. A violated property ends the process, and so does a read outside an
 * input.
 *
 * Each input is copied to memory of exactly its size, so that the sanitizer detects a read of one
 * byte too many. */
#ifndef UVH_TESTS_FUZZ_CHECK_H
#define UVH_TESTS_FUZZ_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/parser.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool condition)
{
    if (!condition)
        abort();
}

/* `difference` is the result of a compare.h function; NULL: no difference. */
static inline void require_same(const char *difference, const char *how)
{
    if (difference == NULL)
        return;
    fprintf(stderr, "%s differs, %s, back end %s\n", difference, how, uvhttp_parser_backend());
    abort();
}

/* The caller frees the copy. */
static inline char *exact_copy(const void *bytes, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    require(copy != NULL);
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

static inline bool slice_equal(uvhttp_slice_t a, uvhttp_slice_t b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.base, b.base, a.length) == 0);
}

/* Is `part` within `whole`? */
static inline bool slice_within(uvhttp_slice_t part, uvhttp_slice_t whole)
{
    return part.base >= whole.base && part.base + part.length <= whole.base + whole.length;
}

#endif
