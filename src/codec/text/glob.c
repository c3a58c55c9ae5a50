/* All possible matches are followed at once, as a set of positions in the pattern, so there is no
 * backtracking. */
#include "codec/text/glob.h"

#include <string.h>

enum {
    /* After the last code point: represents a byte that is not part of valid UTF-8. */
    STRAY_BYTE = 0x110000,
    SLASH = '/',
};

/* Elements of a pattern. */
enum token_kind {
    TOKEN_CHARACTER,
    TOKEN_ANY,
    TOKEN_CLASS,
    TOKEN_STAR,
    TOKEN_STARS,
    TOKEN_DIRECTORIES,
    TOKEN_BAD
};

struct token {
    enum token_kind kind;
    size_t next; /* position of the next token */
    uint32_t character;
};

/* A set of positions in the pattern, including its end. */
struct positions {
    bool held[UVH_GLOB_MAX_LENGTH + 1];
    bool any;
};

/* Takes one character; there is at least one byte. Overlong encodings are invalid: they would be a
 * second encoding of '/'. */
static uint32_t take(uvhttp_slice_t text, size_t *at)
{
    unsigned char first = (unsigned char)text.base[*at];
    size_t more = first >= 0xf0 && first < 0xf8   ? 3
                  : first >= 0xe0 && first < 0xf0 ? 2
                  : first >= 0xc2 && first < 0xe0 ? 1
                                                  : 0;
    *at += 1;
    if (more == 0)
        return first < 0x80 ? first : (uint32_t)STRAY_BYTE + first;
    if (text.length - *at < more)
        return (uint32_t)STRAY_BYTE + first;
    uint32_t character = first & (0x3fu >> more);
    for (size_t i = 0; i < more; i++) {
        unsigned char byte = (unsigned char)text.base[*at + i];
        if ((byte & 0xc0) != 0x80)
            return (uint32_t)STRAY_BYTE + first;
        character = character << 6 | (byte & 0x3fu);
    }
    if ((more == 2 && character < 0x800) ||
        (more == 3 && (character < 0x10000 || character >= STRAY_BYTE)))
        return (uint32_t)STRAY_BYTE + first;
    *at += more;
    return character;
}

/* Takes one character, which may be escaped by a backslash. False at the end. */
static bool take_escaped(uvhttp_slice_t pattern, size_t *at, uint32_t *character)
{
    if (*at < pattern.length && pattern.base[*at] == '\\')
        ++*at;
    if (*at >= pattern.length)
        return false;
    *character = take(pattern, at);
    return true;
}

/* Reads a class whose '[' is at `at`: whether it contains `character`, and where it ends. False if
 * it is malformed. */
static bool read_class(uvhttp_slice_t pattern, size_t at, uint32_t character, bool *holds,
                       size_t *end)
{
    bool negated = false;
    bool found = false;
    at++;
    if (at < pattern.length && (pattern.base[at] == '!' || pattern.base[at] == '^')) {
        negated = true;
        at++;
    }
    for (bool first = true;; first = false) {
        uint32_t low;
        uint32_t high;
        if (at < pattern.length && pattern.base[at] == ']' && !first)
            break;
        if (!take_escaped(pattern, &at, &low))
            return false;
        high = low;
        if (pattern.length - at >= 2 && pattern.base[at] == '-' && pattern.base[at + 1] != ']') {
            at++;
            if (!take_escaped(pattern, &at, &high) || high < low)
                return false;
        }
        found = found || (low <= character && character <= high);
    }
    *holds = found != negated;
    *end = at + 1;
    return true;
}

/* The token at `at`, which is before the end. */
static struct token read_token(uvhttp_slice_t pattern, size_t at)
{
    struct token token = {.kind = TOKEN_CHARACTER, .next = at};
    bool ignored;
    switch (pattern.base[at]) {
    case '*':
        token.next = at + 1;
        token.kind = TOKEN_STAR;
        if (token.next == pattern.length || pattern.base[token.next] != '*')
            return token;
        token.kind = TOKEN_STARS;
        while (token.next < pattern.length && pattern.base[token.next] == '*')
            token.next++;
        if ((at == 0 || pattern.base[at - 1] == '/') && token.next < pattern.length &&
            pattern.base[token.next] == '/') {
            token.kind = TOKEN_DIRECTORIES;
            token.next++;
        }
        return token;
    case '?':
        token.kind = TOKEN_ANY;
        token.next = at + 1;
        return token;
    case '[':
        token.kind = read_class(pattern, at, 0, &ignored, &token.next) ? TOKEN_CLASS : TOKEN_BAD;
        return token;
    default:
        if (!take_escaped(pattern, &token.next, &token.character))
            token.kind = TOKEN_BAD;
        return token;
    }
}

/* Adds a position, and those reachable from it without a character. `boundary`: a name of the path
 * begins here. */
static void add(struct positions *positions, uvhttp_slice_t pattern, size_t at, bool boundary)
{
    for (;;) {
        if (positions->held[at])
            return;
        positions->held[at] = true;
        positions->any = true;
        if (at == pattern.length || pattern.base[at] != '*')
            return;
        struct token token = read_token(pattern, at);
        if (token.kind == TOKEN_DIRECTORIES && !boundary)
            return;
        at = token.next;
    }
}

/* Adds the positions that one character leads to. */
static void step(struct positions *to, uvhttp_slice_t pattern, size_t at, uint32_t character)
{
    struct token token = read_token(pattern, at);
    bool slash = character == SLASH;
    bool fits = false;
    size_t end;
    switch (token.kind) {
    case TOKEN_STAR:
        if (!slash)
            add(to, pattern, at, false);
        return;
    case TOKEN_STARS:
    case TOKEN_DIRECTORIES:
        add(to, pattern, at, slash);
        return;
    case TOKEN_ANY:
        fits = !slash;
        break;
    case TOKEN_CLASS:
        if (!read_class(pattern, at, character, &fits, &end))
            return;
        fits = fits && !slash;
        break;
    case TOKEN_CHARACTER:
        fits = token.character == character;
        break;
    case TOKEN_BAD:
        break;
    }
    if (fits)
        add(to, pattern, token.next, slash);
}

/* `part`: or a directory on the path. */
static bool matches_whole(uvhttp_slice_t pattern, uvhttp_slice_t path, bool part)
{
    struct positions sets[2];
    struct positions *now = &sets[0];
    struct positions *next = &sets[1];
    memset(now, 0, sizeof(*now));
    add(now, pattern, 0, true);
    for (size_t at = 0; at < path.length && now->any;) {
        if (part && at > 0 && path.base[at] == SLASH && now->held[pattern.length])
            return true;
        uint32_t character = take(path, &at);
        memset(next, 0, sizeof(*next));
        for (size_t position = 0; position < pattern.length; position++) {
            if (now->held[position])
                step(next, pattern, position, character);
        }
        struct positions *spare = now;
        now = next;
        next = spare;
    }
    return now->held[pattern.length];
}

static uvhttp_slice_t without_slash(uvhttp_slice_t text)
{
    if (text.length > 0 && text.base[0] == '/')
        return (uvhttp_slice_t){text.base + 1, text.length - 1};
    return text;
}

bool uvh_glob_is_valid(uvhttp_slice_t pattern)
{
    if (pattern.length == 0 || pattern.length > UVH_GLOB_MAX_LENGTH)
        return false;
    for (size_t at = 0; at < pattern.length;) {
        struct token token = read_token(pattern, at);
        if (token.kind == TOKEN_BAD)
            return false;
        at = token.next;
    }
    return true;
}

bool uvh_glob_matches(uvhttp_slice_t pattern, uvhttp_slice_t path)
{
    if (!uvh_glob_is_valid(pattern))
        return false;
    if (memchr(pattern.base, '/', pattern.length) != NULL)
        return matches_whole(without_slash(pattern), without_slash(path), false);
    for (size_t at = path.length; at > 0; at--) {
        if (path.base[at - 1] == '/') {
            path = (uvhttp_slice_t){path.base + at, path.length - at};
            break;
        }
    }
    return matches_whole(pattern, path, false);
}

bool uvh_glob_matches_part(uvhttp_slice_t pattern, uvhttp_slice_t path)
{
    bool whole = memchr(pattern.base, '/', pattern.length) != NULL;
    path = without_slash(path);
    if (path.length > 0 && path.base[path.length - 1] == '/')
        path.length--;
    if (path.length == 0 || !uvh_glob_is_valid(pattern))
        return false;
    if (whole)
        return matches_whole(without_slash(pattern), path, true);
    for (size_t begin = 0; begin <= path.length;) {
        const char *slash = memchr(path.base + begin, '/', path.length - begin);
        size_t end = slash == NULL ? path.length : (size_t)(slash - path.base);
        if (matches_whole(pattern, (uvhttp_slice_t){path.base + begin, end - begin}, false))
            return true;
        begin = end + 1;
    }
    return false;
}
