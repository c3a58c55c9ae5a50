/* Every possible start of the hash is tried, because hashes of Vite may contain the separator
 * characters. */
#include "codec/fields/hashed_name.h"

#include <string.h>

#include "codec/fields/field.h"

enum { MIN_LENGTH = 8, MAX_HEX = 64, MAX_MIXED = 32, MIN_WORD = 5 };

/* Character counts of a possible hash. */
struct census {
    size_t digits, lower, upper, joints; /* separators: '-' and '_' */
    size_t hex_lower, hex_upper, base32; /* of these kinds, digits included */
};

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* False if there is a character that no hash has. */
static bool count(uvhttp_slice_t text, struct census *census)
{
    *census = (struct census){.digits = 0};
    for (size_t i = 0; i < text.length; i++) {
        char c = text.base[i];
        census->digits += is_digit(c);
        census->lower += is_lower(c);
        census->upper += is_upper(c);
        census->joints += c == '-' || c == '_';
        census->hex_lower += is_digit(c) || (c >= 'a' && c <= 'f');
        census->hex_upper += is_digit(c) || (c >= 'A' && c <= 'F');
        census->base32 += (c >= '2' && c <= '7') || is_upper(c);
    }
    return census->digits + census->lower + census->upper + census->joints == text.length;
}

/* Letters followed by digits only, as in numbered files. */
static bool is_numbered_word(uvhttp_slice_t text, const struct census *census)
{
    size_t letters = text.length - census->digits;
    for (size_t i = 0; i < letters; i++) {
        if (is_digit(text.base[i]) || (i > 0 && is_upper(text.base[i]) && census->lower > 0))
            return false;
    }
    return census->joints == 0;
}

/* True if several consecutive letters are lower case, where the first may be a capital. */
static bool holds_word(uvhttp_slice_t text)
{
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (is_lower(text.base[i]))
            length++;
        else
            length = is_upper(text.base[i]);
        if (length >= MIN_WORD)
            return true;
    }
    return false;
}

static bool is_hash(uvhttp_slice_t text)
{
    struct census census;
    if (text.length < MIN_LENGTH || text.length > MAX_HEX || !count(text, &census) ||
        census.digits == 0 || is_numbered_word(text, &census))
        return false;
    if (census.digits < text.length &&
        (census.hex_lower == text.length || census.hex_upper == text.length))
        return true;
    if (text.length == MIN_LENGTH && census.base32 == MIN_LENGTH)
        return true;
    return census.lower > 0 && census.upper > 0 && text.length <= MAX_MIXED &&
           (census.joints == 0 || text.length == MIN_LENGTH) && !holds_word(text);
}

/* The position of the last dot, or the end if there is none. */
static size_t last_dot(uvhttp_slice_t name)
{
    for (size_t i = name.length; i > 0; i--) {
        if (name.base[i - 1] == '.')
            return i - 1;
    }
    return name.length;
}

static bool is_one_of(uvhttp_slice_t extension, const char *const *names, size_t count_of_names)
{
    for (size_t i = 0; i < count_of_names; i++) {
        if (uvh_field_name_equal(extension, (uvhttp_slice_t){names[i], strlen(names[i])}))
            return true;
    }
    return false;
}

bool uvh_hashed_name(uvhttp_slice_t path)
{
    /* Suffixes of derived files, which keep the name. */
    static const char *const after[] = {"map", "br", "gz", "zst"};
    uvhttp_slice_t name = path;
    for (size_t i = path.length; i > 0; i--) {
        if (path.base[i - 1] == '/') {
            name = (uvhttp_slice_t){path.base + i, path.length - i};
            break;
        }
    }
    size_t dot = last_dot(name);
    while (dot < name.length &&
           is_one_of((uvhttp_slice_t){name.base + dot + 1, name.length - dot - 1}, after,
                     sizeof after / sizeof after[0])) {
        name.length = dot;
        dot = last_dot(name);
    }
    if (dot + 1 >= name.length)
        return false;
    for (size_t i = 1; i < dot; i++) {
        char c = name.base[i - 1];
        if ((c == '-' || c == '_' || c == '.') && is_hash((uvhttp_slice_t){name.base + i, dot - i}))
            return true;
    }
    return false;
}
