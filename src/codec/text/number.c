/* Decimal numbers, see number.h. */
#include "codec/text/number.h"

#include <string.h>

#include <uvhttp/text.h>

#include "base/slice.h"

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

uvhttp_slice_t uvhttp_slice_of(const char *text)
{
    return uvh_slice(text);
}

/* Negative numbers reach one further than positive ones, so all are accumulated as negative. */
bool uvhttp_number_parse(const char *text, int64_t min, int64_t max, int64_t *number)
{
    bool negative = text != NULL && *text == '-';
    int64_t value = 0;
    if (text == NULL || number == NULL || *(text += negative) == '\0')
        return false;
    for (; *text != '\0'; text++) {
        int digit = *text - '0';
        if (digit < 0 || digit > 9 || value < (INT64_MIN + digit) / 10)
            return false;
        value = value * 10 - digit;
    }
    if (!negative && value == INT64_MIN)
        return false;
    value = negative ? value : -value;
    if (value < min || value > max)
        return false;
    *number = value;
    return true;
}
