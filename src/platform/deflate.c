/* DEFLATE per message: see deflate.h.
 *
 * zlib's memory use depends on its version and build. So it is measured once for each size: a
 * stream is created and its allocations are added up. Each of our objects is then one allocation
 * that zlib's allocations are cut from, so no later call can run out of memory. */
#include "platform/deflate.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/error.h>

#include "base/alloc.h"

#if defined(UVH_WITH_COMPRESSION)

#include <zlib.h>

enum {
    BITS_LEAST = 9, /* zlib supports no raw DEFLATE with 8 */
    BITS_MOST = 15,
    MEMORY_MOST = 9,
    CHUNK_SIZE = 4096,
    MARK_SIZE = 4, /* 00 00 ff ff */
    /* More than the mark (00 00 ff ff) with the bits before it: with less output space zlib would
     * write the mark again in the next call. */
    MARK_ROOM = 64,
};

/* The memory for zlib's allocations. */
struct space {
    size_t size;
    size_t used;
    max_align_t bytes[];
};

struct uvh_deflater {
    const uvhttp_allocator_t *allocator;
    z_stream stream;
    struct space space;
};

struct uvh_inflater {
    const uvhttp_allocator_t *allocator;
    z_stream stream;
    unsigned char mark_taken; /* bytes of the mark after the message */
    /* no input since a message began, or since a block with the final bit (RFC 7692 section
     * 7.2.3.4) */
    bool between;
    struct space space;
};

static size_t rounded(size_t size)
{
    size_t unit = sizeof(max_align_t);
    return (size + unit - 1) / unit * unit;
}

static void *cut(void *arg, unsigned count, unsigned size)
{
    struct space *space = arg;
    size_t bytes = rounded((size_t)count * size);
    if (bytes > space->size - space->used)
        return NULL;
    void *memory = (char *)space->bytes + space->used;
    space->used += bytes;
    return memory;
}

/* Freed with the whole memory. */
static void keep(void *arg, void *memory)
{
    (void)arg;
    (void)memory;
}

static void *count(void *arg, unsigned count, unsigned size)
{
    size_t *total = arg;
    *total += rounded((size_t)count * size);
    return uvh_alloc(uvh_alloc_default(), (size_t)count * size);
}

static void uncount(void *arg, void *memory)
{
    (void)arg;
    uvh_free(uvh_alloc_default(), memory);
}

/* ---- Deflating ---- */

static int begin_deflate(z_stream *stream, int level, int window_bits, int memory_level)
{
    return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

bool uvh_deflate_available(void)
{
    return true;
}

size_t uvh_deflater_memory(int window_bits, int memory_level)
{
    static atomic_size_t known[BITS_MOST + 1][MEMORY_MOST + 1];
    atomic_size_t *slot = &known[window_bits][memory_level];
    size_t size = atomic_load_explicit(slot, memory_order_relaxed);
    if (size != 0)
        return size;
    size = sizeof(struct uvh_deflater);
    z_stream stream = {.zalloc = count, .zfree = uncount, .opaque = &size};
    int result = begin_deflate(&stream, 1, window_bits, memory_level);
    deflateEnd(&stream);
    if (result == Z_OK)
        atomic_store_explicit(slot, size, memory_order_relaxed);
    return size;
}

struct uvh_deflater *uvh_deflater_new(const uvhttp_allocator_t *allocator, int level,
                                      int window_bits, int memory_level)
{
    size_t size = uvh_deflater_memory(window_bits, memory_level);
    struct uvh_deflater *deflater = uvh_alloc(allocator, size);
    if (deflater == NULL)
        return NULL;
    deflater->allocator = allocator;
    deflater->space.size = size - sizeof(*deflater);
    deflater->space.used = 0;
    deflater->stream = (z_stream){.zalloc = cut, .zfree = keep, .opaque = &deflater->space};
    if (begin_deflate(&deflater->stream, level, window_bits, memory_level) != Z_OK) {
        uvh_free(allocator, deflater);
        return NULL;
    }
    return deflater;
}

void uvh_deflater_free(struct uvh_deflater *deflater)
{
    if (deflater == NULL)
        return;
    deflateEnd(&deflater->stream);
    uvh_free(deflater->allocator, deflater);
}

void uvh_deflater_reset(struct uvh_deflater *deflater)
{
    deflateReset(&deflater->stream);
}

/* The mark completes the last, partial byte of the blocks before. */
static int end_message(z_stream *stream, struct uvh_bytes *out)
{
    unsigned char mark[MARK_ROOM];
    stream->next_out = mark;
    stream->avail_out = sizeof(mark);
    int result = deflate(stream, Z_SYNC_FLUSH);
    size_t size = sizeof(mark) - stream->avail_out;
    if (result != Z_OK || size <= MARK_SIZE || stream->avail_out == 0)
        return -1;
    return uvh_bytes_append(out, mark, size - MARK_SIZE);
}

int uvh_deflater_message(struct uvh_deflater *deflater, const void *data, size_t size,
                         struct uvh_bytes *out)
{
    /* zlib outputs nothing if there was no input since the last mark. */
    if (size == 0)
        return uvh_bytes_append(out, "\0", 1);
    z_stream *stream = &deflater->stream;
    const unsigned char *at = data;
    bool more;
    do {
        unsigned char chunk[CHUNK_SIZE];
        uInt in = size > UINT_MAX / 2 ? UINT_MAX / 2 : (uInt)size; /* zlib's sizes have 32 bits */
        stream->next_in = (z_const Bytef *)(uintptr_t)at;
        stream->avail_in = in;
        stream->next_out = chunk;
        stream->avail_out = sizeof(chunk);
        /* Ends the last block; the mark is written separately. With Z_SYNC_FLUSH here and a full
         * chunk, zlib would write the mark twice. */
        int result = deflate(stream, in == size ? Z_BLOCK : Z_NO_FLUSH);
        if (result != Z_OK && result != Z_BUF_ERROR)
            return -1;
        at += in - stream->avail_in;
        size -= in - stream->avail_in;
        more = size > 0 || stream->avail_out == 0;
        if (uvh_bytes_append(out, chunk, sizeof(chunk) - stream->avail_out) != 0)
            return -1;
    } while (more);
    return end_message(stream, out);
}

/* ---- Inflating ---- */

static int begin_inflate(z_stream *stream, int window_bits)
{
    return inflateInit2(stream, -window_bits);
}

size_t uvh_inflater_memory(int window_bits)
{
    static atomic_size_t known[BITS_MOST + 1];
    atomic_size_t *slot = &known[window_bits];
    size_t size = atomic_load_explicit(slot, memory_order_relaxed);
    if (size != 0)
        return size;
    /* zlib allocates the window after the first byte. */
    static const unsigned char one_byte[] = {0x00, 0x01, 0x00, 0xfe, 0xff, 'x'};
    unsigned char out[2];
    size = sizeof(struct uvh_inflater);
    z_stream stream = {.zalloc = count, .zfree = uncount, .opaque = &size};
    int result = begin_inflate(&stream, window_bits);
    if (result == Z_OK) {
        stream.next_in = (z_const Bytef *)(uintptr_t)one_byte;
        stream.avail_in = sizeof(one_byte);
        stream.next_out = out;
        stream.avail_out = sizeof(out);
        result = inflate(&stream, Z_SYNC_FLUSH);
        inflateEnd(&stream);
    }
    if (result == Z_OK)
        atomic_store_explicit(slot, size, memory_order_relaxed);
    return size;
}

struct uvh_inflater *uvh_inflater_new(const uvhttp_allocator_t *allocator, int window_bits)
{
    size_t size = uvh_inflater_memory(window_bits);
    struct uvh_inflater *inflater = uvh_alloc(allocator, size);
    if (inflater == NULL)
        return NULL;
    inflater->allocator = allocator;
    inflater->mark_taken = 0;
    inflater->between = true;
    inflater->space.size = size - sizeof(*inflater);
    inflater->space.used = 0;
    inflater->stream = (z_stream){.zalloc = cut, .zfree = keep, .opaque = &inflater->space};
    if (begin_inflate(&inflater->stream, window_bits) != Z_OK) {
        uvh_free(allocator, inflater);
        return NULL;
    }
    return inflater;
}

void uvh_inflater_free(struct uvh_inflater *inflater)
{
    if (inflater == NULL)
        return;
    inflateEnd(&inflater->stream);
    uvh_free(inflater->allocator, inflater);
}

void uvh_inflater_reset(struct uvh_inflater *inflater)
{
    inflateReset(&inflater->stream);
    inflater->mark_taken = 0;
    inflater->between = true;
}

/* Input and output of one call. */
struct step {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
    bool all_out;      /* no more output without further input */
    bool at_block_end; /* the output ends with a block, on a byte boundary */
};

/* True between two blocks on a byte boundary; a message cannot end elsewhere. Only valid after a
 * call that made progress. */
static bool block_begins(const z_stream *stream)
{
    enum { BITS_LEFT = 63, BLOCK_BEGINS = 128 };
    return (stream->data_type & (BITS_LEFT | BLOCK_BEGINS)) == BLOCK_BEGINS;
}

/* Inflates as far as input and output space allow. Returns 0, or UVHTTP_EINVAL. */
static int expand(struct uvh_inflater *inflater, struct step *step)
{
    z_stream *stream = &inflater->stream;
    bool progress;
    do {
        uInt in = step->in_size > UINT_MAX / 2 ? UINT_MAX / 2 : (uInt)step->in_size;
        uInt out = step->out_size > UINT_MAX / 2 ? UINT_MAX / 2 : (uInt)step->out_size;
        stream->next_in = (z_const Bytef *)(uintptr_t)step->in;
        stream->avail_in = in;
        stream->next_out = step->out;
        stream->avail_out = out;
        int result = inflate(stream, Z_SYNC_FLUSH);
        if (result != Z_OK && result != Z_BUF_ERROR && result != Z_STREAM_END)
            return UVHTTP_EINVAL;
        uInt taken = in - stream->avail_in;
        uInt made = out - stream->avail_out;
        if (taken > 0) {
            step->in += taken;
            step->in_size -= taken;
            inflater->between = false;
        }
        step->out += made;
        step->out_size -= made;
        progress = taken > 0 || made > 0;
        if (progress)
            step->at_block_end = block_begins(stream);
        if (result == Z_STREAM_END) {
            /* Not really the last block: further blocks begin with the next byte and may refer to
             * earlier data. */
            inflateResetKeep(stream);
            inflater->between = progress = true;
        }
        step->all_out = inflater->between || stream->avail_out > 0;
    } while (progress && (step->in_size > 0 || !step->all_out));
    return 0;
}

/* After all bytes of a message are consumed: adds the mark that the sender has removed. An empty
 * message, or one that ends with a final block, is complete without it. RFC 7692 requires one more
 * byte for both, which some senders omit. */
static int expand_mark(struct uvh_inflater *inflater, struct step *step, bool *done)
{
    static const unsigned char mark[MARK_SIZE] = {0x00, 0x00, 0xff, 0xff};
    if (inflater->between && inflater->mark_taken == 0) {
        *done = true;
        return 0;
    }
    step->in = mark + inflater->mark_taken;
    step->in_size = (size_t)(MARK_SIZE - inflater->mark_taken);
    step->at_block_end = false;
    int err = expand(inflater, step);
    if (err != 0)
        return err;
    inflater->mark_taken = (unsigned char)(MARK_SIZE - step->in_size);
    if (step->in_size == 0 && !inflater->between && step->at_block_end) {
        inflater->mark_taken = 0;
        inflater->between = *done = true;
        return 0;
    }
    /* The message ended within a block. */
    return step->all_out ? UVHTTP_EINVAL : 0;
}

int uvh_inflater_run(struct uvh_inflater *inflater, const void *in, size_t *in_size, void *out,
                     size_t *out_size, bool last, bool *done)
{
    unsigned char nothing;
    struct step step = {in,        *in_size,          *out_size > 0 ? out : &nothing,
                        *out_size, inflater->between, false};
    *done = false;
    *in_size = *out_size = 0;
    size_t given = step.in_size;
    size_t space = step.out_size;
    int err = 0;
    if (given > 0 || (!inflater->between && inflater->mark_taken == 0))
        err = expand(inflater, &step);
    *in_size = given - step.in_size;
    if (err == 0 && step.in_size == 0) {
        if (last)
            err = expand_mark(inflater, &step, done);
        else
            *done = step.all_out;
    }
    *out_size = space - step.out_size;
    return err;
}

#else

bool uvh_deflate_available(void)
{
    return false;
}

size_t uvh_deflater_memory(int window_bits, int memory_level)
{
    (void)window_bits;
    (void)memory_level;
    return 0;
}

size_t uvh_inflater_memory(int window_bits)
{
    (void)window_bits;
    return 0;
}

struct uvh_deflater *uvh_deflater_new(const uvhttp_allocator_t *allocator, int level,
                                      int window_bits, int memory_level)
{
    (void)allocator;
    (void)level;
    (void)window_bits;
    (void)memory_level;
    return NULL;
}

void uvh_deflater_free(struct uvh_deflater *deflater)
{
    (void)deflater;
}

int uvh_deflater_message(struct uvh_deflater *deflater, const void *data, size_t size,
                         struct uvh_bytes *out)
{
    (void)deflater;
    (void)data;
    (void)size;
    (void)out;
    return -1;
}

void uvh_deflater_reset(struct uvh_deflater *deflater)
{
    (void)deflater;
}

struct uvh_inflater *uvh_inflater_new(const uvhttp_allocator_t *allocator, int window_bits)
{
    (void)allocator;
    (void)window_bits;
    return NULL;
}

void uvh_inflater_free(struct uvh_inflater *inflater)
{
    (void)inflater;
}

int uvh_inflater_run(struct uvh_inflater *inflater, const void *in, size_t *in_size, void *out,
                     size_t *out_size, bool last, bool *done)
{
    (void)inflater;
    (void)in;
    (void)out;
    (void)last;
    *in_size = *out_size = 0;
    *done = false;
    return UVHTTP_ENOTSUP;
}

void uvh_inflater_reset(struct uvh_inflater *inflater)
{
    (void)inflater;
}

#endif
