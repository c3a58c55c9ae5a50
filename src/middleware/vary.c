/* See vary.h. Adds a line instead of changing one, since there may be several. */
#include "middleware/vary.h"

int uvh_vary_add(uvhttp_response_t *response, const char *name, const char *lower)
{
    if (uvhttp_response_header_lists(response, "Vary", "*") ||
        uvhttp_response_header_lists(response, "Vary", lower))
        return 0;
    return uvhttp_response_add_header(response, "Vary", name);
}
