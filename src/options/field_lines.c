/* Searches for further lines only when the field is present; most requests have no condition. See
 * field_lines.h. */
#include "options/field_lines.h"

#include <string.h>

#include <uvhttp/error.h>

#include "codec/fields/field.h"

/* The value of the next line of that name at or after `*index`; `*index` moves past it. base is
 * NULL after the last line. */
static uvhttp_slice_t next_line(uvhttp_request_t *request, uvhttp_field_id_t id, size_t *index)
{
    uvhttp_slice_t wanted = uvh_field_name(id);
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    do {
        uvhttp_request_header_at(request, (*index)++, &name, &value);
    } while (name.base != NULL && !uvh_field_name_equal(name, wanted));
    return value;
}

int uvh_field_lines_join(uvhttp_request_t *request, uvhttp_field_id_t id, uvhttp_slice_t *value)
{
    size_t index = 0;
    size_t lines = 0;
    size_t length = 0;
    if (value->base == NULL)
        return 0;
    for (uvhttp_slice_t line; (line = next_line(request, id, &index)).base != NULL; lines++)
        length += line.length;
    if (lines < 2)
        return 0;
    char *joined = uvhttp_request_allocate(request, length + 2 * (lines - 1));
    if (joined == NULL)
        return UVHTTP_ENOMEM;
    char *out = joined;
    index = 0;
    for (size_t i = 0; i < lines; i++) {
        uvhttp_slice_t line = next_line(request, id, &index);
        if (i > 0) {
            memcpy(out, ", ", 2);
            out += 2;
        }
        memcpy(out, line.base, line.length);
        out += line.length;
    }
    *value = (uvhttp_slice_t){joined, (size_t)(out - joined)};
    return 0;
}

int uvh_field_lines_join_conditions(uvhttp_request_t *request,
                                    struct uvh_conditional_fields *fields)
{
    int err = uvh_field_lines_join(request, UVHTTP_FIELD_IF_MATCH, &fields->if_match);
    if (err == 0)
        err = uvh_field_lines_join(request, UVHTTP_FIELD_IF_NONE_MATCH, &fields->if_none_match);
    if (err == 0)
        err = uvh_field_lines_join(request, UVHTTP_FIELD_IF_MODIFIED_SINCE,
                                   &fields->if_modified_since);
    if (err == 0)
        err = uvh_field_lines_join(request, UVHTTP_FIELD_IF_UNMODIFIED_SINCE,
                                   &fields->if_unmodified_since);
    return err;
}
