/* Constant-time comparison of secrets: passwords, tokens, signatures. */
#ifndef UVHTTP_SECRET_H
#define UVHTTP_SECRET_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* True if both byte strings are equal. The time depends on `a_length` only, not on the position
 * of a difference, so that a timing attack cannot guess a secret byte by byte. `a` is the
 * untrusted input, `b` the secret, whose length is not revealed. NULL has length 0: it equals
 * only another of length 0. Any thread. */
UVHTTP_EXPORT bool uvhttp_equal_constant_time(const void *a, size_t a_length, const void *b,
                                              size_t b_length);

#ifdef __cplusplus
}
#endif

#endif
