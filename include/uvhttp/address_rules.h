/* Rules by address: a middleware that lets some clients pass and answers 403 to the others.
 *
 *     uvhttp_address_rules_config_t config = {
 *         UVHTTP_ADDRESS_RULES({"10.1.0.0/16", false}, {"10.0.0.0/8", true}, {"unix", true})};
 *     uvhttp_address_rules_t *office;
 *     int err = uvhttp_address_rules_new(&office, &config, NULL, 0);
 *     if (err == 0) err = uvhttp_router_use(admin, uvhttp_address_rules_handle_request, office);
 *
 * The first rule that holds the client decides, as with "allow" and "deny" of nginx; a client that
 * none holds is refused unless allow_others is set. The client is uvhttp_request_client_address.
 * However many rules there are, a request costs one search in a sorted table, and no allocation. */
#ifndef UVHTTP_ADDRESS_RULES_H
#define UVHTTP_ADDRESS_RULES_H

#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rules that were read. */
typedef struct uvhttp_address_rules uvhttp_address_rules_t;

/* One rule: whose addresses, and what becomes of them. */
typedef struct uvhttp_address_rule {
    /* "192.0.2.1", "10.0.0.0/8", "2001:db8::/32", "unix" for clients of unix sockets (whose address
     * begins with "unix:"), or "all" for everybody. No bits may be set behind the prefix:
     * "10.1.2.3/8" is refused. An IPv4 address in IPv6 form ("::ffff:192.0.2.1") is an IPv4
     * address, in rules and of clients. */
    const char *prefix;
    bool allow; /* false: refuse */
} uvhttp_address_rule_t;

/* The rules, and what holds for everybody else. */
typedef struct uvhttp_address_rules_config {
    /* In order; read during the call only. Set both by UVHTTP_ADDRESS_RULES; one without the other
     * is refused. */
    const uvhttp_address_rule_t *rules;
    size_t rule_count; /* 0 to 1,000,000 */
    /* A client that no rule holds may pass. A client without an address
     * (uvhttp_request_client_address gives "") passes only when this is set, too. */
    bool allow_others;
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive it. */
} uvhttp_address_rules_config_t;

#ifndef __cplusplus
/* Sets `rules` and `rule_count` (C only): UVHTTP_ADDRESS_RULES({"10.0.0.0/8", true}, {"unix",
 * true}). */
#define UVHTTP_ADDRESS_RULES(...) \
    UVHTTP_ARRAY_MEMBERS(rules, rule_count, uvhttp_address_rule_t, __VA_ARGS__)
#endif

/* 0, or with `*rules` NULL: UVHTTP_ECONFIG, with a NUL-terminated message of at most `size` bytes
 * that names field and value (`message` may be NULL), UVHTTP_EINVAL (no config, a rule without
 * prefix; with a message: rules without their count, or the reverse), UVHTTP_ENOMEM. Any thread. */
UVHTTP_EXPORT int uvhttp_address_rules_new(uvhttp_address_rules_t **rules,
                                           const uvhttp_address_rules_config_t *config,
                                           char *message, size_t size);

/* After the servers that use it. NULL is fine. */
UVHTTP_EXPORT void uvhttp_address_rules_free(uvhttp_address_rules_t *rules);

/* True when a client with that address ("192.0.2.1", "::1") may pass. Any thread. */
UVHTTP_EXPORT bool uvhttp_address_rules_allow(const uvhttp_address_rules_t *rules,
                                              const char *address);

/* A middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware): `rules` is the
 * uvhttp_address_rules_t. */
UVHTTP_EXPORT int uvhttp_address_rules_handle_request(uvhttp_request_t *request,
                                                      uvhttp_response_t *response, void *rules);

#ifdef __cplusplus
}
#endif

#endif
