/* Conditional requests with a handler's own validators: uvhttp_request_precondition. */
#include <uvhttp/request.h>

#include <uvhttp/error.h>

#include "base/slice.h"
#include "codec/fields/conditional.h"
#include "options/field_lines.h"

int uvhttp_request_precondition(uvhttp_request_t *request, const uvhttp_validators_t *current)
{
    struct uvh_conditional_entity entity = {.exists = current != NULL};
    struct uvh_conditional_fields fields = {
        .if_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_MATCH),
        .if_none_match = uvhttp_request_field(request, UVHTTP_FIELD_IF_NONE_MATCH),
        .if_modified_since = uvhttp_request_field(request, UVHTTP_FIELD_IF_MODIFIED_SINCE),
        .if_unmodified_since = uvhttp_request_field(request, UVHTTP_FIELD_IF_UNMODIFIED_SINCE),
    };
    if (current != NULL && current->etag != NULL) {
        bool weak;
        uvhttp_slice_t opaque;
        entity.etag = uvh_slice(current->etag);
        if (!uvh_conditional_etag_parse(entity.etag, &weak, &opaque))
            return UVHTTP_EINVAL;
    }
    if (current != NULL && current->modified != 0) {
        entity.modified = current->modified;
        entity.has_modified = true;
    }
    int err = uvh_field_lines_join_conditions(request, &fields);
    if (err != 0)
        return err;
    uvhttp_method_t method = uvhttp_request_method(request);
    bool is_read = method == UVHTTP_METHOD_GET || method == UVHTTP_METHOD_HEAD;
    switch (uvh_conditional_evaluate(&fields, &entity, is_read)) {
    case UVH_CONDITIONAL_NOT_MODIFIED:
        return 304;
    case UVH_CONDITIONAL_FAILED:
        return 412;
    case UVH_CONDITIONAL_PROCEED:
        break;
    }
    return 0;
}
