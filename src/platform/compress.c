/* See compress.h. Each library is three functions (begin, run, end) in one table. */
#include "platform/compress.h"

#include <limits.h>
#include <setjmp.h>
#include <stddef.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/list.h"

enum {
    STREAM_WINDOW_BITS = 16,    /* 64 KiB, because many streams may be open */
    ZSTD_MOST_WINDOW_BITS = 23, /* RFC 9659 section 3 */
    CHUNK_SIZE = 16384,
};

#if defined(UVH_WITH_COMPRESSION)

/* For a context's allocator and the size hint, which every release of recent years has. */
#define ZSTD_STATIC_LINKING_ONLY
#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

struct uvh_compressor {
    const uvhttp_allocator_t *allocator;
    unsigned char coding; /* enum uvh_coding */
    unsigned char mode;   /* enum uvh_compress_mode of an unfinished call, else PROCESS */
    bool ended;           /* FINISH is done, or the stream failed */
    size_t left;          /* input that the unfinished call left over */
    union {
        z_stream gzip;
        struct {
            BrotliEncoderState *state;
            struct uvh_list blocks; /* all memory of the library, including its state */
            /* in a library call, which is left through `way_out` if out of memory */
            bool runs;
            jmp_buf way_out;
        } brotli;
        ZSTD_CCtx *zstd;
    } as;
};

/* Input and output of one call. */
struct step {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
};

static void *allocate(void *arg, size_t size)
{
    const uvhttp_allocator_t *allocator = arg;
    return uvh_alloc(allocator, size);
}

static void release(void *arg, void *memory)
{
    const uvhttp_allocator_t *allocator = arg;
    uvh_free(allocator, memory);
}

static void *opaque_of(const struct uvh_compressor *compressor)
{
    return (void *)(uintptr_t)compressor->allocator;
}

/* ---- gzip ---- */

static void *gzip_allocate(void *arg, unsigned count, unsigned size)
{
    return allocate(arg, (size_t)count * size);
}

static int gzip_begin(struct uvh_compressor *compressor, int level, uint64_t size_hint)
{
    enum { WINDOW_BITS = 15, AS_GZIP = 16, MEMORY = 8 };
    (void)size_hint;
    z_stream *stream = &compressor->as.gzip;
    *stream =
        (z_stream){.zalloc = gzip_allocate, .zfree = release, .opaque = opaque_of(compressor)};
    int result =
        deflateInit2(stream, level, Z_DEFLATED, WINDOW_BITS + AS_GZIP, MEMORY, Z_DEFAULT_STRATEGY);
    return result == Z_OK ? 0 : UVHTTP_ENOMEM;
}

static int gzip_run(struct uvh_compressor *compressor, struct step *step,
                    enum uvh_compress_mode mode, bool *done)
{
    static const int flushes[] = {[UVH_COMPRESS_PROCESS] = Z_NO_FLUSH,
                                  [UVH_COMPRESS_FLUSH] = Z_SYNC_FLUSH,
                                  [UVH_COMPRESS_FINISH] = Z_FINISH};
    z_stream *stream = &compressor->as.gzip;
    int result;
    do {
        /* zlib's sizes have 32 bits. */
        uInt in = step->in_size > UINT_MAX / 2 ? UINT_MAX / 2 : (uInt)step->in_size;
        uInt out = step->out_size > UINT_MAX / 2 ? UINT_MAX / 2 : (uInt)step->out_size;
        bool last = in == step->in_size;
        stream->next_in = (z_const Bytef *)(uintptr_t)step->in;
        stream->avail_in = in;
        stream->next_out = step->out;
        stream->avail_out = out;
        result = deflate(stream, last ? flushes[mode] : Z_NO_FLUSH);
        step->in += in - stream->avail_in;
        step->in_size -= in - stream->avail_in;
        step->out += out - stream->avail_out;
        step->out_size -= out - stream->avail_out;
    } while (result == Z_OK && stream->avail_in == 0 && step->in_size > 0 && step->out_size > 0);
    if (result == Z_STREAM_ERROR)
        return UVHTTP_EINVAL;
    /* Z_BUF_ERROR only means that no progress was possible. */
    if (mode == UVH_COMPRESS_FINISH)
        *done = result == Z_STREAM_END;
    else
        *done = step->in_size == 0 && (mode == UVH_COMPRESS_PROCESS || step->out_size > 0);
    return 0;
}

static void gzip_end(struct uvh_compressor *compressor)
{
    deflateEnd(&compressor->as.gzip);
}

/* ---- brotli ---- */

/* A usual build of brotli exits the process if its allocator returns NULL. So the allocator leaves
 * the call by longjmp instead. All blocks are listed, because brotli can neither continue nor free
 * them after that. */
struct brotli_block {
    struct uvh_list link;
    max_align_t data[];
};

static void *brotli_allocate(void *arg, size_t size)
{
    struct uvh_compressor *compressor = arg;
    struct brotli_block *block = uvh_alloc(compressor->allocator, sizeof(*block) + size);
    if (block != NULL) {
        uvh_list_append(&compressor->as.brotli.blocks, &block->link);
        return block->data;
    }
    if (compressor->as.brotli.runs)
        longjmp(compressor->as.brotli.way_out, 1);
    return NULL;
}

static void brotli_release(void *arg, void *memory)
{
    struct uvh_compressor *compressor = arg;
    if (memory == NULL)
        return;
    struct brotli_block *block = (struct brotli_block *)((char *)memory - sizeof(*block));
    uvh_list_remove(&block->link);
    uvh_free(compressor->allocator, block);
}

static int brotli_begin(struct uvh_compressor *compressor, int level, uint64_t size_hint)
{
    uvh_list_init(&compressor->as.brotli.blocks);
    BrotliEncoderState *state =
        BrotliEncoderCreateInstance(brotli_allocate, brotli_release, compressor);
    compressor->as.brotli.state = state;
    if (state == NULL)
        return UVHTTP_ENOMEM;
    bool known = size_hint != UVH_COMPRESS_SIZE_UNKNOWN;
    bool set = BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, (uint32_t)level);
    if (known && size_hint > 0)
        set =
            set && BrotliEncoderSetParameter(state, BROTLI_PARAM_SIZE_HINT,
                                             size_hint < 1U << 30 ? (uint32_t)size_hint : 1U << 30);
    uint32_t window = STREAM_WINDOW_BITS;
    if (known) {
        uint32_t most =
            level >= BROTLI_MAX_QUALITY ? BROTLI_MAX_WINDOW_BITS : BROTLI_DEFAULT_WINDOW;
        window = BROTLI_MIN_WINDOW_BITS;
        while (window < most && (UINT64_C(1) << window) - 16 < size_hint)
            window++;
    }
    set = set && BrotliEncoderSetParameter(state, BROTLI_PARAM_LGWIN, window);
    return set ? 0 : UVHTTP_EINVAL;
}

static int brotli_run(struct uvh_compressor *compressor, struct step *step,
                      enum uvh_compress_mode mode, bool *done)
{
    static const BrotliEncoderOperation operations[] = {
        [UVH_COMPRESS_PROCESS] = BROTLI_OPERATION_PROCESS,
        [UVH_COMPRESS_FLUSH] = BROTLI_OPERATION_FLUSH,
        [UVH_COMPRESS_FINISH] = BROTLI_OPERATION_FINISH};
    BrotliEncoderState *state = compressor->as.brotli.state;
    if (setjmp(compressor->as.brotli.way_out) != 0)
        return UVHTTP_ENOMEM;
    compressor->as.brotli.runs = true;
    bool went = BrotliEncoderCompressStream(state, operations[mode], &step->in_size, &step->in,
                                            &step->out_size, &step->out, NULL);
    compressor->as.brotli.runs = false;
    /* There is no other failure: uvh_compressor_run checks the call sequence. */
    if (!went)
        return UVHTTP_ENOMEM;
    if (mode == UVH_COMPRESS_FINISH)
        *done = BrotliEncoderIsFinished(state);
    else
        *done = step->in_size == 0 &&
                (mode == UVH_COMPRESS_PROCESS || !BrotliEncoderHasMoreOutput(state));
    return 0;
}

static void brotli_end(struct uvh_compressor *compressor)
{
    struct uvh_list *blocks = &compressor->as.brotli.blocks;
    while (!uvh_list_empty(blocks))
        brotli_release(compressor, UVH_CONTAINER_OF(blocks->next, struct brotli_block, link)->data);
}

/* ---- zstd ---- */

static int zstd_set(ZSTD_CCtx *context, ZSTD_cParameter parameter, int value)
{
    return ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value)) ? UVHTTP_EINVAL : 0;
}

static int zstd_begin(struct uvh_compressor *compressor, int level, uint64_t size_hint)
{
    ZSTD_CCtx *context =
        ZSTD_createCCtx_advanced((ZSTD_customMem){allocate, release, opaque_of(compressor)});
    if (context == NULL)
        return UVHTTP_ENOMEM;
    compressor->as.zstd = context;
    /* All tables have the size that fits that many bytes. */
    if (size_hint == UVH_COMPRESS_SIZE_UNKNOWN)
        size_hint = UINT64_C(1) << STREAM_WINDOW_BITS;
    ZSTD_compressionParameters usual = ZSTD_getCParams(level, size_hint == 0 ? 1 : size_hint, 0);
    int window = (int)usual.windowLog;
    int err = zstd_set(context, ZSTD_c_compressionLevel, level);
    if (err == 0)
        err = zstd_set(context, ZSTD_c_srcSizeHint, size_hint > INT_MAX ? INT_MAX : (int)size_hint);
    if (err == 0)
        err = zstd_set(context, ZSTD_c_windowLog,
                       window < ZSTD_MOST_WINDOW_BITS ? window : ZSTD_MOST_WINDOW_BITS);
    return err;
}

static int zstd_run(struct uvh_compressor *compressor, struct step *step,
                    enum uvh_compress_mode mode, bool *done)
{
    static const ZSTD_EndDirective directives[] = {[UVH_COMPRESS_PROCESS] = ZSTD_e_continue,
                                                   [UVH_COMPRESS_FLUSH] = ZSTD_e_flush,
                                                   [UVH_COMPRESS_FINISH] = ZSTD_e_end};
    ZSTD_inBuffer in = {step->in, step->in_size, 0};
    ZSTD_outBuffer out = {step->out, step->out_size, 0};
    size_t left = ZSTD_compressStream2(compressor->as.zstd, &out, &in, directives[mode]);
    if (ZSTD_isError(left))
        return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? UVHTTP_ENOMEM
                                                                       : UVHTTP_EINVAL;
    step->in += in.pos;
    step->in_size -= in.pos;
    step->out += out.pos;
    step->out_size -= out.pos;
    *done = step->in_size == 0 && (mode == UVH_COMPRESS_PROCESS || left == 0);
    return 0;
}

static void zstd_end(struct uvh_compressor *compressor)
{
    ZSTD_freeCCtx(compressor->as.zstd);
}

/* ---- all libraries ---- */

static const struct library {
    int level;
    int level_best;
    int level_most;
    int (*begin)(struct uvh_compressor *compressor, int level, uint64_t size_hint);
    int (*run)(struct uvh_compressor *compressor, struct step *step, enum uvh_compress_mode mode,
               bool *done);
    void (*end)(struct uvh_compressor *compressor);
} libraries[UVH_CODING_COUNT] = {
    [UVH_CODING_GZIP] = {5, 9, 9, gzip_begin, gzip_run, gzip_end},
    [UVH_CODING_BROTLI] = {4, 11, 11, brotli_begin, brotli_run, brotli_end},
    [UVH_CODING_ZSTD] = {3, 19, 22, zstd_begin, zstd_run, zstd_end},
};

unsigned uvh_compress_codings(void)
{
    return UVH_CODING_ALL;
}

int uvh_compress_level_most(enum uvh_coding coding)
{
    return libraries[coding].level_most;
}

int uvh_compress_level(enum uvh_coding coding, int level)
{
    if (level == UVH_COMPRESS_DEFAULT)
        return libraries[coding].level;
    return level == UVH_COMPRESS_BEST ? libraries[coding].level_best : level;
}

int uvh_compressor_new(struct uvh_compressor **compressor, const uvhttp_allocator_t *allocator,
                       enum uvh_coding coding, int level, uint64_t size_hint)
{
    *compressor = NULL;
    if (!uvh_compress_supported(coding))
        return UVHTTP_ENOTSUP;
    const struct library *library = &libraries[coding];
    level = uvh_compress_level(coding, level);
    if (level < 1 || level > library->level_most)
        return UVHTTP_EINVAL;
    if (allocator == NULL)
        allocator = uvh_alloc_default();
    struct uvh_compressor *made = uvh_alloc_zero(allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->allocator = allocator;
    made->coding = (unsigned char)coding;
    int err = library->begin(made, level, size_hint);
    if (err != 0) {
        uvh_compressor_free(made);
        return err;
    }
    *compressor = made;
    return 0;
}

void uvh_compressor_free(struct uvh_compressor *compressor)
{
    if (compressor == NULL)
        return;
    libraries[compressor->coding].end(compressor);
    uvh_free(compressor->allocator, compressor);
}

int uvh_compressor_run(struct uvh_compressor *compressor, const void *in, size_t *in_size,
                       void *out, size_t *out_size, enum uvh_compress_mode mode, bool *done)
{
    struct step step = {in, *in_size, out, *out_size};
    bool inside = compressor->mode != UVH_COMPRESS_PROCESS;
    *done = false;
    *in_size = *out_size = 0;
    if (compressor->ended ||
        (inside && (compressor->mode != mode || compressor->left != step.in_size)))
        return UVHTTP_EINVAL;
    size_t given = step.in_size;
    size_t space = step.out_size;
    int err = libraries[compressor->coding].run(compressor, &step, mode, done);
    *in_size = given - step.in_size;
    *out_size = space - step.out_size;
    compressor->mode = (unsigned char)(*done ? UVH_COMPRESS_PROCESS : mode);
    compressor->left = step.in_size;
    compressor->ended = err != 0 || (*done && mode == UVH_COMPRESS_FINISH);
    return err;
}

#else

unsigned uvh_compress_codings(void)
{
    return 0;
}

int uvh_compress_level_most(enum uvh_coding coding)
{
    (void)coding;
    return 0;
}

int uvh_compress_level(enum uvh_coding coding, int level)
{
    (void)coding;
    return level;
}

int uvh_compressor_new(struct uvh_compressor **compressor, const uvhttp_allocator_t *allocator,
                       enum uvh_coding coding, int level, uint64_t size_hint)
{
    (void)allocator;
    (void)coding;
    (void)level;
    (void)size_hint;
    *compressor = NULL;
    return UVHTTP_ENOTSUP;
}

void uvh_compressor_free(struct uvh_compressor *compressor)
{
    (void)compressor;
}

int uvh_compressor_run(struct uvh_compressor *compressor, const void *in, size_t *in_size,
                       void *out, size_t *out_size, enum uvh_compress_mode mode, bool *done)
{
    (void)compressor;
    (void)in;
    (void)in_size;
    (void)out;
    (void)out_size;
    (void)mode;
    (void)done;
    return UVHTTP_ENOTSUP;
}

#endif

bool uvh_compress_supported(enum uvh_coding coding)
{
    return (uvh_compress_codings() & UVH_CODING_ALL & UVH_CODING_BIT(coding)) != 0;
}

int uvh_compress_bytes(const uvhttp_allocator_t *allocator, enum uvh_coding coding, int level,
                       const void *data, size_t size, struct uvh_bytes *out)
{
    struct uvh_compressor *compressor;
    int err = uvh_compressor_new(&compressor, allocator, coding, level, size);
    size_t before = out->length;
    const char *in = data;
    bool done = false;
    while (err == 0 && !done) {
        char chunk[CHUNK_SIZE];
        size_t taken = size;
        size_t made = sizeof(chunk);
        err = uvh_compressor_run(compressor, in, &taken, chunk, &made, UVH_COMPRESS_FINISH, &done);
        if (err != 0)
            break;
        if (taken > 0)
            in += taken;
        size -= taken;
        if (made > out->maximum - out->length)
            err = UVHTTP_ETOOLARGE;
        else if (uvh_bytes_append(out, chunk, made) != 0)
            err = UVHTTP_ENOMEM;
    }
    uvh_compressor_free(compressor);
    if (err != 0)
        out->length = before;
    return err;
}
