/* Options of `uvhttp serve` and `uvhttp run`, from flags and environment. A flag overrides its
 * environment variable, and both override the previous values, which for `run` are those of its
 * file. */
#ifndef UVH_APP_OPTIONS_H
#define UVH_APP_OPTIONS_H

#include <uvhttp.h>

#include "address.h"
#include "option_table.h"

#define UVH_OPTIONS_LISTEN_MAX 16
#define UVH_OPTIONS_LIST_MAX   64
#define UVH_OPTIONS_TLS_PORT   8443
#define UVH_OPTIONS_CONFIG     "uvhttp.yaml" /* the default configuration file */

/* The values of an option that may be repeated. */
struct uvh_option_list {
    const char *items[UVH_OPTIONS_LIST_MAX];
    size_t count;
};

/* AUTO: on if root changes to another user, or with `confine`. */
enum uvh_no_new_privs { UVH_NO_NEW_PRIVS_AUTO, UVH_NO_NEW_PRIVS_OFF, UVH_NO_NEW_PRIVS_ON };

enum uvh_confine_mode { UVH_CONFINE_OFF, UVH_CONFINE_ON, UVH_CONFINE_BEST_EFFORT };

/* The TLS options. */
struct uvh_tls_options {
    struct uvh_option_list certificates, keys;
    bool self_signed;
    const char *passphrase_file;        /* or NULL */
    unsigned profile, client_auth;      /* uvhttp_tls_profile_t, uvhttp_tls_client_auth_t */
    const char *client_ca, *client_crl; /* or NULL */
    const char *key_log;                /* or NULL */
    bool one_time_tickets;
    size_t early_data; /* bytes; 0: off */
    bool ktls;
    bool watch;
    size_t redirect_http; /* a port; UVH_OPTION_OFF: none */
    size_t hsts;          /* seconds; UVH_OPTION_OFF: none */
};

/* Exit codes. USAGE: an invalid flag or environment variable, on any machine. FAILED: other errors,
 * such as an error in a configuration file, or something missing or in use. */
enum { UVH_EXIT_OK = 0, UVH_EXIT_FAILED = 1, UVH_EXIT_USAGE = 2 };

struct uvh_options {
    /* the directory, or the configuration file of `run` and `check`, as given; or NULL */
    const char *root;
    size_t port;     /* of addresses given without one */
    bool port_given; /* if false, addresses with TLS have UVH_OPTIONS_TLS_PORT */
    struct uvh_address listen[UVH_OPTIONS_LISTEN_MAX];
    size_t listen_count;                         /* 0: every address */
    const char *user, *group;                    /* see run_as.h; or NULL */
    unsigned no_new_privs;                       /* enum uvh_no_new_privs */
    unsigned confine;                            /* enum uvh_confine_mode */
    uvhttp_static_options_t files;               /* roots, `types` and `rules` unset */
    struct uvh_option_list types, cache_control; /* see file_rules.h */
    struct uvh_option_list downloads, headers;   /* the same */
    struct uvh_option_list hide;                 /* the same: patterns */
    struct uvh_option_list more_roots, aliases;  /* see serve_site.h */
    /* a file of users and hashes; NULL: no authentication */
    const char *auth;
    const char *upload_auth; /* the same for uploads */
    /* paths and patterns, separated by spaces; or NULL */
    const char *prewarm;
    struct uvh_option_list cors;                /* origins */
    struct uvh_option_list allow, deny;         /* addresses */
    struct uvh_option_list rewrites, redirects; /* PATH=TARGET */
    const char *limit_requests;                 /* N/TIME, or NULL */
    struct uvh_option_list proxies;             /* trusted: addresses */
    unsigned proxy_fields;                      /* uvhttp_forwarding_t */
    struct uvh_option_list proxy_sources;       /* of the PROXY protocol: addresses */
    unsigned proxy_others;                      /* uvhttp_proxy_others_t */
    const char *metrics;                        /* a path, or NULL */
    const char *status;                         /* the same */
    bool health;
    const char *pid_file;   /* or NULL */
    const char *access_log; /* a path, "-", or NULL */
    struct uvh_tls_options tls;
    uvhttp_config_t config; /* `log` unset */
    uvhttp_log_level_t log_level;
    bool from_file; /* `root` is a configuration file */
    bool help;      /* --help was given; other members are incomplete */
    bool print_config;
    bool test; /* only check the file */
};

/* The options that a command accepts. */
enum uvh_command {
    UVH_COMMAND_SERVE,  /* every option, and a directory */
    UVH_COMMAND_RUN,    /* all options except those for static files, -t, and a file */
    UVH_COMMAND_CHECK,  /* the same */
    UVH_COMMAND_RELOAD, /* the same: checks the file first */
    UVH_COMMAND_UPGRADE /* the same */
};

/* Sets every default. False if out of memory. */
bool uvh_options_init(struct uvh_options *options);

/* Reads the environment, then `arguments` (without program and command name), which the options
 * refer to afterwards. Returns UVH_EXIT_OK, or an exit code after a message was printed. */
int uvh_options_parse(struct uvh_options *options, enum uvh_command command, int count,
                      char **arguments);

/* Reads the arguments only, for options needed before the file is read. */
int uvh_options_scan(struct uvh_options *options, enum uvh_command command, int count,
                     char **arguments);

/* Parses "on", "yes", "true", "1" and their opposites. False for other text. */
bool uvh_options_switch(const char *text, bool *on);

/* What is wrong with a value, as the library says it for limits. */
#define UVH_OPTIONS_NOT_A_SIZE "is not a size (such as 65536, 64K or 64KiB)"
#define UVH_OPTIONS_NOT_A_TIME "is not a time (such as 90, 90s or 2min)"

#define UVH_OPTIONS_VARIABLE_SIZE 64

/* The key of an option in a configuration file, and the field of a limit: "max-connections" gives
 * "max_connections". */
void uvh_options_key(const struct uvh_option *option, char key[UVH_OPTIONS_VARIABLE_SIZE]);

/* The environment variable of an option: "max-connections" gives "UVHTTP_MAX_CONNECTIONS". */
void uvh_options_variable(const struct uvh_option *option, char name[UVH_OPTIONS_VARIABLE_SIZE]);

#endif
