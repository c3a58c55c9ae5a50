/* See config_hint.h. Called for unknown keys, for options of other commands, and for `uvhttp help
 * WORD`. */
#include "config_hint.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/config.h>

#define OF_FILE    "a key of the file, at the top level"
#define OF_SITE    "a key of a site, in the list 'sites'"
#define OF_ROUTE   "a key of a route, in the list 'routes' of a site"
#define OF_BOTH    "a key of a site or route"
#define OF_SERVER  "a key of 'server', at the top level"
#define NO_PROXY   "uvhttp does not forward requests to other servers"
#define IN_ROUTE   "of a route"
#define TLS_TOP    "use 'tls' at the top level, with 'certificates' or 'self_signed: true'"
#define USE_SITES  "use 'sites', a list of maps with 'hosts' and 'routes'"
#define USE_ROUTES "use 'routes' of a site, a list of maps with 'path'"

static const struct {
    const char *key, *hint;
} hints[] = {
    {"root", "use 'static' " IN_ROUTE},
    {"alias", "use 'static' " IN_ROUTE},
    {"document_root", "use 'static' " IN_ROUTE},
    {"directory", "use 'static' " IN_ROUTE},
    {"file_server", "use 'static' " IN_ROUTE ", and 'listing'"},
    {"autoindex", "use 'listing' " IN_ROUTE},
    {"browse", "use 'listing' " IN_ROUTE},
    {"gzip", "use 'compress' or 'precompressed' " IN_ROUTE},
    {"brotli", "use 'compress' or 'precompressed' " IN_ROUTE},
    {"encode", "use 'compress' or 'precompressed' " IN_ROUTE},
    {"gzip_static", "use 'precompressed' " IN_ROUTE},
    {"brotli_static", "use 'precompressed' " IN_ROUTE},
    {"gzip_comp_level", "use 'gzip_level' " IN_ROUTE},
    {"proxy_pass", NO_PROXY},
    {"reverse_proxy", NO_PROXY},
    {"proxy", NO_PROXY},
    {"upstream", NO_PROXY},
    {"fastcgi_pass", NO_PROXY},
    {"php_fastcgi", NO_PROXY},
    {"uwsgi_pass", NO_PROXY},
    {"ssl", TLS_TOP},
    {"ssl_certificate", TLS_TOP},
    {"ssl_certificate_key", TLS_TOP},
    {"ssl_protocols", "use 'profile' or 'min_version' of 'tls'"},
    {"ssl_ciphers", "use 'ciphers' of 'tls'"},
    {"apps", "this is a configuration of Caddy; to translate it see 'uvhttp help nginx'"},
    {"http", USE_SITES},
    {"vhosts", USE_SITES},
    {"servers", USE_SITES},
    {"virtual_hosts", USE_SITES},
    {"server_name", "use 'hosts' of a site"},
    {"location", USE_ROUTES},
    {"locations", USE_ROUTES},
    {"handle", USE_ROUTES},
    {"handle_path", USE_ROUTES},
    {"return", "use 'redirect' or 'respond' " IN_ROUTE},
    {"rewrite", "use 'rewrites' of a site, or 'redirect' " IN_ROUTE},
    {"redir", "use 'redirect' " IN_ROUTE},
    {"redirects", "use 'redirect' of a route, one for each path"},
    {"to", "use 'redirect' of a route; 'to' is a key of 'rewrites'"},
    {"permanent", "use 'status' of a route, such as 308, beside 'redirect'"},
    {"error_page", "use 'error_pages' " IN_ROUTE},
    {"handle_errors", "use 'error_pages' " IN_ROUTE},
    {"header", "use 'headers' of a site or route, or of a rule"},
    {"add_header", "use 'headers' of a site or route"},
    {"expires", "use 'cache_control' of a rule, in 'rules' " IN_ROUTE},
    {"cache_control", "use 'cache_control' of a rule, in 'rules' " IN_ROUTE},
    {"limit_rate", "use 'rate_limit' " IN_ROUTE},
    {"disable_symlinks", "use 'symlinks' " IN_ROUTE},
    {"auth", "use 'basic_auth' of a site or route"},
    {"password", "use 'basic_auth' of a site or route"},
    {"auth_basic", "use 'basic_auth' of a site or route"},
    {"basicauth", "use 'basic_auth' of a site or route"},
    {"auth_basic_user_file", "use 'file' of 'basic_auth'"},
    {"stub_status", "use 'metrics' or 'status' at the top level"},
    {"error_log", "use 'level' of 'log'; messages go to standard error"},
    {"log_format", "use 'format' or 'pattern' of 'access_log'"},
    {"AllowOverride", "uvhttp reads no .htaccess; use keys of a route"},
    {"AuthUserFile", "use 'file' of 'basic_auth'"},
    {"CustomLog", "use 'access_log' at the top level or of a site"},
    {"DirectoryIndex", "use 'index' " IN_ROUTE},
    {"DocumentRoot", "use 'static' " IN_ROUTE},
    {"ErrorDocument", "use 'error_pages' " IN_ROUTE},
    {"ErrorLog", "use 'level' of 'log'; messages go to standard error"},
    {"RewriteRule", "use 'rewrites' of a site, or 'redirect' " IN_ROUTE},
    {"ServerAlias", "use 'hosts' of a site"},
    {"ServerName", "use 'hosts' of a site"},
    {"VirtualHost", USE_SITES},
    {"events", "use 'server' at the top level, with 'workers' and 'max_connections'"},
    {"kubernetes", "use 'health' at the top level, and 'drain_delay' of 'server'"},
    {"regex", "there are no regular expressions; paths have * and :name, patterns of files *"},
    {"import", "use 'include' at the top level"},
    {"bind", "use 'listen' at the top level"},
    {"port", "use 'listen' at the top level"},
    {"worker_processes", "use 'workers' of 'server'"},
    {"worker_connections", "use 'max_connections' of 'server'"},
    {"keepalive_timeout", "use 'keep_alive_timeout' of 'server'"},
    {"protocols", "use 'http2' of 'server'"},
    {"http2_max_concurrent_streams", "use 'http2_max_streams' of 'server'"},
    {"client_max_body_size", "use 'upload_max_size' " IN_ROUTE ", or 'max_body_size' of 'server'"},
    {"server", OF_FILE},
    {"listen", OF_FILE},
    {"tls", OF_FILE},
    {"log", OF_FILE},
    {"access_log", "a key of the file or a site; in a route it can only be off"},
    {"metrics", OF_FILE},
    {"include", OF_FILE},
    {"sites", OF_FILE},
    {"hosts", OF_SITE},
    {"routes", OF_SITE},
    {"cors", OF_BOTH},
    {"headers", OF_BOTH},
    {"basic_auth", OF_BOTH},
    {"allow", OF_BOTH},
    {"deny", OF_BOTH},
    {"limit_requests", OF_BOTH},
    {"limit_req", "use 'limit_requests' of a site or route"},
    {"set_real_ip_from", "use 'trusted_proxies' at the top level"},
    {"real_ip_header", "use 'trusted_proxies' and 'proxy_fields' at the top level"},
    {"trusted_proxies", OF_FILE},
    {"proxy_fields", OF_FILE},
    {"proxy_protocol", OF_FILE},
    {"proxy_protocol_others", OF_FILE},
    {"accept_proxy", "use 'proxy_protocol' at the top level"},
    {"listener_wrappers", "use 'proxy_protocol' at the top level"},
    {"rewrites", OF_SITE},
    {"path", OF_ROUTE},
    {"static", OF_ROUTE},
    {"redirect", OF_ROUTE},
    {"respond", OF_ROUTE},
    {"index", OF_ROUTE},
    {"listing", OF_ROUTE},
    {"spa", OF_ROUTE},
    {"try_files", OF_ROUTE},
    {"error_pages", OF_ROUTE},
    {"compress", OF_ROUTE},
    {"uploads", OF_ROUTE},
    {"upload_auth", OF_ROUTE},
    {"hide", OF_ROUTE},
    {"hidden", OF_ROUTE},
    {"clean_urls", OF_ROUTE},
    {"precompressed", OF_ROUTE},
    {"symlinks", OF_ROUTE},
};

/* A hint that begins with "a key" is about the key itself. */
const char *uvh_config_hint(const char *key, char text[UVH_CONFIG_HINT_SIZE])
{
    const char *hint = NULL;
    const uvhttp_limit_t *limit;
    for (size_t i = 0; hint == NULL && i < sizeof(hints) / sizeof(hints[0]); i++) {
        if (strcmp(hints[i].key, key) == 0)
            hint = hints[i].hint;
    }
    for (size_t i = 0; hint == NULL && (limit = uvhttp_config_limit(i)) != NULL; i++) {
        if (strcmp(limit->name, key) == 0)
            hint = OF_SERVER;
    }
    if (hint == NULL || strncmp(hint, "a key", 5) != 0)
        return hint;
    snprintf(text, UVH_CONFIG_HINT_SIZE, "'%s' is %s", key, hint);
    return text;
}
