/* Message heads (RFC 9112 sections 2 to 5): limits, and the back end that does the work.
 *
 * The parsing itself is in h1_parser.h, compiled once per instruction set, and in h1_judge.c. Called by server/conn_rx.c and by users of the
 * parser alone. */
#include <uvhttp/parser.h>

#include <string.h>

#include "base/compiler.h"
#include "codec/field.h"
#include "codec/h1_backend.h"
#include "codec/h1_judge.h"

/* Gives a very short input the bytes in front that scanning may touch. Offsets stay those of `data`. */
static uvhttp_parse_result_t parse_short(uvh_h1_parse_fn parse, uvhttp_head_t *head, const char *data,
                                         size_t length, const uvhttp_head_limits_t *limits)
{
    char padded[2 * UVH_H1_MOST_SLACK] = {0};
    char *copy = padded + UVH_H1_MOST_SLACK;
    if (length > 0)
        memcpy(copy, data, length);
    return parse(head, copy, copy + length, limits);
}

/* Runs `parse` over what the limit lets count, and keeps what MORE needs. `too_large` is why a part that is not complete within the
 * limit is refused. */
static inline uvhttp_parse_result_t parse_within(uvh_h1_parse_fn parse, size_t slack, uvhttp_head_t *head,
                                                 const char *data, size_t length,
                                                 const uvhttp_head_limits_t *limits,
                                                 uvhttp_reason_t too_large)
{
    size_t usable = length < limits->max_size ? length : limits->max_size;
    head->base = data;
    uvhttp_parse_result_t result = usable >= slack ? parse(head, data, data + usable, limits)
                                                   : parse_short(parse, head, data, usable, limits);
    if (result != UVHTTP_PARSE_MORE)
        return result;
    head->scanned = (uint32_t)usable;
    if (usable < limits->max_size)
        return UVHTTP_PARSE_MORE;
    return uvh_h1_refuse(head, too_large, usable);
}

void uvhttp_head_init(uvhttp_head_t *head, uvhttp_field_t *fields, uint16_t capacity)
{
    uvh_clear(head, offsetof(uvhttp_head_t, inline_fields));
    head->fields = fields != NULL ? fields : head->inline_fields;
    head->field_capacity = fields != NULL ? capacity : UVHTTP_HEAD_INLINE_FIELDS;
}

uvhttp_parse_result_t uvhttp_request_head_parse(uvhttp_head_t *head, const char *data, size_t length,
                                                const uvhttp_head_limits_t *limits)
{
    const struct uvh_h1_backend *backend = uvh_h1_backend;
    uvhttp_parse_result_t result = parse_within(backend->request, backend->slack, head, data, length, limits,
                                                UVHTTP_REASON_HEAD_TOO_LARGE);
    bool in_target = head->target_offset != 0 && head->target_length == 0;
    if (result == UVHTTP_PARSE_BAD && in_target && head->reason == UVHTTP_REASON_HEAD_TOO_LARGE)
        head->reason = UVHTTP_REASON_TARGET_TOO_LONG; /* the target alone is more than the head may be */
    return result;
}

uvhttp_parse_result_t uvhttp_response_head_parse(uvhttp_head_t *head, const char *data, size_t length,
                                                 const uvhttp_head_limits_t *limits)
{
    const struct uvh_h1_backend *backend = uvh_h1_backend;
    return parse_within(backend->response, backend->slack, head, data, length, limits,
                        UVHTTP_REASON_HEAD_TOO_LARGE);
}

uvhttp_parse_result_t uvhttp_trailers_parse(uvhttp_head_t *head, const char *data, size_t length,
                                            const uvhttp_head_limits_t *limits)
{
    const struct uvh_h1_backend *backend = uvh_h1_backend;
    uvhttp_parse_result_t result = parse_within(backend->trailers, backend->slack, head, data, length, limits,
                                                UVHTTP_REASON_TRAILER_TOO_LARGE);
    if (result != UVHTTP_PARSE_DONE)
        return result;
    for (uint32_t i = 0; i < head->field_count; i++) {
        const uvhttp_field_t *field = &head->fields[i];
        uvhttp_slice_t name = {data + field->name_offset, field->name_length};
        if (uvh_field_forbidden_in_trailer((uvhttp_field_id_t)field->id, name))
            return uvh_h1_refuse(head, UVHTTP_REASON_TRAILER_FORBIDDEN, field->name_offset);
    }
    return UVHTTP_PARSE_DONE;
}

const uvhttp_field_t *uvhttp_head_find(const uvhttp_head_t *head, uvhttp_field_id_t id)
{
    if ((unsigned)id >= UVHTTP_FIELD_COUNT || head->known[id] == 0)
        return NULL;
    return &head->fields[head->known[id] - 1];
}

const uvhttp_field_t *uvhttp_head_find_name(const uvhttp_head_t *head, const char *name, size_t length)
{
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
