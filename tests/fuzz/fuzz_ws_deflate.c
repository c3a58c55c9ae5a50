/* permessage-deflate. The first byte of the input determines the test, the second the chunks, the
 * third the space for output, the fourth the size of messages. Properties: any input is
 * decompressed to the same output, or rejected, with any chunks and any space for output. The other
 * side decompresses a message to the same bytes, with any window, shared or not. The whole budget
 * is released at the end. */
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "fuzz/fuzz_check.h"
#include "websocket/deflate.h"

enum { MAX_SIZE = 1 << 14, MESSAGES = 12 };

/* The decompressed part of a message. */
struct outcome {
    int err;
    bool cut; /* the output exceeds the limit */
    size_t size;
    char data[MAX_SIZE];
};

/* Appends the output of a call. Returns false after the last call. */
static bool append(struct outcome *outcome, const char *bytes, size_t size, int err)
{
    size_t fits = MAX_SIZE - outcome->size;
    if (size > fits)
        size = fits;
    memcpy(outcome->data + outcome->size, bytes, size);
    outcome->size += size;
    outcome->cut = outcome->size == MAX_SIZE;
    outcome->err = err;
    return err == 0 && !outcome->cut;
}

static void decompress(struct uvh_inflater *inflater, struct outcome *outcome, const char *data,
                       size_t size, size_t chunk, size_t space)
{
    char *out = malloc(space);
    outcome->size = 0;
    require(out != NULL);
    bool more = true;
    size_t at = 0;
    do {
        size_t length = size - at < chunk ? size - at : chunk;
        char *copy = exact_copy(data + at, length);
        size_t used = 0;
        for (bool done = false; more && !done;) {
            size_t in_size = length - used;
            size_t written = space;
            int err = uvh_inflater_run(inflater, copy + used, &in_size, out, &written,
                                       at + length == size, &done);
            require(in_size <= length - used && written <= space);
            require(err != 0 || done || written == space);
            used += in_size;
            require(!done || used == length);
            more = append(outcome, out, written, err);
        }
        free(copy);
        at += length;
    } while (more && at < size);
    free(out);
}

/* Whatever the result for any bytes is, the next message is decompressed. */
static void check_any_bytes(const char *data, size_t size, size_t chunk, size_t space)
{
    static const char hello[] = "\xf2\x48\xcd\xc9\xc9\x07";
    static struct outcome all;
    static struct outcome parts;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    require(inflater != NULL);
    decompress(inflater, &all, data, size, size > 0 ? size : 1, MAX_SIZE);
    uvh_inflater_reset(inflater);
    decompress(inflater, &parts, data, size, chunk, space);
    bool cut = all.cut || parts.cut; /* at the same offset, or next to an error */
    require_same(cut || all.err == parts.err ? NULL : "the error", "in chunks");
    /* After an error the length of the output does not matter. */
    require_same(cut || all.err != 0 || all.size == parts.size ? NULL : "the length", "in chunks");
    require(memcmp(all.data, parts.data, all.size < parts.size ? all.size : parts.size) == 0);
    if (all.err != 0 || cut)
        uvh_inflater_reset(inflater);
    decompress(inflater, &parts, hello, sizeof(hello), chunk, space);
    require(parts.err == 0 && parts.size == 5 && memcmp(parts.data, "Hello", 5) == 0);
    uvh_inflater_free(inflater);
}

struct side {
    struct uvh_ws_deflate_worker worker;
    struct uvh_ws_deflate *deflate;
};

static void receive(struct side *side, const struct uvh_bytes *in, const char *data, size_t size,
                    size_t chunk, size_t space)
{
    char *out = malloc(size + space);
    size_t written = 0;
    require(out != NULL);
    for (size_t at = 0; at < in->length; at += chunk) {
        size_t length = in->length - at < chunk ? in->length - at : chunk;
        char *copy = exact_copy(in->data + at, length);
        require(uvh_ws_deflate_begin(side->deflate, &side->worker, copy, length,
                                     at + length == in->length) == 0);
        for (bool done = false; !done;) {
            size_t produced = space;
            require(written <= size);
            require(uvh_ws_deflate_expand(side->deflate, &side->worker, out + written, &produced,
                                          &done) == 0);
            written += produced;
        }
        free(copy);
    }
    require(written == size && memcmp(out, data, size) == 0);
    free(out);
}

/* Sends one message from one side to the other, compressed for this connection or shared. */
static void send(struct side *from, struct side *to, const struct uvh_ws_deflate_settings *settings,
                 bool shared, const char *data, size_t size, size_t chunk, size_t space)
{
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), size);
    int bits = shared ? uvh_ws_deflate_for_many(settings, data, size, &out) : 0;
    bool written = shared ? bits != 0 && uvh_ws_deflate_understands(from->deflate, bits)
                          : uvh_ws_deflate_message(from->deflate, &from->worker, data, size, &out);
    if (shared && written)
        uvh_ws_deflate_forget(from->deflate);
    if (written) {
        require(out.length < size);
        receive(to, &out, data, size, chunk, space);
    }
    uvh_bytes_release(&out);
}

static void check_both_sides(unsigned options, const char *data, size_t size, size_t chunk,
                             size_t space, size_t message_size)
{
    struct uvh_budget budget = {.limit = 64 << 20};
    struct uvh_ws_deflate_settings settings = {
        .allocator = uvh_alloc_default(),
        .compression =
            options & 1 ? UVHTTP_WEBSOCKET_COMPRESS_DEDICATED : UVHTTP_WEBSOCKET_COMPRESS_SHARED,
        .level = options & 2 ? 6 : 1,
        .shared_level = 6,
        .window_bits = (int)(9 + (options >> 2) % 7),
        .max_ratio = SIZE_MAX,
        .memory_per_connection = 1 << 20,
        .budget = &budget,
        .windows = &budget,
    };
    struct uvh_ws_deflate_preferences preferences;
    struct side sides[2] = {0};
    struct uvh_ws_deflate_terms terms = {0};
    for (int i = 0; i < 2; i++) {
        size_t reserved;
        require(uvh_ws_deflate_preferences(&settings, &preferences, &reserved));
        terms.server_no_context_takeover = terms.client_no_context_takeover =
            preferences.no_context_takeover;
        terms.server_max_window_bits = terms.client_max_window_bits = preferences.own_window_bits;
        sides[i].deflate = uvh_ws_deflate_new(&settings, &terms, i == 1, reserved);
        require(sides[i].deflate != NULL);
    }
    for (size_t at = 0, i = 0; at < size && i < MESSAGES; at += message_size, i++) {
        size_t length = size - at < message_size ? size - at : message_size;
        send(&sides[i & 1], &sides[~i & 1], &settings, i % 5 == 4, data + at, length, chunk, space);
        send(&sides[0], &sides[1], &settings, false, data, at + length, chunk, space);
    }
    for (int i = 0; i < 2; i++) {
        uvh_ws_deflate_free(sides[i].deflate);
        uvh_ws_deflate_worker_release(&sides[i].worker);
    }
    require(budget.taken == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || !uvh_deflate_available())
        return 0;
    size_t chunk = data[1] % 64 + 1u;
    size_t space = data[2] % 128 < 64 ? data[2] % 128 + 1u : (size_t)(data[2] % 128) * 64;
    size_t message_size = data[3] * 4u + 1;
    if (data[0] < 128)
        check_any_bytes((const char *)data + 4, size - 4, chunk, space);
    else
        check_both_sides(data[0], (const char *)data + 4, size - 4 < 4096 ? size - 4 : 4096, chunk,
                         space, message_size);
    return 0;
}
