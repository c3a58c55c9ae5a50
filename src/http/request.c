/* Accessors of the request. Strings are terminated in place: the byte after a name, value or target
 * is a delimiter that is already parsed, so a NUL overwrites it without a copy. */
#include "http/request.h"

#include <string.h>

#include <uvhttp/cookie.h>
#include <uvhttp/error.h>
#include <uvhttp/text.h>

#include "base/compiler.h"
#include "codec/fields/field.h"
#include "codec/http1/target.h"

static const uvhttp_slice_t no_slice = {NULL, 0};

static uvhttp_slice_t terminated(char *bytes, size_t offset, size_t length)
{
    bytes[offset + length] = '\0';
    return (uvhttp_slice_t){bytes + offset, length};
}

static const char *find_text(const uvhttp_head_t *head, char *bytes, const char *name)
{
    const uvhttp_field_t *field =
        name == NULL ? NULL : uvhttp_head_find_name(head, name, strlen(name));
    return field == NULL ? NULL : terminated(bytes, field->value_offset, field->value_length).base;
}

/* True when the path ends with the target, so that one NUL ends both, and UVH_REQUEST_PATH_SLACK
 * bytes of the head follow. Only requests without fields, which HTTP/1.0 allows, have fewer. */
static bool is_usable(const struct uvhttp_request *request, const uvhttp_head_t *head,
                      uvhttp_slice_t raw)
{
    const char *target_end = head->base + head->target_offset + head->target_length;
    return request->framing.query.base == NULL && raw.base + raw.length == target_end &&
           head->base + head->size - target_end >= UVH_REQUEST_PATH_SLACK;
}

/* Sets the path to a normalized copy of `raw`. */
static UVH_NEVER_INLINE uvhttp_reason_t normalize_path(struct uvhttp_request *request,
                                                       uvhttp_slice_t raw, bool *out_of_memory)
{
    char *path = uvh_arena_text(request->arena, raw.length + UVH_REQUEST_PATH_SLACK);
    *out_of_memory = path == NULL;
    if (path == NULL)
        return UVHTTP_REASON_NONE;
    size_t length = 0;
    uvhttp_reason_t reason = uvhttp_path_normalize(raw, path, &length);
    if (reason != UVHTTP_REASON_NONE)
        return reason;
    memset(path + length, 0, UVH_REQUEST_PATH_SLACK);
    request->path = (uvhttp_slice_t){path, length};
    return UVHTTP_REASON_NONE;
}

uvhttp_reason_t uvh_request_init(struct uvhttp_request *request, struct uvh_arena *arena,
                                 const uvhttp_head_t *head, bool *out_of_memory)
{
    *out_of_memory = false;
    request->arena = arena;
    request->head = head;
    request->bytes = (char *)(uintptr_t)head->base;
    request->bytes[head->target_offset + head->target_length] = '\0';
    uvhttp_slice_t raw = request->framing.path;
    if (UVH_UNLIKELY(!is_usable(request, head, raw) || !uvhttp_path_is_normal(raw)))
        return normalize_path(request, raw, out_of_memory);
    request->path = raw;
    return UVHTTP_REASON_NONE;
}

int uvh_request_rewrite(struct uvhttp_request *request, uvhttp_slice_t target)
{
    const char *mark = memchr(target.base, '?', target.length);
    uvhttp_slice_t path = {target.base,
                           mark == NULL ? target.length : (size_t)(mark - target.base)};
    bool out_of_memory;
    uvhttp_reason_t reason = normalize_path(request, path, &out_of_memory);
    if (out_of_memory || reason != UVHTTP_REASON_NONE)
        return out_of_memory ? UVHTTP_ENOMEM : UVHTTP_EINVAL;
    request->framing.path = path;
    if (mark == NULL)
        return 0;
    uvhttp_slice_t query = {mark + 1, target.length - path.length - 1};
    request->framing.query = query.length == 0 ? no_slice : query;
    return 0;
}

uvhttp_method_t uvhttp_request_method(const uvhttp_request_t *request)
{
    return (uvhttp_method_t)request->head->method;
}

const char *uvhttp_request_method_name(uvhttp_request_t *request)
{
    return terminated(request->bytes, request->head->start, request->head->method_length).base;
}

uvhttp_slice_t uvhttp_request_target(uvhttp_request_t *request)
{
    return (uvhttp_slice_t){request->bytes + request->head->target_offset,
                            request->head->target_length};
}

const char *uvhttp_request_path(uvhttp_request_t *request)
{
    return request->path.base;
}

uvhttp_slice_t uvhttp_request_path_slice(uvhttp_request_t *request)
{
    return request->path;
}

uvhttp_slice_t uvhttp_request_raw_path(const uvhttp_request_t *request)
{
    return request->framing.path;
}

uvhttp_slice_t uvhttp_request_query_string(uvhttp_request_t *request)
{
    /* The query ends with the target, which a NUL follows. */
    return request->framing.query.base == NULL ? (uvhttp_slice_t){"", 0} : request->framing.query;
}

/* `encoded` is the name of the current pair; true when it decodes to `name`. */
static bool name_matches(struct uvhttp_request *request, uvhttp_slice_t encoded, const char *name,
                         size_t length)
{
    if (encoded.length < length)
        return false;
    char *decoded = uvh_arena_text(request->arena, encoded.length);
    if (decoded == NULL)
        return false;
    ptrdiff_t size = uvhttp_percent_decode(encoded, decoded, true);
    return size >= 0 && (size_t)size == length && memcmp(decoded, name, length) == 0;
}

/* Returns the decoded value of the first pair of that name. */
static const char *find_pair(struct uvhttp_request *request, uvhttp_slice_t rest, const char *name)
{
    uvhttp_slice_t key, value;
    if (name == NULL)
        return NULL;
    size_t length = strlen(name);
    while (uvhttp_query_next(&rest, &key, &value)) {
        if (!name_matches(request, key, name, length))
            continue;
        if (value.length == 0)
            return "";
        char *decoded = uvh_arena_text(request->arena, value.length + 1);
        if (decoded == NULL)
            return NULL;
        ptrdiff_t size = uvhttp_percent_decode(value, decoded, true);
        /* A malformed escape is not a value, and an encoded NUL would truncate it. */
        if (size < 0 || memchr(decoded, '\0', (size_t)size) != NULL)
            continue;
        decoded[size] = '\0';
        return decoded;
    }
    return NULL;
}

const char *uvhttp_request_query(uvhttp_request_t *request, const char *name)
{
    return find_pair(request, request->framing.query, name);
}

const char *uvhttp_request_form(uvhttp_request_t *request, const char *name)
{
    uvhttp_slice_t type = uvhttp_request_field(request, UVHTTP_FIELD_CONTENT_TYPE);
    bool is_form = uvhttp_media_type_is(type, "application/x-www-form-urlencoded");
    return is_form ? find_pair(request, request->body, name) : NULL;
}

const char *uvhttp_request_body_text(uvhttp_request_t *request)
{
    uvhttp_slice_t body = request->body;
    bool is_text = body.length == 0 || (memchr(body.base, '\0', body.length) == NULL &&
                                        uvhttp_utf8_count(body.base, body.length) >= 0);
    if (is_text && request->body_text == NULL)
        request->body_text =
            body.length == 0 ? "" : uvh_arena_copy(request->arena, body.base, body.length);
    return request->body_text;
}

const char *uvhttp_request_cookie(uvhttp_request_t *request, const char *name)
{
    for (uint32_t i = 0; i < request->head->field_count; i++) {
        const uvhttp_field_t *field = &request->head->fields[i];
        if (field->id != UVHTTP_FIELD_COOKIE)
            continue;
        uvhttp_slice_t value = {request->bytes + field->value_offset, field->value_length};
        value = uvhttp_cookie_find(value, name);
        if (value.base != NULL)
            return uvh_arena_copy(request->arena, value.base, value.length);
    }
    return NULL;
}

/* Returns the parameter of that name, NULL when the route has none. */
static struct uvh_param *find_param(uvhttp_request_t *request, const char *name)
{
    if (name == NULL)
        return NULL;
    size_t length = strlen(name);
    for (size_t i = 0; i < request->param_count; i++) {
        const struct uvh_param_name *known = &request->param_names[i];
        bool same = known->length == length && memcmp(known->base, name, length) == 0;
        if (same || (known->wildcard && strcmp(name, "*") == 0))
            return &request->params[i];
    }
    return NULL;
}

/* Returns the value decoded and NUL-terminated; NULL when out of memory. */
static const char *param_text(uvhttp_request_t *request, uvhttp_slice_t value)
{
    bool ends_path = value.base + value.length == request->path.base + request->path.length;
    if (!uvh_target_has_kept(value))
        return ends_path ? value.base : uvh_arena_copy(request->arena, value.base, value.length);
    char *text = uvh_arena_text(request->arena, value.length + 1);
    if (text != NULL)
        text[uvh_target_release_kept(value, text)] = '\0';
    return text;
}

const char *uvhttp_request_param(uvhttp_request_t *request, const char *name)
{
    struct uvh_param *param = find_param(request, name);
    if (param == NULL)
        return NULL;
    if (param->text == NULL)
        param->text = param_text(request, param->value);
    return param->text;
}

typedef const char *(*getter)(uvhttp_request_t *request, const char *name);

static int get_number(uvhttp_request_t *request, getter get, const char *name, int64_t min,
                      int64_t max, int64_t *number)
{
    const char *text = name == NULL ? NULL : get(request, name);
    if (name == NULL || number == NULL)
        return UVHTTP_EINVAL;
    return text == NULL || uvhttp_number_parse(text, min, max, number) ? 0 : UVHTTP_EINVAL;
}

int uvhttp_request_query_number(uvhttp_request_t *request, const char *name, int64_t min,
                                int64_t max, int64_t *number)
{
    return get_number(request, uvhttp_request_query, name, min, max, number);
}

int uvhttp_request_form_number(uvhttp_request_t *request, const char *name, int64_t min,
                               int64_t max, int64_t *number)
{
    return get_number(request, uvhttp_request_form, name, min, max, number);
}

int uvhttp_request_param_number(uvhttp_request_t *request, const char *name, int64_t min,
                                int64_t max, int64_t *number)
{
    return get_number(request, uvhttp_request_param, name, min, max, number);
}

uvhttp_slice_t uvhttp_request_param_path(uvhttp_request_t *request, const char *name)
{
    const struct uvh_param *param = find_param(request, name);
    return param == NULL ? no_slice : param->value;
}

const char *uvhttp_request_header(uvhttp_request_t *request, const char *name)
{
    return find_text(request->head, request->bytes, name);
}

uvhttp_slice_t uvhttp_request_field(uvhttp_request_t *request, uvhttp_field_id_t id)
{
    /* Inlined, for callers that look up many absent fields. */
    const uvhttp_field_t *field =
        (unsigned)id < UVHTTP_FIELD_COUNT ? uvh_head_first(request->head, id) : NULL;
    return field == NULL ? no_slice
                         : terminated(request->bytes, field->value_offset, field->value_length);
}

size_t uvhttp_request_header_count(const uvhttp_request_t *request)
{
    return request->head->field_count;
}

static void field_at(const uvhttp_head_t *head, char *bytes, size_t index, uvhttp_slice_t *name,
                     uvhttp_slice_t *value)
{
    uvhttp_slice_t ignored;
    name = name != NULL ? name : &ignored;
    value = value != NULL ? value : &ignored;
    *name = *value = no_slice;
    if (head == NULL || index >= head->field_count)
        return;
    const uvhttp_field_t *field = &head->fields[index];
    *name = terminated(bytes, field->name_offset, field->name_length);
    *value = terminated(bytes, field->value_offset, field->value_length);
}

void uvhttp_request_header_at(uvhttp_request_t *request, size_t index, uvhttp_slice_t *name,
                              uvhttp_slice_t *value)
{
    field_at(request->head, request->bytes, index, name, value);
}

size_t uvhttp_request_trailer_count(const uvhttp_request_t *request)
{
    return request->trailers == NULL ? 0 : request->trailers->field_count;
}

void uvhttp_request_trailer_at(uvhttp_request_t *request, size_t index, uvhttp_slice_t *name,
                               uvhttp_slice_t *value)
{
    field_at(request->trailers, request->trailer_bytes, index, name, value);
}

const char *uvhttp_request_trailer(uvhttp_request_t *request, const char *name)
{
    return request->trailers == NULL ? NULL
                                     : find_text(request->trailers, request->trailer_bytes, name);
}

uvhttp_slice_t uvhttp_request_body(const uvhttp_request_t *request)
{
    return request->body;
}

const char *uvhttp_request_protocol(const uvhttp_request_t *request)
{
    if (request->is_http2)
        return "HTTP/2.0";
    return request->head->minor_version == 0 ? "HTTP/1.0" : "HTTP/1.1";
}

int uvhttp_request_http_minor(const uvhttp_request_t *request)
{
    return request->head->minor_version;
}

void uvhttp_request_set_user_data(uvhttp_request_t *request, void *data)
{
    request->user_data = data;
}

void *uvhttp_request_user_data(const uvhttp_request_t *request)
{
    return request->user_data;
}

void *uvhttp_request_allocate(uvhttp_request_t *request, size_t size)
{
    return uvh_arena_alloc(request->arena, size);
}

const char uvh_request_exemplar_key;

int uvhttp_request_set_exemplar(uvhttp_request_t *request, const char *trace_id)
{
    size_t size = trace_id == NULL ? 0 : strlen(trace_id) + 1;
    if (size < 2 || size > UVHTTP_EXEMPLAR_SIZE)
        return UVHTTP_EINVAL;
    char *copy = uvh_arena_alloc(request->arena, size);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    memcpy(copy, trace_id, size);
    return uvhttp_request_attach(request, &uvh_request_exemplar_key, copy, NULL);
}

int uvhttp_request_attach(uvhttp_request_t *request, const void *key, void *data,
                          void (*release)(void *data))
{
    struct uvh_attachment *one = request->attachments;
    while (one != NULL && one->key != key)
        one = one->next;
    if (one != NULL) {
        struct uvh_attachment before = *one;
        one->data = data;
        one->release = release;
        if (before.release != NULL)
            before.release(before.data);
        return 0;
    }
    if ((one = uvh_arena_alloc(request->arena, sizeof(*one))) != NULL) {
        one->next = request->attachments;
        one->key = key;
        request->attachments = one;
    } else {
        if (release != NULL)
            release(data);
        return UVHTTP_ENOMEM;
    }
    one->data = data;
    one->release = release;
    return 0;
}

void *uvhttp_request_attached(const uvhttp_request_t *request, const void *key)
{
    for (const struct uvh_attachment *one = request->attachments; one != NULL; one = one->next) {
        if (one->key == key)
            return one->data;
    }
    return NULL;
}

void uvh_request_release_attached(struct uvhttp_request *request)
{
    while (request->attachments != NULL) {
        struct uvh_attachment *one = request->attachments;
        request->attachments = one->next;
        if (one->release != NULL)
            one->release(one->data);
    }
}

void uvh_request_clear(struct uvhttp_request *request, const uvhttp_head_t *head)
{
    request->head = head;
    request->bytes = request->nothing;
    request->path = (uvhttp_slice_t){request->nothing, 0};
}
