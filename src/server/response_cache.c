/* See the header. */
#include "server/response_cache.h"

#include <errno.h>

#include "base/alloc.h"
#include "conn/conn_io.h"
#include "platform/file.h"
#include "platform/memory_file.h"

/* One second ends at most so many milliseconds after the one before: its end is computed from the
 * system's clock, by which the loop's clock may be some milliseconds late. */
enum { MAX_SECOND_MS = 1500 };

void uvh_response_cache_init(struct uvh_response_cache *cache, const uvhttp_allocator_t *allocator,
                             size_t max_size)
{
    *cache =
        (struct uvh_response_cache){.allocator = allocator, .max_size = max_size, .descriptor = -1};
}

/* Closes the file. The counts and cached responses of the slots are reset when each is next used:
 * they belong to another second. */
static void begin_second(struct uvh_response_cache *cache, uint64_t until)
{
    uvh_file_close(cache->descriptor);
    cache->descriptor = -1;
    cache->size = 0;
    cache->until = until;
}

void uvh_response_cache_release(struct uvh_response_cache *cache)
{
    begin_second(cache, 0);
    uvh_free(cache->allocator, cache->slots);
    cache->slots = NULL;
}

void uvh_response_cache_expire(struct uvh_response_cache *cache, uint64_t now)
{
    if (cache->descriptor >= 0 && now >= cache->until)
        begin_second(cache, 0);
}

/* ---- lookup ---- */

/* The body is the one that was announced by uvhttp_prepared_set_body or
 * uvhttp_prepared_set_descriptor. */
static bool is_prepared_body(const uvhttp_prepared_t *prepared, const struct uvh_body *body)
{
    if (body->size != prepared->body.length || body->parts != NULL)
        return false;
    return body->source == UVH_BODY_FILE
               ? body->descriptor == prepared->descriptor && body->offset == prepared->offset
               : body->source == UVH_BODY_MEMORY && body->base == prepared->body.base;
}

/* Only the prepared fields and the prepared body are sent. */
static bool is_as_prepared(const struct uvhttp_response *response)
{
    const uvhttp_prepared_t *prepared = response->prepared;
    return prepared != NULL && prepared->id != 0 && is_prepared_body(prepared, &response->body) &&
           response->status == 200 && response->headers.count == 0 &&
           response->content_type.base == NULL && !prepared->has_upgrade && response->pace == NULL;
}

/* Allocates the slots unless they exist. Returns false without memory. */
static bool make_slots(struct uvh_response_cache *cache)
{
    size_t size = UVH_RESPONSE_CACHE_SLOTS * sizeof(*cache->slots);
    if (cache->slots == NULL)
        cache->slots = uvh_alloc_zero(cache->allocator, size);
    return cache->slots != NULL;
}

struct uvh_cached_response *uvh_response_cache_lookup(struct uvh_response_cache *cache,
                                                      const struct uvhttp_response *response,
                                                      uint64_t until)
{
    if (cache->max_size == 0 || response->body.size > UVH_RESPONSE_CACHE_MAX_SIZE ||
        !is_as_prepared(response) || !make_slots(cache))
        return NULL;
    if (cache->until != until)
        begin_second(cache, until);
    uint64_t id = response->prepared->id;
    struct uvh_cached_response *slot = &cache->slots[id & (UVH_RESPONSE_CACHE_SLOTS - 1)];
    if (slot->until != until) {
        bool was_frequent = slot->id == id && until - slot->until < MAX_SECOND_MS &&
                            slot->size > 0 &&
                            slot->requests >= uvh_response_cache_threshold(response->body.size);
        *slot =
            (struct uvh_cached_response){.id = id, .until = until, .was_frequent = was_frequent};
    }
    if (slot->id != id)
        return NULL;
    slot->requests++;
    return slot;
}

/* ---- store ---- */

/* Creates the file unless it exists. Returns false on error: then responses are sent uncached, and
 * on a system that has no such files the cache is disabled for good. */
static bool open_file(struct uvh_response_cache *cache)
{
    if (cache->descriptor < 0)
        cache->descriptor = uvh_memory_file_open();
    if (cache->descriptor == -ENOSYS) {
        cache->max_size = 0;
        uvh_response_cache_release(cache);
    }
    return cache->descriptor >= 0;
}

static void store_bytes(struct uvh_response_cache *cache, struct uvh_cached_response *cached,
                        uvhttp_slice_t head, uvhttp_slice_t body)
{
    size_t size = head.length + body.length;
    if (size > UVH_RESPONSE_CACHE_MAX_SIZE || cache->size + size > cache->max_size ||
        !open_file(cache))
        return;
    const uvhttp_slice_t areas[] = {head, body};
    if (uvh_memory_file_write(cache->descriptor, cache->size, areas) != 0)
        return;
    cached->offset = cache->size;
    cached->size = (uint32_t)size;
    cached->requests = 0;
    /* The next response starts on a page boundary. */
    cache->size += (size + UVH_MEMORY_FILE_PAGE - 1) / UVH_MEMORY_FILE_PAGE * UVH_MEMORY_FILE_PAGE;
}

/* Reads the file on the loop. It was sent several times in this second or in the one before, so its
 * bytes are most likely in memory. If not, the sendfile that follows would wait for them as long.
 */
static void store_file(struct uvh_response_cache *cache, struct uvh_cached_response *cached,
                       uvhttp_slice_t head, const struct uvh_body *body)
{
    size_t size = (size_t)body->size;
    char *bytes = uvh_alloc(cache->allocator, size);
    if (bytes != NULL &&
        uvh_file_read(body->descriptor, bytes, size, body->offset) == (int64_t)size)
        store_bytes(cache, cached, head, (uvhttp_slice_t){bytes, size});
    uvh_free(cache->allocator, bytes);
}

void uvh_response_cache_store(struct uvh_response_cache *cache, struct uvh_cached_response *cached,
                              uvhttp_slice_t head, const struct uvh_body *body)
{
    uint32_t threshold = cached->was_frequent ? 1 : uvh_response_cache_threshold(body->size);
    /* Not `<`: what cannot be cached is tried once a second, not for each request. */
    if (cached->size > 0 || cached->requests != threshold)
        return;
    if (body->source == UVH_BODY_FILE)
        store_file(cache, cached, head, body);
    else
        store_bytes(cache, cached, head, (uvhttp_slice_t){body->base, (size_t)body->size});
}

/* ---- send ---- */

size_t uvh_response_cache_send(const struct uvh_response_cache *cache,
                               const struct uvh_cached_response *cached, struct uvh_conn *conn)
{
    /* A socket that is not writable accepts nothing: the response is queued the usual way. */
    if (cached->size == 0 || !conn->socket.writable)
        return 0;
    ssize_t sent = uvh_conn_io_send_file(conn, cache->descriptor, cached->offset, cached->size);
    return sent > 0 ? (size_t)sent : 0;
}
