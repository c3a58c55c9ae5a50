/* The reference parser, part 1: classes of bytes as the RFCs define them.
 *
 * The reference parser is slow and obviously correct. It follows the grammar byte by byte,
 * allocates nothing, keeps no state and shares no code with src/. The parser must agree with it on
 * everything (tests/unit/test_codec_compare.c, tests/fuzz). Of the public headers it uses the
 * types, the names of reasons, and the tables of methods and field names. */
#ifndef UVH_TESTS_REFERENCE_BYTES_H
#define UVH_TESTS_REFERENCE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* DIGIT = %x30-39 (RFC 5234 appendix B.1) */
static inline bool reference_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ALPHA = %x41-5A / %x61-7A (RFC 5234 appendix B.1) */
static inline bool reference_is_alpha(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* HEXDIG, in both cases (RFC 5234 section 2.3). Returns its value, or -1. */
static inline int reference_hex(char c)
{
    if (reference_is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* tchar (RFC 9110 section 5.6.2) */
static inline bool reference_is_token(char c)
{
    if (reference_is_digit(c) || reference_is_alpha(c))
        return true;
    switch (c) {
    case '!':
    case '#':
    case '$':
    case '%':
    case '&':
    case '\'':
    case '*':
    case '+':
    case '-':
    case '.':
    case '^':
    case '_':
    case '`':
    case '|':
    case '~':
        return true;
    default:
        return false;
    }
}

/* SP / HTAB, the bytes of OWS and BWS (RFC 9110 section 5.6.3) */
static inline bool reference_is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* obs-text = %x80-FF (RFC 9110 section 5.5) */
static inline bool reference_is_obs_text(char c)
{
    return (unsigned char)c >= 0x80;
}

/* VCHAR = %x21-7E (RFC 5234 appendix B.1) */
static inline bool reference_is_visible(char c)
{
    return c >= 0x21 && c <= 0x7e;
}

/* SP / HTAB / VCHAR / obs-text: bytes of field values and reason phrases, and those that a
 * backslash may quote */
static inline bool reference_is_value(char c)
{
    return reference_is_space(c) || reference_is_visible(c) || reference_is_obs_text(c);
}

/* qdtext (RFC 9110 section 5.6.4) */
static inline bool reference_is_qdtext(char c)
{
    return reference_is_value(c) && c != '"' && c != '\\';
}

/* The bytes of a request target: the visible characters. '#' begins a fragment, which is never sent
 * (RFC 9112 section 3.2). Characters that should be percent-encoded are accepted. */
static inline bool reference_is_target(char c)
{
    return reference_is_visible(c) && c != '#';
}

/* unreserved / sub-delims (RFC 3986 sections 2.2 and 2.3) */
static inline bool reference_is_reg_name(char c)
{
    return reference_is_alpha(c) || reference_is_digit(c) ||
           (c != '\0' && strchr("-._~!$&'()*+,;=", c) != NULL);
}

static inline char reference_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Case-insensitive comparison. `word` ends with NUL. */
static inline bool reference_is_word(const char *bytes, size_t length, const char *word)
{
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '\0' || reference_lower(bytes[i]) != reference_lower(word[i]))
            return false;
    }
    return word[length] == '\0';
}

#endif
