/* permessage-deflate. The first byte chooses what is done, the second the pieces, the third the
 * room for output, the fourth the size of messages. Holds: any bytes are expanded to the same
 * output, or refused, whatever pieces they come in and whatever room there is; what one side
 * compresses the other expands to the same bytes, with every window, shared and not; at the end all
 * of the budget is given back. */
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "fuzz/fuzz_check.h"
#include "websocket/deflate.h"

enum { MOST = 1 << 14, MESSAGES = 12 };

/* What came out of a message. */
struct outcome {
    int err;
    bool cut; /* there was more than fits */
    size_t size;
    char data[MOST];
};

/* Takes what a call has written. False when it was the last. */
static bool take(struct outcome *outcome, const char *bytes, size_t size, int err)
{
    size_t fits = MOST - outcome->size;
    if (size > fits)
        size = fits;
    memcpy(outcome->data + outcome->size, bytes, size);
    outcome->size += size;
    outcome->cut = outcome->size == MOST;
    outcome->err = err;
    return err == 0 && !outcome->cut;
}

static void expand(struct uvh_inflater *inflater, struct outcome *outcome, const char *data,
                   size_t size, size_t chunk, size_t room)
{
    char *out = malloc(room);
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
            size_t made = room;
            int err = uvh_inflater_run(inflater, copy + used, &in_size, out, &made,
                                       at + length == size, &done);
            require(in_size <= length - used && made <= room);
            require(err != 0 || done || made == room);
            used += in_size;
            require(!done || used == length);
            more = take(outcome, out, made, err);
        }
        free(copy);
        at += length;
    } while (more && at < size);
    free(out);
}

/* Any bytes, and whatever the outcome, the next message is expanded. */
static void any_bytes(const char *data, size_t size, size_t chunk, size_t room)
{
    static const char hello[] = "\xf2\x48\xcd\xc9\xc9\x07";
    static struct outcome all;
    static struct outcome parts;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    require(inflater != NULL);
    expand(inflater, &all, data, size, size > 0 ? size : 1, MOST);
    uvh_inflater_reset(inflater);
    expand(inflater, &parts, data, size, chunk, room);
    bool cut = all.cut || parts.cut; /* in the same place, or next to an error */
    require_same(cut || all.err == parts.err ? NULL : "the error", "in pieces");
    /* Behind an error nobody counts what was written before. */
    require_same(cut || all.err != 0 || all.size == parts.size ? NULL : "the length", "in pieces");
    require(memcmp(all.data, parts.data, all.size < parts.size ? all.size : parts.size) == 0);
    if (all.err != 0 || cut)
        uvh_inflater_reset(inflater);
    expand(inflater, &parts, hello, sizeof(hello), chunk, room);
    require(parts.err == 0 && parts.size == 5 && memcmp(parts.data, "Hello", 5) == 0);
    uvh_inflater_free(inflater);
}

struct side {
    struct uvh_ws_deflate_worker worker;
    struct uvh_ws_deflate *deflate;
};

static void receive(struct side *side, const struct uvh_bytes *in, const char *data, size_t size,
                    size_t chunk, size_t room)
{
    char *out = malloc(size + room);
    size_t made = 0;
    require(out != NULL);
    for (size_t at = 0; at < in->length; at += chunk) {
        size_t length = in->length - at < chunk ? in->length - at : chunk;
        char *copy = exact_copy(in->data + at, length);
        require(uvh_ws_deflate_begin(side->deflate, &side->worker, copy, length,
                                     at + length == in->length) == 0);
        for (bool done = false; !done;) {
            size_t now = room;
            require(made <= size);
            require(uvh_ws_deflate_expand(side->deflate, &side->worker, out + made, &now, &done) ==
                    0);
            made += now;
        }
        free(copy);
    }
    require(made == size && memcmp(out, data, size) == 0);
    free(out);
}

/* One message from one side to the other, of its own or made for many. */
static void send(struct side *from, struct side *to, const struct uvh_ws_deflate_settings *settings,
                 bool many, const char *data, size_t size, size_t chunk, size_t room)
{
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), size);
    int bits = many ? uvh_ws_deflate_for_many(settings, data, size, &out) : 0;
    bool made = many ? bits != 0 && uvh_ws_deflate_understands(from->deflate, bits)
                     : uvh_ws_deflate_message(from->deflate, &from->worker, data, size, &out);
    if (many && made)
        uvh_ws_deflate_forget(from->deflate);
    if (made) {
        require(out.length < size);
        receive(to, &out, data, size, chunk, room);
    }
    uvh_bytes_release(&out);
}

static void both_sides(unsigned how, const char *data, size_t size, size_t chunk, size_t room,
                       size_t most)
{
    struct uvh_budget budget = {.limit = 64 << 20};
    struct uvh_ws_deflate_settings settings = {
        .allocator = uvh_alloc_default(),
        .compression =
            how & 1 ? UVHTTP_WEBSOCKET_COMPRESS_DEDICATED : UVHTTP_WEBSOCKET_COMPRESS_SHARED,
        .level = how & 2 ? 6 : 1,
        .shared_level = 6,
        .window_bits = (int)(9 + (how >> 2) % 7),
        .max_ratio = SIZE_MAX,
        .memory_per_connection = 1 << 20,
        .budget = &budget,
        .windows = &budget,
    };
    struct uvh_ws_deflate_preferences wishes;
    struct side sides[2] = {0};
    struct uvh_ws_deflate_terms terms = {0};
    for (int i = 0; i < 2; i++) {
        size_t reserved;
        require(uvh_ws_deflate_preferences(&settings, &wishes, &reserved));
        terms.server_no_context_takeover = terms.client_no_context_takeover =
            wishes.no_context_takeover;
        terms.server_max_window_bits = terms.client_max_window_bits = wishes.own_window_bits;
        sides[i].deflate = uvh_ws_deflate_new(&settings, &terms, i == 1, reserved);
        require(sides[i].deflate != NULL);
    }
    for (size_t at = 0, i = 0; at < size && i < MESSAGES; at += most, i++) {
        size_t length = size - at < most ? size - at : most;
        send(&sides[i & 1], &sides[~i & 1], &settings, i % 5 == 4, data + at, length, chunk, room);
        send(&sides[0], &sides[1], &settings, false, data, at + length, chunk, room);
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
    size_t room = data[2] % 128 < 64 ? data[2] % 128 + 1u : (size_t)(data[2] % 128) * 64;
    size_t most = data[3] * 4u + 1;
    if (data[0] < 128)
        any_bytes((const char *)data + 4, size - 4, chunk, room);
    else
        both_sides(data[0], (const char *)data + 4, size - 4 < 4096 ? size - 4 : 4096, chunk, room,
                   most);
    return 0;
}
