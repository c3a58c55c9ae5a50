#include "files/page_policy.h"

#include <inttypes.h>
#include <stdio.h>

#include "platform/random.h"

/* img-src also applies to the icon that browsers request from every site. */
#define POLICY \
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'"

int uvh_page_policy_make_nonce(char nonce[UVH_PAGE_POLICY_NONCE_SIZE])
{
    uint64_t high, low;
    int err = uvh_random_number(&high);
    if (err == 0)
        err = uvh_random_number(&low);
    if (err == 0)
        snprintf(nonce, UVH_PAGE_POLICY_NONCE_SIZE, "%016" PRIx64 "%016" PRIx64, high, low);
    return err;
}

int uvh_page_policy_set(uvhttp_response_t *response, const char *nonce)
{
    char policy[sizeof(POLICY) + sizeof("; script-src 'nonce-'") + UVH_PAGE_POLICY_NONCE_SIZE];
    if (uvhttp_response_header(response, "Content-Security-Policy") != NULL)
        return 0;
    snprintf(policy, sizeof(policy), "%s%s%s%s", POLICY,
             nonce == NULL ? "" : "; script-src 'nonce-", nonce == NULL ? "" : nonce,
             nonce == NULL ? "" : "'");
    return uvhttp_response_set_header(response, "Content-Security-Policy", policy);
}
