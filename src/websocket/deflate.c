/* permessage-deflate: see deflate.h. */
#include "websocket/deflate.h"

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"

enum {
    RATIO_FREE = 1 << 20, /* bytes to which any message may expand */
    ZLIB_LOOKAHEAD = 262, /* zlib references all of its window except for so many bytes */
    SMALL_BITS = 12,      /* a window for short messages */
    /* Spare inflaters are kept while less than this part of the budget is used. */
    SPARE_PART = 2,
};

struct uvh_ws_deflate {
    const struct uvh_ws_deflate_settings *settings;
    /* whose inflater it uses until the message ends; NULL: its own, or none */
    struct uvh_ws_deflate_worker *worker;
    struct uvh_deflater *deflater; /* its own, from the first message on */
    struct uvh_inflater *inflater; /* its own, from the first message on or until a message ends */
    size_t reserved;               /* bytes of the budget for windows that it keeps */
    const char *in;                /* input to expand */
    size_t in_size;
    size_t message_in; /* bytes of the message so far */
    size_t message_out;
    uint8_t own_bits;      /* 8 to 15: the largest window a sent message may need */
    uint8_t peer_bits;     /* 9 to 15: the same for received messages */
    uint8_t deflater_bits; /* of its own deflater; 0: it uses a shared one */
    uint8_t inflater_bits; /* of its inflater until the message ends */
    bool keeps_inflater;   /* received messages refer to earlier ones */
    bool deflater_used;    /* its window is not empty */
    bool in_message;
    bool last;
};

/* Keeps zlib's default ratio of memory level to window bits, 8 to 15. */
static int memory_level(int window_bits)
{
    return window_bits - 7;
}

static size_t deflater_memory(int window_bits)
{
    return uvh_deflater_memory(window_bits, memory_level(window_bits));
}

static struct uvh_deflater *new_deflater(const struct uvh_ws_deflate_settings *settings, int level,
                                         int window_bits)
{
    return uvh_deflater_new(settings->allocator, level, window_bits, memory_level(window_bits));
}

/* A window that holds the whole message compresses as well as the largest one, and is faster to
 * reset before each message. */
static int bits_for(size_t size, int most)
{
    return most > SMALL_BITS && size + ZLIB_LOOKAHEAD <= (size_t)1 << SMALL_BITS ? SMALL_BITS
                                                                                 : most;
}

/* ---- shared state ---- */

static void free_spares(struct uvh_ws_deflate_worker *worker)
{
    for (; worker->spare_count > 0; worker->spare_count--) {
        struct uvh_ws_deflate_spare *spare = &worker->spares[worker->spare_count - 1];
        uvh_inflater_free(spare->inflater);
        uvh_budget_give(worker->budget, uvh_inflater_memory(spare->window_bits));
    }
}

void uvh_ws_deflate_worker_release(struct uvh_ws_deflate_worker *worker)
{
    free_spares(worker);
    for (size_t i = 0; i < UVH_WS_DEFLATE_SIZES; i++)
        uvh_deflater_free(worker->deflaters[i]);
    uvh_inflater_free(worker->inflater);
    *worker = (struct uvh_ws_deflate_worker){0};
}

void uvh_ws_deflate_many_release(struct uvh_ws_deflate_many *many)
{
    for (size_t i = 0; i < UVH_WS_DEFLATE_SIZES; i++)
        uvh_deflater_free(atomic_exchange(&many->deflaters[i], NULL));
}

/* ---- the handshake ---- */

static size_t windows_memory(int bits)
{
    return deflater_memory(bits) + uvh_inflater_memory(bits);
}

size_t uvh_ws_deflate_least(void)
{
    return windows_memory(UVH_WS_DEFLATE_BITS_LEAST);
}

bool uvh_ws_deflate_preferences(const struct uvh_ws_deflate_settings *settings,
                                struct uvh_ws_deflate_preferences *preferences, size_t *reserved)
{
    int bits = settings->window_bits;
    *reserved = 0;
    if (settings->compression == UVHTTP_WEBSOCKET_COMPRESS_NOT || !uvh_deflate_available())
        return false;
    if (settings->compression == UVHTTP_WEBSOCKET_COMPRESS_DEDICATED) {
        for (; bits >= UVH_WS_DEFLATE_BITS_LEAST; bits--) {
            size_t memory = windows_memory(bits);
            if (memory <= settings->memory_per_connection &&
                uvh_budget_take(settings->windows, memory)) {
                *preferences =
                    (struct uvh_ws_deflate_preferences){false, (uint8_t)bits, (uint8_t)bits};
                *reserved = memory;
                return true;
            }
        }
        bits = settings->window_bits;
    }
    *preferences = (struct uvh_ws_deflate_preferences){true, (uint8_t)bits, (uint8_t)bits};
    return true;
}

void uvh_ws_deflate_unreserve(const struct uvh_ws_deflate_settings *settings, size_t reserved)
{
    uvh_budget_give(settings->windows, reserved);
}

struct uvh_ws_deflate *uvh_ws_deflate_new(const struct uvh_ws_deflate_settings *settings,
                                          const struct uvh_ws_deflate_terms *terms, bool client,
                                          size_t reserved)
{
    uint8_t own_bits = client ? terms->client_max_window_bits : terms->server_max_window_bits;
    uint8_t peer_bits = client ? terms->server_max_window_bits : terms->client_max_window_bits;
    bool own_forgets =
        client ? terms->client_no_context_takeover : terms->server_no_context_takeover;
    bool peer_forgets =
        client ? terms->server_no_context_takeover : terms->client_no_context_takeover;
    if (peer_bits < UVH_WS_DEFLATE_BITS_LEAST)
        peer_bits = UVH_WS_DEFLATE_BITS_LEAST;

    size_t needed = peer_forgets ? 0 : uvh_inflater_memory(peer_bits);
    int bits = 0;
    if (!own_forgets && needed < reserved) {
        for (bits = own_bits < settings->window_bits ? own_bits : settings->window_bits;
             bits >= UVH_WS_DEFLATE_BITS_LEAST && deflater_memory(bits) > reserved - needed; bits--)
            continue;
        if (bits < UVH_WS_DEFLATE_BITS_LEAST)
            bits = 0;
        else
            needed += deflater_memory(bits);
    }
    /* Only terms that differ from the offer need more than what is reserved. */
    bool affordable = needed <= reserved || uvh_budget_take(settings->windows, needed - reserved);
    if (needed < reserved)
        uvh_ws_deflate_unreserve(settings, reserved - needed);
    struct uvh_ws_deflate *deflate =
        affordable ? uvh_alloc_zero(settings->allocator, sizeof(*deflate)) : NULL;
    if (deflate == NULL) {
        uvh_ws_deflate_unreserve(settings, affordable ? needed : reserved);
        return NULL;
    }
    deflate->settings = settings;
    deflate->reserved = needed;
    deflate->own_bits = own_bits;
    deflate->peer_bits = peer_bits;
    deflate->deflater_bits = (uint8_t)bits;
    deflate->keeps_inflater = !peer_forgets;
    return deflate;
}

void uvh_ws_deflate_free(struct uvh_ws_deflate *deflate)
{
    if (deflate == NULL)
        return;
    struct uvh_budget *budget = deflate->settings->budget;
    if (deflate->worker != NULL) {
        uvh_inflater_reset(deflate->worker->inflater);
        deflate->worker->inflater_user = NULL;
    }
    if (deflate->inflater != NULL && !deflate->keeps_inflater)
        uvh_budget_give(budget, uvh_inflater_memory(deflate->inflater_bits));
    uvh_inflater_free(deflate->inflater);
    uvh_deflater_free(deflate->deflater);
    uvh_ws_deflate_unreserve(deflate->settings, deflate->reserved);
    uvh_free(deflate->settings->allocator, deflate);
}

bool uvh_ws_deflate_dedicated(const struct uvh_ws_deflate *deflate)
{
    return deflate->deflater_bits != 0 || deflate->keeps_inflater;
}

/* ---- compression ---- */

/* Appends the compressed message if it is smaller. */
static bool append_smaller(struct uvh_deflater *deflater, const void *data, size_t size,
                           struct uvh_bytes *out)
{
    size_t before = out->length;
    size_t maximum = out->maximum;
    if (maximum - before >= size)
        out->maximum = before + size - 1;
    bool made = uvh_deflater_message(deflater, data, size, out) == 0;
    out->maximum = maximum;
    if (!made) {
        out->length = before;
        out->failed = false;
    }
    return made;
}

/* NULL when there is none for this message: out of memory, or the peer has a window of 8 bits, to
 * which zlib cannot be limited. */
static struct uvh_deflater *shared_deflater(struct uvh_ws_deflate *deflate,
                                            struct uvh_ws_deflate_worker *worker, size_t size)
{
    int most = deflate->settings->window_bits;
    /* A message no longer than the peer's window refers to nothing outside it. */
    if (size >> deflate->own_bits > 0 && deflate->own_bits < most)
        most = deflate->own_bits;
    if (most < UVH_WS_DEFLATE_BITS_LEAST)
        return NULL;
    int bits = bits_for(size, most);
    struct uvh_deflater **slot = &worker->deflaters[bits - UVH_WS_DEFLATE_BITS_LEAST];
    if (*slot == NULL)
        *slot = new_deflater(deflate->settings, deflate->settings->level, bits);
    return *slot;
}

bool uvh_ws_deflate_message(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                            const void *data, size_t size, struct uvh_bytes *out)
{
    if (size == 0 || out->failed)
        return false;
    bool own = deflate->deflater_bits != 0;
    if (own && deflate->deflater == NULL)
        deflate->deflater =
            new_deflater(deflate->settings, deflate->settings->level, deflate->deflater_bits);
    struct uvh_deflater *deflater =
        own ? deflate->deflater : shared_deflater(deflate, worker, size);
    if (deflater == NULL)
        return false;
    bool made = append_smaller(deflater, data, size, out);
    /* The next message must not refer to data that was not sent. */
    if (!own || !made)
        uvh_deflater_reset(deflater);
    deflate->deflater_used = own && made;
    return made;
}

int uvh_ws_deflate_for_many(const struct uvh_ws_deflate_settings *settings, const void *data,
                            size_t size, struct uvh_bytes *out)
{
    if (size == 0 || out->failed || !uvh_deflate_available())
        return 0;
    int bits = bits_for(size, settings->window_bits);
    struct uvh_ws_deflate_many *many = settings->many;
    _Atomic(struct uvh_deflater *) *slot =
        many == NULL ? NULL : &many->deflaters[bits - UVH_WS_DEFLATE_BITS_LEAST];
    struct uvh_deflater *deflater = slot == NULL ? NULL : atomic_exchange(slot, NULL);
    if (deflater == NULL)
        deflater = new_deflater(settings, settings->shared_level, bits);
    if (deflater == NULL)
        return 0;
    bool made = append_smaller(deflater, data, size, out);
    struct uvh_deflater *none = NULL;
    if (slot != NULL)
        uvh_deflater_reset(deflater);
    /* Another thread may have stored its own there meanwhile. */
    if (slot == NULL || !atomic_compare_exchange_strong(slot, &none, deflater))
        uvh_deflater_free(deflater);
    if (!made)
        return 0;
    int needed = UVH_WS_DEFLATE_BITS_LEAST;
    while (needed < bits && size >> needed > 0)
        needed++;
    return needed;
}

bool uvh_ws_deflate_understands(const struct uvh_ws_deflate *deflate, int window_bits)
{
    return window_bits <= deflate->own_bits;
}

void uvh_ws_deflate_forget(struct uvh_ws_deflate *deflate)
{
    if (deflate->deflater_used)
        uvh_deflater_reset(deflate->deflater);
    deflate->deflater_used = false;
}

/* ---- decompression ---- */

/* Gets an inflater until the message ends. */
static int borrow(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker)
{
    struct uvh_budget *budget = deflate->settings->budget;
    for (size_t i = 0; i < worker->spare_count; i++) {
        struct uvh_ws_deflate_spare *spare = &worker->spares[i];
        if (spare->window_bits < deflate->peer_bits)
            continue;
        deflate->inflater = spare->inflater;
        deflate->inflater_bits = (uint8_t)spare->window_bits;
        *spare = worker->spares[--worker->spare_count];
        return 0;
    }
    size_t memory = uvh_inflater_memory(deflate->peer_bits);
    if (!uvh_budget_take(budget, memory)) {
        free_spares(worker); /* which are too small for this one */
        if (!uvh_budget_take(budget, memory))
            return UVHTTP_EFULL;
    }
    deflate->inflater = uvh_inflater_new(deflate->settings->allocator, deflate->peer_bits);
    if (deflate->inflater == NULL) {
        uvh_budget_give(budget, memory);
        return UVHTTP_ENOMEM;
    }
    deflate->inflater_bits = deflate->peer_bits;
    return 0;
}

static void give_back(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker)
{
    struct uvh_budget *budget = deflate->settings->budget;
    struct uvh_inflater *inflater = deflate->inflater;
    deflate->inflater = NULL;
    size_t taken = atomic_load_explicit(&budget->taken, memory_order_relaxed);
    if (worker->spare_count < UVH_WS_DEFLATE_SPARES && taken < budget->limit / SPARE_PART) {
        uvh_inflater_reset(inflater);
        worker->budget = budget;
        worker->spares[worker->spare_count++] =
            (struct uvh_ws_deflate_spare){inflater, deflate->inflater_bits};
        return;
    }
    uvh_inflater_free(inflater);
    uvh_budget_give(budget, uvh_inflater_memory(deflate->inflater_bits));
}

/* Uses the one inflater for whole messages: it is released as soon as the message is expanded,
 * which is before the next one begins unless the user pauses in between. */
static int share(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker)
{
    if (worker->inflater == NULL)
        worker->inflater = uvh_inflater_new(deflate->settings->allocator, UVH_WS_DEFLATE_BITS_MOST);
    if (worker->inflater == NULL)
        return UVHTTP_ENOMEM;
    worker->inflater_user = deflate;
    deflate->worker = worker;
    return 0;
}

/* Gets an inflater for a new message; `whole`: the first part is all of it. */
static int find_inflater(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                         bool whole)
{
    if (deflate->keeps_inflater) {
        if (deflate->inflater == NULL)
            deflate->inflater = uvh_inflater_new(deflate->settings->allocator, deflate->peer_bits);
        return deflate->inflater == NULL ? UVHTTP_ENOMEM : 0;
    }
    return whole && worker->inflater_user == NULL ? share(deflate, worker)
                                                  : borrow(deflate, worker);
}

int uvh_ws_deflate_begin(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                         const char *data, size_t size, bool last)
{
    if (!deflate->in_message) {
        int err = find_inflater(deflate, worker, last);
        if (err != 0)
            return err;
        deflate->in_message = true;
        deflate->message_in = deflate->message_out = 0;
    }
    deflate->in = data;
    deflate->in_size = size;
    deflate->last = last;
    deflate->message_in += size;
    return 0;
}

static void end_message(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker)
{
    deflate->in_message = false;
    deflate->in = NULL;
    if (deflate->worker != NULL) {
        uvh_inflater_reset(worker->inflater);
        worker->inflater_user = NULL;
        deflate->worker = NULL;
    } else if (!deflate->keeps_inflater) {
        give_back(deflate, worker);
    }
}

int uvh_ws_deflate_expand(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                          char *out, size_t *size, bool *done)
{
    struct uvh_inflater *inflater = deflate->worker != NULL ? worker->inflater : deflate->inflater;
    size_t taken = deflate->in_size;
    int err = uvh_inflater_run(inflater, deflate->in, &taken, out, size, deflate->last, done);
    if (err != 0)
        return err;
    if (taken > 0) {
        deflate->in += taken;
        deflate->in_size -= taken;
    }
    deflate->message_out += *size;
    if (UVH_UNLIKELY(deflate->message_out > RATIO_FREE &&
                     (deflate->message_out - 1) / deflate->settings->max_ratio >=
                         deflate->message_in))
        return UVHTTP_ETOOLARGE;
    if (*done && deflate->last)
        end_message(deflate, worker);
    return 0;
}

size_t uvh_ws_deflate_left(const struct uvh_ws_deflate *deflate)
{
    return deflate->in_size;
}

void uvh_ws_deflate_moved(struct uvh_ws_deflate *deflate, const char *data)
{
    deflate->in = data;
}
