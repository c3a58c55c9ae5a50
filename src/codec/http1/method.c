/* Methods by number, see method.h. A name of up to seven bytes is one 64-bit word, so a lookup is a
 * multiplication and one comparison; the two longer names of WebDAV are compared as strings. */
#include "codec/http1/method.h"

#include <string.h>

#define BYTE(c, index) ((uint64_t)(c) << (8 * (index)))
#define SLOT(name, a, b, c, d, e, f, g)                                                           \
    {                                                                                             \
        BYTE(a, 0) | BYTE(b, 1) | BYTE(c, 2) | BYTE(d, 3) | BYTE(e, 4) | BYTE(f, 5) | BYTE(g, 6), \
            sizeof(#name) - 1, UVHTTP_METHOD_##name                                               \
    }

const struct uvh_method_slot uvh_method_slots[1 << UVH_METHOD_SLOT_BITS] = {
    [0] = SLOT(PUT, 'P', 'U', 'T', 0, 0, 0, 0),
    [1] = SLOT(HEAD, 'H', 'E', 'A', 'D', 0, 0, 0),
    [4] = SLOT(UNLOCK, 'U', 'N', 'L', 'O', 'C', 'K', 0),
    [9] = SLOT(MKCOL, 'M', 'K', 'C', 'O', 'L', 0, 0),
    [12] = SLOT(MOVE, 'M', 'O', 'V', 'E', 0, 0, 0),
    [15] = SLOT(TRACE, 'T', 'R', 'A', 'C', 'E', 0, 0),
    [16] = SLOT(DELETE, 'D', 'E', 'L', 'E', 'T', 'E', 0),
    [17] = SLOT(POST, 'P', 'O', 'S', 'T', 0, 0, 0),
    [19] = SLOT(OPTIONS, 'O', 'P', 'T', 'I', 'O', 'N', 'S'),
    [20] = SLOT(CONNECT, 'C', 'O', 'N', 'N', 'E', 'C', 'T'),
    [21] = SLOT(LOCK, 'L', 'O', 'C', 'K', 0, 0, 0),
    [27] = SLOT(PATCH, 'P', 'A', 'T', 'C', 'H', 0, 0),
    [29] = SLOT(COPY, 'C', 'O', 'P', 'Y', 0, 0, 0),
    [31] = SLOT(GET, 'G', 'E', 'T', 0, 0, 0, 0),
};

uvhttp_method_t uvh_method_lookup(uvhttp_slice_t name)
{
    if (name.length == 8 && memcmp(name.base, "PROPFIND", 8) == 0)
        return UVHTTP_METHOD_PROPFIND;
    if (name.length == 9 && memcmp(name.base, "PROPPATCH", 9) == 0)
        return UVHTTP_METHOD_PROPPATCH;
    if (name.length == 0 || name.length > 7)
        return UVHTTP_METHOD_OTHER;
    uint64_t word = 0;
    for (size_t i = 0; i < name.length; i++)
        word |= (uint64_t)(unsigned char)name.base[i] << (8 * i);
    return uvh_method_of_word(word, name.length);
}

const char *uvh_method_name(uvhttp_method_t method)
{
#define METHOD_NAME(id, name) [UVHTTP_METHOD_##id] = (name),
    static const char *const names[UVHTTP_METHOD_COUNT] = {[UVHTTP_METHOD_OTHER] = "",
                                                           UVHTTP_METHOD_MAP(METHOD_NAME)};
#undef METHOD_NAME
    return (unsigned)method < UVHTTP_METHOD_COUNT ? names[method] : "";
}
