/* Field names by number and the rules for names and values, see field.h. The table of names and the hash
 * that finds them stand in field_table.h, so that the head parser can inline them. */
#include "codec/field.h"

#include <string.h>

#include "codec/chars.h"
#include "codec/field_table.h"

/* A longer name fails to compile here. */
#define FIELD_ROW(id, name) [UVHTTP_FIELD_##id] = {"\0\0\0\0\0\0\0\0" name},
const struct uvh_field_row uvh_field_rows[UVHTTP_FIELD_COUNT] = {UVHTTP_FIELD_MAP(FIELD_ROW)};

#define FIELD_LENGTH(id, name) [UVHTTP_FIELD_##id] = sizeof(name) - 1,
const uint8_t uvh_field_lengths[UVHTTP_FIELD_COUNT] = {UVHTTP_FIELD_MAP(FIELD_LENGTH)};

const uint8_t uvh_field_slots[1 << UVH_FIELD_SLOT_BITS] = {
    [1] = UVHTTP_FIELD_DATE,
    [5] = UVHTTP_FIELD_FORWARDED,
    [6] = UVHTTP_FIELD_SEC_WEBSOCKET_VERSION,
    [8] = UVHTTP_FIELD_SEC_WEBSOCKET_KEY,
    [9] = UVHTTP_FIELD_TE,
    [11] = UVHTTP_FIELD_USER_AGENT,
    [14] = UVHTTP_FIELD_VARY,
    [15] = UVHTTP_FIELD_IF_MODIFIED_SINCE,
    [16] = UVHTTP_FIELD_UPGRADE,
    [17] = UVHTTP_FIELD_ACCEPT_LANGUAGE,
    [18] = UVHTTP_FIELD_HOST,
    [20] = UVHTTP_FIELD_KEEP_ALIVE,
    [21] = UVHTTP_FIELD_SEC_WEBSOCKET_EXTENSIONS,
    [23] = UVHTTP_FIELD_RANGE,
    [24] = UVHTTP_FIELD_X_FORWARDED_FOR,
    [25] = UVHTTP_FIELD_IF_UNMODIFIED_SINCE,
    [27] = UVHTTP_FIELD_SEC_WEBSOCKET_PROTOCOL,
    [30] = UVHTTP_FIELD_LOCATION,
    [31] = UVHTTP_FIELD_CONNECTION,
    [34] = UVHTTP_FIELD_LAST_EVENT_ID,
    [35] = UVHTTP_FIELD_CONTENT_LENGTH,
    [39] = UVHTTP_FIELD_REFERER,
    [40] = UVHTTP_FIELD_ACCEPT,
    [41] = UVHTTP_FIELD_LAST_MODIFIED,
    [42] = UVHTTP_FIELD_IF_RANGE,
    [43] = UVHTTP_FIELD_AUTHORIZATION,
    [44] = UVHTTP_FIELD_ETAG,
    [46] = UVHTTP_FIELD_TRAILER,
    [47] = UVHTTP_FIELD_EXPECT,
    [48] = UVHTTP_FIELD_SERVER,
    [50] = UVHTTP_FIELD_ACCEPT_ENCODING,
    [53] = UVHTTP_FIELD_CACHE_CONTROL,
    [54] = UVHTTP_FIELD_ORIGIN,
    [55] = UVHTTP_FIELD_CONTENT_ENCODING,
    [57] = UVHTTP_FIELD_COOKIE,
    [58] = UVHTTP_FIELD_IF_MATCH,
    [59] = UVHTTP_FIELD_SET_COOKIE,
    [60] = UVHTTP_FIELD_TRANSFER_ENCODING,
    [62] = UVHTTP_FIELD_IF_NONE_MATCH,
    [63] = UVHTTP_FIELD_CONTENT_TYPE,
};

uvhttp_field_id_t uvh_field_lookup(uvhttp_slice_t name)
{
    if (name.length == 0 || name.length > UVH_FIELD_NAME_MAX)
        return UVHTTP_FIELD_OTHER;
    /* The lookup loads the eight bytes in front of the name's end, which for a short name begin before it. */
    char copy[8 + UVH_FIELD_NAME_MAX] = {0};
    memcpy(copy + 8, name.base, name.length);
    return uvh_field_table_find(copy + 8, name.length);
}

uvhttp_slice_t uvh_field_name(uvhttp_field_id_t id)
{
    if (id == UVHTTP_FIELD_OTHER || (unsigned)id >= UVHTTP_FIELD_COUNT)
        return (uvhttp_slice_t){"", 0};
    return (uvhttp_slice_t){uvh_field_rows[id].text + 8, uvh_field_lengths[id]};
}

bool uvh_field_name_equal(uvhttp_slice_t a, uvhttp_slice_t b)
{
    if (a.length != b.length)
        return false;
    for (size_t i = 0; i < a.length; i++) {
        if (uvh_chars_lower(a.base[i]) != uvh_chars_lower(b.base[i]))
            return false;
    }
    return true;
}

bool uvh_field_name_is(uvhttp_slice_t name, uvhttp_slice_t lower)
{
    if (name.length != lower.length)
        return false;
    size_t words = lower.length / 8;
    for (size_t i = 0; i < words; i++) {
        if (!uvh_field_table_same(uvh_swar_load(name.base + 8 * i), uvh_swar_load(lower.base + 8 * i)))
            return false;
    }
    for (size_t i = 8 * words; i < lower.length; i++) {
        char letter_bit = (char)((lower.base[i] & 0x40) >> 1);
        if ((name.base[i] | letter_bit) != lower.base[i])
            return false;
    }
    return true;
}

bool uvh_field_name_valid(uvhttp_slice_t name)
{
    for (size_t i = 0; i < name.length; i++) {
        if (!uvh_chars_is(name.base[i], UVH_CHAR_TOKEN))
            return false;
    }
    return name.length > 0;
}

bool uvh_field_value_valid(uvhttp_slice_t value)
{
    for (size_t i = 0; i < value.length; i++) {
        if (!uvh_chars_is(value.base[i], UVH_CHAR_VALUE))
            return false;
    }
    return true;
}

/* Known names that mean something only before the content: framing and connection (RFC 9112), routing,
 * credentials, what selects or conditions the answer, and the format of the content. */
static bool known_forbidden_in_trailer(uvhttp_field_id_t id)
{
    switch (id) {
    case UVHTTP_FIELD_DATE:
    case UVHTTP_FIELD_ETAG:
    case UVHTTP_FIELD_LAST_EVENT_ID:
    case UVHTTP_FIELD_LAST_MODIFIED:
    case UVHTTP_FIELD_REFERER:
    case UVHTTP_FIELD_SERVER:
    case UVHTTP_FIELD_USER_AGENT:
    case UVHTTP_FIELD_OTHER:
        return false;
    default:
        return true;
    }
}

bool uvh_field_forbidden_in_trailer(uvhttp_field_id_t id, uvhttp_slice_t name)
{
    static const uvhttp_slice_t others[] = {
        {"age",                 3 },
        {"content-disposition", 19},
        {"content-language",    16},
        {"content-location",    16},
        {"content-range",       13},
        {"expires",             7 },
        {"max-forwards",        12},
        {"pragma",              6 },
        {"proxy-authenticate",  18},
        {"proxy-authorization", 19},
        {"proxy-connection",    16},
        {"retry-after",         11},
        {"www-authenticate",    16},
    };
    if (id != UVHTTP_FIELD_OTHER)
        return known_forbidden_in_trailer(id);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (uvh_field_name_is(name, others[i]))
            return true;
    }
    return false;
}

/* The end of the element that begins at `p`: a comma outside quoted strings, or `end`. */
static const char *element_end(const char *p, const char *end)
{
    bool quoted = false;
    while (p < end && uvh_chars_is(*p, UVH_CHAR_TOKEN)) /* most elements are one token */
        p++;
    for (; p < end; p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (*p == '\\' && quoted && p + 1 < end)
            p++;
        else if (*p == ',' && !quoted)
            return p;
    }
    return end;
}

bool uvh_field_list_next(uvhttp_slice_t *rest, uvhttp_slice_t *element)
{
    const char *p = rest->base;
    const char *end = p + rest->length;
    while (p < end && (*p == ',' || uvh_chars_is(*p, UVH_CHAR_SPACE)))
        p++;
    if (p == end) {
        *rest = (uvhttp_slice_t){end, 0};
        return false;
    }
    const char *stop = element_end(p, end);
    *rest = (uvhttp_slice_t){stop, (size_t)(end - stop)};
    while (uvh_chars_is(stop[-1], UVH_CHAR_SPACE))
        stop--;
    *element = (uvhttp_slice_t){p, (size_t)(stop - p)};
    return true;
}

bool uvh_field_list_has(uvhttp_slice_t value, uvhttp_slice_t token)
{
    uvhttp_slice_t element;
    while (uvh_field_list_next(&value, &element)) {
        if (uvh_field_name_is(element, token))
            return true;
    }
    return false;
}
