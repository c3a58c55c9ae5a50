/* Field blocks of requests: a head as HTTP/1.1 would have left it, or trailers (RFC 9113 section
 * 8).
 *
 * The bytes are those of the decoder, "name: value" CR LF, also of pseudo-header fields; method and
 * target are their values. A rule that HTTP/2 adds makes a request malformed: its stream is reset.
 * The other rules are those of HTTP/1.1, with the same responses. */
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "codec/fields/authority.h"
#include "codec/fields/field.h"
#include "codec/http1/method.h"
#include "codec/simd/scan_swar.h"
#include "h2/h2.h"
#include "tls/info.h"

enum {
    LEAST_SPACE = 512,             /* bytes of the first block; with less, another one is taken */
    EXTRA_SPACE = 4096,            /* for a field after the limit, which is decoded and rejected */
    TAIL = UVH_REQUEST_PATH_SLACK, /* bytes after the fields */
    REPLIES = 3,                   /* to a response: updates of both windows, a late reset */
};

enum { AUTHORITY = 0, METHOD, PATH, SCHEME, PROTOCOL, PSEUDO_COUNT };

/* A field block while it is decoded. */
struct block {
    struct uvh_h2 *h2;
    struct uvh_arena *arena;
    const uvhttp_head_limits_t *limits;
    uvhttp_head_t *head;
    char *base;
    char *out; /* after the fields so far */
    size_t space;
    size_t total; /* bytes of all fields, also of those that are discarded */
    size_t cookies;
    uint32_t offsets[PSEUDO_COUNT]; /* of the values of pseudo-header fields; 0: none */
    uint32_t lengths[PSEUDO_COUNT];
    struct uvh_h2_priority priority;
    bool is_trailer;
    bool seen_field;     /* one that is no pseudo-header field */
    bool seen_authority; /* the Host field is that of :authority */
    bool forbidden;      /* a field that no trailer section may have */
    bool first_block;    /* `base` is the rest of the arena's block */
    bool discards;       /* too large, or of no interest */
    bool too_many;
    bool malformed;
    bool out_of_memory;
};

enum outcome { DECODED, CONNECTION_FAILED };

/* ---- memory ---- */

static bool open_block(struct block *block)
{
    block->base = uvh_arena_rest(block->arena, &block->space);
    block->first_block = true;
    block->out = block->base;
    return true;
}

/* Ends the use of the arena's block; further allocations are possible. */
static void end_block(struct block *block)
{
    if (block->first_block)
        uvh_arena_cut(block->arena, block->out);
    block->first_block = false;
}

/* Moves the fields to a block of that size. False: they have it already, or out of memory. */
static bool grow(struct block *block, size_t size)
{
    size_t used = (size_t)(block->out - block->base);
    if (block->space >= size)
        return false;
    end_block(block);
    char *larger = uvh_arena_text(block->arena, size);
    block->out_of_memory |= larger == NULL;
    if (larger == NULL)
        return false;
    memcpy(larger, block->base, used);
    block->base = larger;
    block->out = larger + used;
    block->space = size;
    return true;
}

/* ... to one for the largest head. */
static bool grow_fully(struct block *block)
{
    return grow(block, block->limits->max_size + EXTRA_SPACE + TAIL);
}

/* ---- fields ---- */

static void add_field(struct block *block, const struct uvh_hpack_field *field, uint32_t offset,
                      unsigned id)
{
    uvhttp_head_t *head = block->head;
    uint64_t bit = UINT64_C(1) << id;
    if (head->field_count >= block->limits->max_fields) {
        block->discards = block->too_many = true;
        return;
    }
    if (head->field_count == head->field_capacity) {
        block->first_block = false; /* the rest of it stays in use */
        uvhttp_field_t *fields =
            uvh_arena_alloc(block->arena, block->limits->max_fields * sizeof(*fields));
        if (fields == NULL) {
            block->out_of_memory = block->discards = true;
            return;
        }
        memcpy(fields, head->fields, head->field_count * sizeof(*fields));
        head->fields = fields;
        head->field_capacity = (uint16_t)block->limits->max_fields;
    }
    if ((head->present & bit) == 0)
        head->first[id] = head->field_count;
    else if (id != UVHTTP_FIELD_OTHER)
        head->fields[head->first[id]].repeated = 1;
    head->present |= bit;
    head->fields[head->field_count++] =
        (uvhttp_field_t){.name_offset = offset,
                         .value_offset = offset + field->name_length + 2,
                         .value_length = field->value_length,
                         .name_length = field->name_length,
                         .id = (uint8_t)id};
}

/* A pseudo-header field becomes the field that HTTP/1.1 has instead: its name, which is shorter, is
 * written over the end of the other one. */
static void rename_field(struct block *block, uint32_t value, uint32_t length, uvhttp_field_id_t id)
{
    uvhttp_slice_t name = uvh_field_name(id);
    uint32_t offset = value - 2 - (uint32_t)name.length;
    struct uvh_hpack_field field = {.value_length = length, .name_length = (uint16_t)name.length};
    memcpy(block->base + offset, name.base, name.length);
    add_field(block, &field, offset, id);
}

static void take_pseudo(struct block *block, const struct uvh_hpack_field *field, uint32_t offset)
{
    static const signed char slots[] = {
        [UVH_HPACK_AUTHORITY - UVHTTP_FIELD_COUNT] = AUTHORITY,
        [UVH_HPACK_METHOD - UVHTTP_FIELD_COUNT] = METHOD,
        [UVH_HPACK_PATH - UVHTTP_FIELD_COUNT] = PATH,
        [UVH_HPACK_SCHEME - UVHTTP_FIELD_COUNT] = SCHEME,
        [UVH_HPACK_STATUS - UVHTTP_FIELD_COUNT] = -1,
        [UVH_HPACK_PROTOCOL - UVHTTP_FIELD_COUNT] = PROTOCOL,
    };
    int slot = slots[field->id - UVHTTP_FIELD_COUNT];
    if (slot < 0 || block->seen_field || block->is_trailer || block->offsets[slot] != 0) {
        block->malformed = true;
        return;
    }
    uint32_t value = offset + field->name_length + 2;
    block->offsets[slot] = value;
    block->lengths[slot] = field->value_length;
    if (slot == AUTHORITY)
        rename_field(block, value, field->value_length, UVHTTP_FIELD_HOST);
    if (slot == PROTOCOL)
        rename_field(block, value, field->value_length, UVHTTP_FIELD_UPGRADE);
    block->seen_authority |= slot == AUTHORITY;
}

static uvhttp_slice_t value_of(const struct block *block, const uvhttp_field_t *field)
{
    return (uvhttp_slice_t){block->base + field->value_offset, field->value_length};
}

/* RFC 9113 section 8.3.1: Host must not differ from :authority. */
static bool is_same_host(const struct block *block, uint32_t offset,
                         const struct uvh_hpack_field *field)
{
    uvhttp_slice_t host = {block->base + offset + field->name_length + 2, field->value_length};
    uvhttp_slice_t authority = {block->base + block->offsets[AUTHORITY], block->lengths[AUTHORITY]};
    return uvh_field_name_equal(host, authority);
}

static void take_field(struct block *block, const struct uvh_hpack_field *field, uint32_t offset)
{
    static const char priority[8] = {'p', 'r', 'i', 'o', 'r', 'i', 't', 'y'};
    block->seen_field = true;
    if (field->id == UVHTTP_FIELD_HOST && block->seen_authority) {
        block->malformed |= !is_same_host(block, offset, field);
        return;
    }
    if (block->is_trailer && uvh_field_forbidden_in_trailer(
                                 (uvhttp_field_id_t)field->id,
                                 (uvhttp_slice_t){block->base + offset, field->name_length})) {
        block->forbidden = true;
        return;
    }
    if (field->id == UVHTTP_FIELD_OTHER && field->name_length == sizeof(priority) &&
        memcmp(block->base + offset, priority, sizeof(priority)) == 0)
        uvh_h2_priority_read(
            (uvhttp_slice_t){block->base + offset + sizeof(priority) + 2, field->value_length},
            &block->priority);
    if (field->id == UVHTTP_FIELD_COOKIE)
        block->cookies += field->value_length + 2;
    add_field(block, field, offset, field->id);
}

/* Decodes the whole block, also after an error: it changes the table of the connection. */
static enum outcome decode(struct block *block, const char *p, const char *end)
{
    struct uvh_h2 *h2 = block->h2;
    struct uvh_hpack_field field;
    uvh_hpack_begin(&h2->hpack);
    for (;;) {
        size_t used = (size_t)(block->out - block->base);
        size_t left = block->space > used + TAIL ? block->space - used - TAIL : 0;
        enum uvh_hpack_result result =
            uvh_hpack_decode(&h2->hpack, &p, end, block->out, left, &field);
        if (result == UVH_HPACK_FIELD) {
            uint32_t size = field.name_length + field.value_length + UVH_HPACK_LINE_EXTRA;
            block->malformed |= field.malformed;
            block->total += size;
            if (block->total > block->limits->max_size)
                block->discards = true;
            if (block->discards || block->malformed) {
                if (block->total <=
                    UVH_H2_MAX_DISCARDED * (size_t)block->limits->max_size + EXTRA_SPACE)
                    continue;
                uvh_h2_fail(h2, UVH_H2_ENHANCE_YOUR_CALM, "a field section is far too large");
                return CONNECTION_FAILED;
            }
            char *at = block->out;
            block->out += size;
            if (field.id >= UVHTTP_FIELD_COUNT)
                take_pseudo(block, &field, (uint32_t)(at - block->base));
            else
                take_field(block, &field, (uint32_t)(at - block->base));
        } else if (result == UVH_HPACK_DONE) {
            return DECODED;
        } else if (result == UVH_HPACK_SPACE) {
            if (grow_fully(block))
                continue;
            if (block->out_of_memory)
                uvh_h2_fail(h2, UVH_H2_INTERNAL_ERROR, uvhttp_strerror(UVHTTP_ENOMEM));
            else
                uvh_h2_fail(h2, UVH_H2_ENHANCE_YOUR_CALM, "a field is far too large");
            return CONNECTION_FAILED;
        } else if (result == UVH_HPACK_MEMORY) {
            h2->hpack.memory =
                uvh_alloc(h2->conn->shared->allocator, uvh_hpack_memory_size(h2->hpack.capacity));
            if (h2->hpack.memory != NULL)
                continue;
            uvh_h2_fail(h2, UVH_H2_INTERNAL_ERROR, uvhttp_strerror(UVHTTP_ENOMEM));
            return CONNECTION_FAILED;
        } else {
            uvh_h2_fail(h2, UVH_H2_COMPRESSION_ERROR, "a field block is invalid");
            return CONNECTION_FAILED;
        }
    }
}

/* RFC 9113 section 8.2.3: several Cookie fields become one. */
static void join_cookies(struct block *block)
{
    uvhttp_head_t *head = block->head;
    if (!uvh_head_has(head, UVHTTP_FIELD_COOKIE) ||
        !head->fields[head->first[UVHTTP_FIELD_COOKIE]].repeated)
        return;
    size_t used = (size_t)(block->out - block->base);
    size_t size = used + block->cookies + TAIL;
    if (block->space < size && !grow(block, size))
        return;
    uvhttp_field_t *first = &head->fields[head->first[UVHTTP_FIELD_COOKIE]];
    char *begin = block->out;
    uint16_t count = 0;
    for (uint16_t i = 0; i < head->field_count; i++) {
        uvhttp_field_t *field = &head->fields[i];
        if (field->id == UVHTTP_FIELD_COOKIE) {
            memcpy(block->out, block->base + field->value_offset, field->value_length);
            memcpy(block->out + field->value_length, "; ", 2);
            block->out += field->value_length + 2;
            if (field != first)
                continue;
        }
        head->fields[count] = *field;
        if (field->id != UVHTTP_FIELD_OTHER && head->first[field->id] == i)
            head->first[field->id] = count;
        count++;
    }
    head->field_count = count;
    first->value_offset = (uint32_t)(begin - block->base);
    first->value_length = (uint32_t)(block->out - begin) - 2;
    first->repeated = 0;
}

/* ---- heads ---- */

static void start_block(struct block *block, struct uvh_h2 *h2, struct uvh_arena *arena,
                        uvhttp_head_t *head)
{
    *block = (struct block){.h2 = h2,
                            .arena = arena,
                            .limits = &uvh_h2_worker(h2)->head_limits,
                            .head = head,
                            .priority = UVH_H2_PRIORITY_INITIAL};
    head->present = 0;
    open_block(block);
    if (block->space < LEAST_SPACE)
        grow_fully(block);
}

static void finish_block(struct block *block)
{
    if (block->space >= (size_t)(block->out - block->base) + TAIL) { /* not without memory */
        memset(block->out, 0, TAIL);
        block->out += TAIL;
    }
    block->head->base = block->base;
    block->head->size = (uint32_t)(block->out - block->base);
    block->head->present &= ~UVH_FIELD_BIT(OTHER);
    end_block(block);
}

static uvhttp_slice_t pseudo(const struct block *block, int slot)
{
    return (uvhttp_slice_t){block->offsets[slot] == 0 ? NULL : block->base + block->offsets[slot],
                            block->lengths[slot]};
}

/* RFC 9113 sections 8.3.1 and 8.5. */
static bool has_valid_pseudo(const struct block *block)
{
    uvhttp_slice_t method = pseudo(block, METHOD), path = pseudo(block, PATH);
    uvhttp_slice_t scheme = pseudo(block, SCHEME);
    if (!uvh_field_name_valid(method))
        return false;
    if (method.length > UINT16_MAX)
        return false;
    bool is_connect = method.length == 7 && memcmp(method.base, "CONNECT", 7) == 0;
    bool extended = block->offsets[PROTOCOL] != 0; /* RFC 8441 section 4 */
    if (extended && !is_connect)
        return false;
    if (is_connect && block->lengths[AUTHORITY] == 0)
        return false;
    if (is_connect && !extended)
        return path.base == NULL && scheme.base == NULL;
    bool is_asterisk = path.length == 1 && path.base[0] == '*';
    return scheme.length > 0 && path.length > 0 && (path.base[0] == '/' || is_asterisk);
}

/* Fills what the parser of HTTP/1.1 fills. Returns the reason for a rejection. */
static uvhttp_reason_t fill_head(const struct block *block)
{
    uvhttp_head_t *head = block->head;
    uvhttp_slice_t method = pseudo(block, METHOD), target = pseudo(block, PATH);
    if (target.base == NULL)
        target = pseudo(block, AUTHORITY); /* of CONNECT */
    if (block->offsets[PROTOCOL] != 0) {   /* as HTTP/1.1 has it */
        memcpy(block->base + block->offsets[METHOD], "GET", 3);
        method.length = 3;
    }
    head->minor_version = 1;
    head->start = (uint32_t)(method.base - block->base);
    head->method_length = (uint16_t)method.length;
    head->method = (uint8_t)uvh_method_lookup(method);
    head->target_offset = (uint32_t)(target.base - block->base);
    head->target_length = (uint32_t)target.length;
    const char *question = memchr(target.base, '?', target.length);
    if (question != NULL)
        head->query_offset = (uint32_t)(question + 1 - block->base);
    const uvhttp_field_t *host = uvh_head_first(head, UVHTTP_FIELD_HOST);
    if (host != NULL) {
        uvhttp_slice_t value = value_of(block, host);
        head->host_name_length = (uint16_t)uvh_scan_reg_name(value.base, value.base + value.length);
    }
    if (target.length > block->limits->max_target)
        return UVHTTP_REASON_TARGET_TOO_LONG;
    if (uvh_scan_target(target.base, target.base + target.length) != target.base + target.length)
        return UVHTTP_REASON_TARGET;
    return UVHTTP_REASON_NONE;
}

/* Without Content-Length a body has the length at which the stream ends, as one in chunks. */
static bool set_body(struct uvh_h2_stream *stream, uvhttp_framing_t *framing)
{
    framing->upgrade = uvh_head_has(&stream->head, UVHTTP_FIELD_UPGRADE);
    if (framing->upgrade) { /* what follows is not a body */
        framing->body = UVHTTP_BODY_NONE;
        return true;
    }
    if (stream->ended)
        return framing->body == UVHTTP_BODY_NONE || framing->content_length == 0;
    if (framing->body == UVHTTP_BODY_NONE)
        framing->body = UVHTTP_BODY_CHUNKED;
    framing->expect_continue = uvh_head_has(&stream->head, UVHTTP_FIELD_EXPECT);
    return true;
}

/* ---- requests ---- */

static void log_refusal(const struct uvh_h2 *h2, int status, const char *detail)
{
    struct uvh_server *server = uvh_h2_worker(h2)->server;
    char peer[UVH_SOCKET_ADDRESS_TEXT];
    if (uvh_server_logs(server, UVHTTP_LOG_DEBUG))
        uvh_server_log(server, UVHTTP_LOG_DEBUG, "%s refused with %d: %s",
                       uvh_conn_peer(h2->conn, peer), status, detail);
}

void uvh_h2_reject(struct uvh_h2_stream *stream, int status, const char *detail)
{
    log_refusal(stream->h2, status, detail);
    uvh_exchange_refuse(&stream->base, status, detail);
}

static void reject_reason(struct uvh_h2_stream *stream, uvhttp_reason_t reason)
{
    uint8_t method = stream->head.method;
    uvh_counter_add(&stream->base.worker->counters.parse_errors, 1);
    uvhttp_head_init(&stream->head, NULL, 0);
    stream->head.method = method;
    uvh_request_clear(&stream->base.request, &stream->head);
    uvh_h2_reject(stream, uvhttp_reason_status(reason), uvhttp_reason_text(reason));
}

/* The request's host may require more of the client than the handshake of this connection did: then
 * it is not served here (RFC 9110 section 15.5.20). */
static bool admit_secure(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    struct uvh_tls_session *tls = stream->h2->conn->tls;
    uvhttp_slice_t host = {NULL, 0}, port;
    base->tls = uvh_tls_info_ref(tls->info);
    base->early = uvh_tls_session_is_early(tls);
    if (base->early)
        uvh_counter_add(&base->worker->counters.early_requests, 1);
    uvh_authority_split(base->request.framing.authority, &host, &port);
    if (!uvh_tls_session_is_misdirected(tls, host))
        return true;
    uvh_h2_reject(
        stream, 421,
        "this host requires a client certificate: open a new connection with its name (SNI)");
    return false;
}

static void start_request(struct uvh_h2_stream *stream)
{
    struct uvh_exchange *base = &stream->base;
    struct uvh_worker *worker = base->worker;
    uvh_counter_add(&worker->counters.total_requests, 1);
    uvh_counter_add(&worker->counters.http2_requests, 1);
    uvh_loop_stats_event(&worker->loop_stats);
    base->began = uvh_loop_stats_began(&worker->loop_stats);
    if (UVH_UNLIKELY(stream->h2->conn->tls != NULL) && !admit_secure(stream))
        return;
    int err = uvh_exchange_route(base);
    if (UVH_UNLIKELY(err != 0))
        uvh_h2_reject(stream, err == UVHTTP_ENOMEM ? 503 : 400,
                      err == UVHTTP_ENOMEM ? uvhttp_strerror(err)
                                           : "the rewritten path is invalid");
    else if (uvh_exchange_admit(base))
        uvh_h2_body_start(stream);
}

/* The block is decoded. Returns false for a malformed request. */
static bool take_request(struct uvh_h2_stream *stream, struct block *block)
{
    struct uvhttp_request *request = &stream->base.request;
    bool out_of_memory = false;
    if (block->offsets[METHOD] != 0) /* also an error response to HEAD has no body */
        stream->head.method = (uint8_t)uvh_method_lookup(pseudo(block, METHOD));
    if (!block->discards && !block->malformed)
        join_cookies(block);
    if (block->out_of_memory) {
        finish_block(block);
        uvh_h2_reject(stream, 503, uvhttp_strerror(UVHTTP_ENOMEM));
        return true;
    }
    if (block->discards && !block->malformed) {
        finish_block(block);
        reject_reason(stream, block->too_many ? UVHTTP_REASON_TOO_MANY_FIELDS
                                              : UVHTTP_REASON_HEAD_TOO_LARGE);
        return true;
    }
    if (block->malformed || !has_valid_pseudo(block))
        return false;
    uvhttp_reason_t reason = fill_head(block);
    finish_block(block);
    if (reason == UVHTTP_REASON_NONE)
        reason = uvhttp_request_framing(&stream->head, &request->framing);
    if (reason == UVHTTP_REASON_NONE && !set_body(stream, &request->framing))
        return false;
    if (reason == UVHTTP_REASON_NONE)
        reason = uvh_request_init(request, &stream->base.arena, &stream->head, &out_of_memory);
    if (out_of_memory) {
        uvh_request_clear(request, &stream->head);
        uvh_h2_reject(stream, 503, uvhttp_strerror(UVHTTP_ENOMEM));
    } else if (reason != UVHTTP_REASON_NONE) {
        reject_reason(stream, reason);
    } else {
        stream->continue_owed = request->framing.expect_continue;
        start_request(stream);
    }
    return true;
}

/* Only for its effect on the table of the connection. */
static void discard_block(struct uvh_h2 *h2, const char *p, const char *end)
{
    struct uvh_arena arena;
    uvhttp_head_t *head = uvh_arena_begin(&arena, &uvh_h2_worker(h2)->arenas, sizeof(*head));
    struct block block;
    if (head == NULL) {
        uvh_h2_fail(h2, UVH_H2_INTERNAL_ERROR, uvhttp_strerror(UVHTTP_ENOMEM));
        return;
    }
    uvhttp_head_init(head, NULL, 0);
    start_block(&block, h2, &arena, head);
    block.discards = true;
    decode(&block, p, end);
    uvh_arena_release(&arena);
}

/* PRIORITY_UPDATE wins over the field of the request, even if it was received before (RFC 9218
 * section 7). */
static struct uvh_h2_priority priority_of(const struct uvh_h2 *h2, uint32_t id,
                                          struct uvh_h2_priority priority)
{
    for (size_t i = 0; i < UVH_H2_UPDATES; i++) {
        if (h2->updates[i].id == id)
            return h2->updates[i].priority;
    }
    return priority;
}

static void begin_stream(struct uvh_h2 *h2, uint32_t id, bool ends, const char *p, const char *end)
{
    struct uvh_h2_stream *stream = NULL;
    struct block block;
    bool full = h2->exchanges >= uvh_h2_config(h2)->http2_max_streams;
    uint32_t step = (id - h2->last_stream + 1) / 2;
    h2->used_ids = (step < 64 ? h2->used_ids << step : 0) | 1;
    h2->last_stream = id;
    h2->served = true;
    /* more than were on their way: the client ignores GOAWAY */
    if (h2->draining && h2->late_requests++ == uvh_h2_config(h2)->http2_max_streams)
        uvh_h2_refuse_more(h2);
    if (!h2->refusing)
        h2->last_served = id;
    if (!h2->refusing && !full)
        stream = uvh_h2_stream_new(h2, id);
    if (stream == NULL) {
        discard_block(h2, p, end);
        if (h2->refusing) {
            uvh_h2_count_control(h2, 1);
        } else if (!h2->failed) {
            uvh_counter_add(&uvh_h2_worker(h2)->counters.http2_refused, 1);
            uvh_h2_reset_id(h2, id, UVH_H2_REFUSED_STREAM);
        }
        return;
    }
    uvh_exchange_ref(&stream->base);
    stream->ended = ends;
    uvhttp_head_t *head = &stream->head;
    uvh_request_clear(&stream->base.request, head);
    uvh_h2_stream_open(stream);
    start_block(&block, h2, &stream->base.arena, head);
    if (decode(&block, p, end) == DECODED) {
        size_t most = uvh_h2_config(h2)->max_requests_per_connection;
        stream->priority = priority_of(h2, id, block.priority);
        h2->replies_allowed += REPLIES;
        if (++h2->requests == most)
            uvh_h2_refuse_more(h2);
        if (UVH_UNLIKELY(uvh_conn_is_old(h2->conn)))
            uvh_h2_shut_down(h2);
        if (stream->base.finished) {
            end_block(&block); /* the connection has ended */
        } else if (h2->depends_on_itself || !take_request(stream, &block)) {
            uvh_counter_add(&stream->base.worker->counters.parse_errors, 1);
            end_block(&block);
            uvh_h2_reset(stream, UVH_H2_PROTOCOL_ERROR);
        }
    }
    uvh_h2_set_timeout(stream, true);
    uvh_exchange_unref(&stream->base);
}

/* ---- trailers ---- */

static void take_trailers(struct uvh_h2_stream *stream, bool ends, const char *p, const char *end)
{
    struct uvh_h2 *h2 = stream->h2;
    struct uvh_arena *arena = &stream->base.arena;
    uvhttp_head_t *head = uvh_arena_alloc(arena, sizeof(*head));
    struct block block;
    if (head == NULL) {
        uvh_h2_fail(h2, UVH_H2_INTERNAL_ERROR, uvhttp_strerror(UVHTTP_ENOMEM));
        return;
    }
    uvhttp_head_init(head, NULL, 0);
    uvh_exchange_ref(&stream->base);
    start_block(&block, h2, arena, head);
    block.is_trailer = true;
    block.limits = &stream->base.worker->trailer_limits;
    if (decode(&block, p, end) != DECODED) { /* the stream has ended with the connection */
        uvh_exchange_unref(&stream->base);
        return;
    }
    finish_block(&block);
    if (stream->ended) {
        uvh_h2_reset(stream, UVH_H2_STREAM_CLOSED);
    } else if (block.malformed || !ends || stream->tunnel != NULL) { /* section 8.5 for the last */
        uvh_h2_reset(stream, UVH_H2_PROTOCOL_ERROR);
    } else if (block.out_of_memory) {
        stream->ended = true;
        uvh_h2_reject(stream, 503, uvhttp_strerror(UVHTTP_ENOMEM));
    } else if (block.discards || block.forbidden) {
        stream->ended = true;
        uvh_counter_add(&stream->base.worker->counters.parse_errors, 1);
        uvhttp_reason_t reason = block.forbidden  ? UVHTTP_REASON_TRAILER_FORBIDDEN
                                 : block.too_many ? UVHTTP_REASON_TOO_MANY_FIELDS
                                                  : UVHTTP_REASON_TRAILER_TOO_LARGE;
        uvh_h2_reject(stream, uvhttp_reason_status(reason), uvhttp_reason_text(reason));
    } else {
        if (head->field_count > 0) {
            stream->base.request.trailers = head;
            stream->base.request.trailer_bytes = block.base;
        }
        uvh_h2_body_end(stream);
    }
    uvh_exchange_unref(&stream->base);
}

void uvh_h2_take_block(struct uvh_h2 *h2, uint32_t id, bool ends, const char *block,
                       const char *end)
{
    struct uvh_h2_stream *stream = uvh_h2_find(h2, id);
    if (stream != NULL) {
        take_trailers(stream, ends, block, end);
    } else if (id > h2->last_stream) {
        begin_stream(h2, id, ends, block, end);
    } else if (uvh_h2_is_ignored(h2, id) || uvh_h2_recent(h2, id) != NULL) {
        if (!uvh_h2_count_control(h2, 1))
            return;
        discard_block(h2, block, end);
        if (ends && !h2->failed && uvh_h2_recent(h2, id) != NULL)
            *uvh_h2_recent(h2, id) = (struct uvh_h2_recent){0};
    } else {
        /* RFC 9113 section 5.1.1: ids that were skipped must not be used */
        uint32_t back = (h2->last_stream - id) / 2;
        bool skipped = back < 64 && (h2->used_ids >> back & 1) == 0;
        uvh_h2_fail(h2, skipped ? UVH_H2_PROTOCOL_ERROR : UVH_H2_STREAM_CLOSED,
                    "HEADERS on a stream that is closed");
    }
}
