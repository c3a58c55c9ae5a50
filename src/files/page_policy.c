#include "files/page_policy.h"

/* img-src also applies to the icon that browsers request from every site. */
static const char policy[] = "default-src 'none'; style-src 'self'; img-src 'self'; "
                             "form-action 'self'; base-uri 'none'";

int uvh_page_policy_set(uvhttp_response_t *response)
{
    if (uvhttp_response_header(response, "Content-Security-Policy") != NULL)
        return 0;
    return uvhttp_response_set_header(response, "Content-Security-Policy", policy);
}
