/* Field blocks, decoded by us and by libnghttp2. The input is one byte for the size of the table,
 * one for the space of a field, then blocks, each after two bytes of its length. Properties: both
 * decoders accept and reject the same blocks, with the same fields and the same table. A field that
 * does not fit changes nothing. */
#include <nghttp2/nghttp2.h>

#include "codec/http2/hpack.h"
#include "fuzz/fuzz_check.h"

enum { SPACE = 16384 };

struct decoders {
    struct uvh_hpack_decoder ours;
    nghttp2_hd_inflater *theirs;
    size_t little; /* space of the first attempt */
};

/* Decodes a field as exact bytes, which the caller frees, after an attempt with little space. */
static enum uvh_hpack_result our_field(struct decoders *decoders, const char **block,
                                       const char *end, char **line, struct uvh_hpack_field *field)
{
    struct uvh_hpack_decoder *decoder = &decoders->ours;
    enum uvh_hpack_result result;
    for (size_t space = decoders->little;; space = SPACE) {
        const char *start = *block;
        *line = malloc(space > 0 ? space : 1);
        require(*line != NULL);
        result = uvh_hpack_decode(decoder, block, end, *line, space, field);
        if (result == UVH_HPACK_MEMORY) {
            require(decoder->memory == NULL && decoder->size == 0);
            decoder->memory = malloc(uvh_hpack_memory_size(decoder->capacity));
            require(decoder->memory != NULL);
            result = uvh_hpack_decode(decoder, block, end, *line, space, field);
        }
        if (result != UVH_HPACK_SPACE)
            break;
        require(space != SPACE && *block >= start);
        free(*line);
    }
    if (result == UVH_HPACK_FIELD)
        require(field->name_length + field->value_length + 4u <= SPACE);
    return result;
}

/* The next field of libnghttp2. Returns UVH_HPACK_FIELD, UVH_HPACK_DONE or UVH_HPACK_BAD. */
static enum uvh_hpack_result their_field(struct decoders *decoders, const char **block,
                                         const char *end, nghttp2_nv *field)
{
    for (;;) {
        int flags = 0;
        ptrdiff_t used = nghttp2_hd_inflate_hd2(decoders->theirs, field, &flags,
                                                (const uint8_t *)*block, (size_t)(end - *block), 1);
        if (used < 0)
            return UVH_HPACK_BAD;
        *block += used;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
            return UVH_HPACK_FIELD;
        if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
            nghttp2_hd_inflate_end_headers(decoders->theirs);
            return UVH_HPACK_DONE;
        }
    }
}

static void check_same(const char *line, const struct uvh_hpack_field *ours,
                       const nghttp2_nv *theirs)
{
    require(ours->name_length == theirs->namelen && ours->value_length == theirs->valuelen);
    require(memcmp(line, theirs->name, theirs->namelen) == 0);
    line += theirs->namelen;
    require(memcmp(line, ": ", 2) == 0);
    require(memcmp(line + 2, theirs->value, theirs->valuelen) == 0);
    require(memcmp(line + 2 + theirs->valuelen, "\r\n", 2) == 0);
}

/* Returns false if the block is bad. */
static bool check_block(struct decoders *decoders, const char *block, const char *end)
{
    const char *their_block = block;
    uvh_hpack_begin(&decoders->ours);
    for (;;) {
        char *line;
        struct uvh_hpack_field field = {.id = 0};
        nghttp2_nv their = {.name = NULL};
        enum uvh_hpack_result result = our_field(decoders, &block, end, &line, &field);
        require(result == their_field(decoders, &their_block, end, &their));
        if (result == UVH_HPACK_FIELD)
            check_same(line, &field, &their);
        free(line);
        if (result == UVH_HPACK_BAD)
            return false;
        require(decoders->ours.size == nghttp2_hd_inflate_get_dynamic_table_size(decoders->theirs));
        require(decoders->ours.count + 61u ==
                nghttp2_hd_inflate_get_num_table_entries(decoders->theirs));
        if (result == UVH_HPACK_DONE)
            return true;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct decoders decoders = {.little = data[1]};
    uint32_t capacity = UVH_HPACK_CAPACITY_MIN + data[0] * 240u;
    uvh_hpack_decoder_init(&decoders.ours, capacity);
    require(nghttp2_hd_inflate_new(&decoders.theirs) == 0);
    require(nghttp2_hd_inflate_change_table_size(decoders.theirs, capacity) == 0);
    data += 2;
    size -= 2;
    for (bool good = true; good && size >= 2;) {
        size_t length = (data[0] * 256u + data[1]) % 2048;
        data += 2;
        size -= 2;
        if (length > size)
            length = size;
        char *block = exact_copy(data, length);
        good = check_block(&decoders, block, block + length);
        free(block);
        data += length;
        size -= length;
    }
    nghttp2_hd_inflate_del(decoders.theirs);
    free(decoders.ours.memory);
    return 0;
}
