/* Comparing secrets: passwords, tokens, signatures. */
#ifndef UVHTTP_SECRET_H
#define UVHTTP_SECRET_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same bytes? The time it takes depends on `a_length` alone, not on where the two differ, so
 * that nobody can guess a secret byte by byte from how long a refusal takes. `a` is what came from
 * outside, `b` the secret: its length is not told either. NULL has no bytes: it is the same as
 * another with length 0, and unlike everything else. Any thread. */
UVHTTP_EXPORT bool uvhttp_equal_constant_time(const void *a, size_t a_length, const void *b,
                                              size_t b_length);

#ifdef __cplusplus
}
#endif

#endif
