/* Decimal numbers, see number.h. */
#include "codec/text/number.h"

#include <string.h>

/* Two digits at a time halves the divisions. */
static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

static size_t digits_of(uint64_t number)
{
    size_t digits = 1;
    /* The next power after the last would overflow. */
    for (uint64_t power = 10; digits < UVH_NUMBER_SIZE && number >= power; power *= 10)
        digits++;
    return digits;
}

size_t uvh_number_write(char out[UVH_NUMBER_SIZE], uint64_t number)
{
    size_t length = digits_of(number);
    char *p = out + length;
    while (number >= 100) {
        p -= 2;
        memcpy(p, digit_pairs + 2 * (number % 100), 2);
        number /= 100;
    }
    if (number >= 10)
        memcpy(out, digit_pairs + 2 * number, 2);
    else
        *out = (char)('0' + number);
    return length;
}
