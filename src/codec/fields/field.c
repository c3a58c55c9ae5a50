/* Field names by number and the rules for names and values, see field.h. The lookup is in
 * field_table.h, so that the head parser can inline it. */
#include "codec/fields/field.h"

#include <string.h>

#include "codec/fields/field_table.h"
#include "codec/simd/scan_swar.h"
#include "codec/text/chars.h"

struct uvh_field_row uvh_field_rows[1 << UVH_FIELD_SLOT_BITS];

#define FIELD_NAME(id, name) [UVHTTP_FIELD_##id] = {(name), sizeof(name) - 1},
static const uvhttp_slice_t names[UVHTTP_FIELD_COUNT] = {UVHTTP_FIELD_MAP(FIELD_NAME)};

/* A longer name fails to compile. */
#define FIELD_FITS(id, name) \
    _Static_assert(sizeof(name) - 1 <= UVH_FIELD_NAME_MAX, name " is too long");
UVHTTP_FIELD_MAP(FIELD_FITS)

/* CR LF and the name at the end of `copy`, as the lookup requires. */
enum { COPY_SIZE = 2 + UVH_FIELD_NAME_MAX };
static const char *copy_name(char copy[COPY_SIZE], uvhttp_slice_t name)
{
    char *end = copy + COPY_SIZE;
    char *start = end - name.length;
    memset(copy, 0, COPY_SIZE);
    if (name.length > 0)
        memcpy(start, name.base, name.length);
    memcpy(start - 2, "\r\n", 2);
    return end;
}

/* With high priority among constructors, because others may already parse. */
__attribute__((constructor(101))) static void fill_table(void)
{
    char copy[COPY_SIZE];
    char mask[COPY_SIZE];
    for (size_t i = 0; i < UVH_COUNT_OF(uvh_field_rows); i++) /* no name ends with a colon */
        uvh_field_rows[i].text[15] = uvh_field_rows[i].mask[15] = ':';
    for (uint8_t id = 1; id < UVHTTP_FIELD_COUNT; id++) {
        size_t length = names[id].length;
        const char *end = copy_name(copy, names[id]);
        for (size_t i = 0; i < COPY_SIZE; i++) {
            bool letter = copy[i] >= 'a' && copy[i] <= 'z';
            mask[i] = (char)(i < COPY_SIZE - length ? 0 : letter ? 0xdf : 0xff);
        }
        struct uvh_field_row *row =
            &uvh_field_rows[uvh_field_table_slot(end, length, UVH_FIELD_FACTOR)];
        memcpy(row->text, end - sizeof row->text, sizeof row->text);
        memcpy(row->mask, mask + COPY_SIZE - sizeof row->mask, sizeof row->mask);
        if (length > sizeof row->text) {
            row->front = uvh_swar_load(end - length);
            row->front_mask = uvh_swar_load(mask + COPY_SIZE - length);
        }
        row->field.name_length = (uint16_t)length;
        row->field.id = id;
    }
}

const struct uvh_field_row *uvh_field_row_of(uvhttp_slice_t name)
{
    char copy[COPY_SIZE];
    if (name.length > UVH_FIELD_NAME_MAX)
        return NULL;
    return uvh_field_table_find(copy_name(copy, name), name.length, uvh_swar_equal);
}

uvhttp_field_id_t uvh_field_lookup(uvhttp_slice_t name)
{
    const struct uvh_field_row *row = uvh_field_row_of(name);
    return row != NULL ? (uvhttp_field_id_t)row->field.id : UVHTTP_FIELD_OTHER;
}

uvhttp_slice_t uvh_field_name(uvhttp_field_id_t id)
{
    if (id == UVHTTP_FIELD_OTHER || (unsigned)id >= UVHTTP_FIELD_COUNT)
        return (uvhttp_slice_t){"", 0};
    return names[id];
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

/* `word` equals `lower`, in which letters are lower case and all other bytes are below 0x40. */
static bool same_word(uint64_t word, uint64_t lower)
{
    return (word | ((lower & uvh_swar_all(0x40)) >> 1)) == lower;
}

bool uvh_field_name_is(uvhttp_slice_t name, uvhttp_slice_t lower)
{
    if (name.length != lower.length)
        return false;
    size_t words = lower.length / 8;
    for (size_t i = 0; i < words; i++) {
        if (!same_word(uvh_swar_load(name.base + 8 * i), uvh_swar_load(lower.base + 8 * i)))
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
    if (value.length - UVH_SWAR_SLACK <= UVH_SWAR_SLACK && /* two words, which may overlap */
        (uvh_swar_match_value_end(uvh_swar_load(value.base)) |
         uvh_swar_match_value_end(uvh_swar_load(value.base + value.length - UVH_SWAR_SLACK))) == 0)
        return true;
    if (value.length >= UVH_SWAR_SLACK)
        return uvh_scan_value(value.base, value.base + value.length) == value.base + value.length;
    for (size_t i = 0; i < value.length; i++) {
        if (!uvh_chars_is(value.base[i], UVH_CHAR_VALUE))
            return false;
    }
    return true;
}

/* Known names that must precede the content: framing and connection (RFC 9112), routing,
 * credentials, selection and preconditions, and the format of the content. */
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
        {"age", 3},
        {"content-disposition", 19},
        {"content-language", 16},
        {"content-location", 16},
        {"content-range", 13},
        {"expires", 7},
        {"max-forwards", 12},
        {"pragma", 6},
        {"proxy-authenticate", 18},
        {"proxy-authorization", 19},
        {"proxy-connection", 16},
        {"retry-after", 11},
        {"www-authenticate", 16},
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
