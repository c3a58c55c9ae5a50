/* Message heads (RFC 9112 sections 2 to 5): calls the selected back end, and provides access to a
 * parsed head.
 *
 * Parsing is in parser.h, compiled once per instruction set, and in check.c. Also part of the
 * parser library. */
#include <uvhttp/parser.h>

#include "base/compiler.h"
#include "codec/fields/field.h"
#include "codec/http1/backend.h"
#include "codec/http1/check.h"
#include "codec/text/chars.h"

void uvhttp_head_init(uvhttp_head_t *head, uvhttp_field_t *fields, uint16_t capacity)
{
    if (UVH_UNLIKELY(head == NULL))
        return;
    uvh_clear(head, offsetof(uvhttp_head_t, first));
    head->fields = fields != NULL ? fields : head->inline_fields;
    head->field_capacity = fields != NULL ? capacity : UVHTTP_HEAD_INLINE_FIELDS;
}

/* This and the next function make clients that send byte by byte cheap. They return true if `c`,
 * the only byte since the last call, continues a field line, or a part of the request line, so that
 * nothing can be parsed before more has arrived. */
static inline bool field_line_continues(const uvhttp_head_t *head, char c)
{
    /* Field lines follow, each of which is parsed when its LF has arrived. */
    return head->size != 0 && c != '\n';
}

static inline bool request_head_continues(const uvhttp_head_t *head, const char *data, char c,
                                          uint32_t max_target)
{
    static const char version[UVH_H1_VERSION_LENGTH - 1] = {'H', 'T', 'T', 'P', '/', '1', '.'};
    if (head->size != 0)
        return field_line_continues(head, c);
    if (head->target_offset == 0)
        return head->scanned - head->start < UINT16_MAX &&
               uvh_chars_is(data[head->start], UVH_CHAR_TOKEN) && uvh_chars_is(c, UVH_CHAR_TOKEN);
    if (head->target_length == 0)
        return head->scanned - head->target_offset < max_target &&
               (uvh_chars_is(c, UVH_CHAR_REG_NAME) || c == '/');
    uint32_t at = head->scanned - head->target_offset - head->target_length - 1;
    if (at < sizeof version)
        return c == version[at];
    /* The last digit is parsed, together with those before it. */
    return at == UVH_H1_VERSION_LENGTH && c == '\r';
}

/* Measured: for so few bytes the start-up cost of vectors is too high. */
static inline const struct uvh_h1_backend *backend_for(size_t length)
{
    enum { MAX_SHORT = 32 };
    return length <= MAX_SHORT ? &uvh_h1_backend_swar : uvh_h1_backend;
}

static inline bool is_one_byte_more(const uvhttp_head_t *head, size_t length,
                                    const uvhttp_head_limits_t *limits)
{
    return length == (size_t)head->scanned + 1 && length < limits->max_size;
}

static uvhttp_parse_result_t skip_byte(uvhttp_head_t *head, const char *data)
{
    head->base = data;
    head->scanned++;
    return UVHTTP_PARSE_MORE;
}

typedef uvhttp_parse_result_t (*parse_fn)(uvhttp_head_t *head, const char *data, size_t length,
                                          const uvhttp_head_limits_t *limits);

/* The result of `parse` if one of its pointers is NULL. Out of line, so that the usual call is
 * short. */
static UVH_NEVER_INLINE uvhttp_parse_result_t parse_with_null(parse_fn parse, uvhttp_head_t *head,
                                                              const char *data, size_t length,
                                                              const uvhttp_head_limits_t *limits)
{
    static const uvhttp_head_limits_t defaults = {.max_size = UVHTTP_HEAD_DEFAULT_SIZE,
                                                  .max_target = UVHTTP_HEAD_DEFAULT_TARGET,
                                                  .max_fields = UVHTTP_HEAD_DEFAULT_FIELDS};
    if (head == NULL)
        return UVHTTP_PARSE_BAD;
    if (data == NULL)
        return length == 0 ? UVHTTP_PARSE_MORE
                           : uvh_h1_reject_head(head, UVHTTP_REASON_ARGUMENT, 0);
    return parse(head, data, length, limits != NULL ? limits : &defaults);
}

static inline bool has_null(const uvhttp_head_t *head, const char *data,
                            const uvhttp_head_limits_t *limits)
{
    return head == NULL || data == NULL || limits == NULL;
}

uvhttp_parse_result_t uvhttp_request_head_parse(uvhttp_head_t *head, const char *data,
                                                size_t length, const uvhttp_head_limits_t *limits)
{
    if (UVH_UNLIKELY(has_null(head, data, limits)))
        return parse_with_null(uvhttp_request_head_parse, head, data, length, limits);
    if (UVH_UNLIKELY(is_one_byte_more(head, length, limits)) &&
        request_head_continues(head, data, data[length - 1], limits->max_target))
        return skip_byte(head, data);
    return backend_for(length)->request(head, data, length, limits);
}

uvhttp_parse_result_t uvhttp_response_head_parse(uvhttp_head_t *head, const char *data,
                                                 size_t length, const uvhttp_head_limits_t *limits)
{
    if (UVH_UNLIKELY(has_null(head, data, limits)))
        return parse_with_null(uvhttp_response_head_parse, head, data, length, limits);
    if (UVH_UNLIKELY(is_one_byte_more(head, length, limits)) &&
        field_line_continues(head, data[length - 1]))
        return skip_byte(head, data);
    return backend_for(length)->response(head, data, length, limits);
}

uvhttp_parse_result_t uvhttp_trailers_parse(uvhttp_head_t *head, const char *data, size_t length,
                                            const uvhttp_head_limits_t *limits)
{
    if (UVH_UNLIKELY(has_null(head, data, limits)))
        return parse_with_null(uvhttp_trailers_parse, head, data, length, limits);
    uvhttp_parse_result_t result = backend_for(length)->trailers(head, data, length, limits);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    for (uint32_t i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        uvhttp_slice_t name = {data + field->name_offset, field->name_length};
        if (uvh_field_forbidden_in_trailer((uvhttp_field_id_t)field->id, name))
            return uvh_h1_reject_head(head, UVHTTP_REASON_TRAILER_FORBIDDEN, field->name_offset);
    }
    return UVHTTP_PARSE_DONE;
}

const uvhttp_field_t *uvhttp_head_find(const uvhttp_head_t *head, uvhttp_field_id_t id)
{
    return head != NULL && (unsigned)id < UVHTTP_FIELD_COUNT ? uvh_head_first(head, id) : NULL;
}

const uvhttp_field_t *uvhttp_head_find_name(const uvhttp_head_t *head, const char *name,
                                            size_t length)
{
    if (head == NULL || name == NULL)
        return NULL;
    uvhttp_slice_t wanted = {name, length};
    uvhttp_field_id_t id = uvh_field_lookup(wanted);
    if (id != UVHTTP_FIELD_OTHER)
        return uvhttp_head_find(head, id);
    for (uint32_t i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        uvhttp_slice_t present = {head->base + field->name_offset, field->name_length};
        if (field->id == UVHTTP_FIELD_OTHER && uvh_field_name_equal(present, wanted))
            return field;
    }
    return NULL;
}
