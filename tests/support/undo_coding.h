/* Decodes content codings with the libraries' own decoders, for tests of compression. Include
 * cmocka.h before. */
#ifndef UVH_SUPPORT_UNDO_CODING_H
#define UVH_SUPPORT_UNDO_CODING_H

#include <stdint.h>

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include "base/coding.h"

/* Decodes a prefix of a coded body. With `complete` the input must be the whole body and nothing
 * else. */
static inline size_t undo_coding(enum uvh_coding coding, const char *in, size_t size, char *out,
                                 size_t capacity, bool complete)
{
    if (coding == UVH_CODING_GZIP) {
        z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)in,
                           .avail_in = (uInt)size,
                           .next_out = (Bytef *)out,
                           .avail_out = (uInt)capacity};
        assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK); /* gzip only, not the zlib format */
        int result = inflate(&stream, Z_SYNC_FLUSH);
        if (complete)
            assert_int_equal(result, Z_STREAM_END);
        assert_int_equal(stream.avail_in, 0);
        size_t decoded = capacity - stream.avail_out;
        inflateEnd(&stream);
        return decoded;
    }
    if (coding == UVH_CODING_BROTLI) {
        BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
        const uint8_t *next_in = (const uint8_t *)in;
        uint8_t *next_out = (uint8_t *)out;
        size_t left = capacity;
        BrotliDecoderResult result =
            BrotliDecoderDecompressStream(state, &size, &next_in, &left, &next_out, NULL);
        assert_int_equal(result, complete ? BROTLI_DECODER_RESULT_SUCCESS
                                          : BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT);
        assert_int_equal(size, 0);
        BrotliDecoderDestroyInstance(state);
        return capacity - left;
    }
    ZSTD_DStream *stream = ZSTD_createDStream();
    /* The largest window that a browser accepts (RFC 9659). */
    assert_false(ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, 23)));
    ZSTD_inBuffer input = {in, size, 0};
    ZSTD_outBuffer output = {out, capacity, 0};
    size_t left = 1;
    while (input.pos < input.size) {
        left = ZSTD_decompressStream(stream, &output, &input);
        if (ZSTD_isError(left))
            fail_msg("%s", ZSTD_getErrorName(left));
    }
    if (complete)
        assert_int_equal(left, 0);
    ZSTD_freeDStream(stream);
    return output.pos;
}

#endif
