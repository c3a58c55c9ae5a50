/* See accepted_coding.h. */
#include "middleware/accepted_coding.h"

#include "options/field_lines.h"

/* When out of memory, it uses the first of several lines. */
enum uvh_coding uvh_accepted_coding(uvhttp_request_t *request, unsigned available, bool *acceptable)
{
    uvhttp_slice_t accepted = uvhttp_request_field(request, UVHTTP_FIELD_ACCEPT_ENCODING);
    (void)uvh_field_lines_join(request, UVHTTP_FIELD_ACCEPT_ENCODING, &accepted);
    return uvh_coding_of_field(accepted, available, acceptable);
}

/* Adds a line instead of changing one, since there may be several. */
int uvh_vary_add(uvhttp_response_t *response, const char *name, const char *lower)
{
    if (uvhttp_response_header_lists(response, "Vary", "*") ||
        uvhttp_response_header_lists(response, "Vary", lower))
        return 0;
    return uvhttp_response_add_header(response, "Vary", name);
}
