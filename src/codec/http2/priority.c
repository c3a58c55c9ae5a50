/* Priorities, see priority.h: the parser for dictionaries of RFC 8941 section 4.2, which keeps only
 * integers and booleans. */
#include "codec/http2/priority.h"

#include <stddef.h>

#include "codec/text/chars.h"

/* The rest of the text. */
struct text {
    const char *p;
    const char *end;
};

/* A bare item. */
struct item {
    enum { OTHER, INTEGER, BOOLEAN } type;
    int64_t value;
};

static bool next_is(const struct text *text, char c)
{
    return text->p < text->end && *text->p == c;
}

static bool skip(struct text *text, char c)
{
    if (!next_is(text, c))
        return false;
    text->p++;
    return true;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_letter(char c)
{
    return is_lower(uvh_chars_lower(c));
}

static bool next_is_digit(const struct text *text)
{
    return text->p < text->end && uvh_chars_is(*text->p, UVH_CHAR_DIGIT);
}

static void skip_spaces(struct text *text)
{
    while (skip(text, ' '))
        ;
}

static void skip_white_space(struct text *text)
{
    while (text->p < text->end && uvh_chars_is(*text->p, UVH_CHAR_SPACE))
        text->p++;
}

/* lcalpha or "*", then also digits, '_', '-' and '.'. */
static bool take_key(struct text *text, uvhttp_slice_t *key)
{
    const char *start = text->p;
    if (start == text->end || (!is_lower(*start) && *start != '*'))
        return false;
    while (text->p < text->end &&
           (is_lower(*text->p) || uvh_chars_is(*text->p, UVH_CHAR_DIGIT) || next_is(text, '_') ||
            next_is(text, '-') || next_is(text, '.') || next_is(text, '*')))
        text->p++;
    *key = (uvhttp_slice_t){start, (size_t)(text->p - start)};
    return true;
}

static size_t skip_digits(struct text *text, int64_t *value)
{
    const char *start = text->p;
    for (; next_is_digit(text) && text->p - start < 16; text->p++)
        *value = *value * 10 + (*text->p - '0');
    return (size_t)(text->p - start);
}

/* Up to 15 digits, or up to 12, a point and up to 3. */
static bool take_number(struct text *text, struct item *item)
{
    bool negative = skip(text, '-');
    size_t digits = skip_digits(text, &item->value);
    item->type = INTEGER;
    if (negative)
        item->value = -item->value;
    if (digits == 0 || digits > 15)
        return false;
    if (!skip(text, '.'))
        return true;
    int64_t fraction = 0;
    size_t decimals = skip_digits(text, &fraction);
    item->type = OTHER;
    return digits <= 12 && decimals >= 1 && decimals <= 3;
}

static bool skip_string(struct text *text)
{
    while (text->p < text->end) {
        char c = *text->p++;
        if (c == '"')
            return true;
        if (c == '\\' && !next_is(text, '"') && !next_is(text, '\\'))
            return false;
        if (c == '\\')
            text->p++;
        else if (c < ' ' || c > '~')
            return false;
    }
    return false;
}

static bool skip_bytes(struct text *text)
{
    while (text->p < text->end) {
        char c = *text->p++;
        if (c == ':')
            return true;
        if (!is_letter(c) && !uvh_chars_is(c, UVH_CHAR_DIGIT) && c != '+' && c != '/' && c != '=')
            return false;
    }
    return false;
}

static bool take_boolean(struct text *text, struct item *item)
{
    item->type = BOOLEAN;
    item->value = next_is(text, '1');
    return skip(text, '1') || skip(text, '0');
}

static bool take_bare_item(struct text *text, struct item *item)
{
    *item = (struct item){.type = OTHER};
    if (next_is(text, '-') || next_is_digit(text))
        return take_number(text, item);
    if (skip(text, '?'))
        return take_boolean(text, item);
    if (skip(text, '"'))
        return skip_string(text);
    if (skip(text, ':'))
        return skip_bytes(text);
    if (text->p == text->end || (!is_letter(*text->p) && *text->p != '*'))
        return false;
    while (text->p < text->end &&
           (uvh_chars_is(*text->p, UVH_CHAR_TOKEN) || next_is(text, ':') || next_is(text, '/')))
        text->p++;
    return true;
}

static bool skip_parameters(struct text *text)
{
    while (skip(text, ';')) {
        uvhttp_slice_t key;
        struct item item;
        skip_spaces(text);
        if (!take_key(text, &key) || (skip(text, '=') && !take_bare_item(text, &item)))
            return false;
    }
    return true;
}

/* After its "(". */
static bool skip_inner_list(struct text *text)
{
    struct item item;
    for (;;) {
        const char *before = text->p;
        skip_spaces(text);
        if (skip(text, ')'))
            return true;
        if ((text->p == before && before[-1] != '(') || !take_bare_item(text, &item) ||
            !skip_parameters(text))
            return false;
    }
}

/* A key with its value. */
static bool take_member(struct text *text, uvhttp_slice_t *key, struct item *item)
{
    *item = (struct item){BOOLEAN, 1};
    if (!take_key(text, key))
        return false;
    if (skip(text, '=')) {
        if (skip(text, '(')) {
            item->type = OTHER;
            if (!skip_inner_list(text))
                return false;
        } else if (!take_bare_item(text, item)) {
            return false;
        }
    }
    return skip_parameters(text);
}

bool uvh_h2_priority_read(uvhttp_slice_t value, struct uvh_h2_priority *priority)
{
    struct text text = {value.base, value.base + value.length};
    struct uvh_h2_priority result = *priority;
    skip_spaces(&text);
    while (text.p < text.end) {
        uvhttp_slice_t key;
        struct item item;
        if (!take_member(&text, &key, &item))
            return false;
        /* the last member of a name counts, so an invalid one undoes the former */
        if (key.length == 1 && *key.base == 'u') {
            bool valid = item.type == INTEGER && item.value >= 0 && item.value < UVH_H2_URGENCIES;
            result.urgency = valid ? (uint8_t)item.value : priority->urgency;
        } else if (key.length == 1 && *key.base == 'i') {
            result.incremental = item.type == BOOLEAN ? item.value != 0 : priority->incremental;
        }
        skip_white_space(&text);
        if (text.p == text.end)
            break;
        if (!skip(&text, ','))
            return false;
        skip_white_space(&text);
        if (text.p == text.end)
            return false;
    }
    *priority = result;
    return true;
}
