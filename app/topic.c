/* See topic.h. */
#include "topic.h"

#include <string.h>
#include <strings.h>

static const char config[] =
    "A configuration is a YAML file, a map of keys and values:\n"
    "\n"
    "  listen: 8080\n"
    "  sites:\n"
    "    - hosts: www.example.com     # a site without hosts serves all others\n"
    "      routes:\n"
    "        - path: /\n"
    "          static: ./site\n"
    "\n"
    "uvhttp serve --print-config ./site   prints one to begin with\n"
    "uvhttp check site.yaml               finds its errors\n"
    "uvhttp run site.yaml                 serves it\n"
    "All keys: docs/configuration.md. Those of other servers: uvhttp help nginx\n";

static const char nginx[] =
    "A configuration of nginx, Caddy or Apache cannot be read; write the same in YAML:\n"
    "\n"
    "  server_name, virtual host      hosts: of a site, in the list sites:\n"
    "  location, handle               path: of a route, in the list routes:\n"
    "  root, alias, file_server       static: of a route\n"
    "  return 301, redir              redirect: and status: of a route\n"
    "  rewrite                        rewrites: of a site\n"
    "  try_files, error_page          try_files:, error_pages: of a route\n"
    "  autoindex, browse              listing: of a route\n"
    "  $uri, $args, $host             {path}, {query}, {host}\n"
    "  nginx -t                       uvhttp check CONFIG\n"
    "  nginx -s reload                see uvhttp help reload\n"
    "\n"
    "'uvhttp help WORD' names the key for a directive of these servers. Requests are not\n"
    "forwarded to other servers. All of it: docs/coming-from.md\n";

static const char signals[] =
    "Signals:\n"
    "  SIGINT, SIGTERM, SIGQUIT   stop: open requests may finish within --drain-timeout; a\n"
    "                             second signal stops immediately\n"
    "  SIGHUP                     reload the configuration, certificates and keys, and reopen\n"
    "                             the access logs; with serve, stop when its terminal is closed\n"
    "  SIGUSR1                    reopen the access logs\n"
    "  SIGUSR2                    upgrade: a new process takes the sockets, this one ends\n";

static const char reload[] =
    "Reloaded without a restart:\n"
    "  files and directories      when they change, see --revalidate-ms and --watch\n"
    "  certificates and keys      when they change (--tls-watch), and on SIGHUP\n"
    "  password files             when they change, within a second\n"
    "  access logs                are reopened on SIGHUP and SIGUSR1\n"
    "  configuration              on SIGHUP: sites, routes, rules, logs, addresses and TLS;\n"
    "                             connections stay open. After a mistake nothing changes, and\n"
    "                             the log names it\n"
    "\n"
    "Changes of 'server', 'log', of TLS on or off, of the address of metrics and of the program\n"
    "itself: uvhttp upgrade, see uvhttp help upgrade. Changes of 'user', 'group',\n"
    "'no_new_privs', 'confine', 'pid_file' and\n"
    "options of the command line need a restart.\n";

static const char variables[] =
    "Environment variables:\n"
    "  UVHTTP_MAX_CONNECTIONS     every option: upper case, with _ for -; options take\n"
    "                             precedence over variables, variables over the file\n"
    "  ${NAME}, ${NAME:-default}  in values of a configuration file; $$ is a dollar sign\n"
    "  XDG_STATE_HOME, HOME       where --tls-self-signed keeps its certificate\n"
    "  NO_COLOR                   no colour in the start output\n"
    "\n"
    "Placeholders, in redirect, to of rewrites, the body of respond, and headers:\n"
    "  {target} {path} {query}    of the request; {target} is path and query\n"
    "  {rest}, {id}               what * and :id of the route's path have matched\n"
    "  {host} {scheme} {method}   of the request, {client} is its address\n"
    "In try_files {path} is the only one. Details: docs/configuration.md\n";

static const struct {
    const char *word, *text;
} topics[] = {
    {"config", config},         {"configuration", config},
    {"yaml", config},           {"nginx", nginx},
    {"caddy", nginx},           {"apache", nginx},
    {"caddyfile", nginx},       {"htaccess", nginx},
    {".htaccess", nginx},       {"$uri", nginx},
    {"exit", signals},          {"hup", signals},
    {"logrotate", signals},     {"logs", signals},
    {"rotate", signals},        {"signal", signals},
    {"signals", signals},       {"sighup", signals},
    {"sigterm", signals},       {"sigusr1", signals},
    {"stop", signals},          {"term", signals},
    {"usr1", signals},          {"reload", reload},
    {"variable", variables},    {"variables", variables},
    {"env", variables},         {"environment", variables},
    {"placeholder", variables}, {"placeholders", variables},
};

bool uvh_topic_print(FILE *out, const char *word)
{
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        if (strcasecmp(topics[i].word, word) == 0)
            return fputs(topics[i].text, out) >= 0;
    }
    return false;
}
