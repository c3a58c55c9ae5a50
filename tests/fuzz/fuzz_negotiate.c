/* Content negotiation. The first line of the input is a list of offers separated by '|', the rest
 * is the field. Properties, for each of the three fields: qualities are between 0 and 1000. The
 * chosen offer is acceptable and has the highest quality, and is the first one with that quality.
 * Malformed or empty elements and white space change nothing. A leading element that refuses an
 * offer prevents its choice. */
#include <uvhttp/negotiate.h>

#include "fuzz/fuzz_check.h"

enum { MAX_OFFERS = 8, KINDS = 3 };

typedef ptrdiff_t (*choose_cb)(uvhttp_slice_t field, const char *const *offers, size_t count);
typedef int (*quality_cb)(uvhttp_slice_t field, const char *offer);

static const choose_cb choose[KINDS] = {uvhttp_negotiate_type, uvhttp_negotiate_encoding,
                                        uvhttp_negotiate_language};
static const quality_cb quality[KINDS] = {uvhttp_negotiate_type_quality,
                                          uvhttp_negotiate_encoding_quality,
                                          uvhttp_negotiate_language_quality};

/* Concatenates prefix, field and suffix. The caller frees the result. */
static uvhttp_slice_t concatenate(const char *prefix, uvhttp_slice_t field, const char *suffix)
{
    size_t before = strlen(prefix);
    size_t after = strlen(suffix);
    char *bytes = malloc(before + field.length + after + 1);
    require(bytes != NULL);
    memcpy(bytes, prefix, before);
    if (field.length > 0)
        memcpy(bytes + before, field.base, field.length);
    memcpy(bytes + before + field.length, suffix, after);
    return (uvhttp_slice_t){bytes, before + field.length + after};
}

static void check_choice(int kind, uvhttp_slice_t field, const char *const *offers, size_t count)
{
    ptrdiff_t chosen = choose[kind](field, offers, count);
    require(chosen >= -1 && chosen < (ptrdiff_t)count);
    int best = chosen >= 0 ? quality[kind](field, offers[chosen]) : 0;
    require(chosen < 0 || best > 0);
    for (size_t i = 0; i < count; i++) {
        int acceptable = quality[kind](field, offers[i]);
        require(acceptable >= 0 && acceptable <= 1000 && acceptable <= best);
        require(acceptable < best || best == 0 || (ptrdiff_t)i >= chosen);
    }
}

/* Elements are only prepended: after an open quote an appended element would belong to the quoted
 * string. */
static void check_same(int kind, uvhttp_slice_t field, const char *prefix, const char *offer)
{
    uvhttp_slice_t longer = concatenate(prefix, field, "");
    require(quality[kind](longer, offer) == quality[kind](field, offer));
    free((char *)longer.base);
}

static bool is_word(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "abcdefghijklmnopqrstuvwxyz")] == '\0' &&
           strlen(text) <= 8;
}

static void check_refused(int kind, uvhttp_slice_t field, const char *offer)
{
    char prefix[64];
    if (kind == 0 || !is_word(offer))
        return;
    snprintf(prefix, sizeof prefix, "%s;q=0.000,", offer);
    uvhttp_slice_t longer = concatenate(prefix, field, "");
    require(quality[kind](longer, offer) == 0);
    require(choose[kind](longer, &offer, 1) == -1);
    free((char *)longer.base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = exact_copy(data, size);
    char *line = size > 0 ? memchr(text, '\n', size) : NULL;
    if (line == NULL || memchr(text, '\0', (size_t)(line - text)) != NULL) {
        free(text);
        return 0;
    }
    *line = '\0';
    char *copy = exact_copy(line + 1, (size_t)(text + size - line - 1));
    uvhttp_slice_t field = {copy, (size_t)(text + size - line - 1)};
    const char *offers[MAX_OFFERS];
    size_t count = 0;
    for (char *start = text; start != NULL && count < MAX_OFFERS;) {
        char *end = strchr(start, '|');
        if (end != NULL)
            *end++ = '\0';
        offers[count++] = start;
        start = end;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        check_choice(kind, field, offers, count);
        check_choice(kind, (uvhttp_slice_t){NULL, 0}, offers, count);
        for (size_t i = 0; i < count; i++) {
            check_same(kind, field, " ,, \t,", offers[i]);
            check_same(kind, field, "a/b;q=1.1 , =,", offers[i]);
            check_refused(kind, field, offers[i]);
        }
    }
    free(copy);
    free(text);
    return 0;
}
