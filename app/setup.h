/* The content of a configuration file: limits, listen addresses, logs, and sites with their routes.
 *
 * Filled by config_file.c, built into a server by site.c, printed by print_config.c. The file it
 * was read from owns texts and arrays. */
#ifndef UVH_APP_SETUP_H
#define UVH_APP_SETUP_H

#include <uvhttp/status_page.h>
#include <uvhttp/tls.h>

#include "options.h"
#include "problems.h"

struct uvh_text {
    const char *text;
    struct uvh_mark mark;
};

struct uvh_text_list {
    struct uvh_text *items;
    size_t count;
};

struct uvh_field {
    const char *name;
    const char *value; /* a template of uvhttp/template.h */
    struct uvh_mark mark;
    uvhttp_template_t *made; /* of the value; set by site.c */
};

struct uvh_field_list {
    struct uvh_field *items;
    size_t count;
};

struct uvh_setup_auth {
    struct uvh_mark mark; /* line 0: no authentication */
    bool off;             /* of a route: none, not even that of its site */
    const char *realm;    /* or NULL */
    uvhttp_hashed_user_t *users;
    size_t user_count;
    struct uvh_text file; /* text NULL: none */
};

/* A limit of requests. */
struct uvh_setup_limit {
    struct uvh_mark mark; /* line 0: none */
    bool off;             /* of a route: no limit, not even that of its site */
    uvhttp_rate_limit_options_t options;
};

/* Which clients may request, and how often. */
struct uvh_setup_clients {
    struct uvh_text_list allow, deny; /* prefixes of uvhttp/address_rules.h */
    struct uvh_setup_limit requests;
};

/* The middleware for them. */
struct uvh_clients {
    uvhttp_address_rules_t *addresses; /* or NULL */
    uvhttp_rate_limit_t *requests;     /* or NULL */
};

enum uvh_route_kind { UVH_ROUTE_NONE, UVH_ROUTE_STATIC, UVH_ROUTE_REDIRECT, UVH_ROUTE_RESPOND };

struct uvh_yaml_node;

struct uvh_setup_route {
    const struct uvh_yaml_node *node; /* the map in the file; NULL: configured by options */
    /* a pattern of uvhttp/router.h; of a directory also with a final '/' for all paths below it */
    struct uvh_text path;
    struct uvh_text_list methods;      /* none: GET, and any for a redirect */
    struct uvh_field_list headers;     /* of its responses */
    struct uvh_setup_auth auth;        /* overrides that of the site */
    struct uvh_setup_auth upload_auth; /* the same for uploads */
    struct uvh_text cors;              /* origins as of a site, which it overrides, or "off" */
    bool no_log;                       /* its requests are in no access log */
    struct uvh_setup_clients clients;  /* each member that is set overrides that of the site */
    enum uvh_route_kind kind;
    int status;                      /* of a redirect or a fixed response */
    struct uvh_text root;            /* STATIC: the directory */
    struct uvh_text_list more_roots; /* STATIC: directories */
    uvhttp_static_options_t files;   /* STATIC: the rest; roots unset */
    struct uvh_text_list prewarm;    /* STATIC: paths and patterns */
    struct uvh_text text;            /* REDIRECT: the location; RESPOND: the body. A template. */
    uvhttp_template_t *made;         /* of the text; set by site.c */
    const char *type;                /* RESPOND: of the body */
};

struct uvh_setup_log {
    bool off;                            /* of a site: no log, not even that of the setup */
    struct uvh_text path;                /* text NULL: none of its own */
    uvhttp_access_log_options_t options; /* `path` unset */
    struct uvh_mark pattern;             /* of its value */
};

/* Of a path before it is routed. */
struct uvh_setup_rewrite {
    struct uvh_text path; /* a pattern */
    struct uvh_text to;   /* a template */
};

struct uvh_setup_site {
    struct uvh_mark mark;
    struct uvh_text_list hosts; /* none: the default site */
    uvhttp_slash_t slash;
    struct uvh_field_list headers; /* of all its responses */
    struct uvh_setup_auth auth;    /* of all its routes */
    struct uvh_text cors;          /* origins, separated by spaces; text NULL: none */
    struct uvh_setup_clients clients;
    struct uvh_clients made; /* of them; set by site.c */
    struct uvh_setup_log access_log;
    uvhttp_access_log_t *log; /* opened by access_logs.c; NULL: that of the setup, unless off */
    struct uvh_setup_rewrite *rewrites;
    size_t rewrite_count;
    struct uvh_setup_route *routes;
    size_t route_count;
};

/* The values of an option, stored in `texts`. */
static inline struct uvh_text_list uvh_option_texts(const struct uvh_option_list *values,
                                                    struct uvh_text texts[UVH_OPTIONS_LIST_MAX])
{
    for (size_t i = 0; i < values->count; i++)
        texts[i] = (struct uvh_text){.text = values->items[i]};
    return (struct uvh_text_list){texts, values->count};
}

struct uvh_setup_tls {
    bool wanted;                      /* if false everything is plain HTTP */
    const struct uvh_yaml_node *node; /* the map in the file; NULL: configured by options */
    bool self_signed;                 /* instead of certificates */
    uvhttp_tls_options_t config;      /* `log` unset */
    size_t redirect_http;             /* a port; UVH_OPTION_OFF: none */
    size_t hsts;                      /* seconds; UVH_OPTION_OFF: none */
};

/* The metrics, or the status page. */
struct uvh_setup_metrics {
    struct uvh_text path; /* text NULL: none */
    bool has_listen;      /* at their own address, else at that of the sites */
    struct uvh_address listen;
};

/* Servers at addresses of their own, which may be the same one; NULL: none. */
struct uvh_own_servers {
    uvhttp_server_t *metrics, *status;
    uvhttp_status_page_t **page; /* its samples outlive a reload; the pointer is NULL at first */
};

struct uvh_setup_confine {
    unsigned mode;                    /* enum uvh_confine_mode */
    struct uvh_mark mark;             /* line 0: configured by options */
    struct uvh_text_list read, write; /* directories and files, besides those of other keys */
};

struct uvh_setup {
    const struct uvh_source *sources; /* files that a reload reads again; NULL: none */
    uvhttp_config_t config;           /* `log` unset */
    uvhttp_log_level_t log_level;
    struct uvh_address listen[UVH_OPTIONS_LISTEN_MAX];
    struct uvh_mark listen_marks[UVH_OPTIONS_LISTEN_MAX]; /* of the addresses in the file */
    size_t listen_count;                                  /* 0: every address */
    struct uvh_text user, group;                          /* see run_as.h; text NULL: none */
    unsigned no_new_privs;                                /* enum uvh_no_new_privs */
    struct uvh_mark no_new_privs_mark;
    struct uvh_setup_confine confine;
    struct uvh_text pid_file; /* text NULL: none */
    struct uvh_setup_tls tls;
    struct uvh_setup_log access_log;
    struct uvh_text_list proxies; /* trusted */
    struct uvh_mark proxy_fields_mark;
    unsigned proxy_fields;              /* uvhttp_forwarding_t */
    struct uvh_text_list proxy_sources; /* of the PROXY protocol */
    struct uvh_mark proxy_others_mark;
    unsigned proxy_others; /* uvhttp_proxy_others_t */
    struct uvh_setup_metrics metrics, status;
    bool health; /* probes at /healthz and /readyz */
    struct uvh_setup_site *sites;
    size_t site_count;
};

#endif
