/* See redirect.h. */
#include "redirect.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "listen.h"
#include "logger.h"
#include "proxies.h"
#include "tls_setup.h"

static void on_freed(void *arg)
{
    struct uvh_redirect *redirect = arg;
    redirect->server = NULL;
}

/* The length of the host in "host[:port]". */
static size_t host_length(const char *host)
{
    const char *end = *host == '[' ? strchr(host, ']') : NULL;
    return end != NULL ? (size_t)(end - host) + 1 : strcspn(host, ":");
}

/* A middleware that responds to every request. */
static int send_to_https(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct uvh_redirect *redirect = arg;
    const char *host = uvhttp_request_host(request);
    uvhttp_slice_t path = uvhttp_request_raw_path(request);
    uvhttp_slice_t query = uvhttp_request_query_string(request);
    char port[16] = "";
    size_t length = host_length(host);
    if (length == 0)
        return uvhttp_response_send_status(response, 400);
    if (path.length == 0 || path.base[0] != '/') /* OPTIONS *, CONNECT */
        path = (uvhttp_slice_t){"/", 1};
    if (redirect->https_port != 443)
        snprintf(port, sizeof(port), ":%d", redirect->https_port);
    size_t size = length + path.length + query.length + sizeof("https://:65535?");
    char *location = uvhttp_request_allocate(request, size);
    if (location == NULL)
        return UVHTTP_ENOMEM;
    snprintf(location, size, "https://%.*s%s%.*s%s%.*s", (int)length, host, port,
             UVHTTP_SLICE_ARGS(path), query.length > 0 ? "?" : "", UVHTTP_SLICE_ARGS(query));
    return uvhttp_response_redirect(response, 308, location);
}

static const char *name_of(const struct uvh_setup_tls *setup)
{
    return setup->node != NULL ? "redirect_http" : "--redirect-http";
}

static int make_server(struct uvh_redirect *redirect, const struct uvh_setup *setup,
                       uvhttp_server_t *sites, const uvhttp_config_t *config)
{
    struct uvh_problems problems = {.count = 0}; /* unused: those of the sites are the same */
    uvhttp_config_t own = *config;
    own.workers = 1;       /* required on the caller's loop */
    own.stuck_loop_ms = 0; /* the other server watches that loop */
    bool verbose = own.log_level >= UVHTTP_LOG_DEBUG;
    /* The other server logs start and stop. */
    if (own.log_level > UVHTTP_LOG_WARNING && !verbose)
        own.log_level = UVHTTP_LOG_WARNING;
    uvhttp_server_t *server = uvhttp_server_new_with(uvhttp_server_loop(sites), &own);
    int err = uvhttp_server_keep(server, on_freed, redirect);
    if (err != 0) {
        uvhttp_server_free(server);
        return err;
    }
    redirect->server = server;
    uvh_logger_install(server, NULL, verbose);
    if (!uvh_proxies_apply(server, setup, &problems))
        return UVHTTP_ENOMEM;
    return uvhttp_server_use(server, send_to_https, redirect);
}

/* True if a listener of this process has that host and port. Known before listening, so that the
 * message names the option, and `uvhttp check` finds it. */
static bool is_taken(const struct uvh_address *addresses, size_t count,
                     const struct uvh_address *wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (uvh_address_path(&addresses[i]) == NULL && addresses[i].port == wanted->port &&
            strcmp(addresses[i].host, wanted->host) == 0)
            return true;
    }
    return false;
}

static bool refuse_taken(const struct uvh_setup_tls *setup, int port, struct uvh_mark mark,
                         struct uvh_problems *problems)
{
    uvh_problems_add(problems, mark,
                     "port %d for redirects is in use by another address; choose another with %s",
                     port, name_of(setup));
    return false;
}

bool uvh_redirect_check(const struct uvh_setup *setup, const struct uvh_options *options,
                        struct uvh_problems *problems)
{
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX + 2];
    const struct uvh_setup_tls *tls = &setup->tls;
    if (!tls->wanted || tls->redirect_http == UVH_OPTION_OFF)
        return true;
    size_t count = uvh_listen_order(options, true, addresses), own = count;
    if (setup->metrics.has_listen)
        addresses[count++] = setup->metrics.listen;
    if (setup->status.has_listen)
        addresses[count++] = setup->status.listen;
    for (size_t i = 0; i < own; i++) {
        struct uvh_address wanted = addresses[i];
        if (!uvh_listen_has_tls(&wanted, true))
            continue;
        wanted.port = (int)tls->redirect_http;
        if (wanted.port != 0 && is_taken(addresses, count, &wanted))
            return refuse_taken(tls, wanted.port, uvh_tls_mark(tls, "redirect_http"), problems);
    }
    return true;
}

static bool listen_at(struct uvh_redirect *redirect, const struct uvh_setup_tls *setup,
                      const char *host, const struct uvh_address *addresses, size_t count)
{
    int port = (int)setup->redirect_http;
    struct uvh_address *address = &redirect->listen[redirect->listen_count];
    *address = (struct uvh_address){.port = port, .scheme = UVH_SCHEME_HTTP};
    snprintf(address->host, sizeof(address->host), "%s", host);
    if (port == 0 && redirect->listen_count > 0)
        address->port = redirect->listen[0].port;
    if (is_taken(redirect->listen, redirect->listen_count, address))
        return true;
    if (is_taken(addresses, count, address)) {
        /* A port chosen by the system; uvh_redirect_check has found all others. */
        struct uvh_problems problems = {.file = "uvhttp"};
        refuse_taken(setup, address->port, UVH_MARK_NONE, &problems);
        uvh_problems_print(&problems, stderr);
        return false;
    }
    int err = uvh_listen_plain(redirect->server, address);
    if (err != 0) {
        uvh_listen_refuse(address, name_of(setup), err);
        return false;
    }
    if (address->port == 0)
        address->port = uvhttp_server_port(redirect->server);
    redirect->listen_count++;
    return true;
}

void uvh_redirect_follow(struct uvh_redirect *redirect, const struct uvh_address *addresses,
                         size_t count)
{
    size_t i = 0;
    while (i < count && addresses[i].scheme != UVH_SCHEME_HTTPS)
        i++;
    if (i < count)
        redirect->https_port = addresses[i].port;
}

bool uvh_redirect_open(struct uvh_redirect *redirect, const struct uvh_setup *whole,
                       const struct uvh_address *addresses, size_t count, uvhttp_server_t *sites,
                       const uvhttp_config_t *config)
{
    const struct uvh_setup_tls *setup = &whole->tls;
    *redirect = (struct uvh_redirect){.server = NULL};
    if (!setup->wanted || setup->redirect_http == UVH_OPTION_OFF)
        return true;
    int err = make_server(redirect, whole, sites, config);
    if (err != 0) {
        fprintf(stderr, "uvhttp: %s: %s\n", name_of(setup), uvhttp_strerror(err));
        return false;
    }
    uvh_redirect_follow(redirect, addresses, count);
    for (size_t i = 0; i < count; i++) {
        if (addresses[i].scheme == UVH_SCHEME_HTTPS &&
            !listen_at(redirect, setup, addresses[i].host, addresses, count))
            return false;
    }
    return true;
}

void uvh_redirect_close(struct uvh_redirect *redirect, uvhttp_server_t *sites)
{
    if (redirect->server == NULL)
        return;
    uvhttp_server_free(redirect->server);
    while (redirect->server != NULL)
        uv_run(uvhttp_server_loop(sites), UV_RUN_ONCE);
}
