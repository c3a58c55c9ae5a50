/* See vary.h. A line is added instead of one changed, since there may be several. */
#include "modules/vary.h"

#include <string.h>

#include "codec/field.h"

int uvh_vary_add(uvhttp_response_t *response, const char *name, const char *lower)
{
    uvhttp_slice_t known = uvhttp_response_header_slice(response, "Vary");
    if (uvh_field_list_has(known, (uvhttp_slice_t){"*", 1}) ||
        uvh_field_list_has(known, (uvhttp_slice_t){lower, strlen(lower)}))
        return 0;
    return uvhttp_response_add_header(response, "Vary", name);
}
