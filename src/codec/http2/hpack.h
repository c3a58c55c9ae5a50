/* HPACK (RFC 7541): a decoder with a dynamic table, and an encoder without state.
 *
 * The decoder writes each field as HTTP/1.1 has it, "name: value" CR LF, so that the heads of both
 * protocols are the same above. The dynamic table stores its entries in this form, with what a
 * check of the field gave: an indexed field costs one copy.
 *
 * The encoder uses the static table and literals without indexing, so a block that it wrote is
 * valid on every connection.
 *
 * Called by h2/. */
#ifndef UVH_CODEC_HTTP2_HPACK_H
#define UVH_CODEC_HTTP2_HPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/field.h>
#include <uvhttp/types.h>

/* Ids of pseudo-header fields, after those of uvhttp_field_id_t. */
enum uvh_hpack_pseudo {
    UVH_HPACK_AUTHORITY = UVHTTP_FIELD_COUNT,
    UVH_HPACK_METHOD,
    UVH_HPACK_PATH,
    UVH_HPACK_SCHEME,
    UVH_HPACK_STATUS,
    UVH_HPACK_PROTOCOL, /* RFC 8441 */
};

/* A decoded field: `name_length` bytes of the name, ": ", `value_length` bytes of the value, CR LF.
 * Its size in a header list (SETTINGS_MAX_HEADER_LIST_SIZE) is name and value plus 32. */
struct uvh_hpack_field {
    uint32_t value_length;
    uint16_t name_length;
    uint8_t id; /* uvhttp_field_id_t or enum uvh_hpack_pseudo */
    /* invalid in any message of HTTP/2 (RFC 9113 sections 8.2 and 8.3): an upper-case letter or
     * another byte that no name has, an unknown pseudo-header field, a byte that no value has,
     * white space around the value, a field of the connection (Connection, Keep-Alive,
     * Proxy-Connection, Transfer-Encoding, Upgrade), TE other than "trailers" */
    bool malformed;
};

enum {
    UVH_HPACK_LINE_EXTRA = 4,  /* bytes of a written field beside name and value */
    UVH_HPACK_ENTRY_EXTRA = 32 /* what an entry or a field counts beside name and value */
};

/* The result of uvh_hpack_decode. */
enum uvh_hpack_result {
    UVH_HPACK_FIELD = 0, /* a field is decoded */
    UVH_HPACK_DONE,      /* the end of the block */
    /* The field does not fit. Nothing has changed; call again with more space. A field that does
     * not fit the largest space cannot be skipped: end the connection. */
    UVH_HPACK_SPACE,
    UVH_HPACK_MEMORY, /* nothing has changed: set decoder->memory and call again */
    UVH_HPACK_BAD,    /* COMPRESSION_ERROR of the connection; the decoder is unusable */
};

struct uvh_hpack_decoder {
    /* uvh_hpack_memory_size(capacity) bytes of the owner, aligned for uint64_t. NULL until the
     * first entry requires it */
    char *memory;
    uint32_t capacity; /* our SETTINGS_HEADER_TABLE_SIZE */
    uint32_t maximum;  /* the peer's choice, up to `capacity` */
    uint32_t size;     /* of the entries: name, value and 32 bytes each */
    uint32_t text_end; /* offset in the ring of texts after the newest entry */
    uint16_t newest;   /* its index in the ring of entries */
    uint16_t count;    /* of entries */
    bool in_fields;    /* the block has had a field: no further table size update */
};

enum {
    UVH_HPACK_CAPACITY_MIN = 4096, /* a client may use so much before it has our SETTINGS */
    UVH_HPACK_CAPACITY_MAX = 65536,
};

/* Bytes of memory for a dynamic table. */
size_t uvh_hpack_memory_size(uint32_t capacity);

/* Initialises the decoder of a connection. `capacity` is UVH_HPACK_CAPACITY_MIN to
 * UVH_HPACK_CAPACITY_MAX. */
void uvh_hpack_decoder_init(struct uvh_hpack_decoder *decoder, uint32_t capacity);

/* Begins a field block, which must be complete: HEADERS and CONTINUATION frames joined. Every block
 * must be decoded to its end, even if its message is rejected, since the table changes.
 *
 * A byte of a block can be a field of 4 KB. So the caller limits the bytes of all fields of a
 * block, including those it discards. */
static inline void uvh_hpack_begin(struct uvh_hpack_decoder *decoder)
{
    decoder->in_fields = false;
}

/* Decodes one field from [*block, end) to `out`, where it takes at most `space` bytes; bytes after
 * the field, within `space`, are undefined. `*block` advances. */
enum uvh_hpack_result uvh_hpack_decode(struct uvh_hpack_decoder *decoder, const char **block,
                                       const char *end, char *out, size_t space,
                                       struct uvh_hpack_field *field);

enum {
    UVH_HPACK_STATUS_MAX = 5,   /* bytes of an encoded status */
    UVH_HPACK_FIELD_EXTRA = 13, /* bytes of an encoded field beside name and value, at most */
};

/* ":status" of 100 to 999. At most UVH_HPACK_STATUS_MAX bytes; returns their number. */
size_t uvh_hpack_encode_status(char *out, int status);

/* A field; the name in any case. Returns the number of bytes, at most the name's and the value's
 * plus UVH_HPACK_FIELD_EXTRA, or 0 if they exceed `space`; then nothing is written. Names and
 * values are not checked: check strings of the application first. */
size_t uvh_hpack_encode_field(char *out, size_t space, uvhttp_slice_t name, uvhttp_slice_t value);

/* A table size update to 0, one byte: the first block after the acknowledgement of a SETTINGS frame
 * that lowers SETTINGS_HEADER_TABLE_SIZE below 4096 must begin with it (RFC 9113 section 4.3.1). */
enum { UVH_HPACK_TABLE_SIZE_0 = 0x20 };

#endif
