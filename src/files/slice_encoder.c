#include "files/slice_encoder.h"

#include <uvhttp/error.h>

enum { CHUNK = 16 * 1024 };

int uvh_slice_encoder_open(struct uvh_slice_encoder *encoder, const uvhttp_allocator_t *allocator,
                           enum uvh_coding coding, int level, size_t maximum)
{
    uvh_bytes_init(&encoder->plain, allocator, maximum);
    return uvh_compressor_new(&encoder->compressor, allocator, coding, level,
                              UVH_COMPRESS_SIZE_UNKNOWN);
}

int uvh_slice_encoder_encode(struct uvh_slice_encoder *encoder, bool last, struct uvh_bytes *slice)
{
    const char *in = encoder->plain.data;
    size_t left = encoder->plain.length;
    bool done = false;
    while (!done) {
        char chunk[CHUNK];
        size_t taken = left, made = sizeof(chunk);
        int err = uvh_compressor_run(encoder->compressor, in, &taken, chunk, &made,
                                     last ? UVH_COMPRESS_FINISH : UVH_COMPRESS_PROCESS, &done);
        if (err != 0)
            return err;
        if (uvh_bytes_append(slice, chunk, made) != 0)
            return UVHTTP_ENOMEM;
        if (taken > 0)
            in += taken;
        left -= taken;
    }
    encoder->plain.length = 0;
    return 0;
}

int uvh_slice_encoder_make(struct uvh_slice_encoder *encoder,
                           int (*make)(void *arg, struct uvh_bytes *slice), void *arg,
                           struct uvh_bytes *slice)
{
    int result = 0;
    while (result == 0 && slice->length == 0) {
        result = make(arg, &encoder->plain);
        int err = result < 0 ? result : uvh_slice_encoder_encode(encoder, result == 1, slice);
        if (err != 0)
            return err;
    }
    return result;
}

void uvh_slice_encoder_close(struct uvh_slice_encoder *encoder)
{
    if (encoder->compressor == NULL)
        return;
    uvh_compressor_free(encoder->compressor);
    encoder->compressor = NULL;
    uvh_bytes_release(&encoder->plain);
}
