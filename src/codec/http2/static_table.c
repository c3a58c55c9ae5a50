/* The static table, see static_table.h. */
#include "codec/http2/static_table.h"

#define LINE(name, value) name ": " value "\r\n"
#define LINE_FITS(id, name, value) \
    _Static_assert(sizeof(LINE(name, value)) - 1 <= UVH_HPACK_STATIC_LINE, "a line fits");
UVH_HPACK_STATIC_MAP(LINE_FITS)

/* Transfer-Encoding is invalid in HTTP/2. */
#define ENTRY(id_of, name, value)        \
    {LINE(name, value),                  \
     {.value_length = sizeof(value) - 1, \
      .name_length = sizeof(name) - 1,   \
      .id = (uint8_t)(id_of),            \
      .malformed = (int)(id_of) == UVHTTP_FIELD_TRANSFER_ENCODING}},

const struct uvh_hpack_static uvh_hpack_static_table[UVH_HPACK_STATIC_COUNT + 1] = {
    {"", {.value_length = 0}}, UVH_HPACK_STATIC_MAP(ENTRY)};
