/* Rules by client address: a middleware that accepts some clients and responds 403 to others.
 *
 *     uvhttp_address_rules_options_t options = {
 *         UVHTTP_ADDRESS_RULES({"10.1.0.0/16", false}, {"10.0.0.0/8", true}, {"unix", true})};
 *     uvhttp_address_rules_t *office;
 *     int err = uvhttp_address_rules_new(&office, &options, NULL);
 *     if (err == 0) err = uvhttp_router_use(group, uvhttp_address_rules_handle_request, office);
 *
 * The first matching rule applies, as with "allow" and "deny" of nginx; a client without a
 * matching rule is rejected unless allow_others is set. The client address is
 * uvhttp_request_client_address. A request costs one search in a sorted table, for any number of
 * rules, and no allocation. */
#ifndef UVHTTP_ADDRESS_RULES_H
#define UVHTTP_ADDRESS_RULES_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled set of rules. */
typedef struct uvhttp_address_rules uvhttp_address_rules_t;

/* One rule. */
typedef struct uvhttp_address_rule {
    /* "192.0.2.1", "10.0.0.0/8", "2001:db8::/32", "unix" for clients of Unix sockets (whose
     * address begins with "unix:"), or "all" for all clients. Bits after the prefix must be
     * zero: "10.1.2.3/8" is rejected. An IPv4-mapped address ("::ffff:192.0.2.1") is an IPv4
     * address, in rules and of clients. */
    const char *prefix;
    bool allow; /* false: reject */
} uvhttp_address_rule_t;

/* Rules, and the default for other clients. */
typedef struct uvhttp_address_rules_options {
    /* In order; read during the call only. Set both with UVHTTP_ADDRESS_RULES; one without the
     * other is rejected. */
    const uvhttp_address_rule_t *rules;
    size_t rule_count; /* 0 to 1,000,000 */
    /* Accept clients without a matching rule, and clients without an address
     * (uvhttp_request_client_address returns ""). */
    bool allow_others;
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive it. */
} uvhttp_address_rules_options_t;

#ifndef __cplusplus
/* Sets `rules` and `rule_count` (C only): UVHTTP_ADDRESS_RULES({"10.0.0.0/8", true}, {"unix",
 * true}). */
#define UVHTTP_ADDRESS_RULES(...) \
    UVHTTP_ARRAY_MEMBERS(rules, rule_count, uvhttp_address_rule_t, __VA_ARGS__)
#endif

/* Creates a set of rules. Any thread.
 * Returns 0, or with `*rules` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_EINVAL   no options, a rule without prefix; or rules without their
 *                   count, or the reverse
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_address_rules_new(uvhttp_address_rules_t **rules,
                                           const uvhttp_address_rules_options_t *options,
                                           uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_address_rules_free(void *rules);

/* Creates one, adds it to a router (uvhttp_server_router or a group), and leaves it to the server,
 * which frees it: for middleware that is used once. Before the server listens; options as above.
 * uvhttp_server_error describes an error: one of uvhttp_address_rules_new or uvhttp_router_use. */
UVHTTP_EXPORT int uvhttp_address_rules_use(uvhttp_router_t *router,
                                           const uvhttp_address_rules_options_t *options);

/* True if a client with that address ("192.0.2.1", "::1") is accepted. Any thread. */
UVHTTP_EXPORT bool uvhttp_address_rules_allow(const uvhttp_address_rules_t *rules,
                                              const char *address);

/* The middleware (uvhttp_server_use, uvhttp_router_use, uvhttp_route_t.middleware); `rules` is
 * the uvhttp_address_rules_t. */
UVHTTP_EXPORT int uvhttp_address_rules_handle_request(uvhttp_request_t *request,
                                                      uvhttp_response_t *response, void *rules);

#ifdef __cplusplus
}
#endif

#endif
