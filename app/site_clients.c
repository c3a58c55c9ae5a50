/* See site_clients.h. */
#include "site_clients.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* `allow: 10.0.0.0/8` and `deny: all` would refuse every client, unlike with nginx. */
static bool check(const struct uvh_text_list *allow, const struct uvh_text_list *deny,
                  struct uvh_problems *problems)
{
    for (size_t i = 0; i < deny->count && allow->count > 0; i++) {
        if (strcmp(deny->items[i].text, "all") != 0)
            continue;
        uvh_problems_add(problems, deny->items[i].mark,
                         "deny 'all' cannot be combined with allow, which refuses all other "
                         "clients already");
        return false;
    }
    return true;
}

/* Lets the server own what was made, or notes the error. NULL after one. */
static void *owned(uvhttp_server_t *server, void (*release)(void *), void *made,
                   struct uvh_mark mark, struct uvh_problems *problems, int err)
{
    if (err == 0 && (err = uvhttp_server_own(server, release, made)) != 0)
        release(made);
    if (err == 0)
        return made;
    uvh_problems_add(problems, mark, "%s", uvhttp_strerror(err));
    return NULL;
}

static uvhttp_address_rules_t *make_addresses(uvhttp_server_t *server,
                                              const struct uvh_text_list *allow,
                                              const struct uvh_text_list *deny,
                                              struct uvh_problems *problems)
{
    uvhttp_address_rules_t *made = NULL;
    size_t count = deny->count + allow->count;
    uvhttp_address_rule_t *rules = calloc(count, sizeof(*rules));
    for (size_t i = 0; i < count && rules != NULL; i++)
        rules[i] = i < deny->count
                       ? (uvhttp_address_rule_t){deny->items[i].text, false}
                       : (uvhttp_address_rule_t){allow->items[i - deny->count].text, true};
    const uvhttp_address_rules_options_t options = {
        .rules = rules, .rule_count = count, .allow_others = allow->count == 0};
    int err = rules == NULL ? UVHTTP_ENOMEM : uvhttp_address_rules_new(&made, &options, NULL);
    free(rules);
    return owned(server, uvhttp_address_rules_free, made,
                 deny->count > 0 ? deny->items[0].mark : allow->items[0].mark, problems, err);
}

static uvhttp_rate_limit_t *make_limit(uvhttp_server_t *server, const struct uvh_setup_limit *limit,
                                       struct uvh_problems *problems)
{
    uvhttp_rate_limit_t *made = NULL;
    if (limit->mark.line == 0 || limit->off)
        return NULL;
    int err = uvhttp_rate_limit_new(&made, &limit->options, NULL);
    return owned(server, uvhttp_rate_limit_free, made, limit->mark, problems, err);
}

void uvh_site_clients_make(uvhttp_server_t *server, const struct uvh_setup_clients *own,
                           const struct uvh_setup_site *site, struct uvh_clients *made,
                           struct uvh_problems *problems)
{
    static const struct uvh_setup_clients none = {.allow = {.count = 0}};
    const struct uvh_setup_clients *outer = site == NULL ? &none : &site->clients;
    const struct uvh_text_list *allow = own->allow.count > 0 ? &own->allow : &outer->allow;
    const struct uvh_text_list *deny = own->deny.count > 0 ? &own->deny : &outer->deny;
    *made = site == NULL ? (struct uvh_clients){NULL, NULL} : site->made;
    if (own->allow.count + own->deny.count > 0 && check(allow, deny, problems))
        made->addresses = make_addresses(server, allow, deny, problems);
    if (own->requests.mark.line != 0)
        made->requests = make_limit(server, &own->requests, problems);
}

/* Whether a client of one of the listen addresses may have this address. */
static bool can_connect(const struct uvh_options *options, const char *client)
{
    bool is_unix = strcmp(client, "unix") == 0;
    /* an IPv4-mapped address has dots */
    bool is_ipv6 = strchr(client, ':') != NULL && strchr(client, '.') == NULL;
    if (options->listen_count == 0 || strcmp(client, "all") == 0)
        return !is_unix;
    for (size_t i = 0; i < options->listen_count; i++) {
        const struct uvh_address *address = &options->listen[i];
        bool listens_unix = uvh_address_path(address) != NULL;
        if (is_unix || listens_unix
                ? is_unix && listens_unix
                : uvh_address_has_family(address->host, is_ipv6 ? AF_INET6 : AF_INET))
            return true;
    }
    return false;
}

static void check_allow(const struct uvh_options *options, const struct uvh_text_list *allow,
                        struct uvh_problems *problems)
{
    for (size_t i = 0; i < allow->count; i++) {
        if (can_connect(options, allow->items[i].text))
            return;
    }
    if (allow->count > 0)
        uvh_problems_add(problems, allow->items[0].mark,
                         "%s: no client can have the address '%s': no address that is listened on "
                         "has its family; add one, or allow others",
                         allow->items[0].mark.line != 0 ? "allow" : "--allow",
                         allow->items[0].text);
}

void uvh_site_clients_check_families(const struct uvh_setup *setup,
                                     const struct uvh_options *options,
                                     struct uvh_problems *problems)
{
    /* Proxies name clients of any family. */
    for (size_t i = 0; i < setup->site_count && setup->proxies.count == 0; i++) {
        const struct uvh_setup_site *site = &setup->sites[i];
        check_allow(options, &site->clients.allow, problems);
        for (size_t k = 0; k < site->route_count; k++)
            check_allow(options, &site->routes[k].clients.allow, problems);
    }
}

int uvh_site_clients_handle_unrouted(uvhttp_request_t *request, uvhttp_response_t *response,
                                     void *arg)
{
    const struct uvh_setup_site *site = arg;
    int result = UVHTTP_DECLINED;
    if (uvhttp_request_router_data(request) != site || uvhttp_request_route(request) != NULL)
        return UVHTTP_DECLINED;
    if (site->made.addresses != NULL)
        result = uvhttp_address_rules_handle_request(request, response, site->made.addresses);
    if (result == UVHTTP_DECLINED && site->made.requests != NULL)
        result = uvhttp_rate_limit_handle_request(request, response, site->made.requests);
    return result;
}
