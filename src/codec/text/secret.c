/* Comparison in constant time, see uvhttp/secret.h: all bytes are read, and no branch depends on
 * their values. Called by authentication and for signed cookies. */
#include <uvhttp/secret.h>

bool uvhttp_equal_constant_time(const void *a, size_t a_length, const void *b, size_t b_length)
{
    if ((a == NULL && a_length > 0) || (b == NULL && b_length > 0))
        return false;
    /* Volatile, because a compiler might end the loop at the first difference. */
    const volatile unsigned char *left = a;
    const volatile unsigned char *right = b;
    /* For different lengths `a` is compared with itself, so that it takes the same time. */
    bool same_length = a_length == b_length;
    if (!same_length)
        right = left;
    unsigned difference = !same_length;
    for (size_t i = 0; i < a_length; i++)
        difference |= (unsigned)(left[i] ^ right[i]);
    return difference == 0;
}
