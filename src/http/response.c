/* Sets status and fields. Everything is checked when it is set, so that sending needs no checks. */
#include "http/response.h"

#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "codec/fields/field.h"
#include "codec/http1/encode.h"
#include "codec/http2/hpack.h"

enum {
    FIRST_HEADERS = 8,
    MAX_HEADERS = 1024,
    MAX_PREPARED_SIZE = 1 << 20,
};

static uvhttp_slice_t text_slice(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

/* Fields that frame the message or are set by the server. */
static bool belongs_to_server(uvhttp_slice_t name)
{
    uvhttp_field_id_t id = uvh_field_lookup(name);
    return id == UVHTTP_FIELD_CONTENT_LENGTH || id == UVHTTP_FIELD_TRANSFER_ENCODING ||
           id == UVHTTP_FIELD_CONNECTION || id == UVHTTP_FIELD_DATE;
}

int uvhttp_header_check(const char *name, const char *value)
{
    if (name == NULL || value == NULL)
        return UVHTTP_EINVAL;
    if (!uvh_field_name_valid(text_slice(name)) || !uvh_field_value_valid(text_slice(value)) ||
        belongs_to_server(text_slice(name)))
        return UVHTTP_EHEADER;
    return 0;
}

/* Not allowed as a trailer: fields that frame, route or control a message, or describe its content
 * (RFC 9110 section 6.5.1). */
static bool is_refused_as_trailer(uvhttp_slice_t name)
{
    static const char *const refused[] = {"Authorization", "Cache-Control", "Content-Encoding",
                                          "Content-Range", "Content-Type",  "Cookie",
                                          "Expect",        "Host",          "Max-Forwards",
                                          "Range",         "Set-Cookie",    "TE",
                                          "Trailer",       "Upgrade",       "WWW-Authenticate"};
    for (size_t i = 0; i < UVH_COUNT_OF(refused); i++) {
        if (uvh_field_name_equal(name, text_slice(refused[i])))
            return true;
    }
    return false;
}

int uvh_response_check_open(const struct uvhttp_response *response)
{
    if (response->disconnected != NULL && atomic_load(response->disconnected))
        return UVHTTP_EDISCONNECTED;
    if (response->state == UVH_RESPONSE_OPEN && response->deferred == NULL)
        return 0;
    return uvh_response_over_code(response);
}

static int grow(struct uvh_arena *arena, struct uvh_header_list *list)
{
    size_t capacity = list->capacity == 0 ? FIRST_HEADERS : (size_t)list->capacity * 2;
    if (capacity > MAX_HEADERS)
        return UVHTTP_ENOMEM;
    struct uvh_header *items = uvh_arena_alloc(arena, capacity * sizeof(*items));
    if (items == NULL)
        return UVHTTP_ENOMEM;
    if (list->count > 0)
        memcpy(items, list->items, list->count * sizeof(*items));
    list->items = items;
    list->capacity = (uint16_t)capacity;
    return 0;
}

static void remove_header(struct uvh_header_list *list, uvhttp_slice_t name)
{
    uint16_t kept = 0;
    for (uint16_t i = 0; i < list->count; i++) {
        if (!uvh_field_name_equal(list->items[i].name, name))
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

/* Copies first, so that a failure changes nothing. */
static int store(struct uvh_arena *arena, struct uvh_header_list *list, const char *name,
                 const char *value, bool replace)
{
    int err = uvhttp_header_check(name, value);
    if (err == 0 && list->count == list->capacity)
        err = grow(arena, list);
    if (err != 0)
        return err;
    struct uvh_header header = {text_slice(name), text_slice(value)};
    header.name.base = uvh_arena_copy(arena, name, header.name.length);
    header.value.base = uvh_arena_copy(arena, value, header.value.length);
    if (header.name.base == NULL || header.value.base == NULL)
        return UVHTTP_ENOMEM;
    if (replace)
        remove_header(list, header.name);
    list->items[list->count++] = header;
    return 0;
}

void uvh_response_run_releases(struct uvhttp_response *response)
{
    uvhttp_release_cb release = response->body.release;
    response->body.release = NULL;
    if (release != NULL)
        release(response->body.release_arg);
    while (response->filters != NULL) {
        struct uvh_filter *filter = response->filters;
        response->filters = filter->next;
        if (filter->release != NULL)
            filter->release(filter->arg);
    }
}

void uvh_response_forget(struct uvhttp_response *response)
{
    response->headers.count = 0;
    response->deferred = NULL;
    response->prepared = NULL;
    response->body_limit = UINT64_MAX;
    response->pace = NULL;
    response->on_read_error = NULL;
}

/* False when out of memory. */
static bool keep_bytes(struct uvh_arena *arena, struct uvh_bytes *bytes)
{
    if (bytes->length == 0)
        return true;
    bytes->data = uvh_arena_copy(arena, bytes->data, bytes->length);
    return bytes->data != NULL;
}

int uvh_response_keep_lent(struct uvhttp_response *response)
{
    uvhttp_slice_t *type = &response->content_type;
    const char *kept = type->base;
    if (kept != NULL && (kept = uvh_arena_copy(response->arena, kept, type->length)) == NULL)
        return UVHTTP_ENOMEM;
    type->base = kept;
    if (response->prepared == NULL)
        return 0;
    uvhttp_prepared_t *copy = uvh_arena_alloc(response->arena, sizeof(*copy));
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    *copy = *response->prepared;
    if (!keep_bytes(response->arena, &copy->lines) || !keep_bytes(response->arena, &copy->block))
        return UVHTTP_ENOMEM;
    response->prepared = copy;
    return 0;
}

int uvh_response_own_headers(struct uvhttp_response *response)
{
    struct uvh_header_list *list = &response->headers;
    if (list->count == 0) { /* the next field allocates one */
        list->capacity = 0;
        return 0;
    }
    struct uvh_header *items = uvh_arena_alloc(response->arena, list->capacity * sizeof(*items));
    if (items == NULL)
        return UVHTTP_ENOMEM;
    memcpy(items, list->items, list->count * sizeof(*items));
    list->items = items;
    return 0;
}

int uvhttp_response_set_status(uvhttp_response_t *response, int status)
{
    int err = uvh_response_check_open(response);
    if (err != 0)
        return err;
    bool upgrades = response->sending && response->body.source == UVH_BODY_STREAM;
    if (status < 200 || status > 599 || upgrades)
        return UVHTTP_EINVAL;
    response->status = (uint16_t)status;
    return 0;
}

int uvhttp_response_status(const uvhttp_response_t *response)
{
    return response->status;
}

int uvhttp_response_set_header(uvhttp_response_t *response, const char *name, const char *value)
{
    int err = uvh_response_check_open(response);
    if (err == 0)
        err = store(response->arena, &response->headers, name, value, true);
    /* A send hook has precedence, also over the arguments of the sending call. */
    if (err == 0 && response->sending &&
        uvh_field_lookup(text_slice(name)) == UVHTTP_FIELD_CONTENT_TYPE)
        response->content_type = (uvhttp_slice_t){NULL, 0};
    return err;
}

int uvhttp_response_add_header(uvhttp_response_t *response, const char *name, const char *value)
{
    int err = uvh_response_check_open(response);
    return err != 0 ? err : store(response->arena, &response->headers, name, value, false);
}

int uvhttp_response_set_cookie(uvhttp_response_t *response, const uvhttp_cookie_t *cookie)
{
    size_t length;
    int err = uvh_response_check_open(response);
    if (err != 0)
        return err;
    if (cookie == NULL)
        return UVHTTP_EINVAL;
    uvhttp_cookie_error_t wrong = uvhttp_cookie_write(cookie, NULL, 0, &length);
    if (wrong != UVHTTP_COOKIE_FULL)
        return UVHTTP_EHEADER;
    char *text = uvh_arena_text(response->arena, length + 1);
    if (text == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_cookie_write(cookie, text, length + 1, &length);
    return uvhttp_response_add_header(response, "Set-Cookie", text);
}

void uvhttp_response_remove_header(uvhttp_response_t *response, const char *name)
{
    if (name == NULL || response->state != UVH_RESPONSE_OPEN || response->deferred != NULL)
        return;
    remove_header(&response->headers, text_slice(name));
    if (uvh_field_lookup(text_slice(name)) == UVHTTP_FIELD_CONTENT_TYPE)
        response->content_type = (uvhttp_slice_t){NULL, 0};
}

const char *uvhttp_response_header(const uvhttp_response_t *response, const char *name)
{
    if (name == NULL)
        return NULL;
    if (response->content_type.base != NULL &&
        uvh_field_lookup(text_slice(name)) == UVHTTP_FIELD_CONTENT_TYPE)
        return response->content_type.base;
    for (uint16_t i = 0; i < response->headers.count; i++) {
        if (uvh_field_name_equal(response->headers.items[i].name, text_slice(name)))
            return response->headers.items[i].value.base;
    }
    return NULL;
}

/* Parses the next of the lines "Name: value\r\n" written by uvhttp_prepared_add. */
static bool next_prepared(uvhttp_slice_t *rest, struct uvh_header *field)
{
    if (rest->length == 0)
        return false;
    const char *line = rest->base;
    const char *end = line + rest->length;
    const char *colon = memchr(line, ':', rest->length);
    const char *value = colon + 2;
    const char *line_end = memchr(colon, '\r', (size_t)(end - colon));
    field->name = (uvhttp_slice_t){line, (size_t)(colon - line)};
    field->value = (uvhttp_slice_t){value, (size_t)(line_end - value)};
    *rest = (uvhttp_slice_t){line_end + 2, (size_t)(end - line_end - 2)};
    return true;
}

uvhttp_slice_t uvhttp_response_header_slice(const uvhttp_response_t *response, const char *name)
{
    const char *set = uvhttp_response_header(response, name);
    if (set != NULL)
        return text_slice(set);
    if (name == NULL || response->prepared == NULL || response->prepared->lines.length == 0)
        return (uvhttp_slice_t){NULL, 0};
    uvhttp_slice_t rest = {response->prepared->lines.data, response->prepared->lines.length};
    struct uvh_header field;
    while (next_prepared(&rest, &field)) {
        if (uvh_field_name_equal(field.name, text_slice(name)))
            return field.value;
    }
    return (uvhttp_slice_t){NULL, 0};
}

bool uvhttp_response_header_lists(const uvhttp_response_t *response, const char *name,
                                  const char *token)
{
    if (name == NULL || token == NULL)
        return false;
    for (uint16_t i = 0; i < response->headers.count; i++) {
        const struct uvh_header *field = &response->headers.items[i];
        if (uvh_field_name_equal(field->name, text_slice(name)) &&
            uvh_field_list_has(field->value, text_slice(token)))
            return true;
    }
    if (response->prepared == NULL || response->prepared->lines.length == 0)
        return false;
    uvhttp_slice_t rest = {response->prepared->lines.data, response->prepared->lines.length};
    struct uvh_header field;
    while (next_prepared(&rest, &field)) {
        if (uvh_field_name_equal(field.name, text_slice(name)) &&
            uvh_field_list_has(field.value, text_slice(token)))
            return true;
    }
    return false;
}

int uvhttp_response_add_trailer(uvhttp_response_t *response, const char *name, const char *value)
{
    if (response->state == UVH_RESPONSE_SENT || response->state == UVH_RESPONSE_DISCONNECTED)
        return uvh_response_check_open(response);
    if (name != NULL && is_refused_as_trailer(text_slice(name)))
        return UVHTTP_EHEADER;
    return store(response->arena, &response->trailers, name, value, false);
}

int uvhttp_response_on_send(uvhttp_response_t *response, uvhttp_send_cb send, void *arg)
{
    if (send == NULL)
        return UVHTTP_EINVAL;
    struct uvh_send_hook *hook = uvh_arena_alloc(response->arena, sizeof(*hook));
    if (hook == NULL)
        return UVHTTP_ENOMEM;
    *hook = (struct uvh_send_hook){response->hooks, send, arg};
    response->hooks = hook;
    return 0;
}

uvhttp_slice_t uvhttp_response_body(const uvhttp_response_t *response)
{
    if (response->body.source != UVH_BODY_MEMORY)
        return (uvhttp_slice_t){NULL, 0};
    return (uvhttp_slice_t){response->body.base == NULL ? "" : response->body.base,
                            (size_t)response->body.size};
}

uint64_t uvhttp_response_body_length(const uvhttp_response_t *response)
{
    return response->body.size;
}

bool uvhttp_response_is_streamed(const uvhttp_response_t *response)
{
    return response->body.source == UVH_BODY_STREAMED;
}

int uvhttp_response_replace_body(uvhttp_response_t *response, const void *data, size_t size)
{
    if (!response->sending || response->body.source == UVH_BODY_STREAMED ||
        response->body.source == UVH_BODY_STREAM || (data == NULL && size > 0))
        return UVHTTP_EINVAL;
    char *copy = uvh_arena_copy(response->arena, size > 0 ? data : "", size);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    uvh_response_release_body(response);
    response->body = (struct uvh_body){.base = copy, .size = size, .descriptor = -1};
    return 0;
}

void uvhttp_response_limit_body(uvhttp_response_t *response, uint64_t most)
{
    if (most < response->body_limit)
        response->body_limit = most;
}

void uvhttp_response_use_prepared(uvhttp_response_t *response, const uvhttp_prepared_t *prepared)
{
    response->prepared = prepared;
}

void uvhttp_response_close_after(uvhttp_response_t *response)
{
    response->close_after = true;
}

bool uvhttp_response_open(const uvhttp_response_t *response)
{
    return uvh_response_check_open(response) == 0;
}

void uvhttp_response_on_abort(uvhttp_response_t *response, uvhttp_abort_cb abort, void *arg)
{
    response->on_abort = abort;
    response->abort_arg = arg;
}

void uvhttp_response_on_read_error(uvhttp_response_t *response, uvhttp_read_error_cb failed,
                                   void *arg)
{
    response->on_read_error = failed;
    response->read_error_arg = arg;
}

void uvhttp_response_on_drain(uvhttp_response_t *response, uvhttp_drain_cb drain, void *arg)
{
    response->on_drain = drain;
    response->drain_arg = arg;
}

/* A new id for each state, so that cached responses of an earlier state are no longer found. */
static uint64_t next_id(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

uvhttp_prepared_t *uvhttp_prepared_new(const uvhttp_allocator_t *allocator)
{
    if (allocator == NULL)
        allocator = uvh_alloc_default();
    uvhttp_prepared_t *prepared = uvh_alloc(allocator, sizeof(*prepared));
    if (prepared == NULL)
        return NULL;
    uvh_bytes_init(&prepared->lines, allocator, MAX_PREPARED_SIZE);
    uvh_bytes_init(&prepared->block, allocator, MAX_PREPARED_SIZE);
    prepared->has_content_type = false;
    prepared->has_upgrade = false;
    uvhttp_prepared_set_body(prepared, NULL, 0);
    return prepared;
}

void uvhttp_prepared_set_body(uvhttp_prepared_t *prepared, const void *data, size_t size)
{
    if (prepared == NULL)
        return;
    prepared->body = (uvhttp_slice_t){data, size};
    prepared->descriptor = -1;
    prepared->offset = 0;
    prepared->id = data == NULL ? 0 : next_id();
}

void uvhttp_prepared_set_descriptor(uvhttp_prepared_t *prepared, int descriptor, uint64_t offset,
                                    size_t size)
{
    if (prepared == NULL)
        return;
    prepared->body = (uvhttp_slice_t){NULL, size};
    prepared->descriptor = descriptor;
    prepared->offset = offset;
    prepared->id = descriptor < 0 ? 0 : next_id();
}

void uvhttp_prepared_free(void *prepared)
{
    uvhttp_prepared_t *old = prepared;
    if (old == NULL)
        return;
    const uvhttp_allocator_t *allocator = old->lines.allocator;
    uvh_bytes_release(&old->lines);
    uvh_bytes_release(&old->block);
    uvh_free(allocator, old);
}

/* Records the properties that the head of a response depends on. */
static void note_prepared(uvhttp_prepared_t *prepared, uvhttp_slice_t name)
{
    uvhttp_field_id_t field = uvh_field_lookup(name);
    if (field == UVHTTP_FIELD_CONTENT_TYPE)
        prepared->has_content_type = true;
    if (field == UVHTTP_FIELD_UPGRADE)
        prepared->has_upgrade = true;
    if (prepared->id != 0)
        prepared->id = next_id();
}

bool uvh_response_is_connection_field(uvhttp_slice_t name)
{
    static const uvhttp_slice_t proxy_connection = {"proxy-connection", 16};
    switch (uvh_field_lookup(name)) {
    case UVHTTP_FIELD_CONNECTION:
    case UVHTTP_FIELD_KEEP_ALIVE:
    case UVHTTP_FIELD_TRANSFER_ENCODING:
    case UVHTTP_FIELD_UPGRADE:
        return true;
    case UVHTTP_FIELD_OTHER:
        return uvh_field_name_is(name, proxy_connection);
    default:
        return false;
    }
}

/* Appends the field as HTTP/2 sends it. False, with nothing changed, when out of memory. */
static bool add_encoded(uvhttp_prepared_t *prepared, uvhttp_slice_t name, uvhttp_slice_t value)
{
    size_t most = name.length + value.length + UVH_HPACK_FIELD_EXTRA;
    if (uvh_response_is_connection_field(name))
        return true;
    char *space = uvh_bytes_extend(&prepared->block, most);
    prepared->block.failed = false;
    if (space == NULL)
        return false;
    prepared->block.length -= most - uvh_hpack_encode_field(space, most, name, value);
    return true;
}

int uvhttp_prepared_add(uvhttp_prepared_t *prepared, const char *name, const char *value)
{
    int err = prepared == NULL ? UVHTTP_ENOMEM : uvhttp_header_check(name, value);
    if (err != 0)
        return err;
    size_t encoded = prepared->block.length;
    if (!add_encoded(prepared, text_slice(name), text_slice(value)))
        return UVHTTP_ENOMEM;
    /* One append, so that a failure leaves no partial line. */
    if (uvh_bytes_append_format(&prepared->lines, "%s: %s\r\n", name, value) != 0) {
        prepared->lines.failed = false;
        prepared->block.length = encoded;
        return UVHTTP_ENOMEM;
    }
    note_prepared(prepared, text_slice(name));
    return 0;
}

int uvhttp_prepared_add_all(uvhttp_prepared_t *prepared, const uvhttp_prepared_t *from,
                            const char *except)
{
    if (prepared == NULL || from == NULL) /* an earlier append was out of memory */
        return UVHTTP_ENOMEM;
    struct uvh_bytes *lines = &prepared->lines;
    size_t before = lines->length, encoded = prepared->block.length;
    uvhttp_slice_t rest = {from->lines.data, from->lines.length};
    uvhttp_slice_t left_out = {except, except == NULL ? 0 : strlen(except)};
    struct uvh_header field;
    bool typed = prepared->has_content_type, upgrading = prepared->has_upgrade;
    while (next_prepared(&rest, &field)) {
        size_t length = field.name.length + field.value.length + UVH_H1_ENCODE_FIELD_EXTRA;
        if (except != NULL && uvh_field_name_equal(field.name, left_out))
            continue;
        if (!add_encoded(prepared, field.name, field.value) ||
            uvh_bytes_append(lines, field.name.base, length) != 0) {
            lines->length = before;
            lines->failed = false;
            prepared->block.length = encoded;
            prepared->has_content_type = typed;
            prepared->has_upgrade = upgrading;
            return UVHTTP_ENOMEM;
        }
        note_prepared(prepared, field.name);
    }
    return 0;
}
