/* Values of the options and keys about clients: addresses, and limits of requests. */
#ifndef UVH_APP_CLIENT_RULES_H
#define UVH_APP_CLIENT_RULES_H

#include <uvhttp.h>

/* Each function returns NULL, or a text that says what is allowed. */

/* A prefix of uvhttp/address_rules.h: "192.0.2.1", "10.0.0.0/8", "unix" or "all". */
const char *uvh_client_rules_check_address(const char *text);

/* The same without "all", for a proxy. */
const char *uvh_client_rules_check_proxy(const char *text);

/* "100/min": a number of requests and a period. */
const char *uvh_client_rules_read_limit(const char *text, uvhttp_rate_limit_options_t *limit);
const char *uvh_client_rules_check_limit(const char *text);

#endif
